//! A few dozen tasks of every kind, for trials in which something fails.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hal::Nanos;
use hal::locks::lock;
use overtake::Priority;
use overtake::task::{Error, Handle, Kernel, Lane, More, Recording, Step, Tasks, WorkResult};

use crate::bed::Kernels;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::raw;
use crate::rig::Rig;
use crate::word::Word;

const BYTES: u64 = 96 << 10;
/// As long as several launches take.
const SPAN: Nanos = Nanos::from_us(40);

/// Counts about the functions of all tasks.
#[derive(Default)]
struct Counts {
    /// Functions that have not been dropped.
    alive: AtomicU32,
    /// Functions that were dropped before the device had done their work.
    early: AtomicU32,
    /// Functions of the host that saw the results of the device too early.
    blind: AtomicU32,
}

/// The property of a task's function: it lives until the task's work is done, and no longer.
struct Alive {
    counts: Arc<Counts>,
    /// The device stores 1 there when it has done the work.
    done: Option<Word>,
    is_submitted: bool,
}

impl Alive {
    fn new(counts: &Arc<Counts>, done: Option<Word>) -> Alive {
        counts.alive.fetch_add(1, Ordering::AcqRel);
        Alive { counts: Arc::clone(counts), done, is_submitted: false }
    }

    /// The whole of a function of the host.
    fn end_of_function(self) -> WorkResult<()> {
        drop(self);
        Ok(())
    }

