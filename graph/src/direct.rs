//! Nodes that are handed out by the call that appends them.

use terms::Priority;

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Edge, Kind, Mark, NodeId, Point, Spec, Stage};
use crate::nodes::two;

/// The nodes before one that is appended.
struct Before {
    count: u32,
    /// The first that offers it its strand, or none.
    offers: u32,
}

impl Graph {
    /// [`Graph::append`] and [`Graph::next`] in one call, for the common case: a node of the device that is ready and
    /// finds no other ready one, and comes after none, or after one whose strand it goes on in. The caller launches it
    /// in the lane that is returned, behind no join, and reports it as any other node that has been handed out.
    ///
    /// In any other case nothing has changed, and [`Graph::append`] is to be called.
    #[inline(always)] // it is called in one place, and a call would be a fifth of it
    pub fn append_running(&mut self, spec: &Spec<'_>) -> Option<(NodeId, u8)> {
        if !self.may_run_at_once(spec) {
            return None;
        }
        let first = match spec.after {
            [] => None,
            [first] => self.nodes.find(*first),
            _ => return None,
        };
        match first {
            Some(first) => self.append_running_behind(spec, first),
            None => self.append_running_first(spec.kind, spec.priority, spec.name, spec.device),
        }
    }

    /// As [`Graph::append_running`], after nodes that are all launched: behind the joins that [`Graph::joins`] tells.
    #[inline(never)]
    pub fn append_running_behind_joins(&mut self, spec: &Spec<'_>) -> Option<(NodeId, u8)> {
        let has_room = self.nodes.room() > 0 && self.edges.room() as usize >= spec.after.len();
        if !has_room || !self.may_run_at_once(spec) {
            return None;
        }
        let before = self.find_launched(spec)?;
        let node = self.nodes.take(spec, spec.priority);
        let (generation, lane) = self.begin_behind(node, &before, spec.priority);
        self.launching += 1;
        self.device.rounds += 1;
        self.follow_launched(node, lane, spec.after);
        Some((NodeId { index: node, generation }, lane))
    }

    /// The nodes of these that have not left, if each is launched and nothing about it changes by one more behind it.
    fn find_launched(&self, spec: &Spec<'_>) -> Option<Before> {
        let group = self.lanes.group_of(spec.device, spec.priority);
        let mut before = Before { count: 0, offers: NONE };
        for first in spec.after {
            let Some(slot) = self.nodes.slot(*first) else { continue };
            let is_launched = slot.stage == Stage::Launched && slot.kind.is_device();
            if !is_launched || slot.poison.is_some() || slot.effective < spec.priority {
                return None;
            }
            if before.offers == NONE && slot.offers_strand && slot.group == group {
                before.offers = first.index;
            }
            before.count += 1;
        }
        Some(before)
    }

    /// The node is handed out, in the strand that one of those before it offers, or in a new one. Returns its
    /// generation and its lane.
    fn begin_behind(&mut self, node: u32, before: &Before, priority: Priority) -> (u32, u8) {
        let has_strand = before.offers != NONE;
        let slot = &mut self.nodes[node];
        slot.run(priority);
        slot.has_joins = before.count > u32::from(has_strand);
        if has_strand {
            let [from, to] = two(self.nodes.slots(), before.offers, node);
            self.lanes.hold(from.strand, 1);
            from.hand_on(to);
            return (to.generation, to.lane);
        }
        self.lanes.new_strand(slot);
        (slot.generation, slot.lane)
    }

    /// Links a node that is handed out in this lane to those before it, which are launched, and finds its joins.
    fn follow_launched(&mut self, node: u32, lane: u8, after: &[NodeId]) {
        self.joins.clear();
        for first in after {
            let slots = self.nodes.slots();
            let Some(slot) = slots.get(first.index as usize) else { continue };
            if slot.generation == first.generation {
                self.lanes.join(lane, Point { lane: slot.lane, value: slot.value }, &mut self.joins);
                self.edges.link(slots, Edge::new(first.index, node, Mark::Launched, false, false));
            }
        }
        if self.nodes[node].is_folded {
            self.lanes.join_own(lane, &mut self.joins);
        }
    }

    /// The points that the node which [`Graph::append_running_behind_joins`] has just handed out waits for.
    #[inline]
    #[must_use]
    pub fn joins(&self) -> &[Point] {
        &self.joins
    }

    /// Behind a node that is launched, in its strand. No other node waits for that one, and it is as urgent.
    #[inline(always)] // to call it would be a fifth of the cost of a task
    fn append_running_behind(&mut self, spec: &Spec<'_>, first: u32) -> Option<(NodeId, u8)> {
        let Spec { kind, priority, name, device, .. } = *spec;
        let (node, number) = (self.nodes.free(), self.nodes.made());
        let Ok([before, slot]) = self.nodes.slots().get_disjoint_mut([first, node].map(|it| it as usize)) else {
            return self.append_running_in_new_slot(kind, priority, name, device, first);
        };
        if !self.lanes.goes_on(before, device, priority) {
            return None;
        }
        self.lanes.hold(before.strand, 1);
        slot.begin(&Spec { priority, device, ..Spec::of(kind) }, priority);
        slot.run(priority);
        (slot.number, slot.has_name) = (number, !name.is_empty());
        before.hand_on(slot);
        self.edges.link_only(before, slot, Edge::new(first, node, Mark::Launched, false, false));
        let told = (NodeId { index: node, generation: slot.generation }, slot.lane);
        let next = slot.next;
        self.nodes.took(node, next, name);
        self.launching += 1;
        self.device.rounds += 1;
        Some(told)
    }

    /// As [`Graph::append_running_behind`], where no slot is free. The parts of a description are values: one in memory
    /// would be made for each task.
    #[cold]
    #[inline(never)]
    fn append_running_in_new_slot(
        &mut self,
        kind: Kind,
        priority: Priority,
        name: &str,
        device: u8,
        first: u32,
    ) -> Option<(NodeId, u8)> {
        if self.nodes.room() == 0 {
            return None;
        }
        self.nodes.grow();
        self.append_running_behind(&Spec { priority, name, device, ..Spec::of(kind) }, first)
    }

    #[inline(never)]
    fn append_running_first(&mut self, kind: Kind, priority: Priority, name: &str, device: u8) -> Option<(NodeId, u8)> {
        if self.nodes.room() == 0 {
            return None;
        }
        let node = self.nodes.take(&Spec { priority, name, device, ..Spec::of(kind) }, priority);
        let slot = &mut self.nodes[node];
        self.lanes.new_strand(slot);
        slot.run(priority);
        self.launching += 1;
        self.device.rounds += 1;
        Some((NodeId { index: node, generation: slot.generation }, slot.lane))
    }

    /// Whether a node of this kind that is ready now is the next one.
    #[inline(always)] // as `append_running`
    fn may_run_at_once(&self, spec: &Spec<'_>) -> bool {
        spec.kind.is_device()
            && spec.references == 0
            && !spec.in_convoy
            && self.options.priorities.contains(spec.priority)
            && spec.device < self.options.devices
            && self.is_plain_and_at_rest()
            && self.edges.room() > 0
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
