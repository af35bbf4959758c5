//! The width of lines: of code, and of the prose of Markdown pages.

/// The most columns of a line of code.
const CODE: usize = 120;
/// The most columns of a line of a page.
const PAGE: usize = 100;

/// The text that `cargo xtask headline` writes begins and ends with these; it is as wide as its figures.
const FILLED: (&str, &str) = ("<!-- headline:", "<!-- /headline -->");
/// A code block begins and ends with this.
const FENCE: &str = "```";

/// Every line of the file that is too wide, with its width.
pub fn too_wide(name: &str, text: &str) -> Vec<(usize, String)> {
    let (widths, most) = match name.ends_with(".md") {
        true => (prose_widths(text), PAGE),
        false => (text.lines().map(|line| line.chars().count()).collect(), CODE),
    };
    let wide = widths.into_iter().enumerate().filter(|(_, width)| *width > most);
    wide.map(|(index, width)| (index + 1, format!("{width} columns, at most {most}"))).collect()
}

/// The width of the prose of each line: 0 in tables, code blocks and definitions of links, which cannot be wrapped.
fn prose_widths(page: &str) -> Vec<usize> {
    let (mut is_code, mut is_filled) = (false, false);
    let width = |line: &str| {
        let begins_or_ends = line.trim_start().starts_with(FENCE);
        is_code ^= begins_or_ends;
        let prose = without_filled(line, &mut is_filled);
        let is_fixed = is_code || begins_or_ends || line.starts_with('|') || is_link_definition(line);
        if is_fixed { 0 } else { prose.trim_end().chars().count() }
    };
    page.lines().map(width).collect()
}

/// A line without its filled parts. `is_filled` says whether the line begins in one, and then whether the next does.
fn without_filled(line: &str, is_filled: &mut bool) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    loop {
        let mark = if *is_filled { FILLED.1 } else { FILLED.0 };
        // A mark in backticks is only spoken of.
        let at = rest.match_indices(mark).map(|(at, _)| at).find(|at| !rest[..*at].ends_with('`'));
        if !*is_filled {
            kept += &rest[..at.unwrap_or(rest.len())];
        }
        let Some(at) = at else { return kept };
        *is_filled = !*is_filled;
        rest = &rest[at + mark.len()..];
    }
}

/// `[name]: target`.
fn is_link_definition(line: &str) -> bool {
    line.starts_with('[')
        && line.split_once("]: ").is_some_and(|(name, target)| !name[1..].contains(['[', ']']) && !target.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(name: &str, text: &str) -> Vec<usize> {
        too_wide(name, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn code_may_be_wider_than_pages() {
        let line = |columns: usize| format!("short\n{}\n", "é".repeat(columns));
        assert_eq!((lines("a.rs", &line(120)), lines("a.rs", &line(121))), (vec![], vec![2]));
        assert_eq!((lines("a.md", &line(100)), lines("a.md", &line(101))), (vec![], vec![2]));
        assert_eq!(too_wide("docs/a.md", &line(101))[0].1, "101 columns, at most 100");
    }

    #[test]
    fn tables_code_and_links_of_pages_are_as_wide_as_they_are() {
        let wide = "x".repeat(101);
        for good in [
            format!("| {wide} |"),
            format!("```sh\n{wide}\n```"),
            format!("* a\n  ```\n  {wide}\n  ```"),
            format!("[name]: https://{wide}"),
        ] {
            assert_eq!(lines("a.md", &good), [0; 0], "{good}");
        }
        for bad in [
            format!("```\na\n```\n\n{wide}"),
            format!("\n\n\n\n[name](https://{wide}): a link in prose"),
            format!("\n\n\n\n[note]: not a {wide} definition"),
        ] {
            assert_eq!(lines("a.md", &bad), [5], "{bad}");
        }
    }

    #[test]
    fn filled_parts_of_pages_do_not_count() {
        let wide = "x".repeat(101);
        let (begin, end) = (format!("{}name -->", FILLED.0), FILLED.1);
        assert_eq!(lines("a.md", &format!("{begin}\n{wide}\n\n{wide}\n{end}\n")), [0; 0]);
        assert_eq!(lines("a.md", &format!("takes {begin}{wide}{end} us")), [0; 0]);
        assert_eq!(lines("a.md", &format!("takes {begin}12{end} us {wide}")), [1]);
        assert_eq!(lines("a.md", &format!("{begin}\n12\n{end}\n{wide}")), [4], "the part has ended");
        assert_eq!(lines("a.md", &format!("`{begin}` {wide} `{end}`")), [1], "no part, only spoken of");
    }
}
