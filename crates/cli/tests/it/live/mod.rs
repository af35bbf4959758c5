//! `overtake top` and `overtake metrics`, beside the drop-in on the software GPU, and with files as it writes them.

mod dashboard;
mod exposition;
mod metrics;
mod program;
mod real;
mod screen;
mod written;
