//! The cost of a task through the dispatcher, on a driver whose calls do nothing and whose device completes everything
//! at once: one dependent, from ready to complete, and from its submission to its end.
//!
//! `cargo bench --bench dispatch` prints the time of a task with one thread and with eight; `-- threads 1 2 16` with so
//! many, and `-- ready 1 2 16` only that from ready to complete; `-- instructions` prints its instructions, and where
//! they go. `-- shapes` prints the time of a task in the shapes of Task Bench, `-- shapes instructions` its
//! instructions, and `-- shapes device` the same on a device beside streams and events; `-- stress` prints that of
//! tasks on arrays there, as CUDASTF's stress tests measure it, `-- stress instructions` its instructions, and
//! `-- stress shapes` the six shapes on arrays.
//! `-- graphs` prints the time of a small kernel of a template there: by calls, as a graph, and as a graph by hand.
//! `-- frame` prints the host's time for a frame of a camera on a device, and `-- stages` that of the four calls of a
//! pipeline. `-- beside 1 8` puts ready to complete beside oneTBB's flow graph, in one process and in turns
//! (`benches/graph/beside.sh`). Each figure that has a limit stands beside it, and the program fails if one is above.
//!
//! With several threads each has a chain of its own, and the time is that on the clock, from the first release to the
//! last end, by the tasks of all threads: as for oneTBB in `benches/graph/beside`. All chains go through one
//! dispatcher, which launches one task at a time, so it is also the time that the launching thread spends on a task.
#![allow(unsafe_code)] // the driver that does nothing has calls that are unsafe

mod array_shapes;
mod beside;
mod chain;
mod count;
mod device;
// oneTBB's flow graph, as beside the graph alone.
#[path = "../graph/beside/flow.rs"]
mod flow;
mod frame;
mod graphs;
#[path = "../graph/beside/rounds.rs"]
mod rounds;
// The driver that does nothing, for the submission of copies and that of tasks.
#[allow(dead_code)]
#[path = "../submit/null.rs"]
mod null;
mod patterns;
mod stages;
mod stress;
mod time;

use std::process::ExitCode;

use chain::{READY_SHAPES, SHAPES};

/// A limit, and the goal below it.
#[derive(Clone, Copy)]
struct Bounds {
    limit: f64,
    goal: f64,
}

/// Prints a figure beside its bounds. Returns whether it is within the limit.
fn print(name: &str, figure: f64, unit: &str, bounds: Bounds) -> bool {
    let Bounds { limit, goal } = bounds;
    let verdict = if figure <= goal {
        "within the goal"
    } else if figure <= limit {
        "within the limit"
    } else {
        "ABOVE THE LIMIT"
    };
    println!("{name:<44}{figure:>8.0} {unit:<13}limit {limit:>4}, goal {goal:>4}: {verdict}");
    figure <= limit
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Prints the error, if there is one.
fn told(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().flat_map(|word| word.parse()).collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["instructions"] => count::report(),
        ["shapes"] => patterns::report(false),
        ["shapes", "instructions"] => patterns::report(true),
        ["shapes", "device"] => device::report(),
        ["stress"] => stress::report(),
        ["stress", "shapes"] => array_shapes::report(),
        ["stress", "instructions"] => stress::report_instructions(),
        ["graphs"] => graphs::report(),
        ["frame"] => frame::report(),
        ["stages"] => stages::report(),
        ["beside", ref counts @ ..] => beside::report(&numbers(counts)),
        ["counted-shape", pattern, way] => patterns::counted(pattern, way),
        ["counted-stress", way] => stress::counted(way),
        ["counted", shape, tasks] => count::counted(shape, tasks),
        ["threads", ref counts @ ..] => time::report_of(&SHAPES, &numbers(counts)),
        ["ready", ref counts @ ..] => time::report_of(&SHAPES[..READY_SHAPES], &numbers(counts)),
        _ => time::report_of(&SHAPES, &[1, 8]),
    }
}
