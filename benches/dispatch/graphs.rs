//! The time of a small kernel on a device: launched by hand, by a template, by a fixed template, which is one graph,
//! and as a graph that is captured by hand. Chains begin and end together.
#![allow(unsafe_code)] // kernels are launched; the word that they write lives until the program ends

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{self, CaptureMode, Device, GraphExec};
use overtake::task::{Handle, Recording, Tasks, Template};
use overtake::{Options, Overtake};

use crate::Outcome;
use crate::device::Bed;
use crate::rounds::median;

const ROUNDS: usize = 101;
/// The chains of a template, and the kernels of each.
const SHAPES: [(usize, usize); 4] = [(1, 8), (1, 64), (4, 2), (4, 16)];
const CHAINS_MAX: usize = 4;
/// Replays that are submitted behind each other before the last is waited for.
const IN_A_ROW: [usize; 2] = [1, 20];
const WAYS: [&str; 4] = ["calls by hand", "template", "fixed template", "graph by hand"];

/// Chains in a stream each: the others fork from the first, and join it.
fn by_hand(bed: &Bed, (chains, kernels): (usize, usize)) -> hal::Result<()> {
    let Bed { driver, streams, events, .. } = bed;
    if chains > 1 {
        driver.event_record(events[0], streams[0])?;
        streams[1..chains].iter().try_for_each(|stream| driver.stream_wait_event(*stream, events[0]))?;
    }
    (0..chains * kernels).try_for_each(|number| bed.call(streams[number % chains]))?;
    for (event, stream) in events.iter().zip(streams).take(chains).skip(1) {
        driver.event_record(*event, *stream)?;
        driver.stream_wait_event(streams[0], *event)?;
    }
    Ok(())
}

fn graph(bed: &Bed, shape: (usize, usize)) -> hal::Result<GraphExec> {
    bed.driver.stream_begin_capture(bed.streams[0], CaptureMode::ThreadLocal)?;
    by_hand(bed, shape)?;
    let graph = bed.driver.stream_end_capture(bed.streams[0])?;
    let exec = bed.driver.graph_instantiate(graph)?;
    bed.driver.graph_destroy(graph)?;
    Ok(exec)
}

fn template(bed: &Bed, (chains, kernels): (usize, usize)) -> Result<Template<()>, overtake::task::Error> {
    let mut recording = Recording::new();
    for _ in 0..chains {
        let mut last = None;
        for _ in 0..kernels {
            let launch = bed.launch();
            last = Some(recording.kernel("kernel", last.as_slice(), move |lane, ()| launch(lane)));
        }
    }
    recording.finish()
}

/// Replays behind each other. Returns the last.
fn replay(template: &Template<()>, tasks: &Tasks, in_a_row: usize) -> Outcome<Option<Handle>> {
    let mut last: Option<Handle> = None;
    for _ in 0..in_a_row {
        let replay = template.replay(tasks, ());
        last = Some(last.iter().fold(replay, |replay, last| replay.after(last)).submit()?);
    }
    Ok(last)
}

/// Microseconds of a kernel until all are submitted, and to the end of all: of each way, which take turns.
fn measure(bed: &Bed, tasks: &Tasks, shape: (usize, usize), in_a_row: usize) -> Outcome<[[f64; 2]; WAYS.len()]> {
    let (template, graph) = (template(bed, shape)?, graph(bed, shape)?);
    // SAFETY: its kernels write a word that stays.
    let fixed = unsafe { template.clone().fixed() };
    let mut samples = [const { [const { Vec::new() }; 2] }; WAYS.len()];
    // SAFETY: as above.
    let launch = |_| unsafe { bed.driver.graph_launch(graph, bed.streams[0]) };
    // The first round makes the graphs.
    for round in 0..=ROUNDS {
        for (way, samples) in samples.iter_mut().enumerate() {
            let start = Instant::now();
            let last = match way {
                0 => (0..in_a_row).try_for_each(|_| by_hand(bed, shape)).map(|()| None)?,
                1 => replay(&template, tasks, in_a_row)?,
                2 => replay(&fixed, tasks, in_a_row)?,
                _ => (0..in_a_row).try_for_each(launch).map(|()| None)?,
            };
            let submitted = start.elapsed();
            match last {
                Some(last) => last.wait()?,
                None => bed.driver.stream_synchronize(bed.streams[0])?,
            }
            let kernels = (shape.0 * shape.1 * in_a_row) as f64;
            if round > 0 {
                let times = [submitted, start.elapsed()].map(|span| span.as_secs_f64() * 1e6 / kernels);
                samples.iter_mut().zip(times).for_each(|(samples, time)| samples.push(time));
            }
        }
    }
    tasks.wait()?;
    bed.driver.graph_exec_destroy(graph)?;
    Ok(samples.map(|samples| samples.map(median)))
}

fn run() -> Outcome<()> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let (bed, tasks) =
        (overtake.cuda_context().call(|_| Bed::new(&driver, CHAINS_MAX, CHAINS_MAX))?, Tasks::new(&dispatcher));
    println!("{}; us of a kernel, medians of {ROUNDS} rounds", driver.device_name(Device(0))?);
    println!("{:<18}{:>8}  {:<16}{:>12}{:>12}", "chains x kernels", "in a row", "", "to submitted", "to ended");
    for (shape, in_a_row) in SHAPES.into_iter().flat_map(|shape| IN_A_ROW.map(|in_a_row| (shape, in_a_row))) {
        let told = overtake.cuda_context().enter().map(|_entered| measure(&bed, &tasks, shape, in_a_row))??;
        for (way, [submitted, ended]) in WAYS.into_iter().zip(told) {
            let label = format!("{} x {}", shape.0, shape.1);
            println!("{label:<18}{in_a_row:>8}  {way:<16}{submitted:>12.3}{ended:>12.3}");
        }
    }
    let statistics = dispatcher.statistics();
    println!("replays by graph {}, by calls in vain {}", statistics.graph_launches, statistics.graph_fallbacks);
    Ok(())
}

/// Prints a row for each shape and way.
pub fn report() -> ExitCode {
    crate::told(run())
}
