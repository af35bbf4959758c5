//! What a submission costs a caller who finds none of it in his caches, as one who has slept for a while does.
//! `cargo bench --bench submit -- cold` prints it.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use crate::ways::{Bench, DIRECTIONS, DRIVER_CALL, WAYS};

const ROUNDS: usize = 400;
/// Several times what a core has for itself.
const OTHERS_BYTES: usize = 16 << 20;
const LINE_BYTES: usize = 64;

/// What others do meanwhile: afterwards the core's caches are full of it.
fn others(memory: &mut [u8]) {
    memory.iter_mut().step_by(LINE_BYTES).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(memory);
}

fn median_ns(mut samples: Vec<u128>) -> u128 {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// Prints a row for each way; all ways in turn, so that whatever else the machine does is in all of them.
pub fn report() -> ExitCode {
    let names: Vec<&str> = [DRIVER_CALL].into_iter().chain(WAYS.iter().map(|way| way.name)).collect();
    let benches: Vec<[Bench; 2]> =
        names.iter().map(|name| DIRECTIONS.map(|(direction, _)| Bench::new(name, direction))).collect();
    let mut samples = vec![[(); 2].map(|()| Vec::with_capacity(ROUNDS)); names.len()];
    let mut memory = vec![0; OTHERS_BYTES];
    for _ in 0..ROUNDS {
        for (benches, samples) in benches.iter().zip(&mut samples) {
            for (bench, samples) in benches.iter().zip(samples) {
                others(&mut memory);
                let start = Instant::now();
                bench.copy();
                samples.push(start.elapsed().as_nanos());
            }
        }
    }
    println!(
        "ns of the calling thread for one copy, caches cold, on a driver whose calls do nothing: medians of {ROUNDS}"
    );
    println!("{:<18}{:>8}{:>8}", "", "h2d", "d2h");
    for (name, [to_device, to_host]) in names.into_iter().zip(samples) {
        println!("{name:<18}{:>8}{:>8}", median_ns(to_device), median_ns(to_host));
    }
    ExitCode::SUCCESS
}
