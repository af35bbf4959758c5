//! Threads of overtake: they sleep in the host's time until a bell rings, and go on after a panic.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod bell;
mod worker;

pub use bell::Bell;
pub use worker::Worker;
