//! The number of instructions of a task, counted by callgrind. It needs valgrind.

use std::process::ExitCode;
use std::time::Duration;

use testkit::callgrind::{self, Counted};

use crate::chain::{CHAINS, Ground, SHAPES, Shape};
use crate::{Bounds, print};

const TASKS: u32 = 8_192;
/// callgrind's threads take turns, so all tasks of a run may be under way at once. No task is to be the first that
/// needs so much memory.
const WARM_UP: u32 = 3 * TASKS;
const INSTRUCTIONS: Bounds = Bounds { limit: 600.0, goal: 250.0 };
/// Functions that are named, by their own instructions.
const NAMED: usize = 16;

/// Tasks of a chain that are released at once: fewer than the 256 that a thread launches before it hands over, so that
/// it does all; while time stands still, it does those of eight chains too. The cost of the release and of the wait
/// behind it is divided among them.
const RELEASED: u32 = 240;

/// Whether a thread does all of it.
fn is_ready(shape: Shape) -> bool {
    matches!(shape, Shape::Ready | Shape::ReadyOfEight)
}

/// The part that runs under callgrind. The threads sleep while they wait: a loop would count.
pub fn counted(shape: &str, tasks: &str) -> ExitCode {
    let shape = SHAPES.iter().find(|(_, known)| format!("{known:?}") == shape);
    let (Some((_, shape)), Ok(tasks)) = (shape, tasks.parse()) else { return ExitCode::FAILURE };
    let ground = Ground::new();
    let mut chain = ground.chain(*shape);
    if is_ready(*shape) {
        ground.be_alone();
        let released = RELEASED * if *shape == Shape::ReadyOfEight { CHAINS as u32 } else { 1 };
        for first in (0..tasks).step_by(released as usize) {
            chain.hold(released.min(tasks - first));
            chain.counted_tasks_released();
        }
        return ExitCode::SUCCESS;
    }
    chain.fill(WARM_UP);
    chain.counted_tasks(tasks);
    while !chain.last().is_done() {
        std::thread::sleep(Duration::from_millis(1));
    }
    ExitCode::SUCCESS
}

/// Instructions of a task: those of the calling thread, and those of all threads from its submission on.
fn of(shape: Shape) -> Result<([f64; 2], Counted), String> {
    let (word, tasks) = (format!("{shape:?}"), [TASKS, 2 * TASKS]);
    let run = |function, tasks: u32| callgrind::profile(function, &["counted", &word, &tasks.to_string()]);
    let own = run(Some("counted_tasks"), tasks[1])?;
    // The difference is without the warm-up, and without the opening of the device.
    let all = [run(None, tasks[0])?, run(None, tasks[1])?];
    let more = all[1].instructions.saturating_sub(all[0].instructions);
    let figures = [own.instructions as f64 / f64::from(tasks[1]), more as f64 / f64::from(tasks[1] - tasks[0])];
    Ok((figures, own))
}

/// Prints a row for each shape, and the functions of the first.
pub fn report() -> ExitCode {
    let (mut is_within, mut first) = (true, None);
    for (name, shape) in SHAPES {
        match of(shape) {
            Ok(([own, all], profile)) => {
                is_within &= print(name, own, "instructions", INSTRUCTIONS);
                if !is_ready(shape) {
                    is_within &= print("  with those of the dispatcher's threads", all, "instructions", INSTRUCTIONS);
                }
                first.get_or_insert((profile, 2 * TASKS));
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if let Some((profile, tasks)) = first {
        println!("\nof the calling thread, {}: functions by their own instructions, for one task", SHAPES[0].0);
        for (count, function) in profile.functions.iter().take(NAMED) {
            println!("{:>8.0}  {function}", *count as f64 / f64::from(tasks));
        }
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
