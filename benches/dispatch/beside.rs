//! Ready to complete, beside oneTBB's flow graph: in one process, in turns. `benches/graph/beside.sh` builds the
//! library of oneTBB, and names it in `BESIDE_LIBRARY`.
//!
//! Both have chains of nodes that are there before, a chain a thread, with functions that count. The dispatcher's are
//! tasks of a kernel each: they have a lane, a launch, and an outcome that threads can wait for.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use crate::chain::{Chain, Ground, Shape};
use crate::flow::{Flow, Library, Threads};
use crate::rounds::{ROUNDS, RUNS, control, in_turns, median, spread};

/// Tasks of a chain, as in `benches/graph/beside`.
const LENGTH: u32 = 1_000;
const ROWS: [&str; 3] = ["the dispatcher: ready to complete", "oneTBB flow graph: ready to complete", "control"];

/// Nanoseconds of each run of the dispatcher, on so many threads: from the first release to the last end.
fn runs(chains: &mut [Chain]) -> Vec<f64> {
    let barrier = Barrier::new(chains.len());
    let run = |chain: &mut Chain| {
        let span = |_| {
            chain.hold(LENGTH);
            barrier.wait();
            let start = Instant::now();
            chain.counted_tasks_released();
            let end = Instant::now();
            barrier.wait();
            (start, end)
        };
        (0..=RUNS).map(span).collect::<Vec<_>>()
    };
    let spans: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = chains.iter_mut().map(|chain| scope.spawn(|| run(chain))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no task fails")).collect()
    });
    let whole = |number: usize| {
        let start = spans.iter().map(|spans| spans[number].0).min();
        let end = spans.iter().map(|spans| spans[number].1).max();
        end.zip(start).map_or(0.0, |(end, start)| end.duration_since(start).as_nanos() as f64)
    };
    (0..=RUNS).map(whole).collect()
}

/// Nanoseconds a task of a row, in the median run but the first, which makes the memory that later ones use again.
fn sample(row: usize, chains: &mut [Chain], threads: &Threads) -> f64 {
    let tasks = chains.len() as u64 * u64::from(LENGTH);
    let spent_ns = match row {
        0 => {
            let before: u64 = chains.iter().map(Chain::ran).sum();
            let spent_ns = runs(chains);
            let ran = chains.iter().map(Chain::ran).sum::<u64>() - before;
            assert_eq!(ran, tasks * (RUNS as u64 + 1), "each task runs once");
            spent_ns
        }
        1 => {
            let flow = Flow::new(threads, chains.len(), LENGTH as usize);
            timed(|| assert_eq!(flow.run(), tasks, "each task runs once"))
        }
        _ => timed(|| assert_eq!(control(tasks), tasks)),
    };
    median(spent_ns[1..].to_vec()) / tasks as f64
}

fn timed(run: impl Fn()) -> Vec<f64> {
    let span = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64
    };
    (0..=RUNS).map(span).collect()
}

/// Prints the rows. Returns whether the dispatcher takes no longer than oneTBB.
fn compare(library: Library, count: u32) -> bool {
    let ground = Ground::new();
    let mut chains: Vec<Chain> = (0..count).map(|_| ground.chain(Shape::Counting)).collect();
    let threads = Threads::new(library, count as usize);
    let rounds: Vec<[f64; ROWS.len()]> = in_turns(|row| sample(row, &mut chains, &threads));
    let plural = if count == 1 { "thread" } else { "threads, each" };
    println!("\n{count} {plural} with a chain of {LENGTH} tasks; {ROUNDS} rounds, median (lowest to highest)");
    for (row, name) in ROWS.iter().enumerate() {
        let (median, low, high) = spread(rounds.iter().map(|samples| samples[row]).collect());
        println!("{name:<44}{median:>8.1} ns ({low:.1} to {high:.1})");
    }
    let ratios: Vec<f64> = rounds.iter().map(|samples| samples[0] / samples[1]).collect();
    let texts: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let ratio = median(ratios);
    let verdict = if ratio <= 1.0 { "not above oneTBB" } else { "ABOVE ONETBB" };
    println!("of oneTBB, round by round: {}\nmedian {ratio:.2}: {verdict}", texts.join(" "));
    ratio <= 1.0
}

/// Prints a table for each of these numbers of threads.
pub fn report(counts: &[u32]) -> ExitCode {
    let Some(library) = std::env::var_os("BESIDE_LIBRARY") else {
        println!("the comparison with oneTBB is benches/graph/beside.sh");
        return ExitCode::SUCCESS;
    };
    match Library::load(Path::new(&library)) {
        Ok(library) => {
            println!("oneTBB {}, wall-clock nanoseconds a task of all threads together", library.version());
            // All are printed.
            let are_within: Vec<bool> = counts.iter().map(|&count| compare(library, count)).collect();
            if are_within.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("the library of oneTBB does not load: {error}");
            ExitCode::FAILURE
        }
    }
}
