//! The state behind the dispatcher's one lock.

use std::ops::RangeInclusive;
use std::sync::Arc;

use graph::{Cause, Graph, Kind, NodeId, Priority, Stage};
use hal::Nanos;

use crate::dispatch::arrivals::{Arrivals, Mail};
use crate::dispatch::body::{Bodies, Character, Dead, Kinds};
use crate::dispatch::expectations::Expectations;
use crate::dispatch::faults::{Faults, Origin};
use crate::dispatch::kit::Kit;
use crate::dispatch::marks::{Mark, Marks};
use crate::dispatch::prefetch::{LINE, prefetch};
use crate::dispatch::ranks::{Rank, Ranks};
use crate::dispatch::sleepers::{Calls, Sleepers, Sleeps};
use crate::dispatch::statistics::DispatchStatistics;
use crate::dispatch::trail::NEAR;
use crate::dispatch::turn::Turn;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::outcome::Outcome;
use crate::work::set::{Set, SetId};
use crate::work::sets::Sets;

/// So many points of a lane are reported as complete at once, while their nodes are in the cache.
const PART: u64 = 64;
/// The same of nodes that are not. Hints for so many others go between them, and are heeded while these are reported: a
/// processor takes few at once.
const PART_BROUGHT: u64 = 8;
/// The nodes of a point are brought into the cache so many points ahead, and their outcomes, which only they know.
const AHEAD: (u64, u64) = (64, 32);

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
    pub mailboxes: Arc<Arrivals>,
    /// The batch at hand, while none is.
    pub mail: Mail,
    /// Marks of the mailboxes that the device has come to.
    pub reached: Vec<(u8, Mark)>,
    /// Nodes that have failed since all mailboxes were looked at.
    pub failed: Vec<(NodeId, Cause)>,
    /// Functions for worker threads that have not ended.
    pub functions: u32,
    /// All lanes are to be marked.
    pub flush: bool,
    /// The lanes that may be wanting a mark, a bit each. No other one is.
    pub may_want: u64,
    /// The rest of nodes that have ended: dropped, and their futures woken, without the lock.
    pub dead: Dead,
    /// Nodes whose priority has changed since they were submitted.
    pub lifts: Vec<(NodeId, Priority)>,
    /// The nodes of a replay, while none is being appended.
    pub replayed: Vec<NodeId>,
    /// The depths of tasks, if a policy ranks them.
    pub ranks: Option<Box<Ranks>>,
    /// The things for steps, while no thread takes any.
    pub kit: Option<Box<Kit>>,
}

impl Sleeps for State {
    #[inline]
    fn may_call(&self) -> bool {
        self.sleepers.may_call(|| self.functions > 0 && self.graph.has_host_function())
    }

    #[inline(never)]
    fn calls(&mut self) -> Calls {
        let has_function = !self.is_closed && self.graph.has_host_function();
        let calls = self.sleepers.calls(has_function);
        self.statistics.wakes += u64::from(calls.sleeper.is_some()) + u64::from(calls.watcher.is_some());
        calls
    }
}

impl State {
    /// The node to which others refer by this name, and whether this is the first to do so.
    pub fn named(&mut self, name: &str, set: &Set) -> Result<(NodeId, Arc<Outcome>, bool), Error> {
        if self.is_closed {
            return Err(Error::Closed { task: Some(format!("{name:?}")) });
        }
        let node = self.graph.named(name)?;
        if let Some(body) = self.bodies.get(node) {
            return Ok((node, Arc::clone(&body.outcome), false));
        }
        Ok((node, Arc::clone(&self.bodies.add(node, set).outcome), true))
    }

    /// The depth of a task behind these, if a policy ranks tasks.
    pub fn depth_behind(&self, before: impl IntoIterator<Item = NodeId>) -> u32 {
        self.ranks.as_ref().map_or(0, |ranks| ranks.depth_behind(before))
    }

    /// The tasks that are appended now, and have no rank of their own, are for one that has this.
    pub fn rank_others_as(&mut self, rank: Option<Rank>) {
        if let Some(ranks) = &mut self.ranks {
            ranks.at_hand = rank;
        }
    }

    /// A node has just been appended, with this rank.
    #[inline]
    pub fn give_rank(&mut self, node: NodeId, rank: Option<Rank>) {
        if let Some(ranks) = &mut self.ranks {
            ranks.give(&mut self.graph, node, rank);
        }
    }

