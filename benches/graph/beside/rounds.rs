//! Rounds in which methods take turns, and the figures of their samples.

use std::hint::black_box;

/// The counted runs of a sample, and the samples of a method.
pub const RUNS: usize = 51;
pub const ROUNDS: usize = 15;

/// The samples of all rows, a round in a line. Each round begins with another row.
pub fn in_turns<const ROWS: usize>(mut sample: impl FnMut(usize) -> f64) -> Vec<[f64; ROWS]> {
    (0..ROUNDS)
        .map(|round| {
            let mut samples = [0.0; ROWS];
            (0..ROWS).map(|turn| (turn + round) % ROWS).for_each(|row| samples[row] = sample(row));
            samples
        })
        .collect()
}

/// It has nothing to do with tasks: it shows how far the machine wanders. Returns how often it has multiplied.
pub fn control(times: u64) -> u64 {
    let mut value = 1_u64;
    for _ in 0..times {
        value = black_box(value).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(value);
    times
}

/// Median, lowest, highest.
pub fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

pub fn median(values: Vec<f64>) -> f64 {
    spread(values).0
}
