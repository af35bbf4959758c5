//! `planted`: changes to the product that a test must find. Each is planted alone in a copy of the tree, and the test
//! that is named for it has to fail.

mod list;
mod timed;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Outcome;
use crate::codegen::{difference, read};
use crate::scratch::Tree;
use list::Change;
use timed::End;

pub const LIST: &str = "reports/mutants/planted.toml";
/// The same as a page.
pub const TABLE: &str = "reports/mutants/planted.md";

/// Far more than a build or a named test needs. A test that hangs with a planted change has found it.
const BUILD_TIME_MAX: Duration = Duration::from_secs(1_200);
const TEST_TIME_MAX: Duration = Duration::from_secs(180);

/// Plants the changes of these names, or all, and runs their tests.
pub fn run(root: &Path, names: &[&str]) -> Outcome {
    match names {
        ["--table"] => write_table(root),
        ["--check"] => check(root),
        _ => plant(root, names),
    }
}

fn write_table(root: &Path) -> Outcome {
    let (path, text) = (root.join(TABLE), list::table(&list::read_from(root)?));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}\n", path.display()))?;
    Ok(format!("{TABLE} is written\n"))
}

/// Whether every change still applies, and the page equals the list.
pub fn check(root: &Path) -> Outcome {
    let changes = list::read_from(root)?;
    for change in &changes {
        change.applied_to(&read(&root.join(&change.file))?)?;
    }
    let (committed, fresh) = (read(&root.join(TABLE))?, list::table(&changes));
    if committed != fresh {
        return Err(difference(TABLE, LIST, "planted --table", &committed, &fresh));
    }
    Ok(format!("planted: {} changes apply\n", changes.len()))
}

fn plant(root: &Path, names: &[&str]) -> Outcome {
    let known = list::read_from(root)?;
    if let Some(name) = names.iter().find(|name| !known.iter().any(|change| change.name == **name)) {
        return Err(format!("no change is called {name}; {LIST} has them\n"));
    }
    let wanted: Vec<&Change> =
        known.iter().filter(|change| names.is_empty() || names.contains(&change.name.as_str())).collect();
    let tree = Tree::of(root, "planted")?;
    for test in wanted.iter().map(|change| change.test.as_str()).collect::<BTreeSet<&str>>() {
        if let Some(why) = fails(&tree, test)? {
            return Err(format!("the test fails with nothing planted: {test}\n{why}\n"));
        }
    }
    let mut missed = Vec::new();
    for change in &wanted {
        let found = find(&tree, change)?;
        println!("{}: {}", change.name, found.as_deref().unwrap_or("NOT FOUND"));
        missed.extend(found.is_none().then_some(change.name.as_str()));
    }
    match missed.is_empty() {
        true => Ok(format!("planted: {} changes, each is found\n", wanted.len())),
        false => Err(format!("planted: no test fails with {}\n", missed.join(", "))),
    }
}

/// Plants a change, runs its test, and takes the change out again in every case. Returns how the test found it, or
/// `None`.
fn find(tree: &Tree, change: &Change) -> Result<Option<String>, String> {
    let original = tree.read(&change.file)?;
    tree.write(&change.file, &change.applied_to(&original)?)?;
    let found = fails(tree, &change.test);
    tree.write(&change.file, &original)?;
    found.map_err(|why| format!("{}: {why}", change.name))
}

/// The failure of the test, if it fails. A tree that does not build is an error, because that finds nothing.
fn fails(tree: &Tree, test: &str) -> Result<Option<String>, String> {
    let words: Vec<&str> = test.split_whitespace().collect();
    let split = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut build = cargo(tree, &words[..split]);
    match timed::run(build.arg("--no-run"), &tree.log(), BUILD_TIME_MAX)? {
        End::Good => {}
        End::Bad | End::Late => return Err(format!("it does not build:\n{}", timed::tail(&timed::said(&tree.log())))),
    }
    let end = timed::run(&mut cargo(tree, &words), &tree.log(), TEST_TIME_MAX)?;
    let said = timed::said(&tree.log());
    match end {
        End::Good if !passes_any(&said) => Err(format!("the filter of `{test}` finds no test\n")),
        End::Good => Ok(None),
        End::Bad => Ok(Some(timed::reason(&said))),
        End::Late => Ok(Some(format!("no end after {} s", TEST_TIME_MAX.as_secs()))),
    }
}

fn passes_any(said: &str) -> bool {
    said.lines().any(|line| line.starts_with("test result: ok.") && !line.contains(" 0 passed"))
}

fn cargo(tree: &Tree, words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree.folder()).env("CARGO_TARGET_DIR", tree.build()).env("CARGO_TERM_COLOR", "never");
    command.env("RUST_BACKTRACE", "0").arg("test").args(words);
    command
}

#[cfg(test)]
mod tests {
    /// After editing a line that a planted change names, the author must update the change.
    #[test]
    fn every_change_still_applies_and_the_table_is_true() {
        super::check(&crate::root()).unwrap_or_else(|why| panic!("{why}"));
    }
}
