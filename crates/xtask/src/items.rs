//! Items of the source that pages name in the form `folder/file.rs::Item::part`. They have to exist, every word of the
//! glossary has to be one, and each walk through the source has to state how many files it passes.

use std::collections::BTreeSet;

/// Kinds of source file that can define an item.
const SOURCES: [&str; 2] = [".rs", ".cu"];

/// The keywords before the name of an item in Rust.
const KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod"];

/// The page with the glossary, and its heading there.
const GLOSSARY: (&str, &str) = ("docs/glossary.md", "## Words");

/// The page with the walks through the source.
const WALKS: &str = "docs/walks.md";

/// The most files of a walk. Lower it when the longest walk has become shorter.
const WALK_FILES_MAX: usize = 24;

/// Every item that the page names and that does not exist, with its line. `read` returns the text of a file.
pub fn missing(page: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in page.lines().enumerate() {
        for (path, item) in references(line) {
            if let Some(why) = why_missing(path, item, read) {
                found.push((index + 1, format!("`{path}::{item}`: {why}")));
            }
        }
    }
    found
}

fn why_missing(path: &str, item: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some(text) = read(path) else { return Some(format!("there is no file {path}")) };
    let gone = item.split("::").find(|part| !defines(&text, part))?;
    Some(format!("{path} defines no `{gone}`"))
}

/// The items that a line names: path and item of each.
fn references(line: &str) -> Vec<(&str, &str)> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once("::")).filter(|(path, _)| is_source(path)).collect()
}

fn is_source(path: &str) -> bool {
    SOURCES.iter().any(|kind| path.ends_with(kind))
}

/// Whether a source defines an item, a variant or a field of this name: after a keyword, or at the start of a line.
fn defines(text: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if after.starts_with(is_word) || before.ends_with(is_word) {
            return false;
        }
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let last = line.split_whitespace().next_back();
        let is_part = line.trim().is_empty() && after.starts_with(['(', ',', ' ', '{', ':']);
        is_part || last.is_some_and(|word| KEYWORDS.contains(&word)) || is_c_function(line, after)
    })
}

/// Whether C defines a function here: its type stands before the name, at the start of the line.
fn is_c_function(line: &str, after: &str) -> bool {
    after.starts_with('(') && line.starts_with(|letter: char| letter.is_ascii_lowercase()) && !line.contains('(')
}

/// Every row of the glossary that names no item, folder or command of its own name, with its line.
pub fn unnamed(name: &str, page: &str) -> Vec<(usize, String)> {
    if name != GLOSSARY.0 {
        return Vec::new();
    }
    let rows = page.lines().enumerate().skip_while(|(_, line)| *line != GLOSSARY.1).skip(1);
    let rows = rows.take_while(|(_, line)| !line.starts_with("## ")).filter(|(_, line)| line.starts_with('|')).skip(2);
    rows.filter_map(|(index, line)| why_unnamed(line).map(|why| (index + 1, why))).collect()
}

fn why_unnamed(row: &str) -> Option<String> {
    let mut cells = row.trim_matches('|').split('|').map(str::trim);
    let word = cells.next().unwrap_or_default();
    let place = cells.next_back().unwrap_or_default();
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' ', '`'], "");
    let is_named = word.split(',').any(|word| plain(place).contains(&plain(word)));
    let is_code = place.contains('`');
    (!is_named || !is_code).then(|| format!("the word {word} names no type, module, function or command: {place}"))
}

/// Every walk that passes another number of files than its heading states, or too many, with the line of its heading.
pub fn miscounted(name: &str, page: &str) -> Vec<(usize, String)> {
    if name != WALKS {
        return Vec::new();
    }
    let mut walks: Vec<(usize, &str, BTreeSet<&str>)> = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            walks.push((index + 1, heading, BTreeSet::new()));
        } else if let Some((.., files)) = walks.last_mut() {
            files.extend(files_of(line));
        }
    }
    let wrong = |(line, heading, files): (usize, &str, BTreeSet<&str>)| {
        let count = files.len();
        let is_right = heading.ends_with(&format!(": {count} files")) && count <= WALK_FILES_MAX;
        (!is_right).then(|| (line, format!("the walk passes {count} files: state that, and at most {WALK_FILES_MAX}")))
    };
    walks.into_iter().filter_map(wrong).collect()
}

/// The source files that a line names, with or without an item.
fn files_of(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.map(|text| text.split("::").next().unwrap_or(text)).filter(|path| is_source(path) && path.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "pub struct Copy {\n    size: u64,\n}\npub(crate) fn submit(copy: Copy) {}\nenum Way {\n    Urgent,\n}\n";

    fn missing_in(page: &str) -> Vec<String> {
        let read = |path: &str| (path == "copies/src/copy.rs").then(|| SOURCE.to_owned());
        missing(page, &read).into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn items_that_pages_name_have_to_exist() {
        for good in ["Copy", "submit", "Way::Urgent", "Copy::size"] {
            assert_eq!(missing_in(&format!("see `copies/src/copy.rs::{good}`")), [""; 0], "{good}");
        }
        assert_eq!(missing_in("plain `code::of_another` kind, and `copies/src/copy.rs`"), [""; 0]);
        let gone = missing_in("see `copies/src/copy.rs::submits` and `copies/src/gone.rs::submit`");
        assert!(
            gone[0].ends_with("defines no `submits`") && gone[1].ends_with("no file copies/src/gone.rs"),
            "{gone:?}"
        );
        assert_eq!(missing_in("`copies/src/copy.rs::Copy::gone`").len(), 1);
        assert_eq!(missing_in("`copies/src/copy.rs::u64`").len(), 1, "a mention is no definition");
    }

    #[test]
    fn words_of_the_glossary_are_names_of_the_source() {
        let page = |row: &str| {
            format!("# Map\n## Words\n| word | meaning | in the source |\n|---|---|---|\n{row}\n## Rooms\n| a |")
        };
        let wrong = |row: &str| unnamed(GLOSSARY.0, &page(row));
        assert_eq!(wrong("| copy | bytes that move | `copies/src/copy.rs::Copy` |"), []);
        assert_eq!(wrong("| soft GPU | a model | `crates/softgpu` |"), []);
        assert_eq!(wrong("| drop-in, preload | a library | `crates/preload` |"), []);
        assert_eq!(wrong("| ride | a copy without a fence | `copies/src/copy.rs::Copy` |").len(), 1);
        assert_eq!(wrong("| copy | bytes that move |").len(), 1);
        assert_eq!(unnamed("README.md", &page("| ride | | |")), [], "only one page has the glossary");
    }

    #[test]
    fn walks_state_how_many_files_they_pass() {
        let page =
            |count, last| format!("# Walks\n## A copy: {count} files\n1. `a/b.rs::c`, `a/b.rs::d`\n2. `{last}`\n");
        assert_eq!(miscounted(WALKS, &page(2, "a/e.cu")), []);
        assert_eq!(miscounted(WALKS, &page(1, "Plan::Urgent")), [], "a name without a file");
        assert_eq!(miscounted(WALKS, &page(3, "a/e.rs")).len(), 1);
        assert_eq!(miscounted("README.md", &page(3, "a/e.rs")), []);
        let files: Vec<String> = (0..=WALK_FILES_MAX).map(|number| format!("`a/{number}.rs`")).collect();
        assert_eq!(miscounted(WALKS, &format!("## A copy: {} files\n{}", files.len(), files.join(", "))).len(), 1);
    }
}
