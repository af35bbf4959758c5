//! A dispatcher on a driver whose calls do nothing, and chains of tasks.
#![allow(unsafe_code)] // a template is fixed by a promise

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{Device, Driver};
use overtake::task::{Handle, Kernel, Lane, More, Recording, Step, Tasks, Template};
use overtake::{Options, Overtake};

use crate::null::Null;

/// The part of a task that is measured, and how it meets the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// From ready to complete: the tasks are there, and the first of them is released.
    Ready,
    /// The same of eight chains, which are released at once: the tasks of eight threads, without their contention.
    ReadyOfEight,
    /// As `Ready`, of tasks whose functions count.
    Counting,
    /// From its submission to its end.
    /// The one before is launched, and perhaps complete.
    Behind,
    /// The one before is not launched yet: tasks come in groups.
    Groups,
    /// A template of a chain, replayed behind the replay before it.
    Replay,
    /// The same of four chains, which begin and end together.
    ReplayOfFour,
    /// The same of one chain whose launches are fixed.
    ReplayFixed,
}

/// All shapes, with their names.
pub const SHAPES: [(&str, Shape); 7] = [
    ("ready to complete", Shape::Ready),
    ("ready to complete, eight chains", Shape::ReadyOfEight),
    ("submission to end", Shape::Behind),
    ("submission to end, groups of 16", Shape::Groups),
    ("replay of a chain of 16, to its end", Shape::Replay),
    ("replay of four chains of 4, to its end", Shape::ReplayOfFour),
    ("replay of a fixed chain of 16, to its end", Shape::ReplayFixed),
];
/// Those from ready to complete.
pub const READY_SHAPES: usize = 2;
/// Tasks of a group, and of a template.
const GROUP: u32 = 16;
/// Replays that are under way at once, of each template whose graphs are made: in all lanes.
const FIRST: usize = 100;
/// The chains of `ReadyOfEight`.
pub const CHAINS: usize = 8;

/// A dispatcher. The device completes everything at once.
pub struct Ground {
    /// Dropped before the driver is the software GPU again.
    dispatcher: Option<Dispatcher>,
    _overtake: Arc<Overtake>,
    null: Arc<Null>,
}

impl Ground {
    pub fn new() -> Ground {
        let null = Null::new();
        let driver: Arc<dyn Driver> = Arc::clone(&null) as Arc<dyn Driver>;
        // Without channels no queue is probed; a probe would take callgrind minutes.
        let options = Options::default().with_profile(|profile| profile.channels = false);
        let overtake = Arc::new(Overtake::open(&driver, Device(0), options).expect("the software GPU opens"));
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).expect("the dispatcher opens");
        null.be_instant(true);
        Ground { dispatcher: Some(dispatcher), _overtake: overtake, null }
    }

    /// A kernel, which is never run.
    pub fn kernel(&self, module: &str, name: &str) -> overtake::hal::Result<Kernel> {
        self.null.be_idle();
        let driver: &dyn Driver = &*self.null;
        Kernel::find(driver, driver.module_load(module.as_bytes())?, name)
    }

    /// From now on the calling thread does all: threads that see the same ends would share it by chance. Time stands
    /// still, so that it does not give up to look at the device.
    pub fn be_alone(&self) {
        self.null.freeze(true);
        self.null.be_seen_here();
    }

    /// A set of tasks.
    pub fn tasks(&self) -> Tasks {
        Tasks::new(self.dispatcher())
    }

    pub fn dispatcher(&self) -> &Dispatcher {
        self.dispatcher.as_ref().expect("it is there until the ground is dropped")
    }

    pub fn chain(&self, shape: Shape) -> Chain {
        let (mut template, tasks) = (template(if shape == Shape::ReplayOfFour { 4 } else { 1 }), self.tasks());
        if shape == Shape::ReplayFixed {
            // SAFETY: its steps launch nothing.
            template = unsafe { template.fixed() };
            self.make_graphs(&template, &tasks);
        }
        Chain { tasks, shape, template, first: None, last: None, others: Vec::new(), count: Count::leaked() }
    }
}

impl Ground {
    /// On the software GPU: the driver that does nothing captures nothing.
    fn make_graphs(&self, template: &Template<()>, tasks: &Tasks) {
        self.null.be_instant(false);
        self.null.enter().expect("the software GPU has the context");
        for _ in 0..FIRST {
            template.replay(tasks, ()).submit().expect("there is room");
        }
        tasks.wait().expect("no task fails");
        self.null.be_instant(true);
        assert_eq!(self.dispatcher().statistics().graph_fallbacks, 0, "its replays are graphs");
    }
}

