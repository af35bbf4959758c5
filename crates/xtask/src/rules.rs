//! docs/rules.md against the tree: each rule has one row, each name in it is public in its language, and each test
//! exists. And what the sources cite by a number is on its page: rules there, facts, PC and T in docs/facts.md.

use std::collections::BTreeSet;
use std::path::Path;

/// The page.
pub const PAGE: &str = "docs/rules.md";
/// The page of facts, of the rules of prioritised copies, and of traps.
pub const FACTS: &str = "docs/facts.md";
/// The numbers of each family.
const FAMILIES: [(&str, &[(u32, u32)]); 5] = [
    ("PX", &[(1, 28)]),
    ("GR", &[(1, 11), (20, 24), (30, 34)]),
    ("SY", &[(1, 24)]),
    ("ST", &[(1, 7)]),
    ("PL", &[(1, 12)]),
];
/// A language: its name, where its names are defined, and whether a line defines one: what is before it and behind it.
type Language = (&'static str, &'static [&'static str], &'static str, fn(&str, &str) -> bool);

const LANGUAGES: [Language; 4] = [
    (
        "Rust",
        &[
            "src",
            "memory/src",
            "tasks/src",
            "arrays/src",
            "pipelines/src",
            "plan/src",
            "crates/feed/src",
            "crates/profile/src",
            "graph/src",
            "stages/src",
            "copies/src",
            "crates/contexts/src",
        ],
        "rs",
        is_public_in_rust,
    ),
    ("C", &["crates/capi/include"], "h", is_public_in_c),
    ("C++", &["crates/capi/include"], "hpp", is_public_in_cpp),
    ("Python", &["crates/capi/python"], "pyi", is_public_in_python),
];

/// Programs in C and C++ are tests if the other file runs them.
const PROGRAMS: &str = "crates/capi/tests/programs";
const RUNS: &str = "crates/capi/tests/it/programs.rs";
/// All files of this folder are cases of one test.
const CASES: &str = "graph/tests/cases/";

/// What is wrong with the page, with its lines.
pub fn faults(root: &Path, page: &str) -> Vec<(usize, String)> {
    let texts: Vec<String> = LANGUAGES.iter().map(|(_, folders, kind, _)| text_of(root, folders, kind)).collect();
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
        for (((language, .., is_public), text), cell) in LANGUAGES.iter().zip(&texts).zip(languages) {
            let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            if names.is_empty() && !["inside", "-"].contains(cell) {
                fault(format!("{rule}: {language} has neither a name, nor `inside` or `-`"));
            }
            names.iter().filter(|name| !defines(text, name, *is_public)).for_each(|name| {
                fault(format!("{rule}: {language} has no public `{name}`"));
            });
        }
        if let Some(why) = why_no_test(root, test) {
            fault(format!("{rule}: the test {test} {why}"));
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

/// The rules, facts and traps that a line cites and that no page has.
fn unknown(line: &str, facts: &str) -> Vec<String> {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let has_digits = |digits: &str, count: usize| digits.len() == count && digits.bytes().all(|it| it.is_ascii_digit());
    let known = all();
    let is_missing = |word: &&str| match word.split_once('-') {
        Some((_, digits)) if is_rule(word) => has_digits(digits, 2) && !known.contains(&(*word).to_owned()),
        Some(("PC", digits)) => has_digits(digits, 2) && !has_row(facts, word),
        None => {
            word.strip_prefix('T').is_some_and(|it| has_digits(it, 1) || has_digits(it, 2)) && !has_row(facts, word)
        }
        Some(_) => false,
    };
    let mut missing: Vec<String> = words.filter(is_missing).map(str::to_owned).collect();
    let sections = line.split("facts, section ").skip(1).map(|rest| rest.split(|it: char| !it.is_ascii_digit()).next());
    let has_section = |number: &&str| !facts.contains(&format!("\n**{number}. "));
    missing.extend(sections.flatten().filter(has_section).map(|number| format!("section {number} of the facts")));
    missing
}

fn has_row(facts: &str, id: &str) -> bool {
    facts.contains(&format!("\n| {id} | "))
}

/// The same of a file, with their lines. This file has some to try itself, and code may call a type T1.
pub fn cited(name: &str, text: &str, facts: &str) -> Vec<(usize, String)> {
    let is_prose =
        |line: &str| name.ends_with(".md") || ["//", "#", "/*", "*"].iter().any(|it| line.trim().starts_with(it));
    let of = |(index, line): (usize, &str)| {
        let missing = if is_prose(line) { unknown(line, facts) } else { Vec::new() };
        missing.into_iter().map(move |id| (index + 1, format!("{id} is neither in {PAGE} nor in {FACTS}")))
    };
    if name == file!() { Vec::new() } else { text.lines().enumerate().flat_map(of).collect() }
}

/// Why this is no test: a function of a file, a case of the graph, or a program.
fn why_no_test(root: &Path, test: &str) -> Option<&'static str> {
    let (path, name) = test.split_once("::").unwrap_or((test, ""));
    let Ok(text) = std::fs::read_to_string(root.join(path)) else { return Some("is not there") };
    let kind = path.rsplit_once('.').map_or("", |(_, kind)| kind);
    match (kind, name) {
        ("rs", "") => Some("names no function"),
        ("rs", _) => (!text.contains(&format!("fn {name}("))).then_some("is no function there"),
        ("txt", "") => (!path.starts_with(CASES)).then_some("is no case of the graph"),
        ("c" | "cpp", "") => {
            let file = path.strip_prefix(PROGRAMS).map(|file| format!("\"{}\"", file.trim_start_matches('/')));
            let runs = std::fs::read_to_string(root.join(RUNS)).unwrap_or_default();
            (!file.is_some_and(|file| runs.contains(&file))).then_some("is no program that is run")
        }
        _ => Some("is no test"),
    }
}

/// All files of this kind in these folders, in one text.
fn text_of(root: &Path, folders: &[&str], kind: &str) -> String {
    let mut left: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut text = String::new();
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|known| known == kind) {
                text += &public_part(&std::fs::read_to_string(path).unwrap_or_default(), kind);
            }
        }
    }
    text
}

