//! What passes between a process and its surroundings, through one door each. The libraries are guests in programs that
//! they know nothing of, so a door never harms the program that it opens into.
//!
//! | file | what passes |
//! |---|---|
//! | `messages.rs` | messages, on their way out: to the program's own callback, else to standard error |
//! | `listener.rs` | the same, to a function of the program's |
//! | `panics.rs` | panics of the layer, which become messages |
//! | `descriptor.rs` | bytes to a descriptor, at once or not at all |
//! | `file.rs` | files, in and out |
//! | `fault.rs` | what is wrong with one, and where |
//! | `variable.rs` | variables that name files |
//! | `signals.rs` | signals that a write would raise, kept from the program |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![deny(unsafe_code)]

mod descriptor;
pub mod fault;
pub mod file;
mod listener;
pub mod messages;
mod panics;
mod signals;
pub mod variable;
