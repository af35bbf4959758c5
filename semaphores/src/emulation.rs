//! Three ways to perform acquire-zero, inc and dec on a device.

use hal::DevicePtr;

use priority::{Priorities, Priority};

/// One step of a bracket, for a channel to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The channel stands still until the 32-bit word reads 0.
    Wait(DevicePtr),
    /// The channel stores a value.
    Write(DevicePtr, u32),
    /// A one-thread kernel adds a value atomically.
    Add(DevicePtr, i32),
    /// The `n`th chunk of the copy.
    Copy(usize),
}

/// The way in which semaphores are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmulationKind {
    /// The CPU counts, one wait per chunk: the default.
    Hold,
    /// Stream writes: the patent's literal sequence.
    Bracket,
    /// Device-side atomic kernels.
    Atomics,
}

impl EmulationKind {
    /// Every kind, the default first.
    pub const ALL: [EmulationKind; 3] = [EmulationKind::Hold, EmulationKind::Bracket, EmulationKind::Atomics];

    /// The name used in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EmulationKind::Hold => "hold",
            EmulationKind::Bracket => "bracket",
            EmulationKind::Atomics => "atomics",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<EmulationKind> {
        EmulationKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The addresses of the words of a set of semaphores.
pub trait Layout {
    /// The number of priorities.
    fn priorities(&self) -> Priorities;
    /// The word that counts the pending copies above `level`.
    fn gate_address(&self, level: Priority) -> DevicePtr;
    /// The word of `priority` that streams write to.
    fn stream_address(&self, priority: Priority) -> DevicePtr;
    /// The word of `priority` that kernels add to.
    fn device_address(&self, priority: Priority) -> DevicePtr;
}

/// The operations by which a copy of one priority acquires, increments and decrements.
pub trait Emulation: Send + Sync {
    /// The kind of this emulation.
    fn kind(&self) -> EmulationKind;
    /// The steps before a chunk: wait until every semaphore above `priority` reads 0, without changing it.
    fn acquire(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>);
    /// The step that counts a copy of `priority` as pending.
    fn inc(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>);
    /// The step that ends this.
    fn dec(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>);
    /// Whether the CPU must call [`crate::Counts::raise`] before the submission and [`crate::Counts::lower`] after the
    /// completion.
    fn counts_on_cpu(&self) -> bool;
}

/// The emulation of that kind.
#[must_use]
pub fn emulation(kind: EmulationKind) -> &'static dyn Emulation {
    match kind {
        EmulationKind::Hold => &Hold,
        EmulationKind::Bracket => &Bracket,
        EmulationKind::Atomics => &Atomics,
    }
}

struct Hold;

impl Emulation for Hold {
    fn kind(&self) -> EmulationKind {
        EmulationKind::Hold
    }

    fn acquire(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        if priority < words.priorities().highest() {
            steps.push(Step::Wait(words.gate_address(priority)));
        }
    }

    fn inc(&self, _: &dyn Layout, _: Priority, _: &mut Vec<Step>) {}

    fn dec(&self, _: &dyn Layout, _: Priority, _: &mut Vec<Step>) {}

    fn counts_on_cpu(&self) -> bool {
        true
    }
}

struct Bracket;

impl Emulation for Bracket {
    fn kind(&self) -> EmulationKind {
        EmulationKind::Bracket
    }

    fn acquire(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        steps.extend(words.priorities().above(priority).map(|higher| Step::Wait(words.stream_address(higher))));
    }

    fn inc(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        if priority > Priority::LOWEST {
            steps.push(Step::Write(words.stream_address(priority), 1));
        }
    }

    fn dec(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        if priority > Priority::LOWEST {
            steps.push(Step::Write(words.stream_address(priority), 0));
        }
    }

    fn counts_on_cpu(&self) -> bool {
        false
    }
}

struct Atomics;

impl Emulation for Atomics {
    fn kind(&self) -> EmulationKind {
        EmulationKind::Atomics
    }

    fn acquire(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        steps.extend(words.priorities().above(priority).map(|higher| Step::Wait(words.device_address(higher))));
    }

    fn inc(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        if priority > Priority::LOWEST {
            steps.push(Step::Add(words.device_address(priority), 1));
        }
    }

    fn dec(&self, words: &dyn Layout, priority: Priority, steps: &mut Vec<Step>) {
        if priority > Priority::LOWEST {
            steps.push(Step::Add(words.device_address(priority), -1));
        }
    }

    fn counts_on_cpu(&self) -> bool {
        false
    }
}
