//! Being written.

pub mod probe;
