//! Dispatch: hands out ready nodes, with their lanes and joins, and takes reports of launched ones.

use priority::Priority;

use crate::graph::Graph;
use crate::lanes::Lanes;
use crate::list::NONE;
use crate::node::{IN_SLOT, Kind, Mark, NodeId, Point, Slot, Stage};
use crate::nodes::two;
use crate::passes::PassStep;
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

impl<'g> Ready<'g> {
    /// The node is handed out.
    #[inline(always)] // it would be a third of the cost of the call that it is a part of
    pub(crate) fn new(node: u32, slot: &mut Slot, joins: &'g [Point]) -> Ready<'g> {
        slot.stage = Stage::Running;
        slot.told = slot.effective;
        let turn = slot.turns;
        slot.turns += 1;
        let id = NodeId { index: node, generation: slot.generation };
        let place = Some(Place { lane: slot.lane, strand: slot.strand });
        Ready { node: id, kind: slot.kind, priority: slot.effective, turn, place, joins }
    }
}

impl Graph {
    /// The node to launch or run next. The caller reports it by one of [`Graph::launched`], [`Graph::again`] and
    /// [`Graph::failed`].
    #[inline(always)] // the part for the device, of a node that joins no other lane
    pub fn next(&mut self, runner: Runner) -> Option<Ready<'_>> {
        if runner != Runner::Device {
            return self.next_of_host(runner);
        }
        if !self.is_plain {
            return self.next_of_other().map(|node| self.place_first(node));
        }
        let slots = self.nodes.slots();
        let Some((node, slot)) = self.device.pop(slots) else {
            self.go_on_with_round(None);
            return None;
        };
        self.launching += 1;
        if slot.strand == NONE {
            self.lanes.new_strand(slot);
        }
        if slot.has_joins {
            return Some(self.hand_out(node));
        }
        Some(Ready::new(node, slot, &[]))
    }

    #[inline(never)]
    fn next_of_host(&mut self, runner: Runner) -> Option<Ready<'_>> {
        let queue = if runner == Runner::Host { &mut self.host } else { &mut self.light };
        let node = queue.pop_one(self.nodes.slots())?;
        Some(Ready { place: None, ..Ready::new(node, &mut self.nodes[node], &[]) })
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
        self.begin_phase(node);
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
    #[inline(always)] // the part for a node that no other one waits for yet
    pub fn launched(&mut self, node: NodeId) -> Result<Launched, Refused> {
        let slot = self.nodes.all().get(node.index as usize);
        let is_plain = |slot: &&Slot| {
            slot.generation == node.generation
                && slot.stage == Stage::Running
                && slot.kind.is_device()
                && self.is_usual
                && slot.poison.is_none()
                && (!slot.is_alone || self.device.is_empty())
        };
        if slot.filter(is_plain).is_none() {
            return self.launched_other(node);
        }
        let node = node.index;
        let after = self.after(node);
        self.launching -= 1;
        let at = self.enter_lane(node);
        let is_waited_for = after.1 != NONE && self.resolve_usual(node, after);
        Ok(Launched { at: Some(at), is_waited_for })
    }

    #[inline(always)] // to save registers would be a fifth of its cost
    fn resolve_usual(&mut self, node: u32, after: (u32, u32)) -> bool {
        let is_waited_for = self.resolve::<true>(node, after);
        self.settle();
        is_waited_for
    }

    /// A hint about the processor's cache: the node that became ready last will be launched, and the one behind it will
    /// be looked at then. Returns the numbers of their slots, once for each such node, and not for all.
    #[inline]
    pub fn ahead(&mut self) -> Option<(usize, Option<usize>)> {
        let ready = std::mem::replace(&mut self.device.ahead, NONE) as usize;
        let index = self.nodes.all().get(ready)?.out.first ^ IN_SLOT;
        // Other edges, and none, have the numbers of no slot.
        Some((ready, (index < NONE ^ IN_SLOT).then_some(index as usize)))
    }

