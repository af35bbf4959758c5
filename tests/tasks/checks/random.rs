//! Random graphs of tasks: the bytes are those of a serial run, each task runs once, and of those after a failed or a
//! cancelled one none runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::DevicePtr;
use overtake::Priority;
use overtake::task::{Error, Handle, Lane, More, WorkResult};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const GRAPHS: u64 = 40;
/// With tasks that are cancelled.
const GRAPHS_CANCELLED: u64 = 200;
const TASKS: usize = 40;
/// A task's words: its value, and the values that it has seen.
const ROW_BYTES: u64 = 64;
const SEEN_MAX: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Upload,
    Kernel,
    Download,
    Host,
    Light,
    Join,
}

/// A task of a random graph. Its value is that of the first task that it sees, and a number of its own.
struct Plan {
    kind: Kind,
    priority: Priority,
    number: u32,
    /// The tasks before it.
    before: Vec<usize>,
    /// Those whose values it sees, also through joins.
    sees: Vec<usize>,
    is_held: bool,
    fails: bool,
    is_cancelled: bool,
}

/// The tasks that fail.
#[derive(Clone, Copy)]
enum Failing {
    In16(u64),
    One(usize),
}

fn plan(prng: &mut Prng, plans: &[Plan], failing: Failing) -> Plan {
    let kinds =
        [Kind::Upload, Kind::Kernel, Kind::Kernel, Kind::Download, Kind::Host, Kind::Host, Kind::Light, Kind::Join];
    let kind = prng.pick(&kinds);
    let count = prng.below(4).min(plans.len() as u64);
    // Most edges are short, so that chains come about.
    let reach = if prng.below(3) == 0 { plans.len() as u64 } else { (plans.len() as u64).min(6) };
    let mut before: Vec<usize> = (0..count).map(|_| plans.len() - 1 - prng.below(reach) as usize).collect();
    before.sort_unstable();
    before.dedup();
    let mut sees: Vec<usize> = Vec::new();
    for &task in &before {
        match plans[task].kind {
            Kind::Join => sees.extend(&plans[task].sees),
            _ => sees.push(task),
        }
    }
    sees.truncate(SEEN_MAX);
    let priority = Priority::new(prng.pick(&[1, 1, 2, 5, 8])).expect("a priority");
    let (number, is_held) = (prng.below(1 << 16) as u32 + 1, prng.below(6) == 0);
    let fails = match failing {
        Failing::In16(count) => prng.below(16) < count,
        Failing::One(task) => task == plans.len(),
    };
    let fails = fails && kind != Kind::Join;
    Plan { kind, priority, number, before, sees, is_held, fails, is_cancelled: false }
}

/// The rows of all tasks, as host and device see them, and memory of the device.
#[derive(Clone)]
struct Rows {
    host: Arc<Pinned>,
    at_device: DevicePtr,
    scratch: Buffer,
    runs: Arc<Vec<AtomicU32>>,
}

impl Rows {
    fn new(rig: &Rig) -> Result<Rows, Failure> {
        let bytes = TASKS as u64 * ROW_BYTES;
        let host = rig.pinned_of(&vec![0; bytes as usize])?;
        let at_device = rig.driver().host_device_pointer(host.pointer())?;
        let runs = Arc::new((0..TASKS).map(|_| AtomicU32::new(0)).collect());
        Ok(Rows { host, at_device, scratch: rig.buffer(bytes)?, runs })
    }

    fn clear(&self) {
        (0..TASKS as u64 * ROW_BYTES / 4).for_each(|word| self.host.word32(word * 4).store(0, Ordering::Release));
        self.runs.iter().for_each(|runs| runs.store(0, Ordering::Release));
    }

    fn word(&self, task: usize, word: usize) -> &AtomicU32 {
        self.host.word32(task as u64 * ROW_BYTES + word as u64 * 4)
    }

    /// A function of the host: it sees, and stores its value.
    fn on_host(&self, task: usize, plan: &Plan) -> impl FnOnce() -> WorkResult<()> + use<> {
        let (rows, sees, number, fails) = (self.clone(), plan.sees.clone(), plan.number, plan.fails);
        move || {
            rows.runs[task].fetch_add(1, Ordering::AcqRel);
            if fails {
                return Err("as planned".into());
            }
            for (place, seen) in sees.iter().enumerate() {
                rows.word(task, place + 1).store(rows.word(*seen, 0).load(Ordering::Acquire), Ordering::Release);
            }
            let first = if sees.is_empty() { 0 } else { rows.word(task, 1).load(Ordering::Acquire) };
            rows.word(task, 0).store(first.wrapping_add(number), Ordering::Release);
            Ok(())
        }
    }

