//! What `overtake run --compare` has printed, as it stands in a stored text.

use super::sources::{self, asked};
use crate::stored::{Stored, TEXT};

/// `compared DEVICE WORDS...`: the newest comparison of a program whose command has these words.
pub fn shown(runs: &[Stored], words: &[&str]) -> Result<String, String> {
    let (_, case) = words.split_first().ok_or("the name of the device's folder is missing")?;
    let case = case.join(" ");
    let its = asked(runs, "programs", words)?;
    let found = its.iter().rev().find_map(|run| {
        let text = run.rest.get(TEXT)?.as_str()?;
        Some((run, block(text, &case)?))
    });
    let Some((run, block)) = found else { return Ok(sources::none("programs")) };
    let header = &run.header;
    let origin = format!("{}, driver {}; commit {}", header.device, header.driver, &header.commit[..7]);
    Ok(format!("```\n{block}```\n\n{origin}; `{}` in `reports/programs/raw.tar.gz`.\n", name(run)))
}

fn name(run: &Stored) -> String {
    format!("{}/{}", run.device, run.file.rsplit('/').next().unwrap_or_default())
}

/// From the line that names the program to the verdict's last one.
fn block(text: &str, case: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines
        .iter()
        .position(|line| line.starts_with("overtake run: ") && line.contains(" (compared ") && line.contains(case))?;
    let verdict = begin + lines[begin..].iter().position(|line| *line == "verdict")?;
    let end = lines[verdict..].iter().position(|line| line.is_empty()).map_or(lines.len(), |length| verdict + length);
    Some(lines[begin..end].iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::example;

    const TEXT_OF_TWO: &str = "device: X\n\n\
        overtake run: round 1 of 3, natively\n\
        overtake run: python3 one.py (compared in 3 rounds)\n\n  time of the program  8 s  4 s\n\n\
        verdict\n* overtake helps\n\n$ overtake run --compare 3 -- python3 two.py\n\
        overtake run: python3 two.py (compared in 3 rounds)\n\n  time of the program  1 s  1 s\n\n\
        verdict\n* no difference\n";

    #[test]
    fn the_comparison_of_a_program_stands_as_it_was_printed() {
        let mut run = example::run("programs", "h100", Vec::new());
        run.rest.insert(TEXT.to_owned(), TEXT_OF_TWO.into());
        let one = shown(&[run.clone()], &["h100", "one.py"]).unwrap();
        let expected = "```\novertake run: python3 one.py (compared in 3 rounds)\n\n  \
            time of the program  8 s  4 s\n\nverdict\n* overtake helps\n```\n\n\
            X, driver 13.0; commit 0123456; `h100/a.json` in `reports/programs/raw.tar.gz`.\n";
        assert_eq!(one, expected);
        let two = shown(&[run.clone()], &["h100", "python3", "two.py"]).unwrap();
        assert!(two.contains("no difference\n```") && !two.contains("helps"), "{two}");
        assert_eq!(shown(&[run], &["h100", "three.py"]).unwrap(), sources::none("programs"));
    }
}
