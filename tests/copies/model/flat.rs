//! After a hundred thousand copies no memory use has grown.

use std::path::Path;
use std::process::Command;

use overtake::Overtake;
use overtake::options::Transport;
use softgpu::Payload;

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::model::{Held, on};
use crate::raw;
use crate::rig::Rig;

/// Rounds by transport.
const ROUNDS: [(Transport, u64); 2] = [(Transport::Auto, 25_000), (Transport::Engine, 2_500)];
const BYTES: u64 = 192 << 10;
const DRAIN_EVERY: u64 = 16;
/// The allocator keeps some of the memory that it once gave out.
const GROWTH_MAX: u64 = 4 << 20;

/// Bytes of this process that are in memory.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Four copies a round, and two streams that wait for each other.
fn rounds(rig: &Rig, overtake: &Overtake, count: u64) -> Outcome {
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    for round in 0..count {
        // The caller is faster than the device, and the watcher's work grows with the number of pending copies.
        if round % DRAIN_EVERY == 0 {
            [&low, &high].into_iter().try_for_each(overtake::PriorityStream::synchronize)?;
        }
        raw::htod(&low, memory.1, &memory.0, BYTES)?;
        raw::dtoh(&low, &memory.0, memory.1, 24 << 10)?;
        high.wait_for(&low)?;
        raw::htod(&high, memory.1, &memory.0, 64 << 10)?;
        raw::dtoh(&high, &memory.0, memory.1, 4 << 10)?;
        low.wait_for(&high)?;
    }
    [low, high].iter().try_for_each(overtake::PriorityStream::synchronize)?;
    bed::at_rest(rig, overtake)
}

/// The only trial that a child runs, because other trials' memory would be counted.
const NAME: &str = "flat::memory";

/// The variable that marks a child.
const CHILD_VARIABLE: &str = "OVERTAKE_COPIES_CHILD";

/// Fences, events, memory of the device and of the host.
pub fn memory() -> Outcome {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return alone();
    }
    let executable = std::env::current_exe().map_err(|error| Failure::new(format_args!("this program: {error}")))?;
    let mut child = on_one_processor(&executable).unwrap_or_else(|| Command::new(&executable));
    let output = child.args(["--exact", NAME, "--color=never"]).env(CHILD_VARIABLE, "1").output();
    let output = output.map_err(|error| Failure::new(format_args!("the child: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "the child ended with {}:\n{text}", output.status);
    ensure!(text.contains("1 passed"), "the child did not run its trial:\n{text}");
    Ok(())
}

/// The child's threads pass the turn to each other all the time, which is fast on one processor only. `None` if this
/// machine has no command for that.
fn on_one_processor(executable: &Path) -> Option<Command> {
    const PINNED: [&str; 2] = ["-c", "0"];
    let can = Command::new("taskset").args(PINNED).arg("true").output().is_ok_and(|output| output.status.success());
    can.then(|| {
        let mut command = Command::new("taskset");
        command.args(PINNED).arg(executable);
        command
    })
}

fn alone() -> Outcome {
    for (transport, count) in ROUNDS {
        on(
            |builder| builder.payload(Payload::TimingOnly),
            |gpu, rig| {
                let overtake = bed::open(rig, bed::transport(transport))?;
                rounds(rig, &overtake, count / 10)?;
                let (held, resident) = (Held::by(gpu), resident_bytes());
                rounds(rig, &overtake, count)?;
                let now = Held::by(gpu);
                // The second pair of streams and its memory.
                let expected = Held { allocations: held.allocations + 2, streams: held.streams + 2, ..held };
                same("the objects", &now, &expected)?;
                let growth = resident_bytes().saturating_sub(resident);
                ensure!(growth < GROWTH_MAX, "the process has grown by {growth} bytes");
                let copies = overtake.statistics();
                ensure!(copies.errors == 0 && copies.rescues == 0, "{copies:?}");
                Ok::<(), Failure>(())
            },
        )?;
    }
    Ok(())
}
