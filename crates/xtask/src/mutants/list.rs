//! The list of changes that cargo-mutants makes, and those of them that are not made at run time.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Deserialize;

/// A change. `rewrite.rs` reads more of it.
#[derive(Deserialize)]
pub struct Mutant {
    pub file: String,
    /// As cargo-mutants prints it: file, line, column and words.
    pub name: String,
}

pub fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    serde_json::from_str(text).map_err(|error| format!("the list of cargo-mutants: {error}\n"))
}

/// The files in which something is changed.
pub fn files(mutants: &[Mutant]) -> BTreeSet<&str> {
    mutants.iter().map(|mutant| &*mutant.file).collect()
}

/// The reason why a change is not made at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No code of it builds.
    DoesNotBuild,
    /// It builds only where it is not chosen at run time, or may do so.
    CannotBeChosen,
}

/// The changes that are not made at run time, by their numbers, and the functions that constants are made with.
#[derive(Default)]
pub struct Dropped {
    pub mutants: HashMap<usize, Reason>,
    pub constant: HashSet<String>,
}

impl Dropped {
    /// A line for each: a number, or the name of a function.
    pub fn text(&self) -> String {
        let numbers = self.mutants.keys().map(ToString::to_string);
        numbers.chain(self.constant.iter().cloned()).map(|line| line + "\n").collect()
    }
}
