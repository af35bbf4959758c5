//! The shapes of Task Bench on arrays, as CUDASTF's `task_bench` has them: each task has an array of its own that it
//! writes, and reads those of tasks of the step before. Tasks have no work, so that their order alone costs time.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use overtake::data::{Array, ArrayOptions, Arrays, KernelArgument, discard, read, read_write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::Device;
use overtake::task::More;
use overtake::{Options, Overtake};

use crate::Outcome;
use crate::rounds::median;

const WIDTH: usize = 8;
const STEPS: usize = 8;
/// How often the steps follow each other in a round. The first step writes the arrays that the turn before it read.
const TURNS: usize = 10;
const ROUNDS: usize = 101;
/// Numbers of an array.
const ELEMENTS: usize = 128;

/// The columns of the step before that a task reads, in CUDASTF's form of the shapes; or none, where a shape has no
/// such task.
type Reads = fn(step: usize, column: usize) -> Option<Vec<usize>>;

const SHAPES: [(&str, Reads); 6] = [
    ("trivial", |_, _| Some(Vec::new())),
    ("stencil", |step, column| Some(behind(step, (column.saturating_sub(1)..=column + 1).collect()))),
    ("fft", |step, column| {
        let distance = 1_usize << step.saturating_sub(1);
        let left = column.checked_sub(distance);
        Some(behind(step, [Some(column), left, Some(column + distance)].into_iter().flatten().collect()))
    }),
    ("sweep", |step, column| {
        (column > step).then(|| behind(step, [Some(column), column.checked_sub(1)].into_iter().flatten().collect()))
    }),
    ("tree", |step, column| {
        let is_there = column.is_multiple_of(1 << step);
        is_there.then(|| behind(step, vec![column, column + (1 << step.saturating_sub(1))]))
    }),
    // Two of the step before, as they come.
    ("random", |step, column| {
        let task = step * WIDTH + column;
        Some(behind(step, [7, 13].map(|by| (task * by + step * step * 5) % 31 % WIDTH).to_vec()))
    }),
];

/// Those of the columns that there are, and none before the first step.
fn behind(step: usize, columns: Vec<usize>) -> Vec<usize> {
    columns.into_iter().filter(|column| step > 0 && *column < WIDTH).collect()
}

/// The arrays of all tasks, a row for each step.
struct Bed {
    arrays: Arrays,
    of_tasks: Vec<Array<u32>>,
}

impl Bed {
    fn new(dispatcher: &Dispatcher) -> Outcome<Bed> {
        let arrays = Arrays::open(dispatcher, ArrayOptions::default())?;
        let of_tasks: Vec<_> = (0..WIDTH * STEPS).map(|_| arrays.array(&[ELEMENTS])).collect::<Result<_, _>>()?;
        for array in &of_tasks {
            arrays.launch("first", (discard(array),), |_, _| Ok(More::Done)).submit()?;
        }
        arrays.wait()?;
        Ok(Bed { arrays, of_tasks })
    }

    /// Submits the tasks of a turn. Returns how many they are.
    fn submit(&self, reads: Reads) -> Outcome<usize> {
        let mut count = 0;
        for task in 0..WIDTH * STEPS {
            let (step, column) = (task / WIDTH, task % WIDTH);
            let Some(columns) = reads(step, column) else { continue };
            let mut uses: Vec<Box<dyn KernelArgument + '_>> = vec![Box::new(read_write(&self.of_tasks[task]))];
            for other in columns {
                uses.push(Box::new(read(&self.of_tasks[(step - 1) * WIDTH + other])));
            }
            self.arrays.launch("task", &uses[..], |_, _| Ok(More::Done)).submit()?;
            count += 1;
        }
        Ok(count)
    }

    /// Microseconds of a task until all have been submitted, and until all have ended.
    fn round(&self, reads: Reads) -> Outcome<[f64; 2]> {
        let start = Instant::now();
        let counts = (0..TURNS).map(|_| self.submit(reads)).collect::<Outcome<Vec<_>>>()?;
        let submitted = start.elapsed();
        self.arrays.wait()?;
        let tasks = counts.iter().sum::<usize>() as f64;
        Ok([submitted, start.elapsed()].map(|span| span.as_secs_f64() * 1e6 / tasks))
    }
}

fn run() -> Outcome<()> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let device = driver.device_name(Device(0))?;
    println!("{device}; us of a task without work on arrays, {TURNS} turns of {WIDTH} x {STEPS}, medians of {ROUNDS}");
    println!("{:<12}{:>14}{:>14}{:>10}", "", "to submitted", "to ended", "reads");
    for (name, reads) in SHAPES {
        let bed = Bed::new(&dispatcher)?;
        let mut samples = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            samples.iter_mut().zip(bed.round(reads)?).for_each(|(samples, figure)| samples.push(figure));
        }
        let of_tasks = (0..WIDTH * STEPS).filter_map(|task| reads(task / WIDTH, task % WIDTH));
        let counts: Vec<f64> = of_tasks.map(|columns| columns.len() as f64).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let [submitted, ended] = samples.map(median);
        println!("{name:<12}{submitted:>14.3}{ended:>14.3}{mean:>10.2}");
    }
    Ok(())
}

/// Prints a row for each shape.
pub fn report() -> ExitCode {
    crate::told(run())
}
