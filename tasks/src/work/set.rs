//! A set of tasks, as its tasks know it.

use std::sync::Arc;

use graph::NodeId;
use hal::primitive::{AtomicBool, AtomicU64, Mutex, OnceLock, Ordering, lock};

use crate::work::fault::{Fault, Reason};

#[cfg(all(test, loom))]
mod models;

/// The number of a set among those of its dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetId(u32);

impl SetId {
    /// That of no set.
    pub const NONE: SetId = SetId(u32::MAX);

    pub fn new(index: usize) -> SetId {
        SetId(index as u32)
    }

    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of tasks.
#[derive(Debug)]
pub(crate) struct Set {
    id: SetId,
    /// Its name, or nothing.
    name: String,
    pending: Pending,
    /// The first failure.
    failure: OnceLock<Arc<Fault>>,
    /// The first task that was cancelled.
    cancelled: OnceLock<Arc<Fault>>,
    /// Taken with the dispatcher's lock held.
    stage: Mutex<Stage>,
    /// Changed with that lock held.
    is_stopped: AtomicBool,
}

/// Tasks that have not ended. Other threads than those that submit change it: it shares no cache line with the rest.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Pending(AtomicU64);

#[derive(Debug, Default)]
enum Stage {
    /// It has never been stopped.
    #[default]
    Open,
    /// Its tasks wait until it is started.
    Stopped(Vec<NodeId>),
    Started,
}

impl Set {
    pub fn new(name: &str, id: SetId) -> Set {
        Set {
            id,
            name: name.to_owned(),
            pending: Pending::default(),
            failure: OnceLock::default(),
            cancelled: OnceLock::default(),
            stage: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Its number.
    #[inline]
    pub fn id(&self) -> SetId {
        self.id
    }

    /// The name under which all sets of the dispatcher know a task of this one.
    pub fn name_of(&self, task: &str) -> String {
        if self.name.is_empty() { task.to_owned() } else { format!("{}/{task}", self.name) }
    }

    /// A task more. With the dispatcher's lock held, as [`Set::ended`]: so a store will do.
    #[inline]
    pub fn begun(&self) {
        let pending = &self.pending.0;
        pending.store(pending.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    #[inline]
    pub fn ended(&self, count: u64) {
        let pending = &self.pending.0;
        pending.store(pending.load(Ordering::Relaxed) - count, Ordering::Release);
    }

    /// A task has failed, or was cancelled. Only the first of each is kept.
    pub fn failed(&self, failure: Option<Arc<Fault>>) {
        if let Some(failure) = failure {
            let first = if matches!(failure.reason, Reason::Cancelled) { &self.cancelled } else { &self.failure };
            let _ = first.set(failure);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.pending() == 0
    }

    /// The tasks that have not ended.
    pub fn pending(&self) -> u64 {
        self.pending.0.load(Ordering::Acquire)
    }

    pub fn failure(&self) -> Option<Arc<Fault>> {
        self.failure.get().cloned()
    }

    /// The reason why results of the set are not there.
    pub fn loss(&self) -> Option<Arc<Fault>> {
        self.failure().or_else(|| self.cancelled.get().cloned())
    }

    /// From now on tasks wait until the set is started. Returns whether it had been.
    pub fn stop(&self) -> bool {
        let mut stage = lock(&self.stage);
        let was_started = matches!(*stage, Stage::Started);
        if !matches!(*stage, Stage::Stopped(_)) {
            *stage = Stage::Stopped(Vec::new());
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        was_started
    }

    /// The tasks that have waited for this. None if the set is not stopped.
    pub fn start(&self) -> Option<Vec<NodeId>> {
        let mut stage = lock(&self.stage);
        match std::mem::replace(&mut *stage, Stage::Started) {
            Stage::Stopped(waiting) => {
                self.is_stopped.store(false, Ordering::Relaxed);
                Some(waiting)
            }
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Whether a new task has to wait until the set is started.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// The task has one reference more, which starting the set releases.
    pub fn waits(&self, node: NodeId) {
        if let Stage::Stopped(waiting) = &mut *lock(&self.stage) {
            waiting.push(node);
        }
    }
}
