//! `overtake bench`: measures overtake against CUDA alone. `README.md` beside this crate explains the figures; the
//! methods, and the loop that times them, are in the crate `measure`.
#![deny(clippy::print_stderr, clippy::print_stdout)] // they panic without a reader: `console::output` does not
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod args;
mod bandwidth;
mod burst;
pub mod calibrate;
mod film;
mod graph;
mod latency;
mod line;
mod overhead;
mod pageable;
mod pairs;
mod peers;
mod piece;
mod priorities;
mod tasks;
mod video;
mod yard;

pub use args::BenchArguments;

use args::Measurement;
use console::Globals;
use console::failure::Result;

/// Runs the command.
pub fn run(globals: &Globals, bench: &BenchArguments) -> Result<()> {
    match &bench.measurement {
        Measurement::Latency(latency) => latency::run(globals, latency),
        Measurement::Burst(burst) => burst::run(globals, burst),
        Measurement::Overhead(overhead) => overhead::run(globals, overhead),
        Measurement::Bandwidth(bandwidth) if bandwidth.pairs => pairs::run(globals, bandwidth),
        Measurement::Bandwidth(bandwidth) => bandwidth::run(globals, bandwidth),
        Measurement::Pageable(pageable) => pageable::run(globals, pageable),
        Measurement::Peers(peers) => peers::run(globals, peers),
        Measurement::Video(video) => video::run(globals, video),
        Measurement::Tasks(tasks) => tasks::run(globals, tasks),
        Measurement::Graph(graph) => graph::run(globals, graph),
    }
}
