//! Completion and failure. All nodes leave the graph in one place, which gives back every reference.

use crate::edges::Edges;
use crate::graph::Graph;
use crate::lanes::Lanes;
use crate::list::{NONE, Pair};
use crate::node::{Cause, Edge, NodeId, Point, Slot, Stage};
use crate::refused::Refused;

/// A node that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The node. Its id is one of no node from now on.
    pub node: NodeId,
    /// The cause of its failure, or of that of a node before it.
    pub outcome: Result<(), Cause>,
    /// How often it was handed out.
    pub turns: u32,
}

impl Graph {
    /// The lane's timeline has come to `value`.
    ///
    /// # Errors
    ///
    /// [`Refused::NotReached`].
    #[inline]
    pub fn complete(&mut self, lane: u8, value: u64) -> Result<(), Refused> {
        if self.lanes.submitted(lane).is_none_or(|submitted| value > submitted) {
            return Err(Refused::NotReached { point: Point { lane, value } });
        }
        self.lanes.complete(lane, value);
        self.end_run(lane, value);
        self.settle();
        Ok(())
    }

    /// The nodes of the lane up to this value have ended. They stay in the order and in the links of the lane, so they
    /// become a part of the list of ended nodes at once.
    #[inline]
    fn end_run(&mut self, lane: u8, value: u64) {
        let mut first = self.lanes.first_in_flight(lane);
        let (mut node, mut last) = (first, NONE);
        let is_usual = self.is_usual;
        let mut slots = self.nodes.slots();
        while let Some(slot) = slots.get(node as usize)
            && slot.value <= value
        {
            last = node;
            node = self.lanes.next_in_flight(lane, node, slot.next);
            if !(is_usual && leave_silently(slots, &mut self.edges, &mut self.lanes, last)) {
                self.lanes.set_first_in_flight(lane, node);
                if self.is_early(last) {
                    self.leave_early(first, last);
                    (first, last) = (node, NONE);
                } else {
                    self.leave(last);
                }
                slots = self.nodes.slots();
            }
        }
        if last != NONE {
            self.lanes.set_first_in_flight(lane, node);
            self.put_ended(Pair { first, last });
        }
    }

    /// Whether a node of a lane that leaves has failed, and its lane was reported before another one that it joined.
    #[inline]
    fn is_early(&self, node: u32) -> bool {
        let slot = &self.nodes[node];
        slot.poison.is_some() && slot.into != NONE && !self.is_physx()
    }

    /// Such a node stays in the order, and those of its lane from `first` up to it have ended.
    #[cold]
    #[inline(never)]
    fn leave_early(&mut self, first: u32, node: u32) {
        if node != first {
            self.put_ended(Pair { first, last: self.nodes[node].previous });
        }
        self.leave_out(node);
    }

    /// These nodes, which are linked, have ended.
    #[inline]
    fn put_ended(&mut self, nodes: Pair) {
        match self.ended.first {
            NONE => self.ended.first = nodes.first,
            _ => self.nodes[self.ended.last].next = nodes.first,
        }
        self.ended.last = nodes.last;
        self.nodes[nodes.last].next = NONE;
    }

    /// The launch of the node or its function has failed, or the device has reported that its work has. The nodes
    /// after it fail with the same cause, without being run. Part of the work may have been submitted: the node ends
    /// when its lane has come to the point that is returned.
    ///
    /// In the order of PhysX no node of the device is launched from now on, and no node fails for another one (PX-22).
    ///
    /// # Errors
    ///
    /// [`Refused::NotRunning`], if it is neither being run nor launched.
    pub fn failed(&mut self, node: NodeId, cause: Cause) -> Result<Option<Point>, Refused> {
        let found = self.nodes.find(node).filter(|&node| {
            let slot = &self.nodes[node];
            slot.stage == Stage::Running || (slot.stage == Stage::Launched && slot.kind.is_device())
        });
        let Some(node) = found else { return Err(Refused::NotRunning { task: self.label(node) }) };
        let slot = &self.nodes[node];
        let (stage, kind, lane, value) = (slot.stage, slot.kind, slot.lane, slot.value);
        self.poison(node, cause);
        let mut at = Some(Point { lane, value });
        if stage == Stage::Running {
            at = None;
            match kind.is_device() {
                true => at = self.submit(node),
                false => self.leave_out(node),
            }
        }
        if self.is_physx() && kind.is_device() {
            self.stop(cause);
        }
        self.settle();
        Ok(at)
    }

