//! Nodes that the call which appends them also hands out.

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Edge, Mark, NodeId, Point, Spec, Stage};
use crate::nodes::two;

/// So many nodes before one that is handed out at once, at most.
const FEW: usize = 4;

/// The nodes before one that is appended.
struct Before {
    few: [u32; FEW],
    /// So many of them there are.
    count: usize,
    /// The first that offers it its strand, or none.
    offers: u32,
}

impl Graph {
    /// [`Graph::append`] and [`Graph::next`] in one call, for the common case: a node of the device that is ready and
    /// finds no other ready one. It comes after these nodes, in place of those of its description: four of them at most
    /// have not left, and those are launched. They end with none if the caller finds that the new one is not to be
    /// handed out. The caller launches it in the lane that is returned, and reports it as any other node.
    ///
    /// `join` adds a point to those that the lane has to wait for, which are one of each other lane: the last. It
    /// returns whether it is the first of that lane. The last part of the answer is the last point of the lane itself,
    /// if that is of another strand: it is to be marked before the node.
    ///
    /// In any other case nothing has changed, and [`Graph::append`] is to be called.
    #[inline(always)] // most of the description is known to the caller
    pub fn append_running(
        &mut self,
        spec: &Spec<'_>,
        after: impl Iterator<Item = Option<NodeId>>,
        join: impl FnMut(Point) -> bool,
    ) -> Option<(NodeId, u8, Option<Point>)> {
        if !self.may_run_at_once(spec) {
            return None;
        }
        let before = self.find_launched(spec, after)?;
        let has_room = self.nodes.room() > 0 && self.edges.has_room(before.count);
        has_room.then(|| self.run_behind(spec, &before, join))
    }

    /// The nodes of these that have not left, if each is launched and nothing about it changes by one more behind it.
    #[inline(always)] // as `append_running`
    fn find_launched(&self, spec: &Spec<'_>, after: impl Iterator<Item = Option<NodeId>>) -> Option<Before> {
        let group = self.lanes.group_of(spec.device, spec.priority);
        let mut before = Before { few: [NONE; FEW], count: 0, offers: NONE };
        for first in after {
            let first = first?;
            let Some(slot) = self.nodes.slot(first) else { continue };
            let is_launched = slot.stage == Stage::Launched && slot.kind.is_device();
            if !is_launched || slot.poison.is_some() || slot.effective < spec.priority {
                return None;
            }
            if before.offers == NONE && slot.offers_strand && slot.group == group {
                before.offers = first.index;
            }
            *before.few.get_mut(before.count)? = first.index;
            before.count += 1;
        }
        Some(before)
    }

    /// A node is made, and handed out in the strand that one of those before it offers, or in a new one.
    #[inline(always)] // as `append_running`
    fn run_behind(
        &mut self,
        spec: &Spec<'_>,
        before: &Before,
        join: impl FnMut(Point) -> bool,
    ) -> (NodeId, u8, Option<Point>) {
        let node = self.nodes.take_running(spec);
        let (generation, lane) = self.begin_behind(node, before);
        self.launching += 1;
        self.device.rounds += 1;
        let own = self.follow_launched(node, lane, before, join);
        (NodeId { index: node, generation }, lane, own)
    }

    /// Gives the node its strand. Returns its generation and its lane.
    #[inline(always)] // as `append_running`
    fn begin_behind(&mut self, node: u32, before: &Before) -> (u32, u8) {
        if before.offers != NONE {
            let [from, to] = two(self.nodes.slots(), before.offers, node);
            self.lanes.hold(from.strand, 1);
            from.hand_on(to);
            to.has_joins = before.count > 1;
            return (to.generation, to.lane);
        }
        let slot = &mut self.nodes[node];
        slot.has_joins = before.count > 0;
        self.lanes.new_strand(slot);
        (slot.generation, slot.lane)
    }

    /// Links a node that is handed out in this lane to those before it, which are launched, and finds its joins. That
    /// with its own lane is returned.
    #[inline(always)] // as `append_running`
    fn follow_launched(
        &mut self,
        node: u32,
        lane: u8,
        before: &Before,
        mut join: impl FnMut(Point) -> bool,
    ) -> Option<Point> {
        for &first in &before.few[..before.count] {
            let slots = self.nodes.slots();
            let slot = &slots[first as usize];
            self.lanes.join_by(lane, Point { lane: slot.lane, value: slot.value }, &mut join);
            self.edges.link(slots, Edge::new(first, node, Mark::Launched, false, false));
        }
        // Only a strand that begins with the node is folded.
        let is_folded = before.offers == NONE && self.nodes[node].is_folded;
        if is_folded { self.lanes.join_own(lane) } else { None }
    }

    /// The joins of the node that [`Graph::next`] has handed out last.
    #[inline]
    #[must_use]
    pub fn joins(&self) -> &[Point] {
        &self.joins
    }

    /// Whether a node of this kind that is ready now is the next one.
    #[inline(always)] // as `append_running`
    fn may_run_at_once(&self, spec: &Spec<'_>) -> bool {
        spec.kind.is_device()
            && spec.references == 0
            && !spec.in_copy_strand
            && self.options.priorities.contains(spec.priority)
            && spec.device < self.options.devices
            && self.is_plain_and_at_rest()
    }

    /// Whether a node that is ready now can be the next one has changed.
    pub(crate) fn find_plain(&mut self) {
        self.is_plain = self.is_usual && self.open_groups == 0 && !self.lanes.has_barrier();
    }

    /// Others have become ready while a node was running that had been handed out alone: its phase is the one at hand
    /// for them, as if the queue had handed it out.
    #[inline]
    pub(crate) fn go_on_with_phase(&mut self, node: u32) {
        if !self.device.is_empty() {
            self.begin_phase(node);
        }
    }

    #[cold]
    pub(crate) fn begin_phase(&mut self, node: u32) {
        let slot = &mut self.nodes[node];
        if std::mem::take(&mut slot.is_alone) {
            self.device.begin(slot.told, slot.kind.phase());
        }
    }
}
