//! Threads of overtake: they sleep in the host's time until a bell rings, and go on after a panic. Threads of the
//! program: a gate keeps them out of a stream while a copy is half in it.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod bell;
pub mod gate;
mod worker;

pub use bell::Bell;
pub use gate::Gate;
pub use worker::Worker;
