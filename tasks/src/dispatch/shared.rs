//! What the threads, tasks and handles of a dispatcher share.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, Weak};

use copies::{Overtake, PriorityStream};
use graph::NodeId;
use hal::{Driver, Event};
use os::forks::Process;
use threads::Bell;

use crate::dispatch::arrivals::Arrivals;
use crate::dispatch::held::{self, Lock};
use crate::dispatch::ranks::Policy;
use crate::dispatch::seat::Last;
use crate::dispatch::state::State;
use crate::work::fault::Error;
use crate::work::graphs::Graphs;
use crate::work::levels;

/// The state, locked.
pub(crate) type Held<'s> = held::Held<'s, State>;

/// The parts of a dispatcher that its threads share.
pub(crate) struct Shared {
    pub driver: Arc<dyn Driver>,
    /// The copy layers, one for each device.
    pub layers: Vec<Arc<Overtake>>,
    /// Those of the first device, then those of the next.
    pub lanes: Vec<PriorityStream>,
    /// The device of each lane.
    pub devices: [u8; graph::LANES_MAX as usize],
    /// The lanes of a group.
    pub of_a_group: u8,
    /// Ready tasks are in the default order, and lanes have no bound: the steps of a template can be one task.
    pub has_spans: bool,
    /// Events for spans, with their devices. Those that no span has are free.
    pub span_events: Mutex<Vec<(u8, Arc<[Event]>)>>,
    /// The launches of spans, but for the first of each call of their functions.
    pub span_launches: AtomicU64,
    /// The templates that have graphs for these lanes.
    pub graphs: Mutex<Vec<Weak<Graphs>>>,
    pub graph_launches: AtomicU64,
    pub graph_fallbacks: AtomicU64,
    /// The lanes whose streams functions of tasks have asked for, a bit each: they may do anything with them.
    pub lent: AtomicU64,
    /// One for each thread.
    pub bells: Vec<Bell>,
    pub state: Lock<State>,
    /// Tasks that threads leave for the one with the turn.
    pub mailboxes: Arc<Arrivals>,
    /// The turn was handed over to the thread on watch.
    pub is_handed_over: Arc<hal::primitive::AtomicBool>,
    /// The thread that has taken the last steps.
    pub steps_by: Last,
    /// Threads that wait for tasks.
    pub waiting: AtomicU32,
    /// It ranks tasks, if there is one. Then callers leave none in the mailboxes.
    pub policy: Option<Box<Policy>>,
    /// The process that the threads are in.
    pub process: Process,
}

impl Shared {
    #[inline]
    pub fn enter(&self) -> Held<'_> {
        Held::new(&self.bells, &self.state)
    }

    /// The same for a caller that may be in the child of a fork. There another thread may have held the lock, and
    /// never lets it go. The caller finds the tasks in the graph that it has submitted before.
    #[inline]
    pub fn enter_here(self: &Arc<Shared>) -> Result<Held<'_>, Error> {
        self.may_enter()?;
        Ok(self.enter_as_caller())
    }

    /// The first part of [`Shared::enter_here`]: to return the state in a result costs as much as to take the lock.
    #[inline]
    pub fn may_enter(&self) -> Result<(), Error> {
        if self.process.is_this() { Ok(()) } else { refuse_forked() }
    }

    /// The second.
    #[inline]
    pub fn enter_as_caller(self: &Arc<Shared>) -> Held<'_> {
        self.behind_news(self.enter())
    }

    /// As [`Shared::enter_here`], for a caller that has the order of submissions: it takes no step before it has let go
    /// of that, because steps call code of the user's.
    pub fn enter_in_order(&self) -> Result<Held<'_>, Error> {
        self.may_enter()?;
        let mut held = self.enter();
        held.look_in();
        Ok(held)
    }

    /// A caller has the lock. Tasks that its thread has left are to be in the graph.
    #[inline]
    pub fn behind_news<'s>(self: &'s Arc<Shared>, held: Held<'s>) -> Held<'s> {
        levels::may_step();
        if self.mailboxes.has_news() { self.enter_behind_news(held) } else { held }
    }

    /// Tasks that arrive may be ready, and the caller may not look for steps.
    #[cold]
    #[inline(never)]
    fn enter_behind_news<'s>(self: &'s Arc<Shared>, mut held: Held<'s>) -> Held<'s> {
        held.look_in();
        self.pump(held);
        self.enter()
    }

    /// Takes the entries of the mailboxes, and the steps that they make possible.
    #[inline(never)]
    pub fn look_in(self: &Arc<Shared>) {
        self.look_in_behind(self.enter());
    }

    /// The same, if no other thread has the lock. That one may be about to do it.
    pub fn try_look_in(self: &Arc<Shared>) {
        if let Some(held) = Held::try_new(&self.bells, &self.state) {
            self.look_in_behind(held);
        }
    }

    fn look_in_behind<'s>(self: &'s Arc<Shared>, mut held: Held<'s>) {
        held.look_in();
        self.pump(held);
    }

    #[inline]
    pub fn lane(&self, lane: u8) -> &PriorityStream {
        &self.lanes[usize::from(lane)]
    }

    /// The device of a lane.
    #[inline]
    pub fn device_of(&self, lane: u8) -> u8 {
        self.devices[usize::from(lane) % self.devices.len()]
    }

    /// The first device's copy layer.
    #[inline]
    pub fn layer(&self) -> &Arc<Overtake> {
        &self.layers[0]
    }

    /// Whether copies that had been accepted have been lost.
    pub fn has_lost_copies(&self) -> bool {
        self.layers.iter().any(|layer| layer.loss().is_err())
    }

    /// Runs `body` in the first device's context, beside captures of other threads.
    pub fn at_home<T>(&self, body: impl FnOnce() -> T) -> T {
        self.lanes[0].inner().at_home(body)
    }

    /// A function waits for the node, or a thread does.
    pub fn want(self: &Arc<Shared>, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.want(node);
        self.pump(held);
        Ok(())
    }

    /// One task comes after another.
    pub fn order(self: &Arc<Shared>, first: NodeId, then: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.graph.before(first, then)?;
        // A function of the host may wait now for work that has been submitted.
        held.want(first);
        self.pump(held);
        Ok(())
    }

    pub fn release(self: &Arc<Shared>, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.graph.release(node)?;
        self.pump(held);
        Ok(())
    }
}

#[cold] // the compiler lays the way of all others out as the usual one
fn refuse_forked() -> Result<(), Error> {
    Err(Error::Forked)
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The driver and the copy layer have no threads here either: a call could wait for them for ever.
            std::mem::forget((std::mem::take(&mut self.lanes), std::mem::take(&mut self.layers)));
        }
    }
}
