//! The parts that tests of several crates share: waits that end when a program hangs, binaries that are built once,
//! programs that may be missing, code in pages, counted instructions, and the calls of drivers between another one and
//! its caller.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

pub mod binaries;
pub mod callgrind;
mod calls;
pub mod needs;
pub mod pages;
pub mod patience;
pub mod plans;
pub mod spawn;
