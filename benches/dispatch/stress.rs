//! The stress tests of CUDASTF on arrays: tasks without work, and tasks that launch a kernel, two arrays of sixteen
//! numbers from one to the other and back; beside bare launches in one stream.
#![allow(unsafe_code)] // kernels are launched; they access the arrays that the tasks use

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use overtake::data::{Array, ArrayOptions, Arrays, read, read_write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{Device, Launch, StreamFlags};
use overtake::task::{Arguments, Kernel, More, Shape};
use overtake::{Options, Overtake};
use testkit::callgrind;

use crate::Outcome;
use crate::chain::Ground;
use crate::device::KERNEL;

const ELEMENTS: usize = 16;
const ROUNDS: usize = 5;
/// Functions that are named, by their own instructions.
const NAMED: usize = 24;
/// Tasks of a round. All of them are submitted before one of them is waited for.
const TASKS: usize = 40_000;

/// Tasks that callgrind counts, in rounds that are waited for, and kinds of them.
const COUNTED: usize = 4096;
const COUNTED_IN_ROUND: usize = 256;
const KINDS: [(&str, bool); 2] = [("tasks without work", false), ("tasks with a launch", true)];

/// Microseconds of a task from the first submission to the last, and to the end of all: medians over rounds.
fn measure(mut submit: impl FnMut(usize) -> Outcome<()>, mut end: impl FnMut() -> Outcome<()>) -> Outcome<[f64; 2]> {
    let mut samples = [const { Vec::new() }; 2];
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        (0..TASKS).try_for_each(&mut submit)?;
        samples[0].push(start.elapsed().as_secs_f64() * 1e6 / TASKS as f64);
        end()?;
        samples[1].push(start.elapsed().as_secs_f64() * 1e6 / TASKS as f64);
    }
    Ok(samples.map(|mut samples| {
        // The first is the warm-up.
        samples.remove(0);
        samples.sort_unstable_by(f64::total_cmp);
        samples[samples.len() / 2]
    }))
}

fn print(name: &str, [submitted, ended]: [f64; 2]) {
    println!("{name:<26}{submitted:>14.3}{ended:>14.3}");
}

fn run() -> Outcome<()> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    println!("{}; us of a task, {TASKS} tasks in a round, medians of {ROUNDS} rounds", driver.device_name(Device(0))?);
    println!("{:<26}{:>14}{:>14}", "", "to submitted", "to ended");
    let context = overtake.cuda_context();
    let function = context.call(|driver| {
        let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        driver.module_function(module, KERNEL)
    })?;
    let kernel = context.call(|driver| Kernel::of(driver, function, KERNEL))?;
    for (name, launches) in KINDS {
        let stress = Stress::new(&dispatcher, launches.then(|| kernel.clone()))?;
        print(name, measure(|turn| stress.submit(turn), || Ok(stress.arrays.wait()?))?);
    }
    let bare = context.call(|driver| {
        let (stream, word) = (driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, driver.mem_alloc(64)?);
        let launch = |_| {
            let (mut at, mut value) = (word.0, 7_u32);
            let (parameters, [grid, block]) = ([(&raw mut at).cast(), (&raw mut value).cast()], [[1, 1, 1]; 2]);
            let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
            // SAFETY: the kernel stores one word there, and the memory stays.
            Ok(unsafe { driver.launch(&launch) }?)
        };
        Ok(measure(launch, || Ok(driver.stream_synchronize(stream)?)))
    })??;
    print("bare launches", bare);
    Ok(())
}

/// Two arrays, and a kernel if the tasks launch one.
struct Stress {
    arrays: Arrays,
    pair: [Array<u32>; 2],
    kernel: Option<Kernel>,
}

impl Stress {
    fn new(dispatcher: &Dispatcher, kernel: Option<Kernel>) -> Outcome<Stress> {
        let arrays = Arrays::open(dispatcher, ArrayOptions::default())?;
        let pair = [arrays.array(&[ELEMENTS])?, arrays.array(&[ELEMENTS])?];
        pair.iter().try_for_each(|array| array.overwrite().map(drop))?;
        Ok(Stress { arrays, pair, kernel })
    }

    fn submit(&self, turn: usize) -> Outcome<()> {
        let [x, y] = if turn.is_multiple_of(2) { [0, 1] } else { [1, 0] }.map(|array| &self.pair[array]);
        let uses = (read(x), read_write(y));
        let Some(kernel) = &self.kernel else {
            return Ok(self.arrays.launch("empty", uses, |_, _| Ok(More::Done)).submit().map(drop)?);
        };
        let kernel = kernel.clone();
        let task = self.arrays.launch("launch", uses, move |lane, at| {
            // SAFETY: the kernel stores one word at the start of the array that it is given.
            unsafe { lane.launch(&kernel, &Shape::line(1, 1), Arguments::new().address(at[1]).value(&7_u32))? };
            Ok(More::Done)
        });
        Ok(task.submit().map(drop)?)
    }

    /// Submits tasks. callgrind counts the calls of the function of this name.
    #[inline(never)]
    fn counted_tasks(&self, count: usize) -> Outcome<()> {
        (0..count).try_for_each(|turn| self.submit(turn))
    }
}

/// Prints the instructions of a task, from its submission until it is submitted to a driver that does nothing.
pub fn report_instructions() -> ExitCode {
    for (name, launches) in KINDS {
        let profile = callgrind::profile(Some("counted_tasks"), &["counted-stress", &launches.to_string()]);
        let Ok(profile) = profile.inspect_err(|error| eprintln!("{error}")) else { return ExitCode::FAILURE };
        println!("{name:<44}{:>8.0} instructions", profile.instructions as f64 / COUNTED as f64);
        for (count, function) in profile.functions.iter().take(NAMED) {
            println!("{:>12.0}  {function}", *count as f64 / COUNTED as f64);
        }
    }
    ExitCode::SUCCESS
}

/// The part that runs under callgrind.
pub fn counted(launches: &str) -> ExitCode {
    let run = || -> Outcome<()> {
        let ground = Ground::new();
        let kernel = if launches == "true" { Some(ground.kernel(softgpu::BUILTIN_PTX, KERNEL)?) } else { None };
        let stress = Stress::new(ground.dispatcher(), kernel)?;
        for _ in 0..COUNTED / COUNTED_IN_ROUND {
            stress.counted_tasks(COUNTED_IN_ROUND)?;
            stress.arrays.wait()?;
        }
        Ok(())
    };
    crate::told(run())
}

/// Prints a row for each kind of task.
pub fn report() -> ExitCode {
    crate::told(run())
}