/// A text without its comments, and without what a header of C++ keeps to itself.
fn public_part(text: &str, kind: &str) -> String {
    let (mut is_private, mut is_detail, mut part) = (false, false, String::new());
    for line in text.lines() {
        let trimmed = line.trim_start();
        if kind == "hpp" {
            is_detail = (is_detail || line == "namespace detail {") && line != "} // namespace detail";
            let is_class = trimmed.starts_with("class ") || trimmed.starts_with("struct ");
            is_private = (is_private || trimmed == "private:") && !(line == "};" || trimmed == "public:" || is_class);
        }
        let is_comment = ["//", "#  ", "# ", "* ", "*/", "/*", "\""].iter().any(|mark| trimmed.starts_with(mark));
        if !(is_private || is_detail || is_comment) {
            part += line;
            part.push('\n');
        }
    }
    part
}

/// Whether a line of a text defines a name for its users.
fn defines(text: &str, name: &str, is_public: fn(&str, &str) -> bool) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let is_apart = !is_word(before.chars().next_back()) && !is_word(behind.chars().next());
        is_apart && is_public(line, behind)
    })
}

/// An item, a field, or what is given on.
fn is_public_in_rust(before: &str, behind: &str) -> bool {
    const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod"];
    let Some(rest) = before.trim_start().strip_prefix("pub ") else { return false };
    let is_item = rest.split_whitespace().next_back().is_some_and(|word| ITEMS.contains(&word));
    is_item || rest.starts_with("use ") || (rest.is_empty() && behind.starts_with(':'))
}

/// A function, a constant, a structure or a field of one.
fn is_public_in_c(before: &str, behind: &str) -> bool {
    let is_declared = !before.starts_with(' ') && !before.is_empty() && behind.starts_with('(');
    let is_field = before.starts_with("    ") && !before.contains('(') && behind.starts_with([';', '[']);
    is_declared || is_field || ["struct ", "#define "].contains(&before)
}

/// A class or a function: a type stands before its name.
fn is_public_in_cpp(before: &str, behind: &str) -> bool {
    let before = before.trim_start();
    let is_type =
        !before.replace("...", "").contains(['(', '=', '.']) && !before.ends_with(':') && !before.starts_with("return");
    let is_function = is_type && before.ends_with([' ', '&', '*']) && behind.starts_with('(');
    is_function || ["class ", "struct ", "using ", "class [[nodiscard]] "].iter().any(|word| before.ends_with(word))
}

