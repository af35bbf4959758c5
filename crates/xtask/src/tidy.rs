//! `tidy`: checks that rustfmt and clippy do not make.

use std::fmt;
use std::path::Path;
use std::process::Command;

use pages::{Outcome, machine, stored};

use crate::{arrows, columns, items, mentions, ptx, rules};

/// The most lines of a file, tests included.
const FILE_LINES: usize = 449;
/// The most lines of a function, tests included: as many as fit in a glance.
const FUNCTION_LINES: usize = 49;

/// Generated files and tables may be longer.
const ANY_LENGTH: [&str; 3] =
    ["crates/abi/src/generated.rs", "crates/abi/src/prototypes.rs", "crates/abi/src/table.rs"];

/// Generated files may be wider.
const ANY_WIDTH: [&str; 2] = ["crates/abi/src/generated.rs", "crates/abi/src/prototypes.rs"];

/// Kinds of file whose text is checked.
const TEXT: [&str; 9] = ["rs", "c", "h", "cu", "py", "sh", "toml", "md", "yml"];

/// Kinds of file that hold measurements only: no path of a machine may stand in them.
const DATA: [&str; 3] = ["json", "txt", "svg"];

/// The kind of file that only a compiler writes.
const PTX: [&str; 1] = ["ptx"];

/// Words that promise work instead of doing it. They are written in halves, so that this file does not find itself.
const PROMISES: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    concat!("place", "holder"),
];

/// The attributes of every library and of the command, because they are guests in programs and on devices.
const GUEST: [(&str, &str); 2] = [
    ("deny(clippy::print_stderr, clippy::print_stdout)", "its messages go through `log`"),
    ("cfg_attr(not(test), deny(clippy::disallowed_methods))", "clippy.toml says what goes through one place"),
];

/// The root of the command.
const COMMAND: &str = "crates/cli/src/main.rs";

/// A line that is not tidy, with the reason.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

/// Checks every file that git tracks or would add.
pub fn run(root: &Path) -> Outcome {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .map_err(|error| format!("git does not start: {error}\n"))?;
    let names = String::from_utf8_lossy(&output.stdout);
    let (mut checked, mut findings) = (0, String::new());
    let packed = stored::names(root);
    let exists = |path: &str| packed.contains(path) || root.join(path).exists();
    let facts = std::fs::read_to_string(root.join(rules::FACTS)).unwrap_or_default();
    for name in names.split('\0').filter(|name| [&TEXT[..], &DATA, &PTX].iter().any(|kinds| is_kind(name, kinds))) {
        // A tracked file that has been deleted has nothing to check.
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        checked += 1;
        let mut found = check(name, &text);
        if is_kind(name, &TEXT) {
            let mut missing = mentions::missing(name, &text, &exists);
            if name == rules::PAGE {
                missing.extend(rules::faults(root, &text));
            }
            missing.extend(rules::cited(name, &text, &facts));
            if is_kind(name, &["md"]) {
                missing.extend(items::missing(&text, &|path| std::fs::read_to_string(root.join(path)).ok()));
                missing.extend(items::unnamed(name, &text));
                missing.extend(items::miscounted(name, &text));
            }
            found.extend(missing.into_iter().map(|(line, what)| Finding { line, what }));
        }
        for finding in found {
            findings += &format!("{name}:{finding}\n");
        }
    }
    for wrong in stored::read_all(root).err().unwrap_or_default().into_iter().chain(arrows::findings(root)?) {
        findings += &format!("{wrong}\n");
    }
    match (checked, findings.is_empty()) {
        (0, _) => Err("tidy found no file to check: is this a git checkout?\n".to_owned()),
        (_, true) => Ok(format!("tidy: {checked} files\n")),
        (_, false) => Err(findings),
    }
}

fn is_kind(name: &str, kinds: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| kinds.contains(&extension))
}

