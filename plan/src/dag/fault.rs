//! Faults of texts and of plans.

use std::fmt;

/// A fault of a text, or of a program for these policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1 up.
    pub line: usize,
    /// The fault, and its cure.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Fault {}
