//! Nodes that are handed out by the call that appends them.

use crate::edges::Edge;
use crate::graph::Graph;
use crate::node::{Mark, NodeId, Spec, Stage};

impl Graph {
    /// [`Graph::append`] and [`Graph::next`] in one call, for the common case: a node of the device that is ready and
    /// finds no other ready one, and comes after none, or after one whose strand it goes on in. The caller launches it
    /// in the lane that is returned, behind no join, and reports it as any other node that has been handed out.
    ///
    /// In any other case nothing has changed, and [`Graph::append`] is to be called.
    pub fn append_running(&mut self, spec: &Spec<'_>) -> Option<(NodeId, u8)> {
        let is_ready = spec.kind.is_device() && spec.references == 0 && self.options.priorities.contains(spec.priority);
        if !is_ready || !self.may_run_at_once() {
            return None;
        }
        let first = match spec.after {
            [] => None,
            [first] => self.nodes.find(*first),
            _ => return None,
        };
        if let Some(first) = first
            && !self.lanes.goes_on(&self.nodes[first], spec.priority)
        {
            return None;
        }
        let node = self.nodes.take(spec, spec.priority);
        let slots = self.nodes.slots();
        match first {
            Some(first) => {
                self.lanes.pass_on(slots, first, node);
                self.edges.link(slots, Edge::new(first, node, Mark::Launched, false, false));
                self.raise(first, spec.priority);
            }
            None => self.lanes.new_strand(&mut slots[node as usize]),
        }
        self.launching += 1;
        self.device.rounds += 1;
        let slot = &mut self.nodes[node];
        (slot.stage, slot.is_alone, slot.told, slot.turns) = (Stage::Running, true, spec.priority, 1);
        Some((NodeId { index: node, generation: slot.generation }, slot.lane))
    }

    /// Whether a node that is ready now is the next one.
    #[inline]
    fn may_run_at_once(&self) -> bool {
        self.is_usual
            && self.open_groups == 0
            && self.device.is_at_rest()
            && !self.lanes.has_barrier()
            && self.nodes.room() > 0
            && self.edges.room() > 0
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
