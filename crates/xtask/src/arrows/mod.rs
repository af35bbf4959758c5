//! Arrows run downward: from crates to those of lower ranks, and between the files of a crate never in a circle.
//!
//! Only `use` and paths are read, and tests are left out. A method call does not name the file that defines the
//! method, so two files that only call methods of each other pass.

mod circles;
mod modules;
mod ranks;
mod source;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use self::modules::{Arrows, Modules};
use crate::Outcome;
use crate::codegen::read;

/// The roots of the crates whose files must be in no circle.
const STACK: [&str; 4] = ["semaphores/src/lib.rs", "channels/src/lib.rs", "copies/src/lib.rs", "src/lib.rs"];

/// Files, and folders with the files beside them, that still are in a circle. An entry without a circle is a finding,
/// too.
const KNOWN: [&str; 18] = [
    "copies/src/copy",
    "copies/src/copy/handle.rs",
    "copies/src/copy/job.rs",
    "copies/src/copy/plan.rs",
    "copies/src/copy/request.rs",
    "copies/src/copy/ride.rs",
    "copies/src/copy/submit.rs",
    "copies/src/engine",
    "copies/src/guard",
    "copies/src/options.rs",
    "copies/src/options/tunable.rs",
    "copies/src/overtake",
    "copies/src/overtake.rs",
    "copies/src/records",
    "copies/src/stream",
    "copies/src/stream.rs",
    "copies/src/variables.rs",
    "copies/src/watch",
];

/// All mistakes in the arrows of the repository.
pub fn findings(root: &Path) -> Result<Vec<String>, String> {
    let mut wrong = ranks::check(&files(root, "Cargo.toml")?)?;
    wrong.extend(judge(&circles_of_the_stack(root)?, &KNOWN));
    Ok(wrong)
}

/// `cargo xtask arrows`: prints every circle, known or not, and all mistakes.
pub fn run(root: &Path) -> Outcome {
    let text = circles_of_the_stack(root)?.iter().map(|circle| format!("{}\n", circle.text)).collect();
    match findings(root)?.is_empty() {
        true => Ok(text),
        false => Err(text + &findings(root)?.iter().map(|wrong| format!("{wrong}\n")).collect::<String>()),
    }
}

/// A circle: its nodes, and its course.
struct Circle {
    nodes: Vec<String>,
    text: String,
}

fn circles_of_the_stack(root: &Path) -> Result<Vec<Circle>, String> {
    let files = files(root, ".rs")?;
    Ok(STACK.iter().flat_map(|root| circles_of(root, &files)).collect())
}

/// The circles of files and of folders below the root file of a crate.
fn circles_of(root: &str, files: &BTreeMap<String, String>) -> Vec<Circle> {
    let arrows = Modules::read(root, files).arrows();
    let folded = circles::folded(&arrows);
    let told = |arrows: &Arrows| -> Vec<Circle> {
        circles::circles(arrows).into_iter().map(|nodes| Circle { text: text(&nodes, arrows), nodes }).collect()
    };
    let mut all = told(&arrows);
    // If the files of two folders make a circle, so do the folders. That is one finding.
    let is_told = |circle: &Circle| all.iter().any(|other| other.text.trim_end_matches(".rs") == circle.text);
    let folders: Vec<Circle> = told(&folded).into_iter().filter(|circle| !is_told(circle)).collect();
    all.extend(folders);
    all
}

fn text(nodes: &[String], arrows: &Arrows) -> String {
    let next = nodes.iter().cycle().skip(1);
    let steps: Vec<String> = nodes.iter().zip(next).map(|(from, to)| format!("{} ->", arrows[from][to])).collect();
    format!("a circle: {} {}", steps.join(" "), nodes[0])
}

/// Unknown circles, and known ones that no longer exist.
fn judge(circles: &[Circle], known: &[&str]) -> Vec<String> {
    let is_known = |node: &String| known.contains(&node.as_str());
    let fresh = circles.iter().filter(|circle| !circle.nodes.iter().all(is_known)).map(|circle| circle.text.clone());
    let on_circles: BTreeSet<&str> = circles.iter().flat_map(|circle| &circle.nodes).map(String::as_str).collect();
    let gone = known.iter().filter(|node| !on_circles.contains(*node));
    let gone = gone
        .map(|node| format!("{node} is in no circle any more: take it off KNOWN in crates/xtask/src/arrows/mod.rs"));
    fresh.chain(gone).collect()
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

    fn circles(files: &[(&str, &str)]) -> Vec<Circle> {
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
        assert_eq!(judge(&circles(&two), &[]), ["a circle: src/a.rs:1 -> src/b.rs:2 -> src/a.rs"]);
        let three = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        assert!(judge(&circles(&three), &[])[0].contains("src/a.rs:1 -> src/b.rs:1 -> src/c.rs:1 -> src/a.rs"));
        let none = [lib, ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "")];
        assert_eq!(judge(&circles(&none), &[]), [""; 0]);
    }

    #[test]
    fn folders_are_in_a_circle_where_their_files_are_in_none() {
        let lib = ("lib.rs", "mod a; mod b;");
        let a = [("a/mod.rs", "mod c; mod d;"), ("a/c.rs", "use crate::b::e::E;"), ("a/d.rs", "pub struct D;")];
        let b = [("b/mod.rs", "mod e; mod f;"), ("b/e.rs", "pub struct E;"), ("b/f.rs", "use crate::a::d::D;")];
        let files = [[lib].as_slice(), &a, &b].concat();
        assert_eq!(judge(&circles(&files), &[]), ["a circle: src/a/c.rs:1 -> src/b/f.rs:1 -> src/a"]);
    }

    #[test]
    fn a_file_and_what_it_declares_are_a_circle_where_both_use_each_other() {
        let child = ("a/b.rs", "use super::A;\npub struct B;");
        let uses = [("lib.rs", "mod a;"), ("a.rs", "mod b;\npub struct A(b::B);"), child];
        assert_eq!(judge(&circles(&uses), &[]), ["a circle: src/a.rs:2 -> src/a/b.rs:1 -> src/a.rs"]);
        let exports = [("lib.rs", "mod a;"), ("a.rs", "mod b;\npub use b::B;\npub struct A;"), child];
        assert_eq!(judge(&circles(&exports), &[]), [""; 0]);
    }

    #[test]
    fn what_is_known_may_be_there_and_has_to_be() {
        let two = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];
        let known = ["src/a.rs", "src/b.rs"];
        assert_eq!(judge(&circles(&two), &known), [""; 0]);
        assert_eq!(judge(&circles(&two), &known[1..]).len(), 1);
        let gone = judge(&circles(&two), &["src/a.rs", "src/b.rs", "src/c.rs"]);
        assert!(gone[0].starts_with("src/c.rs is in no circle any more"), "{gone:?}");
    }
}
