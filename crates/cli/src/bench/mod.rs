//! Measures urgent copies beside bulk copies, method against method; `README.md` beside this file explains the
//! figures.
//!
//! A [`method::Method`] opens two flows, urgent copies and bulk requests. The [`bulk::Feeder`] keeps bulk requests
//! outstanding on a thread of its own; the urgent loop times copies from the call to a completion word seen in host
//! memory. [`runner::run`] interleaves scenarios in rounds, so that a machine that gets slower gets slower for all of
//! them.
//!
//! No code here reads a clock of its own: on the software GPU it runs in virtual time.

mod args;
mod bandwidth;
pub mod bulk;
mod burst;
pub mod case;
pub mod catalogue;
mod film;
pub mod flow;
mod graph;
pub mod ground;
mod hunt;
mod latency;
mod line;
pub mod method;
pub mod native;
mod overhead;
mod pageable;
mod pairs;
mod peers;
mod piece;
pub mod present;
mod priorities;
pub mod product;
pub mod runner;
pub mod stage;
mod tasks;
pub mod urgent;
mod video;
mod yard;

pub use args::BenchArguments;

use crate::args::Arguments;
use crate::failure::Result;
use args::Measurement;

/// Runs the command.
pub fn run(arguments: &Arguments, bench: &BenchArguments) -> Result<()> {
    match &bench.measurement {
        Measurement::Latency(latency) => latency::run(arguments, latency),
        Measurement::Burst(burst) => burst::run(arguments, burst),
        Measurement::Overhead(overhead) => overhead::run(arguments, overhead),
        Measurement::Bandwidth(bandwidth) if bandwidth.pairs => pairs::run(arguments, bandwidth),
        Measurement::Bandwidth(bandwidth) => bandwidth::run(arguments, bandwidth),
        Measurement::Pageable(pageable) => pageable::run(arguments, pageable),
        Measurement::Peers(peers) => peers::run(arguments, peers),
        Measurement::Video(video) => video::run(arguments, video),
        Measurement::Tasks(tasks) => tasks::run(arguments, tasks),
        Measurement::Graph(graph) => graph::run(arguments, graph),
        Measurement::Hunt(hunt) => hunt::run(arguments, hunt),
    }
}
