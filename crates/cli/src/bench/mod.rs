//! Measuring urgent copies beside bulk copies, method against method; `README.md` beside this file says how to read it.
//!
//! A [`method::Method`] opens two flows, urgent copies and bulk requests. The [`bulk::Feeder`] keeps bulk requests
//! outstanding on a thread of its own; the urgent loop times copies from the call to a completion word seen in host
//! memory. [`runner::run`] interleaves scenarios in rounds, so that a machine that gets slower gets slower for all of
//! them.
//!
//! Nothing here reads a clock of its own: on the software GPU the same code runs in virtual time.

mod args;
mod bandwidth;
pub mod bulk;
mod burst;
pub mod case;
pub mod catalogue;
pub mod flow;
pub mod ground;
mod hunt;
mod latency;
pub mod method;
pub mod native;
mod overhead;
pub mod present;
mod priorities;
pub mod product;
pub mod runner;
pub mod stage;
pub mod urgent;

pub use args::BenchArguments;

use crate::args::Arguments;
use crate::failure::Result;
use args::What;

/// Runs the command.
pub fn run(arguments: &Arguments, bench: &BenchArguments) -> Result<()> {
    match &bench.what {
        What::Latency(latency) => latency::run(arguments, latency),
        What::Burst(burst) => burst::run(arguments, burst),
        What::Overhead(overhead) => overhead::run(arguments, overhead),
        What::Bandwidth(bandwidth) => bandwidth::run(arguments, bandwidth),
        What::Hunt(hunt) => hunt::run(arguments, hunt),
    }
}