    /// As [`Graph::launched`], for all nodes and orders.
    #[inline(never)]
    fn launched_other(&mut self, node: NodeId) -> Result<Launched, Refused> {
        let node = self.running(node)?;
        let mut launched = Launched { at: None, is_waited_for: false };
        if !self.nodes[node].kind.is_device() {
            self.pass(node);
        } else {
            launched.at = self.submit(node);
            // Those behind one that has failed meanwhile fail with its end, as behind a launch that fails.
            let has_failed = self.nodes[node].poison.is_some() && !self.is_physx();
            launched.is_waited_for = launched.at.is_some() && (has_failed || self.resolve_launched(node));
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

    /// Whether a node that has been handed out comes after others that may not have ended.
    #[must_use]
    pub fn comes_after(&self, node: NodeId) -> bool {
        self.lanes.has_barrier() || self.nodes.find(node).is_none_or(|node| self.nodes[node].into != NONE)
    }

    /// A lane has work of a node that is in another one: it gets a point that no node stands for. Returns its value.
    pub fn advance(&mut self, lane: u8) -> u64 {
        self.lanes.submit_point(lane)
    }

    /// The slot of a node that has been handed out.
    #[inline]
    pub(crate) fn running(&self, node: NodeId) -> Result<u32, Refused> {
        let running = self.nodes.find(node).filter(|&node| self.nodes[node].stage == Stage::Running);
        running.ok_or_else(|| Refused::NotRunning { task: self.label(node) })
    }

    /// The node, which has been handed out, gets the next point of its lane. A device that is lost has none. PhysX
    /// removes the node from its bin in any case.
    #[inline(never)]
    pub(crate) fn submit(&mut self, node: u32) -> Option<Point> {
        self.launching -= 1;
        self.remove_taken();
        self.go_on_with_phase(node);
        if !self.is_device_lost {
            return Some(self.enter_lane(node));
        }
        self.nodes[node].poison = self.nodes[node].poison.or(self.failure);
        self.end(node);
        None
    }

    #[inline(always)] // a call would be a twelfth of a launch's report
    pub(crate) fn enter_lane(&mut self, node: u32) -> Point {
        let (point, less_urgent) = self.lanes.submit(self.nodes.slots(), node);
        if let Some(before) = less_urgent {
            // The device does not begin this one before that one.
            self.raise(before, self.nodes[node].effective);
        }
        point
    }

    /// The nodes that wait for this one to be launched have one reference less. Returns whether others than those
    /// behind it in its lane wait for it.
    #[inline(never)]
    pub(crate) fn resolve_launched(&mut self, node: u32) -> bool {
        let after = self.after(node);
        self.resolve::<false>(node, after)
    }

    /// The strand of a node, and the first edge to those after it.
    #[inline]
    fn after(&self, node: u32) -> (u32, u32) {
        (self.nodes[node].strand, self.nodes[node].out.first)
    }

    /// As [`Graph::resolve_launched`], with less to look at while [`Graph::is_usual`].
    #[inline(always)] // of both callers one is the common case, and knows that it is
    fn resolve<const IS_USUAL: bool>(&mut self, node: u32, (strand, mut edge): (u32, u32)) -> bool {
        let (mut is_waited_for, is_physx) = (false, !IS_USUAL && self.is_physx());
        while edge != NONE {
            let (slots, to) = (self.nodes.slots(), self.edges.end(edge));
            let [first, then] = two(slots, node, to);
            let it = self.edges.leading_to(then, edge);
            let next = it.out_next;
            if it.mark == Mark::Launched {
                if !it.is_counted {
                    // That one was handed out behind this one, and has its strand.
                    first.offers_strand = false;
                    edge = next;
                    continue;
                }
                it.is_counted = false;
                let is_passed = self.lanes.offer(first, then);
                // A node without work waits on no device: those after it may.
                is_waited_for |= !is_passed && then.strand != strand && then.kind != Kind::Empty;
                if is_physx {
                    self.resolve_for_physx(edge, is_passed);
                    self.drop_reference(to, false);
                    edge = next;
                    continue;
                }
                then.references -= 1;
                if then.references == 0 && !(IS_USUAL && self.device.take_in(slots, to)) {
                    self.schedule_other(to);
                }
            } else {
                is_waited_for |= then.strand != strand;
            }
            edge = next;
        }
        is_waited_for
    }

    /// To PhysX the edge has done its work. If the strand is not passed on, the later node waits for idle (PX-15, 16),
    /// and still takes the strand of another one before it, or gets one when it is polled.
    #[inline(never)]
    fn resolve_for_physx(&mut self, edge: u32, is_passed: bool) {
        let it = *self.edge(edge);
        if !is_passed && self.nodes[it.from].kind.is_device() && self.nodes[it.to].kind.is_device() {
            self.nodes[it.to].wants_sync = true;
        }
        self.edges.unlink(self.nodes.slots(), edge);
    }

    /// A node is handed out in other orders.
    #[inline(never)]
    fn place_first(&mut self, node: u32) -> Ready<'_> {
        self.launching += 1;
        if self.nodes[node].strand == NONE {
            self.lanes.new_strand(&mut self.nodes[node]);
        }
        self.hand_out(node)
    }

    /// A node that has a strand is handed out. If its priority has become that of another group, it gets a new one. Its
    /// lane joins those of the nodes before it; to PhysX only where it waits for idle.
    #[inline(never)]
    fn hand_out(&mut self, node: u32) -> Ready<'_> {
        let is_physx = self.is_physx();
        let slot = &mut self.nodes[node];
        let is_first = slot.turns == 0 && !is_physx;
        let mut joins = is_first && slot.has_joins;
        if is_first && !self.lanes.is_of_group(slot) {
            self.lanes.change_strand(slot);
            joins = true;
        }
        let lane = slot.lane;
        self.joins.clear();
        if joins || self.lanes.has_new_barrier(lane) {
            self.join(node, lane, joins);
        }
        Ready::new(node, &mut self.nodes[node], &self.joins)
    }

