//! The parts that tests of several crates share: waits that end when a program hangs, binaries that are built once,
//! programs that may be missing, code in pages, counted instructions, and the calls of drivers between another one and
//! its caller. The feature `fixture` adds what the suites on every driver share.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod alone;
pub mod binaries;
pub mod callgrind;
mod calls;
#[cfg(feature = "fixture")]
pub mod fixture;
pub mod needs;
pub mod pages;
pub mod patience;
pub mod plans;
mod refused_threads;
pub mod spawn;
pub mod watchdog;