/// Chains, with the tasks of a group in all.
fn template(chains: u32) -> Template<()> {
    let mut recording = Recording::new();
    for _ in 0..chains {
        let mut last: Option<Step> = None;
        for _ in 0..GROUP / chains {
            last = Some(recording.kernel("task", last.as_slice(), |_, ()| Ok(More::Done)));
        }
    }
    recording.finish().expect("each step comes after one before it")
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.dispatcher = None;
        self.null.be_instant(false);
    }
}

/// The tasks that have run of a chain whose functions count.
#[repr(align(128))]
struct Count(AtomicU64);

impl Count {
    /// One that is never freed: a function that refers to it owns nothing.
    fn leaked() -> &'static Count {
        Box::leak(Box::new(Count(AtomicU64::new(0))))
    }

    /// The tasks run one after the other.
    fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Tasks that come after each other.
pub struct Chain {
    tasks: Tasks,
    shape: Shape,
    template: Template<()>,
    /// It is held.
    first: Option<Handle>,
    last: Option<Handle>,
    /// The last of other chains behind the first one.
    others: Vec<Handle>,
    /// Of tasks whose functions count.
    count: &'static Count,
}

impl Chain {
    /// Submits tasks. callgrind counts the calls of the function of this name.
    #[inline(never)]
    pub fn counted_tasks(&mut self, count: u32) {
        match self.shape {
            Shape::Ready | Shape::ReadyOfEight | Shape::Counting | Shape::Behind => {
                (0..count).for_each(|_| self.task())
            }
            Shape::Replay | Shape::ReplayOfFour | Shape::ReplayFixed => (0..count / GROUP).for_each(|_| self.replay()),
            Shape::Groups => {
                for _ in 0..count / GROUP {
                    let tasks = self.tasks.clone();
                    let _group = tasks.group().expect("there is room");
                    (0..GROUP).for_each(|_| self.task());
                }
            }
        }
    }

    /// Submits tasks all of which are under way at once: later ones need no more memory than these.
    pub fn fill(&mut self, count: u32) {
        self.hold(count);
        self.counted_tasks_released();
        self.wait();
    }

    /// Submits tasks behind one that is held.
    pub fn hold(&mut self, count: u32) {
        let first = self.tasks.join("first").held().submit().expect("there is room");
        self.others.clear();
        if self.shape == Shape::ReadyOfEight {
            for _ in 1..CHAINS {
                self.last = Some(first.clone());
                (0..count / CHAINS as u32).for_each(|_| self.task());
                self.others.extend(self.last.take());
            }
        }
        let count = count - count / CHAINS as u32 * self.others.len() as u32;
        (self.first, self.last) = (Some(first.clone()), Some(first));
        (0..count).for_each(|_| self.task());
    }

    /// Releases that one, and waits for the last of them. callgrind counts this call too.
    #[inline(never)]
    pub fn counted_tasks_released(&mut self) {
        self.first.take().expect("one is held").release().expect("it is held");
        self.others.iter().chain(&self.last).for_each(|last| last.wait().expect("no task fails"));
    }

    fn task(&mut self) {
        let task = if self.shape == Shape::Counting {
            let count = self.count;
            let counts = move |_: &mut Lane<'_>| {
                count.add();
                Ok(More::Done)
            };
            self.tasks.kernel("task", counts)
        } else {
            self.tasks.kernel("task", |_: &mut Lane<'_>| Ok(More::Done))
        };
        let task = match &self.last {
            Some(last) => task.after(last),
            None => task,
        };
        self.last = Some(task.submit().expect("there is room"));
    }

    fn replay(&mut self) {
        let replay = self.template.replay(&self.tasks, ());
        let replay = match &self.last {
            Some(last) => replay.after(last),
            None => replay,
        };
        self.last = Some(replay.submit().expect("there is room"));
    }

    /// How many of its tasks have run whose functions count.
    pub fn ran(&self) -> u64 {
        self.count.0.load(Ordering::Relaxed)
    }

    /// The last task.
    pub fn last(&self) -> &Handle {
        self.last.as_ref().expect("there is a task")
    }

    /// Waits for all.
    pub fn wait(&self) {
        self.tasks.wait().expect("no task fails");
    }
}