    pub(crate) fn join(&mut self, node: u32, lane: u8, joins: bool) {
        self.lanes.begin_joins(lane, &mut self.joins);
        if joins {
            self.points_before(node, |lanes, point, joins| lanes.join(lane, point, joins));
        }
        if self.nodes[node].is_folded {
            self.joins.extend(self.lanes.join_own(lane));
        }
    }

    /// The points of all launched nodes before this one.
    #[inline]
    fn points_before(&mut self, node: u32, mut each: impl FnMut(&mut Lanes, Point, &mut Vec<Point>)) {
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            let it = self.edge(edge);
            let from = &self.nodes[it.from];
            edge = it.into_next;
            if from.kind.is_device() {
                each(&mut self.lanes, Point { lane: from.lane, value: from.value }, &mut self.joins);
                continue;
            }
            let mut list = from.points;
            while let Some((point, rest)) = self.points.split(list) {
                each(&mut self.lanes, point, &mut self.joins);
                list = rest;
            }
        }
    }

    /// A node of no lane stands for the points of those before it.
    pub(crate) fn collect_points(&mut self, node: u32) {
        self.joins.clear();
        self.points_before(node, |lanes, point, points| lanes.gather(point, points));
        let mut list = NONE;
        for point in &self.joins {
            list = self.points.push(list, *point);
        }
        self.nodes[node].points = list;
    }

    /// Without a ready node, and none being launched, the round ends.
    #[inline]
    pub(crate) fn go_on_with_round(&mut self, node: Option<u32>) -> Option<u32> {
        if node.is_none() && self.launching == 0 {
            self.device.end_round();
        }
        node
    }

    /// The next node of the device, for all orders, groups and barriers.
    #[inline(never)]
    fn next_of_other(&mut self) -> Option<u32> {
        if self.open_groups > 0 {
            return None;
        }
        if self.is_physx() {
            return self.next_in_passes();
        }
        let node = self.device.pop_one(self.nodes.slots());
        self.go_on_with_round(node)
    }

    #[inline(never)]
    fn next_in_passes(&mut self) -> Option<u32> {
        loop {
            // A poll gives strands in its order (PX-13).
            let (lanes, passes) = (&mut self.lanes, &mut self.passes);
            passes.poll(self.nodes.slots(), |slot| {
                if slot.strand == NONE {
                    lanes.new_strand(slot);
                }
            });
            match self.passes.turn(self.nodes.slots()) {
                PassStep::Launch(node) => return Some(node),
                PassStep::Nothing => return None,
                PassStep::Sync => self.sync(),
            }
        }
    }

    fn sync(&mut self) {
        self.lanes.set_barrier();
        self.find_plain();
        self.passes.clear_syncs(self.nodes.slots());
        self.syncs += 1;
    }

    #[inline]
    fn remove_taken(&mut self) {
        if self.is_physx() {
            self.passes.finish();
        }
    }
}
