//! Changes of a whole package in one build: each is made at run time, where its number is asked for.
//!
//! A build for each change takes hours where there are thousands. Those that cannot be chosen at run time are left to
//! cargo-mutants, one by one.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::cargo;
use super::list::{self, Dropped, Mutant, Reason};
use super::programs::Programs;
use crate::codegen::read;
use crate::scratch::Tree;

/// A program asks here whether a change is made.
const QUESTION: &str = "
pub(crate) fn mutant(id: usize) -> bool {
    static ID: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    *ID.get_or_init(|| std::env::var(\"MUTANT\").ok().and_then(|id| id.parse().ok())) == Some(id)
}
";

/// The text of that call in a rewritten file.
const CALL: &str = "crate :: mutant (";

/// So many builds are tried. Each leaves out the changes that do not build.
const ROUNDS_MAX: u32 = 40;

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Found,
    Survives,
    DoesNotBuild,
    /// It is to be made by a build of its own.
    NotMade,
}

/// Makes the changes of these files of a package, and runs the tests with each.
pub fn judge(
    root: &Path,
    tree: &Tree,
    package: &str,
    files: &[&str],
    tests: &[&str],
) -> Result<Vec<(Mutant, Judgement)>, String> {
    let text = list_of(tree, package, files)?;
    let mutants = list::parse(&text)?;
    let (dropped, programs) = build(root, tree, package, &text, tests)?;
    let mut judged = Vec::new();
    for (id, mutant) in mutants.into_iter().enumerate() {
        let judgement = match dropped.mutants.get(&id) {
            Some(Reason::DoesNotBuild) => Judgement::DoesNotBuild,
            Some(Reason::CannotBeChosen) => Judgement::NotMade,
            None if programs.find(id)? => Judgement::Found,
            None => Judgement::Survives,
        };
        if judgement == Judgement::Survives {
            println!("survives: {}", mutant.name);
        }
        judged.push((mutant, judgement));
    }
    Ok(judged)
}

fn list_of(tree: &Tree, package: &str, files: &[&str]) -> Result<String, String> {
    let mut command = cargo();
    command.current_dir(tree.folder()).args(["mutants", "--list", "--json", "--package", package]);
    command.args(["--exclude-re", "tests::"]).args(files.iter().flat_map(|file| ["--file", *file]));
    let output = command.output().map_err(|error| format!("cargo mutants does not start: {error}\n"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Rewrites the files until they build, and the tests with them.
fn build(root: &Path, tree: &Tree, package: &str, list: &str, tests: &[&str]) -> Result<(Dropped, Programs), String> {
    let mutants = list::parse(list)?;
    let library = list::files(&mutants).first().and_then(|file| file.split_once("/src/")).map(|(folder, _)| folder);
    let library = format!("{}/src/lib.rs", library.ok_or("there is nothing to change\n")?);
    let mut dropped = Dropped::default();
    for _ in 0..ROUNDS_MAX {
        for file in list::files(&mutants) {
            tree.write(file, &read(&root.join(file))?)?;
        }
        let left_out = rewrite(root, tree, list, &dropped)?;
        let lints = |line: &&str| !line.starts_with("#![deny(") && !line.starts_with("#![cfg_attr(");
        let text = read(&root.join(&library))?;
        let text: Vec<&str> = text.lines().filter(lints).collect();
        tree.write(&library, &(text.join("\n") + QUESTION))?;
        // A test may call a function in a constant, where no change can be chosen.
        let (mut check, mut build) = (command(tree), command(tree));
        check.args(["check", "--package", package, "--lib", "--message-format", "json"]);
        build.args(["test", "--package", package, "--no-run", "--message-format", "json"]).args(tests);
        if succeeds(tree, &mut check, &mut dropped)?.is_some()
            && let Some(messages) = succeeds(tree, &mut build, &mut dropped)?
        {
            dropped.mutants.extend(left_out.into_iter().map(|mutant| (mutant, Reason::CannotBeChosen)));
            return Ok((dropped, Programs::of(tree, &messages, tests)?));
        }
    }
    Err(format!("{package} with its changes does not build after {ROUNDS_MAX} rounds\n"))
}

/// Runs this program once more with a parser of Rust built in, so that other chores need not build it. Returns the
/// changes that it cannot make.
fn rewrite(root: &Path, tree: &Tree, list: &str, dropped: &Dropped) -> Result<Vec<usize>, String> {
    let files = [("list.json", list.to_owned()), ("dropped", dropped.text())];
    let paths = files.each_ref().map(|(name, _)| tree.folder().with_file_name(name));
    for ((_, text), path) in files.iter().zip(&paths) {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}\n", path.display()))?;
    }
    let mut command = cargo();
    command.current_dir(root).args(["run", "--quiet", "--package", "overtake-xtask", "--features", "mutants", "--"]);
    command.arg("rewrite").arg(tree.folder()).args(&paths);
    let output = command.output().map_err(|error| format!("cargo does not start: {error}\n"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect())
}

/// The messages of a build that succeeds. If it does not, some changes are left out from now on.
fn succeeds(tree: &Tree, build: &mut Command, dropped: &mut Dropped) -> Result<Option<String>, String> {
    let output = build.output().map_err(|error| format!("cargo does not start: {error}\n"))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(Some(messages));
    }
    let mut is_new = false;
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] == "error" {
            is_new |= leave_out(tree, message, dropped)?;
        }
    }
    match is_new {
        true => Ok(None),
        false => Err(format!("it does not build with its changes:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Leaves out the change that an error of the compiler is about. Returns whether there is one.
fn leave_out(tree: &Tree, message: &Value, dropped: &mut Dropped) -> Result<bool, String> {
    let words = message["message"].as_str().unwrap_or_default();
    let constant = words.strip_prefix("cannot call non-const ").and_then(|rest| rest.split('`').nth(1));
    if let Some(function) = constant {
        return Ok(dropped.constant.insert(function.rsplit("::").next().unwrap_or(function).to_owned()));
    }
    let mut is_new = false;
    for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
        let text = tree.read(span["file_name"].as_str().unwrap_or_default())?;
        let at = |end: &str| span[end].as_u64().map_or(0, |at| at as usize).min(text.len());
        let (place, reason) = match message["code"]["code"] == "E0004" {
            // No arm is left for a case: one of this `match` may go, but not all.
            true => (last_arm(&text, at("byte_end")), Reason::CannotBeChosen),
            false => (text[..at("byte_start")].rfind(CALL), Reason::DoesNotBuild),
        };
        let Some(place) = place else { continue };
        let number: String = text[place + CALL.len()..].chars().take_while(char::is_ascii_digit).collect();
        is_new |= number.parse().is_ok_and(|mutant| dropped.mutants.insert(mutant, reason).is_none());
    }
    Ok(is_new)
}

/// The last change in the guard of an arm, in the braces behind this place.
fn last_arm(text: &str, from: usize) -> Option<usize> {
    let (mut depth, mut end) = (0, text.len());
    for (at, letter) in text[from..].char_indices() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if depth == 0 && letter == '}' {
            end = from + at;
            break;
        }
    }
    text[from..end].rfind(&format!("! {CALL}")).map(|at| from + at + 2)
}

/// Cargo for the rewritten tree: quick programs, and no warnings.
pub fn command(tree: &Tree) -> Command {
    let mut command = cargo();
    command.current_dir(tree.folder()).env("CARGO_TARGET_DIR", tree.build().with_file_name("switched"));
    command.env("RUSTFLAGS", "--cap-lints allow").env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arm_that_may_go_is_one_of_the_match() {
        let text = format!("match a {{ 1 if ! {CALL}7) => {{ }} _ => 2 }} b {{ ! {CALL}8) }}");
        let place = last_arm(&text, "match a".len()).unwrap();
        assert!(text[place..].starts_with(&format!("{CALL}7)")));
        assert_eq!(last_arm("match a { 1 => 2 }", 7), None);
    }
}
