//! The state behind the dispatcher's one lock.

use std::sync::Arc;

use graph::{Cause, Graph, Kind, NodeId, Priority, Stage};

use crate::dispatch::arrivals::{Arrivals, Batch};
use crate::dispatch::body::{Bodies, Character, Dead};
use crate::dispatch::expectations::Expectations;
use crate::dispatch::faults::Faults;
use crate::dispatch::marks::{Join, Mark, Marks};
use crate::dispatch::sleepers::{Calls, Sleepers, Sleeps};
use crate::dispatch::statistics::DispatchStatistics;
use crate::dispatch::turn::Turn;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::outcome::Outcome;
use crate::work::set::{Set, SetId};
use crate::work::sets::Sets;

/// All that the threads of the dispatcher share, but for the driver and the streams.
pub(crate) struct State {
    pub graph: Graph,
    pub bodies: Bodies,
    pub sets: Sets,
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
    /// Tasks that other threads have left for the one with the turn.
    pub intake: Arc<Arrivals>,
    /// The batch at hand, while none is.
    pub batch: Batch,
    /// Nodes that have failed since all of the intake was looked at.
    pub failed: Vec<(NodeId, Cause)>,
    /// Functions for worker threads that have not ended.
    pub functions: u32,
    /// All lanes are to be marked.
    pub flush: bool,
    /// A lane may be wanting a mark. Without it no lane is.
    pub may_want: bool,
    /// The rest of nodes that have ended: dropped, and their futures woken, without the lock.
    pub dead: Vec<Dead>,
    /// Nodes whose priority has changed since they were submitted.
    pub lifts: Vec<(NodeId, Priority)>,
    /// The nodes of a replay, while none is being appended.
    pub replayed: Vec<NodeId>,
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
    pub fn named(&mut self, name: &str, set: &Set) -> Result<(NodeId, Arc<Outcome>), Error> {
        let node = self.graph.named(name)?;
        if let Some(body) = self.bodies.get(node) {
            return Ok((node, Arc::clone(&body.outcome)));
        }
        if set.is_stopped() {
            set.waits(node);
        }
        Ok((node, Arc::clone(&self.bodies.add(node, set).outcome)))
    }

    /// The oldest mark of each lane that has one.
    pub fn first_marks(&self) -> Vec<(u8, Mark)> {
        (0..).zip(&self.marks).filter_map(|(lane, marks)| Some((lane, marks.first()?))).collect()
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
            let error = ended.outcome.err().map(|cause| self.failure(ended.node, cause));
            let Some(body) = self.bodies.get(ended.node) else { continue };
            let id = std::mem::replace(&mut body.set, SetId::NONE);
            let is_to_be_told = match error {
                None if !body.is_wanted => body.outcome.set_done_alone(),
                None => body.outcome.set_done(),
                Some(error) => body.fail(error, self.sets.get(id)),
            };
            self.sets.ended(id);
            self.sleepers.has_news |= self.expectations.ended(body.character);
            self.functions -= u32::from(body.character.kind == Kind::Host);
            body.bury(is_to_be_told, &mut self.dead);
        }
    }

    /// The error of a node that is about to leave.
    #[cold]
    fn failure(&mut self, node: NodeId, cause: Cause) -> Error {
        self.failed.push((node, cause));
        let (fault, task) = (self.faults.get(cause), self.graph.label(node).to_string());
        if fault.task == task { Error::Failed(fault) } else { Error::NotRun { task, fault } }
    }

    /// A new task is of this character. Its copies are expected.
    #[inline]
    pub fn expect(&mut self, character: Character) {
        match character.kind {
            Kind::Copy(_) => {
                let expected = self.expectations.begun(character);
                debug_assert!(expected.is_ok(), "other priorities than the copy layer's are refused: {expected:?}");
            }
            Kind::Host => self.functions += 1,
            _ => {}
        }
    }

    /// The points that a node waits for on the device are to be marked.
    pub fn want(&mut self, node: NodeId) {
        let (mut node, mut open) = (Some(node), Vec::new());
        while let Some(wanted) = node {
            if self.want_one(wanted) {
                self.graph.predecessors(wanted, |before| open.push(before));
            }
            node = open.pop();
        }
    }

    /// As [`State::want`]. Returns whether it is a join that has no points yet, because it waits itself: those before
    /// it are wanted then.
    fn want_one(&mut self, node: NodeId) -> bool {
        let stage = self.graph.stage(node);
        if stage == Stage::Ended {
            return false;
        }
        let mut has_no_points = false;
        if let Some(body) = self.bodies.get(node) {
            has_no_points = stage == Stage::Waiting && body.character.kind == Kind::Empty && !body.is_wanted;
            body.is_wanted = true;
        }
        let marks = &mut self.marks;
        self.graph.points(node, |point| {
            let wanted = &mut marks[usize::from(point.lane)].wanted;
            *wanted = point.value.max(*wanted);
        });
        self.may_want = true;
        has_no_points
    }
}
