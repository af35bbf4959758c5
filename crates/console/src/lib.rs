//! The parts that the command `overtake`, its measurements and the hunt share: the driver and the device that the
//! command line selects, the origin of numbers, failures with their cure, files, standard output, and progress.
#![deny(clippy::print_stderr, clippy::print_stdout)] // they panic without a reader: see `output.rs`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod device;
pub mod environment;
pub mod failure;
mod globals;
pub mod header;
pub mod open;
pub mod output;
pub mod progress;
pub mod version;

pub use globals::{BackendName, Globals};
