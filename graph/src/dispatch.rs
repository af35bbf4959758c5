//! Dispatch: ready nodes out, lanes and joins with them; launched nodes in.

use terms::Priority;

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Kind, Mark, NodeId, Point, Stage};
use crate::passes::Turn;
use crate::refused::Refused;

/// The thread that asks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// It submits work to the device.
    Device,
    /// It runs [`Kind::Host`] functions.
    Host,
    /// It runs [`Kind::Light`] functions.
    Light,
}

/// A logical stream, and the lane that it is folded onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The lane, from 0 up.
    pub lane: u8,
    /// The logical stream, from 0 up. Numbers are used again.
    pub strand: u32,
}

/// A node that is to be launched now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready<'g> {
    /// The node.
    pub node: NodeId,
    /// Its work.
    pub kind: Kind,
    /// Its priority, the inherited one included.
    pub priority: Priority,
    /// How often it has been handed out before (PX-09).
    pub turn: u32,
    /// Where it is to be submitted, if its work is the device's.
    pub place: Option<Place>,
    /// The points of other lanes that its lane has to wait for first.
    pub joins: &'g [Point],
}

/// A node that has been launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Its place in its lane. None of a host function, and of a node whose work the device will never do.
    pub at: Option<Point>,
    /// Whether another lane or the host is known to wait for it, so that an event is worth its price now.
    pub is_waited_for: bool,
}

