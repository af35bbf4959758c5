//! Batches: kernels that are handed out before the launch of the previous one is reported, so that a caller with a lock
//! takes it once for all of them. The order is that of [`Graph::next`].

use priority::Priority;

use crate::dispatch::Ready;
use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{IN_SLOT, Kind, Mark, NodeId, Point, Slot, Stage};
use crate::nodes::two;
use crate::refused::Refused;

/// A kernel that is launched behind another one at once, in the same lane and at the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The node.
    pub node: NodeId,
    /// How often it has been handed out before (PX-09).
    pub turn: u32,
    /// The lane of both.
    pub lane: u8,
}

impl Graph {
    /// Hands out the kernels that [`Graph::next`] returns when the launch of `last` has been reported, one behind the
    /// other, as far as that is certain by now: `last` is a kernel that has been handed out last, no node is ready, and
    /// each waits for the one before it alone, is as urgent, and goes on in its strand. They join no other lane. `each`
    /// is called with each, and returns whether another one may follow.
    ///
    /// The caller launches all, and then reports all, in this order. It launches each only behind a launch of the one
    /// before that has succeeded, and was the last of that; if not it says so by [`Graph::take_back`], before it
    /// reports that one.
    #[inline(always)] // called in one place
    pub fn next_behind(&mut self, last: NodeId, mut each: impl FnMut(Behind) -> bool) {
        let slots = self.nodes.slots();
        let Some(first) = slots.get(last.index as usize) else { return };
        let (strand, lane, group) = (first.strand, first.lane, first.group);
        let (priority, device, mut edge) = (first.told, first.device, first.out.first);
        // Other edges, and none, have the numbers of no slot.
        let may_follow = (edge < NONE) & self.is_plain
            && self.device.is_empty()
            && matches!(first.kind, Kind::Kernel)
            && (first.effective == priority) & !first.is_copy_strand
            && first.poison.is_none()
            && self.lanes.is_of_group(first)
            && self.device.is_at_hand(first);
        let mut count = 0;
        while let Some(slot) = slots.get_mut((edge ^ IN_SLOT) as usize)
            && may_follow
            && is_next_kernel(slot, priority, device)
        {
            let node = NodeId { index: edge ^ IN_SLOT, generation: slot.generation };
            let turn = slot.turns;
            (slot.strand, slot.lane, slot.group) = (strand, lane, group);
            (slot.edge.is_counted, slot.references) = (false, 0);
            (slot.stage, slot.told, slot.turns) = (Stage::Running, priority, turn + 1);
            (edge, count) = (slot.out.first, count + 1);
            if !each(Behind { node, turn, lane }) {
                break;
            }
        }
        if count > 0 {
            self.lanes.hold(strand, count);
            self.launching += count;
            self.device.count(priority, count);
        }
    }

    /// The same of several chains, whose last kernels, in the order in which they were handed out, are the `round`:
    /// hands out the kernels behind these, in that order. It is certain that they are next if no node is ready, and if
    /// behind each of the round is such a kernel or nothing. It stops behind a kernel whose launch may make another
    /// node ready that comes before the others of the round: a copy, when the kernels have had their share.
    #[inline(always)] // as `next_behind`
    pub fn next_abreast(&mut self, round: impl Iterator<Item = NodeId> + Clone, mut each: impl FnMut(Behind) -> bool) {
        let slots = self.nodes.slots();
        let mut nodes = round.clone().map(|node| slots.get(node.index as usize));
        let Some(Some(first)) = nodes.clone().next() else { return };
        let (priority, lanes) = (first.told, &self.lanes);
        let may_follow = |before: Option<&Slot>| {
            before.is_some_and(|before| {
                let is_usual = matches!(before.kind, Kind::Kernel)
                    && !before.is_copy_strand
                    && before.poison.is_none()
                    && lanes.is_of_group(before);
                let behind = before.out.first;
                let is_followed = || slots.get((behind ^ IN_SLOT) as usize);
                is_usual
                    && (behind == NONE || is_followed().is_some_and(|it| is_next_kernel(it, priority, before.device)))
            })
        };
        if !self.is_plain || !self.device.is_empty() || !self.device.is_at_hand(first) || !nodes.all(may_follow) {
            return;
        }
        let mut count = 0;
        for before in round {
            let slot = &slots[before.index as usize];
            let (strand, lane, group, index) = (slot.strand, slot.lane, slot.group, slot.out.first ^ IN_SLOT);
            let Some(slot) = slots.get_mut(index as usize) else { continue };
            let turn = slot.turns;
            (slot.strand, slot.lane, slot.group) = (strand, lane, group);
            (slot.edge.is_counted, slot.references) = (false, 0);
            (slot.stage, slot.told, slot.turns) = (Stage::Running, priority, turn + 1);
            let node = NodeId { index, generation: slot.generation };
            self.lanes.hold(strand, 1);
            count += 1;
            let may_go_on = each(Behind { node, turn, lane });
            if !may_go_on || !has_one_behind_at_most(&slots[index as usize], slots) {
                break;
            }
        }
        self.launching += count;
        self.device.count(priority, count);
    }

    /// So many nodes have been launched, from this one on: each but the first was handed out behind the one before it
    /// ([`Graph::next_behind`]), and so was one more behind the last of them. No other call has changed the graph
    /// since. Returns the place of the first.
    #[inline(always)] // called in one place
    pub fn launched_behind(&mut self, first: NodeId, count: u32) -> Point {
        let mut node = first.index;
        let point = self.enter_lane(node);
        self.launching -= count;
        let slots = self.nodes.slots();
        let mut value = point.value;
        for _ in 1..count {
            let next = slots[node as usize].out.first ^ IN_SLOT;
            value += 1;
            let [before, slot] = two(slots, node, next);
            (before.next, before.offers_strand) = (next, false);
            (slot.stage, slot.value, slot.previous) = (Stage::Launched, value, node);
            node = next;
        }
        slots[node as usize].offers_strand = false;
        self.lanes.go_on(point.lane, value, node);
        point
    }

