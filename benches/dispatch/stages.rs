//! The four calls of a frame, without contention and without tasks: the ring, the book, the buffers and the records.

use std::process::ExitCode;
use std::time::Instant;

use overtake::pipeline::{Consumer, Filled, Filling, Pipeline, PipelineOptions, Producer};

use crate::chain::Ground;
use crate::{Bounds, print};

const NANOSECONDS: Bounds = Bounds { limit: 60.0, goal: 15.0 };
const CALLS: [&str; 4] = ["acquire", "commit", "wait", "release"];
/// Pipelines that a call is timed on, one after the other: one call is too short for a clock.
const PIPELINES: usize = 64;
const ROUNDS: usize = 2_001;

type Ends = (Pipeline<u64>, Producer<u64>, Consumer<u64>);

/// Nanoseconds of a call, made once on each pipeline.
fn time<T>(step: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = step();
    (value, start.elapsed().as_nanos() as f64 / PIPELINES as f64)
}

fn acquire(producer: &mut Producer<u64>) -> Filling<'_, u64> {
    producer.acquire().expect("it goes on").expect("it is free")
}

fn wait(consumer: &mut Consumer<u64>) -> Filled<'_, u64> {
    consumer.wait().expect("it is full")
}

/// Passes a frame through each pipeline. Returns the time of each call.
fn pass(all: &mut [Ends]) -> [f64; CALLS.len()] {
    let (mut filling, mut filled): (Vec<Filling<'_, u64>>, Vec<Filled<'_, u64>>) =
        (Vec::with_capacity(PIPELINES), Vec::with_capacity(PIPELINES));
    let (mut producers, mut consumers) = (Vec::with_capacity(PIPELINES), Vec::with_capacity(PIPELINES));
    for (_, producer, consumer) in all {
        producers.push(producer);
        consumers.push(consumer);
    }
    let ((), acquired) = time(|| filling.extend(producers.into_iter().map(acquire)));
    let ((), committed) = time(|| filling.drain(..).for_each(|frame| frame.commit().expect("it goes on")));
    let ((), waited) = time(|| filled.extend(consumers.into_iter().map(wait)));
    let ((), released) = time(|| filled.drain(..).for_each(|frame| frame.release().expect("it goes on")));
    [acquired, committed, waited, released]
}

/// Prints the time of each call. Fails if one is above its limit.
pub fn report() -> ExitCode {
    let ground = Ground::new();
    ground.be_alone();
    let tasks = ground.tasks();
    let open = |_| {
        let options = PipelineOptions { records_max: 16, ..PipelineOptions::default() };
        Pipeline::open(&tasks, options, |_| Ok(0_u64)).expect("it opens")
    };
    let mut all: Vec<Ends> = (0..PIPELINES).map(open).collect();
    let rounds: Vec<[f64; CALLS.len()]> = (0..ROUNDS).map(|_| pass(&mut all)).collect();
    let mut holds = true;
    for (call, name) in CALLS.iter().enumerate() {
        let mut samples: Vec<f64> = rounds.iter().map(|round| round[call]).collect();
        samples.sort_unstable_by(f64::total_cmp);
        holds &= print(&format!("{name}, of a pipeline"), samples[ROUNDS / 2], "ns", NANOSECONDS);
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