    /// The marks of all lanes that the device may not have come to, by lane, the oldest first.
    pub fn pending_marks(&self) -> Vec<(u8, Mark)> {
        (0..).zip(&self.marks).flat_map(|(lane, marks)| marks.pending().map(move |mark| (lane, mark))).collect()
    }

    /// Whether there are some.
    pub fn has_pending_marks(&self) -> bool {
        self.marks.iter().any(|marks| marks.pending().next().is_some())
    }

    /// The thread on watch sees them at this time.
    pub fn see_marks(&mut self, now: Nanos) {
        self.marks.iter_mut().for_each(|marks| marks.see(now));
    }

    /// Whether an end is to be seen soon: a thread, a function of the host or a ready node waits for it.
    pub fn is_awaited(&self) -> bool {
        self.functions > 0 || self.graph.may_wait_for_ends() || self.marks.iter().any(Marks::is_awaited)
    }

    /// The device has come to a mark.
    pub fn reach(&mut self, lane: u8, mark: Mark) {
        let marks = &mut self.marks[usize::from(lane)];
        let Some(mut value) = marks.reached(mark) else { return };
        let is_far = mark.value - value > NEAR;
        if is_far {
            self.bring_points(lane, value + 1..=value + AHEAD.0);
            self.bring_outcomes(lane, value + 1..=value + AHEAD.1);
        }
        // In parts, so that the nodes of each are collected while the processor has them in its cache.
        let part = if is_far { PART_BROUGHT } else { PART };
        while value < mark.value {
            if is_far {
                self.bring_points(lane, ahead(value, AHEAD.0, mark.value));
                self.bring_outcomes(lane, ahead(value, AHEAD.1, mark.value));
            }
            value = mark.value.min(value + part);
            let reported = self.graph.complete(lane, value);
            debug_assert!(reported.is_ok(), "a mark stands for a point that was given out: {reported:?}");
            self.collect();
        }
    }

    /// The nodes of these points of a lane are about to be reported.
    fn bring_points(&self, lane: u8, values: RangeInclusive<u64>) {
        let trail = &self.marks[usize::from(lane)].trail;
        values.for_each(|value| self.bring(trail.slot(value)));
    }

    /// The outcomes of these nodes are about to be set. Their handles have been counted by other threads.
    fn bring_outcomes(&self, lane: u8, values: RangeInclusive<u64>) {
        let trail = &self.marks[usize::from(lane)].trail;
        values.for_each(|value| self.bodies.bring_outcome(trail.slot(value)));
    }

    /// The node in this slot, and its body, are about to be changed.
    #[inline]
    pub fn bring(&self, slot: usize) {
        let place = self.graph.place(slot);
        [place, place.wrapping_add(LINE), self.bodies.place(slot)].into_iter().for_each(prefetch);
    }

    /// The node that has become ready last is about to be launched: its function's memory is brought, and the node
    /// behind it.
    #[inline]
    pub fn bring_ahead(&mut self) {
        if let Some((ready, behind)) = self.graph.ahead() {
            self.bodies.bring_work(ready);
            if let Some(slot) = behind {
                self.bring(slot);
            }
        }
    }

    #[cold]
    pub fn fault(&mut self, node: NodeId, reason: Reason) -> Cause {
        let task = self.graph.label(node).to_string();
        self.faults.keep(Origin::Node(node), Fault { task, reason })
    }

    /// A node without work that has not ended is given up.
    pub fn give_up(&mut self, node: NodeId, reason: Reason) {
        if self.graph.can_give_up(node) {
            let task = self.graph.label(node).to_string();
            let cause = self.faults.keep(Origin::GivenUp(node), Fault { task, reason });
            self.graph.give_up(node, cause);
        }
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
        // Neighbours are most often of one set.
        let mut of_set = (SetId::NONE, 0);
        self.dead.make_room();
        while let Some(ended) = self.graph.ended() {
            let is_failed = ended.outcome.is_err_and(|cause| self.fail(ended.node, cause));
            let Some(body) = self.bodies.leaving(ended.node) else { continue };
            let id = std::mem::replace(&mut body.set, SetId::NONE);
            if Outcome::has_handles(&body.outcome) {
                keep_name(&body.outcome, &self.graph, ended.node);
            }
            let is_to_be_told =
                is_failed || if body.is_wanted { body.outcome.set_done() } else { body.outcome.set_done_alone() };
            if id != of_set.0 {
                self.sets.ended(of_set.0, of_set.1);
                of_set = (id, 0);
            }
            of_set.1 += 1;
            // Tested first: nothing is to be done for a kernel.
            if body.character.kind != Kinds::One(Kind::Kernel) {
                self.sleepers.has_news |= self.expectations.ended(body.character);
                self.functions -= u32::from(body.character.kind == Kinds::One(Kind::Host));
            }
            body.bury(is_to_be_told, &mut self.dead);
        }
        self.sets.ended(of_set.0, of_set.1);
    }

