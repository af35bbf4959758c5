//! Trials that need the model.

use crate::failure::Outcome;

pub type OnModel = fn() -> Outcome;

/// Checks that need the model.
pub const ALL: &[(&str, OnModel)] = &[];
