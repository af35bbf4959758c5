//! Measures urgent copies beside bulk copies, method against method: what `overtake bench`, `overtake demo` and the
//! hunt share.
//!
//! A [`method::Method`] opens two flows, urgent copies and bulk requests. The [`bulk::Feeder`] keeps bulk requests
//! outstanding on a thread of its own; the urgent loop times copies from the call to a completion word seen in host
//! memory. [`runner::run`] interleaves scenarios in rounds, so that a machine that gets slower gets slower for all of
//! them.
//!
//! No code here reads a clock of its own: on the software GPU it runs in virtual time.
#![deny(clippy::print_stderr, clippy::print_stdout)] // they panic without a reader: `console::output` does not
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]
#![allow(missing_docs)] // no program builds on it, and most fields say by their names what they hold

pub mod args;
pub mod bulk;
pub mod case;
pub mod catalogue;
pub mod flow;
pub mod ground;
pub mod method;
pub mod native;
pub mod present;
pub mod product;
pub mod rig;
pub mod runner;
pub mod stage;
pub mod urgent;