    /// A node that is about to leave has failed. Returns whether it has a body, which knows that now.
    #[cold]
    fn fail(&mut self, node: NodeId, cause: Cause) -> bool {
        self.failed.push((node, cause));
        let ((of, fault), task) = (self.faults.get(cause), self.graph.label(node).to_string());
        let Some(body) = self.bodies.leaving(node) else { return false };
        let has_run = of == Origin::Node(node) && !matches!(fault.reason, Reason::Cancelled);
        let is_own = of == Origin::Node(node) || of == Origin::GivenUp(node);
        let error = if has_run { Error::Failed(fault) } else { Error::NotRun { task, fault, is_own } };
        // Before the failure is known: who knows of it knows the name.
        keep_name(&body.outcome, &self.graph, node);
        let set = self.sets.get(body.set).filter(|_| of != Origin::GivenUp(node));
        let is_to_be_told = body.fail(error, set);
        if self.graph.is_left_out(node) {
            // Those behind it wait for those before it.
            self.want(node);
        }
        is_to_be_told
    }

    /// A new task is of this character. Its copies are expected.
    #[inline]
    pub fn expect(&mut self, character: Character) {
        if character.kind != Kinds::One(Kind::Kernel) {
            self.expect_other(character);
        }
    }

    #[inline(never)]
    pub fn expect_other(&mut self, character: Character) {
        match character.kind {
            Kinds::One(Kind::Copy(_)) | Kinds::BothWays => {
                let expected = self.expectations.begun(character);
                debug_assert!(expected.is_ok(), "other priorities than the copy layer's are refused: {expected:?}");
            }
            Kinds::One(Kind::Host) => {
                self.functions += 1;
                self.sleepers.waiter_looks(false);
            }
            _ => {}
        }
    }

    /// The points that a node waits for on the device are to be marked.
    pub fn want(&mut self, node: NodeId) {
        self.want_quietly(node);
        self.sleepers.count_on_watch();
    }

    /// The same, and the thread on watch is not told.
    pub fn want_quietly(&mut self, node: NodeId) {
        let (mut node, mut open) = (Some(node), Vec::new());
        while let Some(wanted) = node {
            if self.want_one(wanted) {
                self.graph.predecessors(wanted, |before| open.push(before));
            }
            node = open.pop();
        }
    }

    /// As [`State::want_quietly`]. Returns whether it is a join that has no points yet, because it waits itself, or one
    /// that was left out and stays in the order, and is wanted for the first time: those before it are wanted then.
    fn want_one(&mut self, node: NodeId) -> bool {
        let stage = self.graph.stage(node);
        if stage == Stage::Ended {
            return self.graph.want_left_out(node);
        }
        let mut has_no_points = false;
        if let Some(body) = self.bodies.get_or_reserved(node) {
            has_no_points =
                stage == Stage::Waiting && body.character.kind == Kinds::One(Kind::Empty) && !body.is_wanted;
            body.is_wanted = true;
        }
        let (marks, may_want) = (&mut self.marks, &mut self.may_want);
        self.graph.points(node, |point| {
            *may_want |= 1 << point.lane;
            let Marks { wanted, awaited, .. } = &mut marks[usize::from(point.lane)];
            (*wanted, *awaited) = (point.value.max(*wanted), point.value.max(*awaited));
        });
        has_no_points
    }
}

/// The name of a node that ends goes to its handles.
#[inline(never)]
fn keep_name(outcome: &Outcome, graph: &Graph, node: NodeId) {
    outcome.keep_name(graph.name(node));
}

/// The points of the next part, so far ahead of `value`, and none behind the last.
fn ahead(value: u64, by: u64, last: u64) -> RangeInclusive<u64> {
    value + by + 1..=last.min(value + by + PART_BROUGHT)
}