    /// The node, which callers may hold, is never to run: it fails with this cause, and so do those after it. Returns
    /// whether it had not started. Others run, or have run; PhysX starts nodes of the device when they are ready, and
    /// nodes that are not submitted are not known yet.
    pub fn give_up(&mut self, node: NodeId, cause: Cause) -> bool {
        if !self.can_give_up(node) {
            return false;
        }
        let node = node.index;
        if self.nodes[node].stage == Stage::Ready {
            self.dequeue(node);
        }
        let slot = &mut self.nodes[node];
        slot.poison = slot.poison.or(Some(cause));
        (slot.references, slot.held) = (0, 0);
        self.leave_out(node);
        self.settle();
        true
    }

    /// Whether [`Graph::give_up`] would find it not started.
    #[must_use]
    pub fn can_give_up(&self, node: NodeId) -> bool {
        let Some(node) = self.nodes.find(node) else { return false };
        let slot = &self.nodes[node];
        match slot.stage {
            Stage::Waiting => !slot.is_absent && !slot.is_left,
            Stage::Ready => slot.turns == 0 && !(self.is_physx() && slot.kind.is_device()),
            _ => false,
        }
    }

    /// The references of a waiting node that only callers release.
    #[must_use]
    pub fn held(&self, node: NodeId) -> u32 {
        self.nodes.find(node).map_or(0, |node| self.nodes[node].held)
    }

    /// The device does no work any more (PX-22): all its nodes end with this cause, those that are launched at once
    /// and the others as soon as they have no references, without being run.
    pub fn fail(&mut self, cause: Cause) {
        self.is_device_lost = true;
        self.stop(cause);
        for lane in 0..self.lanes.count() {
            let submitted = self.lanes.submitted(lane).unwrap_or(0);
            self.lanes.complete(lane, submitted);
            let mut node = self.lanes.first_in_flight(lane);
            while node != NONE {
                let slot = &mut self.nodes[node];
                slot.poison = slot.poison.or(Some(cause));
                let next = self.lanes.next_in_flight(lane, node, slot.next);
                self.lanes.set_first_in_flight(lane, next);
                self.end(node);
                node = next;
            }
        }
        self.settle();
    }

    /// A node that has ended, the oldest first. Its slot is free from now on, so a caller that does not ask finds the
    /// graph full.
    #[inline]
    pub fn ended(&mut self) -> Option<Ended> {
        if self.left_out > 0 { self.ended_or_left_out() } else { self.take_ended() }
    }