    /// The same in a lane: words go up and down, and a kernel adds.
    fn on_device(
        &self,
        bed: &Bed,
        task: usize,
        plan: &Plan,
    ) -> impl FnMut(&mut Lane<'_>) -> WorkResult<More> + Send + use<> {
        let (rows, sees, number, fails) = (self.clone(), plan.sees.clone(), plan.number, plan.fails);
        let add = bed.kernels.add.clone();
        move |lane: &mut Lane<'_>| {
            rows.runs[task].fetch_add(1, Ordering::AcqRel);
            if fails {
                return Err("as planned".into());
            }
            let row = task as u64 * ROW_BYTES;
            for (place, seen) in sees.iter().enumerate() {
                let at = row + 4 * place as u64;
                raw::word_up(lane, (rows.scratch, at), (&rows.host, *seen as u64 * ROW_BYTES))?;
                raw::word_down(lane, (&rows.host, at + 4), (rows.scratch, at))?;
                if place == 0 {
                    raw::word_down(lane, (&rows.host, row), (rows.scratch, at))?;
                }
            }
            raw::word(lane, &add, rows.at_device.offset(row), number)?;
            Ok(More::Done)
        }
    }

    fn submit(&self, bed: &Bed, task: usize, plan: &Plan, handles: &[Handle]) -> Result<Handle, Error> {
        let (tasks, name) = (&bed.tasks, task.to_string());
        let builder = match plan.kind {
            Kind::Upload => tasks.upload(&name, self.on_device(bed, task, plan)),
            Kind::Kernel => tasks.kernel(&name, self.on_device(bed, task, plan)),
            Kind::Download => tasks.download(&name, self.on_device(bed, task, plan)),
            Kind::Host => tasks.host(&name, self.on_host(task, plan)),
            Kind::Light => tasks.light(&name, self.on_host(task, plan)),
            Kind::Join => tasks.join(&name),
        };
        let builder = builder.after(plan.before.iter().map(|before| &handles[*before]));
        let builder = if plan.is_held { builder.held() } else { builder };
        builder.priority(plan.priority).submit()
    }

    /// Compares with a serial run.
    fn check(&self, plans: &[Plan], handles: &[Handle]) -> Outcome {
        let (mut values, mut is_good) = (vec![0_u32; plans.len()], vec![false; plans.len()]);
        for (task, plan) in plans.iter().enumerate() {
            let is_reached = !plan.is_cancelled && plan.before.iter().all(|before| is_good[*before]);
            is_good[task] = is_reached && !plan.fails;
            let end = handles[task].wait();
            let as_expected = match &end {
                Ok(()) => is_good[task],
                Err(Error::Failed(_)) => is_reached && plan.fails,
                Err(Error::NotRun { .. }) => !is_reached,
                Err(_) => false,
            };
            ensure!(as_expected, "task {task} ({:?}, fails: {}) ended with {end:?}", plan.kind, plan.fails);
            let runs = u32::from(is_reached && plan.kind != Kind::Join);
            same(&format!("the runs of task {task}"), &self.runs[task].load(Ordering::Acquire), &runs)?;
            if !is_good[task] || plan.kind == Kind::Join {
                continue;
            }
            let first = plan.sees.first().map_or(0, |seen| values[*seen]);
            values[task] = first.wrapping_add(plan.number);
            let expected = std::iter::once(values[task]).chain(plan.sees.iter().map(|seen| values[*seen]));
            for (word, expected) in expected.enumerate() {
                let seen = self.word(task, word).load(Ordering::Acquire);
                same(&format!("word {word} of task {task} ({:?})", plan.kind), &seen, &expected)?;
            }
        }
        Ok(())
    }
}

/// Cancels any task, which may have started.
fn cancel(prng: &mut Prng, plans: &mut [Plan], handles: &[Handle]) -> Result<u64, Error> {
    let task = prng.below(plans.len() as u64) as usize;
    let is_cancelled = handles[task].cancel()?;
    plans[task].is_cancelled |= is_cancelled;
    Ok(u64::from(is_cancelled))
}

/// Of so many tasks in 16, any one is cancelled when they have been submitted. Returns how many have not started by
/// then.
fn run(rig: &Rig, cancels: u64, graphs: impl Iterator<Item = (u64, Failing)>) -> Result<u64, Failure> {
    let (bed, rows, mut cancelled) = (bed::open(rig)?, Rows::new(rig)?, 0);
    for (seed, failing) in graphs {
        rows.clear();
        let mut prng = Prng::new(seed);
        let (mut plans, mut handles): (Vec<Plan>, Vec<Handle>) = (Vec::new(), Vec::new());
        let group = if seed % 3 == 0 { Some(bed.tasks.group()?) } else { None };
        for task in 0..TASKS {
            plans.push(plan(&mut prng, &plans, failing));
            handles.push(rows.submit(&bed, task, &plans[task], &handles)?);
            if cancels > 0 && prng.below(16) < cancels {
                cancelled += cancel(&mut prng, &mut plans, &handles)?;
            }
        }
        drop(group);
        let held: Vec<usize> = (0..TASKS).filter(|task| plans[*task].is_held).collect();
        for task in held {
            // One that has failed with another one, or was cancelled, gives it back.
            handles[task].release()?;
            if cancels > 0 && prng.below(16) < cancels {
                cancelled += cancel(&mut prng, &mut plans, &handles)?;
            }
        }
        rows.check(&plans, &handles).map_err(|e| Failure::from_text(format!("graph {seed}: {e}")))?;
        bed.tasks.wait()?;
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    }
    Ok(cancelled)
}

/// The bytes are those of a serial run.
pub fn bytes(rig: &Rig) -> Outcome {
    run(rig, 0, (0..GRAPHS).map(|seed| (seed, Failing::In16(0)))).map(drop)
}

/// Exactly the tasks after a failed one do not run.
pub fn failures(rig: &Rig) -> Outcome {
    run(rig, 0, (0..GRAPHS).map(|seed| (1000 + seed, Failing::In16(1)))).map(drop)
}

/// The same where each task fails in its turn, and no other.
pub fn failures_of_each(rig: &Rig) -> Outcome {
    run(rig, 0, (2000..2003).flat_map(|seed| (0..TASKS).map(move |task| (seed, Failing::One(task))))).map(drop)
}

/// Exactly the tasks after one that was cancelled do not run, wherever it is, and also beside failures.
pub fn cancels(rig: &Rig) -> Outcome {
    let graphs = if rig.driver().host().is_virtual() { GRAPHS_CANCELLED } else { GRAPHS };
    let cancelled = run(rig, 4, (0..graphs).map(|seed| (3000 + seed, Failing::In16(seed % 4 / 3))))?;
    ensure!(cancelled > 2 * graphs, "few tasks were cancelled: {cancelled}");
    Ok(())
}