fn check(name: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_folders(text, &mut findings);
    if is_kind(name, &DATA) {
        return findings;
    }
    findings.extend(ptx::too_new(text).into_iter().map(|(line, what)| Finding { line, what }));
    if is_kind(name, &PTX) {
        return findings;
    }
    check_promises(text, &mut findings);
    if !ANY_WIDTH.contains(&name) {
        let wide = columns::too_wide(name, text);
        findings.extend(wide.into_iter().map(|(line, what)| Finding { line, what }));
    }
    if name.ends_with("src/lib.rs") || name == COMMAND {
        for (attribute, why) in GUEST.into_iter().filter(|(attribute, _)| !text.contains(attribute)) {
            findings.push(Finding { line: 1, what: format!("a crate without `#![{attribute}]`: {why}") });
        }
    }
    if name.ends_with(".rs") {
        check_lengths(name, text, &mut findings);
        check_unsafe(name, text, &mut findings);
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn check_promises(text: &str, findings: &mut Vec<Finding>) {
    for (number, line) in lines(text) {
        for word in PROMISES.into_iter().filter(|word| line.contains(word)) {
            findings.push(Finding { line: number, what: format!("`{word}`: do it or leave it out") });
        }
    }
}

fn check_folders(text: &str, findings: &mut Vec<Finding>) {
    for (number, line) in lines(text) {
        for folder in machine::FOLDERS {
            if machine::place_of(line, folder).is_some() {
                findings.push(Finding { line: number, what: format!("`{folder}` is a path of one machine") });
            }
        }
    }
}

fn check_lengths(name: &str, text: &str, findings: &mut Vec<Finding>) {
    let count = text.lines().count();
    if count > FILE_LINES && !ANY_LENGTH.contains(&name) {
        findings.push(Finding { line: count, what: format!("{count} lines in the file, at most {FILE_LINES}") });
    }
    // rustfmt puts the closing brace of a function on a line of its own, indented as its first line.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (number, line) in lines(text) {
        let indent = line.len() - line.trim_start().len();
        if line.trim() == "}" && open.last().is_some_and(|(_, opened)| *opened == indent) {
            let (start, _) = open.pop().expect("just looked at");
            let length = number - start + 1;
            if length > FUNCTION_LINES {
                let what = format!("{length} lines in the function, at most {FUNCTION_LINES}");
                findings.push(Finding { line: start, what });
            }
        } else if begins_function(line) {
            open.retain(|(_, opened)| *opened < indent);
            open.push((number, indent));
        }
    }
}

/// Whether a line begins the definition of a function that has, or may have, a body of several lines.
fn begins_function(line: &str) -> bool {
    let code = line.trim_start();
    let mut rest = code;
    loop {
        let word = rest.split([' ', '(']).next().unwrap_or_default();
        match word {
            "fn" => return !code.ends_with(';') && !code.ends_with('}') && rest.len() > 3,
            "pub" | "const" | "async" | "unsafe" | "extern" | "\"C\"" => {}
            _ => return false,
        }
        // `pub(crate)` and the like have a bracket between.
        let after = &rest[word.len()..];
        let after = if after.starts_with('(') { after.split_once(')').map_or("", |(_, after)| after) } else { after };
        rest = after.trim_start();
    }
}

fn check_unsafe(name: &str, text: &str, findings: &mut Vec<Finding>) {
    // Tests and examples use the library's unsafe methods; clippy asks them for the reasons.
    let in_library = name.starts_with("src/") || name.contains("/src/");
    if !in_library || text.contains("#![allow(unsafe_code)]") {
        return;
    }
    for (number, line) in lines(text) {
        if uses_unsafe(line) {
            let what = "unsafe code in a file that does not declare `#![allow(unsafe_code)]`".to_owned();
            findings.push(Finding { line: number, what });
        }
    }
}

/// Whether a line holds unsafe code: a block, an implementation or a definition, but not the type of a function.
fn uses_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("unsafe").any(|(at, word)| {
        let outside = |c: char| !c.is_alphanumeric() && c != '_' && c != '"';
        if !code[..at].chars().next_back().is_none_or(outside) {
            return false;
        }
        let after = code[at + word.len()..].trim_start();
        let after = after.strip_prefix("extern \"C\"").unwrap_or(after).trim_start();
        after.starts_with('{')
            || after.starts_with("impl")
            || after.starts_with("fn ")
            || after.starts_with("(no_mangle")
    })
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(name: &str, text: &str) -> Vec<String> {
        check(name, text).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn long_functions_are_found_where_they_begin() {
        let body =
            |count| format!("impl A {{\n    pub(crate) fn long() {{\n{}    }}\n}}\n", "        a();\n".repeat(count));
        assert_eq!(whats("src/a.rs", &body(47)), [""; 0]);
        assert_eq!(whats("src/a.rs", &body(48)), ["2: 50 lines in the function, at most 49"]);
    }

    #[test]
    fn declarations_and_types_are_not_functions() {
        assert!(begins_function("    pub unsafe extern \"C\" fn cuInit("));
        assert!(begins_function("pub const fn a() -> u8 {"));
        for line in ["fn a();", "type A = fn(u8) -> u8;", "let f = fn_name(3);", "fn a() {}", "// fn a() {"] {
            assert!(!begins_function(line), "{line}");
        }
    }

    #[test]
    fn long_files_and_lines_are_found_save_tables() {
        let long = "a\n".repeat(450);
        assert_eq!(whats("src/a.rs", &long), ["450: 450 lines in the file, at most 449"]);
        assert_eq!(whats("crates/abi/src/table.rs", &long), [""; 0]);
        let wide = "x".repeat(121);
        assert_eq!(whats("src/a.rs", &wide), ["1: 121 columns, at most 120"]);
        assert_eq!(whats("docs/a.md", &wide), ["1: 121 columns, at most 100"]);
        assert_eq!(whats("crates/abi/src/generated.rs", &wide), [""; 0]);
    }

    #[test]
    fn promises_and_machine_paths_are_found() {
        for word in PROMISES {
            assert_eq!(whats("a.md", &format!("one\n{word} two")).len(), 1, "{word}");
        }
        for folder in machine::FOLDERS {
            assert_eq!(whats("a.toml", &format!("path = \"{folder}x\"")).len(), 1, "{folder}");
            assert_eq!(whats("a.toml", &format!("path = \"docs{folder}x\"")).len(), 0, "{folder}");
        }
    }

    #[test]
    fn libraries_are_quiet_and_go_through_one_place() {
        let [quiet, bound] = GUEST.map(|(attribute, _)| format!("#![{attribute}]\n"));
        for name in ["crates/a/src/lib.rs", COMMAND] {
            assert_eq!(whats(name, "mod b;\n").len(), 2);
            assert_eq!(whats(name, &format!("{quiet}mod b;\n")).len(), 1);
            assert_eq!(whats(name, &format!("{quiet}{bound}mod b;\n")).len(), 0);
        }
        assert_eq!(whats("crates/a/src/main.rs", "mod b;\n").len(), 0);
    }

    #[test]
    fn machine_paths_are_found_in_measurements() {
        for folder in machine::FOLDERS {
            let json = format!("{{\"command\":\"overtake demo --json {folder}a.json\"}}");
            assert_eq!(whats("data/a.json", &json).len(), 1, "{folder}");
            assert_eq!(whats("data/a.txt", &format!("({folder}a)")).len(), 1, "{folder}");
        }
        let wide = "x".repeat(1_000);
        assert_eq!(whats("data/a.json", &wide), [""; 0], "data may have any width");
    }

    #[test]
    fn unsafe_code_stands_only_where_it_is_declared() {
        let block = "fn a() {\n    unsafe { b() }\n}\n";
        assert_eq!(whats("src/a.rs", block).len(), 1);
        assert_eq!(whats("src/a.rs", &format!("#![allow(unsafe_code)]\n{block}")).len(), 0);
        assert_eq!(whats("tests/a.rs", block).len(), 0);
        for line in ["// unsafe { }", "type F = unsafe extern \"C\" fn(u8);", "#![deny(unsafe_code)]", "not_unsafe {}"]
        {
            assert!(!uses_unsafe(line), "{line}");
        }
        for line in ["unsafe impl Send for A {}", "pub unsafe fn a()", "unsafe extern \"C\" {", "#[unsafe(no_mangle)]"]
        {
            assert!(uses_unsafe(line), "{line}");
        }
    }
}