    #[inline(always)] // the common case of `ended`
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        let node = self.ended.first;
        if node == NONE {
            return None;
        }
        let slot = &self.nodes[node];
        self.ended.first = slot.next;
        let outcome = slot.poison.map_or(Ok(()), Err);
        let id = NodeId { index: node, generation: slot.generation };
        let ended = Ended { node: id, outcome, turns: slot.turns };
        self.nodes.give_back(node);
        Some(ended)
    }

    /// No node of the device is launched from now on.
    fn stop(&mut self, cause: Cause) {
        self.failure = self.failure.or(Some(cause));
        self.is_usual = false;
        self.find_plain();
        while let Some(node) = self.device.pop_one(self.nodes.slots()) {
            self.todo.push_back(node);
        }
        let todo = &mut self.todo;
        self.passes.drain(|node| todo.push_back(node));
        for node in &self.todo {
            if self.nodes[*node].stage == Stage::Ready {
                self.nodes[*node].stage = Stage::Waiting;
            }
        }
    }

    /// The one exit of every node.
    #[inline(never)]
    pub(crate) fn end(&mut self, node: u32) {
        self.leave(node);
        self.put_ended(Pair { first: node, last: node });
    }

    /// The node has ended: all that others have because of it is given back.
    #[inline(never)]
    fn leave(&mut self, node: u32) {
        let slot = &mut self.nodes[node];
        (slot.stage, slot.offers_strand) = (Stage::Ended, false);
        let (poison, strand, edge) = (slot.poison, slot.strand, slot.out.first);
        let has_history = slot.into & slot.points != NONE; // one of them is not `NONE`
        slot.out.first = NONE;
        self.leave_successors(edge, poison);
        if has_history {
            self.leave_history(node);
        }
        if strand != NONE && self.lanes.leave(strand) {
            self.lanes.free_strand(strand, !self.is_physx() || self.simulations == 0);
        }
    }

    /// The edges to those after a node that ends, from this one on.
    fn leave_successors(&mut self, mut edge: u32, poison: Option<Cause>) {
        while edge != NONE {
            let slots = self.nodes.slots();
            let it = self.edges.unlink_last_end(slots, edge);
            let poison = poison.filter(|_| !it.passes_no_failure);
            // A node of the device that was waiting for the launch only is no longer concerned.
            if it.is_counted || poison.is_some() || !slots[it.to as usize].kind.is_device() {
                self.tell_end(&it, poison);
            }
            edge = it.out_next;
        }
    }

    /// The node before has ended: the edge fails the one after it, is no reference any more, or was the last of a node
    /// that has been launched and is of no lane.
    #[inline(never)]
    fn tell_end(&mut self, edge: &Edge, poison: Option<Cause>) {
        if let Some(cause) = poison {
            self.poison_after(edge.to, cause);
        }
        if edge.is_counted {
            self.drop_reference(edge.to, self.is_usual);
        } else {
            self.end_if_last(edge.to);
        }
    }

    /// The edges from those before a node that ends, and the points that it stands for.
    #[inline(never)]
    fn leave_history(&mut self, node: u32) {
        self.unlink_predecessors(node);
        let points = std::mem::replace(&mut self.nodes[node].points, NONE);
        self.points.free(points);
    }

    fn unlink_predecessors(&mut self, node: u32) {
        loop {
            let edge = self.nodes[node].into;
            if edge == NONE {
                return;
            }
            let from = self.edge(edge).from;
            self.edges.unlink(self.nodes.slots(), edge);
            self.lower(from);
        }
    }

    /// A launched node of no lane ends with the last node before it.
    #[inline]
    pub(crate) fn end_if_last(&mut self, node: u32) {
        let slot = &self.nodes[node];
        if !slot.kind.is_device() && slot.stage == Stage::Launched && slot.into == NONE {
            self.todo.push_back(node);
        }
    }

    /// A node after one that has failed fails too; not so to PhysX.
    pub(crate) fn poison_after(&mut self, node: u32, cause: Cause) {
        if !self.is_physx() {
            self.poison(node, cause);
        }
    }

    /// The node fails, and with it all that have started behind it because it was launched.
    fn poison(&mut self, node: u32, cause: Cause) {
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            let slot = &mut self.nodes[node];
            if slot.poison.is_some() || slot.is_left {
                continue;
            }
            slot.poison = Some(cause);
            let (stage, turns) = (slot.stage, slot.turns);
            if stage == Stage::Ready && turns == 0 {
                self.dequeue(node);
                self.nodes[node].stage = Stage::Waiting;
                self.todo.push_back(node);
            }
            // Before the node is launched its edges are all counted, but for that to one that is launched behind it at
            // once. To PhysX it has none afterwards.
            let mut edge = self.nodes[node].out.first;
            while edge != NONE {
                let it = self.edge(edge);
                let (to, next, passes_on) = (it.to, it.out_next, !(it.is_counted || it.passes_no_failure));
                if passes_on {
                    self.stack.push(to);
                }
                edge = next;
            }
        }
    }
}

/// As [`Graph::leave`], in a graph that [`Graph::is_usual`], of most nodes of the device: of those that have not
/// failed, and have no edge from another node and at most one to another, of which nothing is to be told. Of others it
/// changes nothing, and returns that.
#[inline(always)] // a call would cost a fourth of it
fn leave_silently(slots: &mut [Slot], edges: &mut Edges, lanes: &mut Lanes, node: u32) -> bool {
    let slot = &slots[node as usize];
    let (strand, edge) = (slot.strand, slot.out.first);
    let is_silent = slot.poison.is_none() && slot.into & slot.points == NONE;
    if !is_silent || (edge != NONE && !edges.unlink_silent(slots, edge)) {
        return false;
    }
    let slot = &mut slots[node as usize];
    (slot.stage, slot.offers_strand, slot.out.first) = (Stage::Ended, false, NONE);
    if lanes.leave(strand) {
        lanes.free_strand(strand, true);
    }
    true
}
