//! The cost of a submission whose code and data are not in the caches, as after a long sleep of the caller. `cargo
//! bench --bench submit -- cold` prints it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use crate::ways::{Bench, DIRECTIONS, names, print_head, print_row};

const ROUNDS: usize = 400;
/// Several times the size of a core's own caches.
const OTHERS_BYTES: usize = 16 << 20;
const LINE_BYTES: usize = 64;

/// The work of other programs: afterwards the core's caches hold only their memory.
fn others(memory: &mut [u8]) {
    memory.iter_mut().step_by(LINE_BYTES).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(memory);
}

fn median_ns(mut samples: Vec<u64>) -> u64 {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// Prints a row for each way. All ways are measured in turn, so that other load on the machine affects all of them.
pub fn report() -> ExitCode {
    let new = |name| DIRECTIONS.map(|(direction, _)| (Bench::new(name, direction), Vec::new()));
    let mut ways: Vec<_> = names().map(|name| (name, new(name))).collect();
    let mut memory = vec![0; OTHERS_BYTES];
    for _ in 0..ROUNDS {
        for (bench, samples) in ways.iter_mut().flat_map(|(_, both)| both) {
            others(&mut memory);
            let start = Instant::now();
            bench.copy();
            samples.push(start.elapsed().as_nanos() as u64);
        }
    }
    print_head("ns of the calling thread for one copy, caches cold, on a driver whose calls do nothing: medians");
    for (name, both) in ways {
        print_row(name, both.map(|(_, samples)| median_ns(samples)));
    }
    ExitCode::SUCCESS
}