    /// The launch of a kernel has been made, and the only node behind it has been handed out ([`Graph::next_abreast`]).
    /// Returns its place. Other nodes have none yet: those are reported by [`Graph::launched`].
    #[inline(always)] // as `next_behind`
    pub fn launched_followed(&mut self, node: NodeId) -> Option<Point> {
        let slots = self.nodes.slots();
        let slot = slots.get(node.index as usize)?;
        let edge = &slots.get((slot.out.first ^ IN_SLOT) as usize)?.edge;
        let is_only = (edge.out_next == NONE) & !edge.is_counted & matches!(edge.mark, Mark::Launched);
        let is_running = (slot.generation == node.generation) & matches!(slot.stage, Stage::Running) & !slot.is_alone;
        if !(is_only & is_running & matches!(slot.kind, Kind::Kernel) & self.is_plain) {
            return None;
        }
        self.launching -= 1;
        let point = self.enter_lane(node.index);
        self.nodes[node.index].offers_strand = false;
        Some(point)
    }

    /// The kernel that [`Graph::next`] returns next, for all reports of those that are being launched: they
    /// are kernels of its priority, and the ready nodes are all of that kind. It joins no other lane. There is none
    /// behind a node that another lane or the host waits for: that one is reported first.
    ///
    /// The caller launches it behind those, and reports it behind them; or it says by [`Graph::take_back`] that it does
    /// not, before it reports the last of those.
    #[inline]
    pub fn next_beside(&mut self, last: NodeId) -> Option<Ready<'static>> {
        if !self.is_plain {
            return None;
        }
        let slots = self.nodes.slots();
        let last = slots.get(last.index as usize)?;
        if !matches!(last.kind, Kind::Kernel) || !has_one_behind_at_most(last, slots) {
            return None;
        }
        let told = last.told;
        let node = self.device.pop_alike(slots, told)?;
        let slot = &mut slots[node as usize];
        slot.is_strand_new = slot.strand == NONE;
        if slot.is_strand_new {
            self.lanes.new_strand(slot);
        }
        self.launching += 1;
        Some(Ready::new(node, slot, &[]))
    }

    /// A node that [`Graph::next_behind`], [`Graph::next_abreast`] or [`Graph::next_beside`] has handed out is not
    /// launched now: it goes back to its place. Of several the last that was handed out goes back first.
    ///
    /// # Errors
    ///
    /// [`Refused::NotRunning`].
    #[cold]
    pub fn take_back(&mut self, node: NodeId) -> Result<(), Refused> {
        let node = self.running(node)?;
        self.launching -= 1;
        let slot = &mut self.nodes[node];
        slot.turns -= 1;
        slot.stage = Stage::Waiting;
        self.device.discount(slot);
        let (before, strand) = (slot.edge.from, slot.strand);
        let may_be_behind = slot.into == node | IN_SLOT && !slot.edge.is_counted && slot.edge.mark == Mark::Launched;
        let is_behind = may_be_behind && self.nodes[before].stage == Stage::Running;
        let slot = &mut self.nodes[node];
        if is_behind || std::mem::take(&mut slot.is_strand_new) {
            slot.strand = NONE;
            if self.lanes.leave(strand) {
                self.lanes.free_strand(strand, true);
            }
        }
        if is_behind {
            let slot = &mut self.nodes[node];
            (slot.references, slot.edge.is_counted) = (1, true);
            return Ok(());
        }
        let slot = &mut self.nodes[node];
        // One that has begun goes on to its last turn, although it fails.
        if self.failure.is_some() || (slot.poison.is_some() && slot.turns == 0) {
            self.todo.push_back(node);
            self.settle();
            return Ok(());
        }
        slot.stage = Stage::Ready;
        if slot.effective == slot.told {
            self.device.put_back(self.nodes.slots(), node);
        } else {
            self.enqueue(node);
        }
        Ok(())
    }
}

/// Whether a node that waits is a kernel that can be launched behind the one before it at once: that is the only one
/// that it waits for, nothing else waits for that one, and it joins no other lane.
#[inline]
fn is_next_kernel(slot: &Slot, priority: Priority, device: u8) -> bool {
    let edge = &slot.edge;
    let is_only = (edge.out_next & slot.strand == NONE) & (slot.references == 1);
    let is_counted = edge.is_counted & matches!(edge.mark, Mark::Launched) & !slot.has_joins;
    let is_alike = matches!(slot.kind, Kind::Kernel) & (slot.effective == priority) & (slot.device == device);
    is_only & is_counted & is_alike & slot.poison.is_none()
}

/// Whether nothing waits for a node but the one behind it in its lane, if there is one, and that comes behind all that
/// are ready: another phase or priority may be next when the node has been launched.
#[inline]
fn has_one_behind_at_most(last: &Slot, slots: &[Slot]) -> bool {
    let edge = last.out.first;
    let is_next = |slot: &Slot| {
        let is_only = slot.edge.out_next & slot.strand == NONE;
        let is_alike = matches!(slot.kind, Kind::Kernel) & (slot.effective == last.told);
        is_only & matches!(slot.edge.mark, Mark::Launched) & is_alike & slot.poison.is_none()
    };
    edge == NONE || slots.get((edge ^ IN_SLOT) as usize).is_some_and(is_next)
}
