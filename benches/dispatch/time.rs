//! The time of a task, with one thread that submits, and with eight.

use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use crate::chain::{Chain, Ground, Shape};
use crate::{Bounds, print};

const NANOSECONDS: Bounds = Bounds { limit: 150.0, goal: 60.0 };
/// The same for a task of a template.
const NANOSECONDS_REPLAYED: Bounds = Bounds { limit: 80.0, goal: 30.0 };
const ROUNDS: usize = 15;
/// Tasks of a thread in a round.
const TASKS: u32 = 32_768;
/// A thread is at most two of these ahead of the device.
const BLOCK: u32 = 1_024;

/// From the start of a thread to its end.
type Span = (Instant, Instant);

/// Has the tasks run. Returns the spans that count, each of which begins for all threads at once.
fn run(chain: &mut Chain, shape: Shape, barrier: &Barrier) -> Vec<Span> {
    let is_ready = matches!(shape, Shape::Ready | Shape::ReadyOfEight);
    let spans = if is_ready { TASKS / BLOCK } else { 1 };
    let span = |_| {
        if is_ready {
            chain.hold(BLOCK);
        }
        barrier.wait();
        let start = Instant::now();
        if is_ready {
            chain.counted_tasks_released()
        } else {
            submit(chain)
        }
        let end = Instant::now();
        // The submission of others is no part of it.
        barrier.wait();
        (start, end)
    };
    (0..spans).map(span).collect()
}

/// Submits tasks, and waits for the last.
fn submit(chain: &mut Chain) {
    let mut before = None;
    for _ in 0..TASKS / BLOCK {
        chain.counted_tasks(BLOCK);
        if let Some(before) = before.replace(chain.last().clone()) {
            before.wait().expect("no task fails");
        }
    }
    chain.wait();
}

/// Nanoseconds of a task in each round: the time from the first start of a thread to the last end, by the tasks of all.
fn rounds(ground: &Ground, shape: Shape, threads: u32) -> Vec<f64> {
    let mut chains: Vec<Chain> = (0..threads).map(|_| ground.chain(shape)).collect();
    let mut samples = Vec::new();
    for _ in 0..=ROUNDS {
        let barrier = Barrier::new(threads as usize);
        let spans: Vec<Vec<Span>> = std::thread::scope(|scope| {
            let barrier = &barrier;
            let spawn = |chain| scope.spawn(move || run(chain, shape, barrier));
            let threads: Vec<_> = chains.iter_mut().map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().expect("no task fails")).collect()
        });
        let whole = |number: usize| {
            let start = spans.iter().map(|spans| spans[number].0).min();
            let end = spans.iter().map(|spans| spans[number].1).max();
            end.zip(start).map_or(0, |(end, start)| end.duration_since(start).as_nanos())
        };
        let spent_ns: u128 = (0..spans[0].len()).map(whole).sum();
        samples.push(spent_ns as f64 / f64::from(TASKS * threads));
    }
    // The first is the warm-up.
    samples.remove(0);
    samples.sort_unstable_by(f64::total_cmp);
    samples
}

/// Prints a row for each of these shapes and numbers of threads.
pub fn report_of(shapes: &[(&str, Shape)], counts: &[u32]) -> ExitCode {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; medians of {ROUNDS} rounds of {TASKS} tasks a thread, with the extremes");
    let ground = Ground::new();
    let mut is_within = true;
    for &(name, shape) in shapes {
        for &threads in counts {
            let samples = rounds(&ground, shape, threads);
            let name = format!("{name}, {threads} thread{}", if threads == 1 { "" } else { "s" });
            let is_replayed = matches!(shape, Shape::Replay | Shape::ReplayOfFour | Shape::ReplayFixed);
            let bounds = if is_replayed { NANOSECONDS_REPLAYED } else { NANOSECONDS };
            is_within &= print(&name, samples[samples.len() / 2], "ns", bounds);
            println!("{:44}{:>8.0} to {:.0}", "", samples[0], samples[samples.len() - 1]);
        }
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
