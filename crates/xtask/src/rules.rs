//! docs/rules.md against the tree: each rule has one row, each name and test in it exists, and each rule that the
//! sources cite is there.

use std::collections::BTreeSet;
use std::path::Path;

/// The page.
pub const PAGE: &str = "docs/rules.md";
/// The numbers of each family.
const FAMILIES: [(&str, &[(u32, u32)]); 5] = [
    ("PX", &[(1, 28)]),
    ("GR", &[(1, 11), (20, 24), (30, 34)]),
    ("SY", &[(1, 24)]),
    ("ST", &[(1, 7)]),
    ("PL", &[(1, 12)]),
];
/// For each language where its names are defined.
const LANGUAGES: [(&str, &[&str], &[&str]); 4] = [
    ("Rust", &["src", "graph/src", "stages/src", "copies/src", "crates/contexts/src"], &["rs"]),
    ("C", &["crates/capi/include"], &["h"]),
    ("C++", &["crates/capi/include"], &["hpp"]),
    ("Python", &["crates/capi/python"], &["py"]),
];

/// What is wrong with the page, with its lines.
pub fn faults(root: &Path, page: &str) -> Vec<(usize, String)> {
    let texts: Vec<String> = LANGUAGES.iter().map(|(_, folders, kinds)| text_of(root, folders, kinds)).collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, line) in page.lines().enumerate() {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let Some(rule) = cells.first().filter(|cell| is_rule(cell)) else { continue };
        let mut fault = |text: String| found.push((index + 1, text));
        if !seen.insert((*rule).to_owned()) {
            fault(format!("{rule} has two rows"));
        }
        let [_, _, languages @ .., test] = &cells[..] else { continue };
        if languages.len() != LANGUAGES.len() {
            fault(format!("{rule} has {} columns of languages", languages.len()));
        }
        for (((language, ..), text), cell) in LANGUAGES.iter().zip(&texts).zip(languages) {
            let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            if names.is_empty() && !["inside", "-"].contains(cell) {
                fault(format!("{rule}: {language} has neither a name, nor `inside` or `-`"));
            }
            names.iter().filter(|name| !defines(text, name)).for_each(|name| {
                fault(format!("{rule}: {language} has no `{name}`"));
            });
        }
        if !root.join(test).is_file() {
            fault(format!("{rule}: the test {test} is not there"));
        }
    }
    let lacks = all().into_iter().filter(|rule| !seen.contains(rule));
    found.extend(lacks.map(|rule| (1, format!("{rule} has no row"))));
    found
}

fn all() -> Vec<String> {
    let of = |(family, ranges): &(&str, &[(u32, u32)])| -> Vec<String> {
        let numbers = ranges.iter().flat_map(|(first, last)| *first..=*last);
        numbers.map(|number| format!("{family}-{number:02}")).collect()
    };
    FAMILIES.iter().flat_map(of).collect()
}

fn is_rule(cell: &str) -> bool {
    let family = cell.split_once('-').map_or("", |(family, _)| family);
    FAMILIES.iter().any(|(known, _)| *known == family)
}

/// The rules that a line cites and that there are not.
pub fn unknown(line: &str) -> Vec<String> {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let is_number = |word: &&str| {
        let digits = word.split_once('-').map_or("", |(_, digits)| digits);
        is_rule(word) && digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let known = all();
    words.filter(is_number).filter(|word| !known.contains(&(*word).to_owned())).map(str::to_owned).collect()
}

/// The same of a file, with their lines. This one has some to try itself.
pub fn cited(name: &str, text: &str) -> Vec<(usize, String)> {
    let of = |(index, line)| unknown(line).into_iter().map(move |rule| (index + 1, format!("{rule} is not in {PAGE}")));
    if name == file!() { Vec::new() } else { text.lines().enumerate().flat_map(of).collect() }
}

/// All files of these kinds in these folders, in one text.
fn text_of(root: &Path, folders: &[&str], kinds: &[&str]) -> String {
    let mut left: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut text = String::new();
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known)) {
                text += &std::fs::read_to_string(path).unwrap_or_default();
            }
        }
    }
    text
}

/// Whether a text has a name as a word, but in comments.
fn defines(text: &str, name: &str) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let line = before.rsplit('\n').next().unwrap_or("").trim_start();
        let is_comment = ["//", "# ", "*", "/*", "\""].iter().any(|mark| line.starts_with(mark));
        !is_comment && !is_word(before.chars().next_back()) && !is_word(behind.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    #[test]
    fn the_page_is_true() {
        let page = std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap();
        assert_eq!(faults(Path::new(ROOT), &page), []);
    }

    #[test]
    fn names_tests_and_rows_that_are_not_there_are_told() {
        let row = |text: &str| {
            let found = faults(Path::new(ROOT), &format!("| rule |\n{text}\n"));
            found.into_iter().filter(|(line, _)| *line == 2).map(|(_, fault)| fault).collect::<Vec<_>>()
        };
        let good = "| PX-01 | stops | `stop` | `overtake_tasks_stop` | inside | - | README.md |";
        assert_eq!(row(good), [""; 0]);
        assert_eq!(row(&good.replace("`stop`", "`stopp`")), ["PX-01: Rust has no `stopp`"]);
        assert_eq!(row(&good.replace("_stop`", "_sto`")), ["PX-01: C has no `overtake_tasks_sto`"]);
        assert_eq!(row(&good.replace("inside", "yes")), ["PX-01: C++ has neither a name, nor `inside` or `-`"]);
        assert_eq!(row(&good.replace("README", "READYOU")), ["PX-01: the test READYOU.md is not there"]);
        assert!(faults(Path::new(ROOT), good).contains(&(1, "PL-12 has no row".into())));
        assert_eq!(faults(Path::new(ROOT), &format!("{good}\n{good}"))[0], (2, "PX-01 has two rows".into()));
    }

    #[test]
    fn rules_that_are_cited_are_known() {
        assert_eq!(unknown("// as (PX-28) and GR-11, SY-24; not UTF-16, PX-1 or ST-07b"), [""; 0]);
        assert_eq!(unknown("PX-29, (GR-12)"), ["PX-29", "GR-12"]);
    }
}
