//! `overtake top` and `overtake metrics`, beside the drop-in on the software GPU, and with files as it writes them.

#[allow(dead_code)] // not every test uses all of it
#[path = "../common/mod.rs"]
mod common;

mod dashboard;
mod exposition;
mod metrics;
mod program;
mod real;
mod screen;
mod written;
