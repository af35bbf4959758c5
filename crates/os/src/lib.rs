//! What a library does with the process around it, one module for each kind: messages, files, environment variables,
//! forks, threads. The libraries are guests in programs that they know nothing about, so nothing here harms the
//! program.
//!
//! | file | content |
//! |---|---|
//! | `board.rs` | a small file that others read, and that is changed without system calls |
//! | `messages.rs` | messages, to the program's own callback or else to standard error |
//! | `caller.rs` | the state of a program's thread that calls into the layer, which is preserved |
//! | `listener.rs` | the thread that calls the program's callback |
//! | `panics.rs` | panics of the layer, which become messages |
//! | `descriptor.rs` | writes to a descriptor that never block |
//! | `file.rs` | reading and writing files |
//! | `fault.rs` | mistakes in a text, with their position |
//! | `faults.rs` | whether the program handles faults in its memory |
//! | `forks.rs` | whether this process is the child of another one |
//! | `variable.rs` | environment variables that name files, and one that is set |
//! | `threads.rs` | threads, which inherit nothing from the thread that starts them |
//! | `pcie.rs` | the limit of a device's link |
//! | `signals.rs` | keeps signals that a write raises from the program |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod board;
pub mod caller;
mod descriptor;
pub mod fault;
pub mod faults;
pub mod file;
pub mod forks;
mod listener;
pub mod messages;
mod panics;
pub mod pcie;
mod signals;
pub mod threads;
pub mod variable;