impl Graph {
    /// The node to launch or run next. The caller reports it by one of [`Graph::launched`], [`Graph::again`] and
    /// [`Graph::failed`].
    pub fn next(&mut self, runner: Runner) -> Option<Ready<'_>> {
        let (node, place) = match runner {
            Runner::Device => {
                let node = self.next_of_device()?;
                self.launching += 1;
                (node, Some(self.place(node)))
            }
            Runner::Host => (self.host.pop_one(&mut self.nodes)?, None),
            Runner::Light => (self.light.pop_one(&mut self.nodes)?, None),
        };
        let slot = &mut self.nodes[node];
        slot.stage = Stage::Running;
        slot.told = slot.effective;
        slot.turns += 1;
        let id = NodeId { index: node, generation: slot.generation };
        let joins = if place.is_some() { self.joins.as_slice() } else { &[] };
        Some(Ready { node: id, kind: slot.kind, priority: slot.effective, turn: slot.turns - 1, place, joins })
    }

    /// The node has more to launch, in its lane: it goes behind the other ready ones (PX-09, PX-10).
    ///
    /// # Errors
    ///
    /// [`Refused::NotRunning`], also of a node that is none of the device.
    pub fn again(&mut self, node: NodeId) -> Result<(), Refused> {
        let running = self.running(node).ok().filter(|&node| self.nodes[node].kind.is_device());
        let Some(node) = running else { return Err(Refused::NotRunning { task: self.label(node) }) };
        self.launching -= 1;
        if self.failure.is_some() {
            self.nodes[node].stage = Stage::Waiting;
            self.remove_taken();
            self.todo.push_back(node);
            self.settle();
            return Ok(());
        }
        self.nodes[node].stage = Stage::Ready;
        if self.is_physx() {
            self.passes.again();
        } else {
            self.enqueue(node);
        }
        Ok(())
    }

    /// All work of the node has been submitted, or its function has run.
    ///
    /// # Errors
    ///
    /// [`Refused::NotRunning`].
    pub fn launched(&mut self, node: NodeId) -> Result<Launched, Refused> {
        let node = self.running(node)?;
        let mut launched = Launched { at: None, is_waited_for: false };
        if !self.nodes[node].kind.is_device() {
            self.pass(node);
        } else {
            launched.at = self.enter_lane(node);
            if launched.at.is_some() {
                launched.is_waited_for = self.resolve_launched(node);
            }
        }
        self.settle();
        Ok(launched)
    }

    /// From inside a launch: all that is submitted later waits for all that has been submitted by now (PX-17).
    ///
    /// # Errors
    ///
    /// [`Refused::NotRunning`], also of a node that is none of the device.
    pub fn sync_point(&mut self, node: NodeId) -> Result<Point, Refused> {
        let running = self.running(node).ok().filter(|&node| self.nodes[node].kind.is_device());
        let Some(node) = running else { return Err(Refused::NotRunning { task: self.label(node) }) };
        let lane = self.nodes[node].lane;
        let value = self.lanes.submit_point(lane);
        self.sync();
        Ok(Point { lane, value })
    }

    /// The slot of a node that has been handed out.
    #[inline]
    pub(crate) fn running(&self, node: NodeId) -> Result<u32, Refused> {
        let running = self.nodes.find(node).filter(|&node| self.nodes[node].stage == Stage::Running);
        running.ok_or_else(|| Refused::NotRunning { task: self.label(node) })
    }

    /// The node, which has been handed out, gets the next point of its lane. A device that is lost has none.
    #[inline]
    pub(crate) fn enter_lane(&mut self, node: u32) -> Option<Point> {
        self.launching -= 1;
        self.remove_taken();
        if self.is_device_lost {
            self.nodes[node].poison = self.nodes[node].poison.or(self.failure);
            self.end(node);
            return None;
        }
        let lane = self.nodes[node].lane;
        let (value, last) = self.lanes.submit(&mut self.nodes, lane, node);
        let slot = &mut self.nodes[node];
        (slot.stage, slot.offers_strand) = (Stage::Launched, true);
        if last != NONE {
            // The device does not begin this one before that one.
            let effective = slot.effective;
            self.raise(last, effective);
        }
        Some(Point { lane, value })
    }

    /// The nodes that wait for this one to be launched have one reference less. Returns whether others than those
    /// behind it in its lane wait for it.
    #[inline]
    pub(crate) fn resolve_launched(&mut self, node: u32) -> bool {
        let (mut edge, mut is_waited_for) = (self.nodes[node].out.first, false);
        while edge != NONE {
            let it = self.edges[edge];
            if self.mark(node, it.to, it.asked) == Mark::Launched {
                self.pass_strand(node, it.to);
                self.edges[edge].is_counted = false;
                if self.is_physx() {
                    self.edges.unlink(&mut self.nodes, edge);
                }
                self.drop_reference(it.to);
            }
            is_waited_for |= self.nodes[it.to].strand != self.nodes[node].strand;
            edge = it.out_next;
        }
        is_waited_for
    }

    /// The node behind goes on in the strand, if it has none and no other node has it. If not, it has to join.
    #[inline]
    pub(crate) fn offer_strand(&mut self, first: u32, then: u32) -> bool {
        let (offer, taker) = (&self.nodes[first], &self.nodes[then]);
        let fits = offer.offers_strand
            && taker.kind.is_device()
            && taker.strand == NONE
            && (self.is_physx() || self.lanes.group_of(offer.strand) == self.group_of(taker.effective));
        if fits {
            let strand = offer.strand;
            self.enter(then, strand);
            self.nodes[first].offers_strand = false;
        } else {
            self.nodes[then].has_joins = true;
        }
        fits
    }

    /// Rules 2 to 4 (PX-14 to PX-16).
    fn pass_strand(&mut self, first: u32, then: u32) {
        let is_passed = self.offer_strand(first, then);
        let are_both = self.nodes[first].kind.is_device() && self.nodes[then].kind.is_device();
        if !is_passed && are_both && self.is_physx() {
            if self.nodes[then].strand == NONE {
                self.give_strand(then);
            }
            self.nodes[then].wants_sync = true;
        }
    }

    fn give_strand(&mut self, node: u32) {
        let group = if self.is_physx() { 0 } else { self.group_of(self.nodes[node].effective) };
        let strand = self.lanes.new_strand(group);
        self.enter(node, strand);
    }

    #[inline]
    fn enter(&mut self, node: u32, strand: u32) {
        self.lanes.enter(strand);
        let slot = &mut self.nodes[node];
        (slot.strand, slot.lane) = (strand, self.lanes.lane_of(strand));
    }

    /// The place of a node that is about to be launched, and the points that it has to join there. If it has no
    /// strand, or if its priority has become that of another group, it gets a new one (PX-13). PhysX joins only where
    /// it waits for idle.
    #[inline]
    fn place(&mut self, node: u32) -> Place {
        let slot = &self.nodes[node];
        let is_first = slot.turns == 0 && !self.is_physx();
        let mut joins = is_first && slot.has_joins;
        if slot.strand == NONE {
            self.give_strand(node);
        } else if is_first && self.lanes.group_of(slot.strand) != self.group_of(slot.effective) {
            self.lanes.leave(slot.strand, true);
            self.give_strand(node);
            joins = true;
        }
        let slot = &self.nodes[node];
        let place = Place { lane: slot.lane, strand: slot.strand };
        self.joins.clear();
        if joins || self.lanes.has_new_barrier(place.lane) {
            self.join(node, place.lane, joins);
        }
        place
    }

    fn join(&mut self, node: u32, lane: u8, joins: bool) {
        self.lanes.begin_joins(lane);
        if joins {
            self.want_predecessors(node, Some(lane));
        }
        self.lanes.take_wanted(Some(lane), &mut self.joins);
    }

    /// Wants the points of all launched nodes before this one.
    fn want_predecessors(&mut self, node: u32, lane: Option<u8>) {
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            let it = &self.edges[edge];
            let from = &self.nodes[it.from];
            edge = it.into_next;
            if from.kind.is_device() {
                self.lanes.want(lane, Point { lane: from.lane, value: from.value });
                continue;
            }
            let mut list = from.points;
            while let Some((point, rest)) = self.points.split(list) {
                self.lanes.want(lane, point);
                list = rest;
            }
        }
    }

    /// A node of no lane stands for the points of those before it.
    pub(crate) fn collect_points(&mut self, node: u32) {
        self.lanes.begin_points();
        self.want_predecessors(node, None);
        self.lanes.take_wanted(None, &mut self.joins);
        let mut list = NONE;
        for point in &self.joins {
            list = self.points.push(list, *point);
        }
        self.nodes[node].points = list;
    }

    #[inline]
    fn next_of_device(&mut self) -> Option<u32> {
        if self.open_groups > 0 {
            return None;
        }
        if self.is_physx() {
            return self.next_in_passes();
        }
        let node = self.device.pop(&mut self.nodes);
        if node.is_none() && self.launching == 0 {
            self.device.end_round();
        }
        node
    }

    fn next_in_passes(&mut self) -> Option<u32> {
        loop {
            // A poll gives strands in its order (PX-13).
            let (lanes, passes) = (&mut self.lanes, &mut self.passes);
            passes.poll(&mut self.nodes, |nodes, node| {
                if nodes[node].strand == NONE {
                    let strand = lanes.new_strand(0);
                    lanes.enter(strand);
                    (nodes[node].strand, nodes[node].lane) = (strand, lanes.lane_of(strand));
                }
            });
            match self.passes.turn(&self.nodes) {
                Turn::Launch(node) => return Some(node),
                Turn::Nothing => return None,
                Turn::Sync => self.sync(),
            }
        }
    }

    fn sync(&mut self) {
        self.lanes.set_barrier();
        self.passes.clear_syncs(&mut self.nodes);
        self.syncs += 1;
    }

    #[inline]
    fn remove_taken(&mut self) {
        if self.is_physx() {
            self.passes.finish();
        }
    }
}
