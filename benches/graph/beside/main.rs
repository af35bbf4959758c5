//! The cost of a task in the graph, beside oneTBB's flow graph and rayon's plain tasks, which know no edges: chains of
//! tasks whose functions do nothing but count, a chain a thread. `benches/graph/beside.sh` builds the library of
//! oneTBB, and runs this program.
//!
//! All methods run in turns, in one process. The verdict is on the median over rounds of the ratio to oneTBB in the
//! same round. The control has nothing to do with tasks: it shows how far the machine wanders.

mod flow;
mod ours;
mod rounds;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use flow::{Flow, Library, Threads};
use ours::Chains;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use rounds::{ROUNDS, RUNS, control, in_turns, median, spread};

/// Tasks of a chain.
const LENGTH: usize = 1_000;

/// The rows, in the order of the table. Each of the first four has its reference behind it.
const ROWS: [&str; 6] = [
    "the graph: ready to complete",
    "oneTBB flow graph: ready to complete",
    "the graph: from append to ended",
    "oneTBB flow graph: from its nodes to their end",
    "rayon: plain tasks",
    "control: a multiplication",
];

/// The methods, with so many threads.
struct Methods {
    threads: usize,
    flow_threads: Threads,
    pool: ThreadPool,
}

impl Methods {
    fn new(library: Library, threads: usize) -> Result<Methods, String> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())?;
        Ok(Methods { threads, flow_threads: Threads::new(library, threads), pool })
    }

    /// Nanoseconds a task of a row, in the median run: a run is shorter than the turns that a busy machine gives.
    fn sample(&self, row: usize) -> f64 {
        let tasks = self.threads * LENGTH;
        let mut chains = Chains::new(tasks);
        let pool = (self.threads > 1).then_some(&self.pool);
        let flow = (row == 1).then(|| Flow::new(&self.flow_threads, self.threads, LENGTH));
        let mut spent_ns = Vec::new();
        // The first run is not counted: it makes the memory that later ones use again.
        for _ in 0..=RUNS {
            if row == 0 {
                chains.build(self.threads, LENGTH);
            }
            let start = Instant::now();
            let mut ran = match row {
                0 => {
                    chains.run(pool);
                    0
                }
                1 => flow.as_ref().map_or(0, Flow::run),
                2 => {
                    chains.build(self.threads, LENGTH);
                    chains.run(pool);
                    chains.free()
                }
                3 => Flow::new(&self.flow_threads, self.threads, LENGTH).run(),
                4 => self.plain_tasks(),
                _ => control(tasks as u64),
            };
            spent_ns.push(start.elapsed().as_nanos() as f64);
            ran += if row == 0 { chains.free() } else { 0 };
            assert_eq!(ran, tasks as u64, "each task runs once: {}", ROWS[row]);
        }
        median(spent_ns.split_off(1)) / tasks as f64
    }

    fn plain_tasks(&self) -> u64 {
        let ran = AtomicU64::new(0);
        let (threads, ran_here) = (self.threads, &ran);
        self.pool.scope(|scope| {
            (0..threads).for_each(|_| scope.spawn(move |scope| plain_task(scope, LENGTH, ran_here)));
        });
        ran.into_inner()
    }
}

/// A task that spawns the next. Only the last adds up: a count that threads share would cost more than a task.
fn plain_task<'s>(scope: &Scope<'s>, left: usize, ran: &'s AtomicU64) {
    if left > 1 {
        scope.spawn(move |scope| plain_task(scope, left - 1, ran));
    } else {
        ran.fetch_add(LENGTH as u64, Ordering::Relaxed);
    }
}

/// Prints the rows. Returns whether the graph costs no more than oneTBB.
fn print(threads: usize, rounds: &[[f64; ROWS.len()]]) -> bool {
    let plural = if threads == 1 { "thread" } else { "threads, each" };
    println!("\n{threads} {plural} with a chain of {LENGTH} tasks; {ROUNDS} rounds, median (lowest to highest)");
    let mut is_within = true;
    for (row, name) in ROWS.iter().enumerate() {
        let (median, low, high) = spread(rounds.iter().map(|samples| samples[row]).collect());
        print!("{name:<48}{median:>8.1} ns ({low:.1} to {high:.1})");
        if row == 0 || row == 2 {
            let (ratio, low, high) = spread(rounds.iter().map(|samples| samples[row] / samples[row + 1]).collect());
            let verdict = if ratio <= 1.0 { "not above oneTBB" } else { "ABOVE ONETBB" };
            print!("  {ratio:.2} ({low:.2} to {high:.2}) of oneTBB: {verdict}");
            is_within &= ratio <= 1.0;
        }
        println!();
    }
    is_within
}

fn compare(library: &Path, threads: &[usize]) -> Result<bool, String> {
    let library = Library::load(library)?;
    println!("oneTBB {}, wall-clock nanoseconds a task of all threads together", library.version());
    let mut is_within = true;
    for &count in threads {
        let methods = Methods::new(library, count)?;
        is_within &= print(count, &in_turns(|row| methods.sample(row)));
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let Some(library) = std::env::var_os("BESIDE_LIBRARY") else {
        println!("the comparison with oneTBB is benches/graph/beside.sh");
        return ExitCode::SUCCESS;
    };
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let threads: Result<Vec<usize>, _> = words.map(|word| word.parse()).collect();
    let Some(threads) = threads.ok().filter(|threads| !threads.is_empty() && !threads.contains(&0)) else {
        eprintln!("the arguments are not numbers of threads, as in: benches/graph/beside.sh 1 8");
        return ExitCode::from(64);
    };
    match compare(Path::new(&library), &threads) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the library of oneTBB does not load: {error}");
            ExitCode::FAILURE
        }
    }
}
