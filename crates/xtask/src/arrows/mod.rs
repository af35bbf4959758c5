//! Arrows run downward: from crates to those of lower ranks, and between the files of a crate never in a circle.
//!
//! Only `use` and paths are read, and tests are left out. A method call does not name the file that defines the
//! method, so two files that only call methods of each other pass.

mod circles;
mod modules;
mod ranks;
mod source;
mod tokens;

use std::collections::BTreeMap;
use std::path::Path;

use self::modules::{Arrows, Modules};
use crate::Outcome;
use crate::codegen::read;

/// The roots of the crates whose files must be in no circle.
const STACK: [&str; 13] = [
    "semaphores/src/lib.rs",
    "channels/src/lib.rs",
    "crates/options/src/lib.rs",
    "copies/src/lib.rs",
    "graph/src/lib.rs",
    "stages/src/lib.rs",
    "memory/src/lib.rs",
    "tasks/src/lib.rs",
    "arrays/src/lib.rs",
    "pipelines/src/lib.rs",
    "plan/src/lib.rs",
    "src/lib.rs",
    "crates/capi/src/lib.rs",
];

/// All mistakes in the arrows of the repository.
pub fn findings(root: &Path) -> Result<Vec<String>, String> {
    let mut wrong = ranks::check(&files(root, "Cargo.toml")?)?;
    let files = files(root, ".rs")?;
    wrong.extend(STACK.iter().flat_map(|root| circles_of(root, &files)));
    Ok(wrong)
}

/// `cargo xtask arrows`: prints all mistakes.
pub fn run(root: &Path) -> Outcome {
    let wrong = findings(root)?;
    match wrong.is_empty() {
        true => Ok(String::new()),
        false => Err(wrong.iter().map(|wrong| format!("{wrong}\n")).collect()),
    }
}

/// The circles of files and of folders below the root file of a crate.
fn circles_of(root: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let arrows = Modules::read(root, files).arrows();
    let folded = circles::folded(&arrows);
    let told =
        |arrows: &Arrows| -> Vec<String> { circles::circles(arrows).iter().map(|nodes| text(nodes, arrows)).collect() };
    let mut all = told(&arrows);
    // If the files of two folders make a circle, so do the folders. That is one finding.
    let is_told = |circle: &String| all.iter().any(|other| other.trim_end_matches(".rs") == circle);
    let folders: Vec<String> = told(&folded).into_iter().filter(|circle| !is_told(circle)).collect();
    all.extend(folders);
    all
}

fn text(nodes: &[String], arrows: &Arrows) -> String {
    let next = nodes.iter().cycle().skip(1);
    let steps: Vec<String> = nodes.iter().zip(next).map(|(from, to)| format!("{} ->", arrows[from][to])).collect();
    format!("a circle: {} {}", steps.join(" "), nodes[0])
}

/// The tracked or new files whose names have this ending, by path.
fn files(root: &Path, end: &str) -> Result<BTreeMap<String, String>, String> {
    let names = crate::scratch::names(root)?;
    let wanted = names.into_iter().filter(|name| name.ends_with(end) && root.join(name).exists());
    wanted.map(|name| read(&root.join(&name)).map(|text| (name, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(name, text)| (format!("src/{name}"), (*text).to_owned())).collect();
        circles_of("src/lib.rs", &files)
    }

    #[test]
    fn the_repository_has_no_circle_and_no_arrow_that_runs_up() {
        assert_eq!(findings(&crate::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn every_file_of_the_stack_is_looked_at_but_for_tests() {
        let files = files(&crate::root(), ".rs").unwrap();
        for root in STACK {
            let reached = Modules::read(root, &files);
            let folder = root.trim_end_matches("lib.rs");
            for file in files.keys().filter(|file| file.starts_with(folder) && !reached.have(file)) {
                let stem = file.trim_end_matches(".rs").rsplit('/').next().unwrap();
                let declared = format!("mod {stem};");
                let is_test = |text: &String| {
                    let before = text.split(&declared).next().filter(|before| before.len() < text.len());
                    before.is_some_and(|before| before.lines().rev().take(2).any(|line| line.contains("(test")))
                };
                assert!(files.values().any(is_test), "{file} is no test, and was not looked at");
            }
        }
    }

    #[test]
    fn a_circle_is_told_with_its_lines() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let two =
            [lib, ("a.rs", "use super::b::B;\npub struct A;"), ("b.rs", "pub struct B(\ncrate::a::A);"), ("c.rs", "")];
        assert_eq!(circles(&two), ["a circle: src/a.rs:1 -> src/b.rs:2 -> src/a.rs"]);
        let three = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        assert!(circles(&three)[0].contains("src/a.rs:1 -> src/b.rs:1 -> src/c.rs:1 -> src/a.rs"));
        let none = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "")];
        assert_eq!(circles(&none), [""; 0]);
    }

    #[test]
    fn folders_are_in_a_circle_where_their_files_are_in_none() {
        let lib = ("lib.rs", "mod a; mod b;");
        let a = [("a/mod.rs", "mod c; mod d;"), ("a/c.rs", "use crate::b::e::E;"), ("a/d.rs", "pub struct D;")];
        let b = [("b/mod.rs", "mod e; mod f;"), ("b/e.rs", "pub struct E;"), ("b/f.rs", "use crate::a::d::D;")];
        let files = [[lib].as_slice(), &a, &b].concat();
        assert_eq!(circles(&files), ["a circle: src/a/c.rs:1 -> src/b/f.rs:1 -> src/a"]);
    }

    #[test]
    fn a_file_and_its_module_are_a_circle_if_both_use_each_other() {
        let child = ("a/b.rs", "use super::A;\npub struct B;");
        let uses = [("lib.rs", "mod a;"), ("a.rs", "mod b;\npub struct A(b::B);"), child];
        assert_eq!(circles(&uses), ["a circle: src/a.rs:2 -> src/a/b.rs:1 -> src/a.rs"]);
        let exports = [("lib.rs", "mod a;"), ("a.rs", "mod b;\npub use b::B;\npub struct A;"), child];
        assert_eq!(circles(&exports), [""; 0]);
    }
}