    /// Submits the end of the work.
    fn end(&mut self, lane: &mut Lane<'_>, store: &Kernel) -> WorkResult<More> {
        if let Some(done) = &self.done {
            raw::word(lane, store, done.address, 1)?;
        }
        self.is_submitted = true;
        Ok(More::Done)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if self.is_submitted && self.done.as_ref().is_some_and(|done| done.load() != 1) {
            self.counts.early.fetch_add(1, Ordering::AcqRel);
        }
        self.counts.alive.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The stage of the scenario: it can be run once.
pub struct Scenario<'r> {
    rig: &'r Rig,
    kernels: Kernels,
    counts: Arc<Counts>,
    handles: Vec<Handle>,
    lines: Vec<Line>,
}

/// The memory of four tasks in a line.
struct Line {
    number: u32,
    priority: Priority,
    source: Arc<Pinned>,
    target: Arc<Pinned>,
    device: Buffer,
}

impl<'r> Scenario<'r> {
    pub fn new(rig: &'r Rig, kernels: &Kernels) -> Result<Scenario<'r>, Failure> {
        let lines = [1, 4, 8].map(|level| {
            let (number, priority) = (u32::from(level) * 10, Priority::new(level).expect("a priority"));
            let (source, target, device) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
            source.word32(0).store(number, Ordering::Release);
            Ok::<_, Failure>(Line { number, priority, source, target, device })
        });
        let lines = lines.into_iter().collect::<Result<_, _>>()?;
        Ok(Scenario { rig, kernels: kernels.clone(), counts: Arc::default(), handles: Vec::new(), lines })
    }

    /// The allocations that the scenario has made.
    pub fn allocations(&self) -> usize {
        3 * self.lines.len()
    }

    /// Submits all tasks.
    pub fn submit(&mut self, tasks: &Tasks) -> Result<(), Error> {
        for index in 0..self.lines.len() {
            self.line(tasks, index)?;
        }
        self.completes(tasks)?;
        self.syncs(tasks)?;
        self.span(tasks)
    }

    /// Upload, two kernels beside each other, one after both, download, two functions.
    fn line(&mut self, tasks: &Tasks, index: usize) -> Result<(), Error> {
        let Line { number, priority, ref source, ref target, device } = self.lines[index];
        let (source, to, from) = (Arc::clone(source), Arc::clone(target), Arc::clone(target));
        let (add, store, mut alive) = (self.kernels.add.clone(), self.kernels.store.clone(), self.alive());
        let upload = tasks.upload("upload", move |lane: &mut Lane<'_>| {
            raw::upload(lane, device, &source, BYTES)?;
            alive.end(lane, &store)
        });
        let upload = upload.priority(priority).submit()?;
        let beside: Vec<Handle> =
            [(); 2].into_iter().map(|()| self.spinning(tasks, priority, &upload)).collect::<Result<_, _>>()?;
        let (store, mut alive) = (self.kernels.store.clone(), self.alive());
        let join = tasks.kernel("join", move |lane: &mut Lane<'_>| {
            raw::word(lane, &add, device.at(0), 1)?;
            match lane.turn() {
                0 => Ok(More::Again),
                _ => alive.end(lane, &store),
            }
        });
        let join = join.priority(priority).after(&beside[0]).after(&beside[1]).submit()?;
        let (store, mut alive) = (self.kernels.store.clone(), self.alive());
        let download = tasks.download("download", move |lane: &mut Lane<'_>| {
            raw::download(lane, &to, device, BYTES)?;
            alive.end(lane, &store)
        });
        let download = download.priority(priority).after(&join).submit()?;
        let alive = Alive::new(&self.counts, None);
        let read = tasks.host("read", move || match from.word32(0).load(Ordering::Acquire) {
            seen if seen == number + 2 => Ok(()),
            _ => Err(alive.counts.blind.fetch_add(1, Ordering::AcqRel).to_string().into()),
        });
        let read = read.priority(priority).after(&download).submit()?;
        let alive = Alive::new(&self.counts, None);
        let light = tasks.light("light", move || alive.end_of_function()).after(&read).submit()?;
        self.handles.extend([upload, join, download, read, light]);
        self.handles.extend(beside);
        Ok(())
    }

    fn alive(&self) -> Alive {
        Alive::new(&self.counts, Some(self.rig.word()))
    }

    /// A kernel that takes a while.
    fn spinning(&self, tasks: &Tasks, priority: Priority, after: &Handle) -> Result<Handle, Error> {
        let (spin, store, mut alive) = (self.kernels.spin.clone(), self.kernels.store.clone(), self.alive());
        let task = tasks.kernel("spin", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, SPAN)?;
            alive.end(lane, &store)
        });
        task.priority(priority).after(after).submit()
    }

    /// A function that a kernel's launch starts when the kernel has completed.
    fn completes(&mut self, tasks: &Tasks) -> Result<(), Error> {
        let alive = Alive::new(&self.counts, None);
        let told = tasks.host("told", move || alive.end_of_function()).held().submit()?;
        let (spin, store, mut alive) = (self.kernels.spin.clone(), self.kernels.store.clone(), self.alive());
        let other = told.clone();
        let tells = tasks.kernel("tells", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, SPAN)?;
            lane.completes(&other)?;
            alive.end(lane, &store)
        });
        let tells = tells.submit()?;
        told.release()?;
        self.handles.extend([told, tells]);
        Ok(())
    }

    /// A group of three, of which the second has a point that all later work waits for.
    fn syncs(&mut self, tasks: &Tasks) -> Result<(), Error> {
        let group = tasks.group()?;
        for name in ["before", "sync", "behind"] {
            let (spin, store, mut alive) = (self.kernels.spin.clone(), self.kernels.store.clone(), self.alive());
            let task = tasks.kernel(name, move |lane: &mut Lane<'_>| {
                raw::spin(lane, &spin, SPAN)?;
                if name == "sync" {
                    lane.sync_point()?;
                }
                alive.end(lane, &store)
            });
            self.handles.push(task.submit()?);
        }
        drop(group);
        Ok(())
    }

    /// A template of kernels, which go in several lanes beside each other, and behind each other.
    fn span(&mut self, tasks: &Tasks) -> Result<(), Error> {
        let mut recording = Recording::<Vec<Mutex<Alive>>>::new();
        let mut steps: Vec<Step> = Vec::new();
        for (number, before) in [&[][..], &[], &[0, 1], &[1], &[2]].into_iter().enumerate() {
            let (spin, store) = (self.kernels.spin.clone(), self.kernels.store.clone());
            let before: Vec<Step> = before.iter().map(|step: &usize| steps[*step]).collect();
            steps.push(recording.kernel("step", &before, move |lane, alive: &Vec<Mutex<Alive>>| {
                raw::spin(lane, &spin, SPAN)?;
                lock(&alive[number]).end(lane, &store)
            }));
        }
        let (template, last) = (recording.finish()?, self.handles.last().cloned());
        for after in [None, last] {
            let replay = template.replay(tasks, steps.iter().map(|_| Mutex::new(self.alive())).collect());
            self.handles.push(after.iter().fold(replay, |replay, after| replay.after(after)).submit()?);
        }
        Ok(())
    }

    /// Waits for all tasks, and returns the errors of those that have failed.
    pub fn errors(&self) -> Vec<Error> {
        self.handles.iter().filter_map(|handle| handle.wait().err()).collect()
    }

    /// The functions of all tasks have been dropped, and none too early, unless the device is dead.
    pub fn is_over(&self, is_dead: bool) -> Outcome {
        let of = |count: &AtomicU32| count.load(Ordering::Acquire);
        same("functions that have not been dropped", &of(&self.counts.alive), &0)?;
        same("functions that saw too early results", &of(&self.counts.blind), &0)?;
        let early = of(&self.counts.early);
        ensure!(is_dead || early == 0, "{early} functions were dropped while the device did their work");
        Ok(())
    }
}
