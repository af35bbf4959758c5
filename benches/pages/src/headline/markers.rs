//! The marked places of a page that are filled with figures.

/// The beginning of a place; its name and words follow.
const BEGIN: &str = "<!-- headline:";
/// The end of its name and words.
const BEGIN_END: &str = " -->";
/// The end of a place.
const END: &str = "<!-- /headline -->";
/// Units that only a measured figure has.
const UNITS: [&str; 6] = ["us", "ms", "ns", "GB/s", "%", "x"];

/// The page with every place filled. A place that begins at the end of its line gets lines of its own.
pub fn fill(page: &str, make: impl Fn(&str, &[&str]) -> Result<String, String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::with_capacity(page.len()), page);
    while let Some(at) = place_in(rest) {
        let begin = &rest[at + BEGIN.len()..];
        let asked_end = begin.find(BEGIN_END).ok_or("a place does not end its name with ` -->`")?;
        let asked = &begin[..asked_end];
        let content = &begin[asked_end + BEGIN_END.len()..];
        let end = content.find(END).ok_or_else(|| format!("`{BEGIN}{asked}` has no `{END}`"))?;
        let mut words = asked.split_whitespace();
        let made = make(words.next().unwrap_or_default(), &words.collect::<Vec<_>>())?;
        filled += &rest[..at + BEGIN.len() + asked_end + BEGIN_END.len()];
        if content.starts_with('\n') {
            filled += &format!("\n{}\n", made.trim_end());
        } else {
            filled += made.trim_end();
        }
        filled += END;
        rest = &content[end + END.len()..];
    }
    Ok(filled + rest)
}

/// The beginning of a place, unless it is only mentioned in code.
fn place_in(text: &str) -> Option<usize> {
    text.match_indices(BEGIN).map(|(at, _)| at).find(|at| !text[..*at].ends_with('`'))
}

/// Lines of a page with a measured figure outside of such places and of code: these were typed by hand.
pub fn typed_figures(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut is_inside, mut is_code) = (Vec::new(), false, false);
    for (index, line) in page.lines().enumerate() {
        let mut typed = String::new();
        let mut rest = line;
        while !rest.is_empty() {
            let mark = if is_inside { END } else { BEGIN };
            let at = rest.find(mark);
            if !is_inside {
                typed += &rest[..at.unwrap_or(rest.len())];
            }
            is_inside ^= at.is_some();
            rest = at.map_or("", |at| &rest[at + mark.len()..]);
        }
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        let prose: String = typed.split('`').step_by(2).collect();
        if let Some(figure) = figure_in(&prose) {
            let what = format!("`{figure}` is typed by hand: let `cargo xtask headline` fill it in, or leave it out");
            found.push((index + 1, what));
        }
    }
    found
}

/// The first number with a unit of measurement.
fn figure_in(prose: &str) -> Option<String> {
    let words: Vec<&str> =
        prose.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '.', ';', ':', '*', '|'])).collect();
    let is_number =
        |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let pair = words.windows(2).find(|pair| is_number(pair[0]) && UNITS.contains(&pair[1]));
    pair.map(|pair| pair.join(" ")).or_else(|| {
        let is_joined = |word: &&&str| UNITS.iter().any(|unit| word.strip_suffix(unit).is_some_and(is_number));
        words.iter().find(is_joined).map(|word| (*word).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(page: &str) -> Result<String, String> {
        fill(page, |name, words| match name {
            "gone" => Err("gone".to_owned()),
            _ => Ok(format!("{name} of {}\n", words.join("+"))),
        })
    }

    #[test]
    fn places_are_filled_in_lines_and_in_blocks() {
        let page = "a <!-- headline:p50 h100 x -->1<!-- /headline --> b\n\
                    <!-- headline:table -->\nold\n\n<!-- /headline -->\nc\n";
        let expected = "a <!-- headline:p50 h100 x -->p50 of h100+x<!-- /headline --> b\n\
                        <!-- headline:table -->\ntable of \n<!-- /headline -->\nc\n";
        let once = filled(page).unwrap();
        assert_eq!(once.replace("of \n", "of\n"), expected.replace("of \n", "of\n"));
        assert_eq!(filled(&once).unwrap(), once, "a filled page stays as it is");
    }

    #[test]
    fn places_that_cannot_be_filled_are_errors() {
        assert!(filled("<!-- headline:gone -->\n<!-- /headline -->").is_err());
        assert!(filled("<!-- headline:a -->\n").unwrap_err().contains("has no"));
        let spoken_of = "say `<!-- headline:gone -->`";
        assert_eq!(filled(spoken_of).unwrap(), spoken_of);
    }

    #[test]
    fn typed_figures_are_found() {
        for typed in ["takes 12.5 us.", "keeps (95 %)", "1.3x idle", "at 50 GB/s,", "| **13 us** |"] {
            assert_eq!(typed_figures(typed).len(), 1, "{typed}");
        }
        let place = "<!-- headline:a -->12 us<!-- /headline -->";
        for good in
            [place, "64 KiB copies", "```\n12 us\n```", "`sleep 5 ms`", "PCIe 5 x16", "driver 580", "2026-11-21"]
        {
            assert_eq!(typed_figures(good), [], "{good}");
        }
        assert_eq!(typed_figures(&format!("{place} and\nthen 5 us"))[0].0, 2);
    }
}
