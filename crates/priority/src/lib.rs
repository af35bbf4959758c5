//! The terms that crates share which know no driver: [`Priority`], [`Priorities`] and [`Direction`]. This crate
//! depends on none.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod direction;
mod priority;

pub use direction::Direction;
pub use priority::{Priorities, Priority};