/// A function, a class or a parameter of the stub.
fn is_public_in_python(before: &str, behind: &str) -> bool {
    let is_parameter = before.trim_start().is_empty() || before.ends_with(", ") || before.ends_with('(');
    ["def ", "class "].iter().any(|word| before.ends_with(word)) || (is_parameter && behind.starts_with(": "))
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
        let test = "tests/tasks/checks/sets.rs::start_and_stop";
        let good = &format!("| PX-01 | stops | `stop` | `overtake_tasks_stop` | inside | - | {test} |");
        assert_eq!(row(good), [""; 0]);
        assert_eq!(row(&good.replace("`stop`", "`stopp`")), ["PX-01: Rust has no public `stopp`"]);
        assert_eq!(row(&good.replace("_stop`", "_sto`")), ["PX-01: C has no public `overtake_tasks_sto`"]);
        assert_eq!(row(&good.replace("inside", "yes")), ["PX-01: C++ has neither a name, nor `inside` or `-`"]);
        let of = |test: &str, why: &str| {
            let told = format!("PX-01: the test tests/tasks/checks/{test} {why}");
            assert_eq!(row(&good.replace("sets.rs::start_and_stop", test)), [told]);
        };
        of("cets.rs::start", "is not there");
        of("sets.rs", "names no function");
        of("sets.rs::start", "is no function there");
        let other = |path: &str| row(&good.replace(test, path));
        assert_eq!(other("README.md"), ["PX-01: the test README.md is no test"]);
        assert_eq!(other("graph/tests/cases/px-d-fork.txt"), [""; 0]);
        assert_eq!(other("crates/capi/tests/programs/queue.c"), [""; 0]);
        let header = "crates/capi/tests/programs/tasks.h";
        assert_eq!(other(header), [format!("PX-01: the test {header} is no test")]);
        assert_eq!(other("tests/c/memory.c"), ["PX-01: the test tests/c/memory.c is no program that is run"]);
        assert!(faults(Path::new(ROOT), good).contains(&(1, "PL-12 has no row".into())));
        assert_eq!(faults(Path::new(ROOT), &format!("{good}\n{good}"))[0], (2, "PX-01 has two rows".into()));
    }

    #[test]
    fn words_that_a_language_does_not_define_for_its_users_are_no_names() {
        let rust =
            public_part("pub fn one() { two(); }\npub(crate) fn three() {}\n// pub fn four()\npub five: u8,", "rs");
        let names = ["one", "two", "three", "four", "five"].map(|name| defines(&rust, name, is_public_in_rust));
        assert_eq!(names, [true, false, false, false, true]);
        let c =
            public_part("int one(int two);\n * int three(void)\nstruct four {\n    int five;\n};\n#define SIX 6", "h");
        let names = ["one", "two", "three", "four", "five", "SIX"].map(|name| defines(&c, name, is_public_in_c));
        assert_eq!(names, [true, false, false, true, true, true]);
        let cpp = "class one {\npublic:\n    template <typename... T> void two() { check(three()); }\nprivate:\n    \
                   void four();\n};\nnamespace detail {\nvoid five();\n} // namespace detail\nusing six = int;";
        let cpp = public_part(cpp, "hpp");
        let names = ["one", "two", "three", "four", "five", "six"].map(|name| defines(&cpp, name, is_public_in_cpp));
        assert_eq!(names, [true, true, false, false, false, true]);
        let python = public_part("class One:\n    def two(self, three: int = 0) -> Four: ...\n    # def five", "pyi");
        let names = ["One", "two", "three", "Four", "five"].map(|name| defines(&python, name, is_public_in_python));
        assert_eq!(names, [true, true, true, false, false]);
    }

    #[test]
    fn what_is_cited_by_a_number_is_on_a_page() {
        let facts = "# Facts\n**3. Bursts.** 64 copies\n| PC-04 | counts |\n| T1 | inversion |\n";
        let good = "// as (PX-28) and GR-11, SY-24, PC-04, T1, facts, section 3; not UTF-16, PX-1, T100 or ST-07b";
        assert_eq!(unknown(good, facts), [""; 0]);
        let bad = "PX-29, (GR-12), PC-05, T28 (facts, section 4)";
        assert_eq!(unknown(bad, facts), ["PX-29", "GR-12", "PC-05", "T28", "section 4 of the facts"]);
        let code = "fn pair<T2>(of: T2) {}\n// trap T2";
        let found = cited("a.rs", code, facts);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2], "{found:?}");
    }
}
