//! Threads of overtake: they sleep in the host's time until a bell rings, and go on after a panic. Threads of the
//! program: a lock keeps them out of a stream while a copy of several calls is submitted.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

mod bell;
pub mod stream_lock;
mod worker;

pub use bell::Bell;
pub use stream_lock::StreamLock;
pub use worker::Worker;
