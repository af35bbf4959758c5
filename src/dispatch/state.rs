//! The state behind the dispatcher's one lock.

use std::sync::Arc;

use graph::{Cause, Graph, NodeId, Priority, Stage};

use crate::dispatch::body::{Bodies, Dead};
use crate::dispatch::expectations::Expectations;
use crate::dispatch::faults::Faults;
use crate::dispatch::marks::{Join, Mark, Marks};
use crate::dispatch::sleepers::{Calls, Sleepers, Sleeps};
use crate::dispatch::statistics::DispatchStatistics;
use crate::dispatch::turn::Turn;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::outcome::Outcome;
use crate::work::set::Set;

/// All that the threads of the dispatcher share, but for the driver and the streams.
pub(crate) struct State {
    pub graph: Graph,
    pub bodies: Bodies,
    pub marks: Vec<Marks>,
    pub faults: Faults,
    pub statistics: DispatchStatistics,
    pub expectations: Expectations,
    pub turn: Turn,
    /// No further step is taken.
    pub is_closed: bool,
    /// The device is lost, for this cause, and its lanes are not at rest yet.
    pub losing: Option<Cause>,
    pub sleepers: Sleepers,
    /// Threads that wait for tasks.
    pub waiting: u32,
    /// All lanes are to be marked.
    pub flush: bool,
    /// A lane may be wanting a mark. Without it no lane is.
    pub may_want: bool,
    /// The rest of nodes that have ended: dropped, and their futures woken, without the lock.
    pub dead: Vec<Dead>,
    /// Nodes whose priority has changed since they were submitted.
    pub lifts: Vec<(NodeId, Priority)>,
    /// The list of joins, while no thread takes steps.
    pub joins: Vec<Join>,
}

impl Sleeps for State {
    #[inline]
    fn may_call(&self) -> bool {
        self.sleepers.may_call(|| self.graph.has_host_function())
    }

    #[inline(never)]
    fn calls(&mut self) -> Calls {
        let has_function = !self.is_closed && self.graph.has_host_function();
        self.sleepers.calls(has_function)
    }
}

impl State {
    /// The node to which others refer by this name.
    pub fn named(&mut self, name: &str, set: &Arc<Set>) -> Result<(NodeId, Arc<Outcome>), Error> {
        let node = self.graph.named(name)?;
        if let Some(body) = self.bodies.get(node) {
            return Ok((node, Arc::clone(&body.outcome)));
        }
        if set.is_stopped() {
            set.waits(node);
        }
        Ok((node, Arc::clone(&self.bodies.add(node, set).outcome)))
    }

    /// The device has come to a mark.
    pub fn reached(&mut self, lane: u8, mark: Mark) {
        if self.marks[usize::from(lane)].reached(mark) {
            let reported = self.graph.complete(lane, mark.value);
            debug_assert!(reported.is_ok(), "a mark stands for a point that was given out: {reported:?}");
        }
    }

    #[cold]
    pub fn fault(&mut self, node: NodeId, reason: Reason) -> Cause {
        let task = self.graph.label(node).to_string();
        self.faults.keep(Fault { task, reason })
    }

    /// Takes the nodes that have ended out of the graph.
    #[inline]
    pub fn collect(&mut self) {
        if self.graph.has_ended() {
            self.collect_ended();
        }
    }

    #[inline(never)]
    fn collect_ended(&mut self) {
        while let Some(ended) = self.graph.ended() {
            let error = ended.outcome.err().map(|cause| self.error(ended.node, cause));
            let Some(body) = self.bodies.get(ended.node) else { continue };
            let Some(set) = body.set.take() else { continue };
            let is_to_be_told = match error {
                None => body.outcome.set_done(),
                Some(error) => body.fail(error, &set),
            };
            // A thread that finds the set idle finds all outcomes.
            set.ended();
            self.sleepers.has_news |= self.expectations.ended(body.kind, body.priority);
            body.bury(is_to_be_told, &mut self.dead);
        }
    }

    #[cold]
    fn error(&mut self, node: NodeId, cause: Cause) -> Error {
        let (fault, task) = (self.faults.get(cause), self.graph.label(node).to_string());
        if fault.task == task { Error::Failed(fault) } else { Error::NotRun { task, fault } }
    }

    /// The points that a node waits for on the device are to be marked.
    pub fn want(&mut self, node: NodeId) {
        if self.graph.stage(node) == Stage::Ended {
            return;
        }
        if let Some(body) = self.bodies.get(node) {
            body.is_wanted = true;
        }
        let marks = &mut self.marks;
        self.graph.points(node, |point| {
            let wanted = &mut marks[usize::from(point.lane)].wanted;
            *wanted = point.value.max(*wanted);
        });
        self.may_want = true;
    }
}
