//! Nodes that come after others in further ways than their description says: behind launches, and because of data.

use crate::data::Access;
use crate::graph::Graph;
use crate::node::{Edge, Kind, Mark, NodeId, Spec, Stage};
use crate::nodes::two;
use crate::refused::Refused;

impl Graph {
    /// As [`Graph::append_using`], of a node that also starts when each of these has come to [`Mark::Launched`]
    /// (PX-07), and fails if one of them does. Those that have ended are no edge.
    ///
    /// # Errors
    ///
    /// As [`Graph::append_using`]. Nothing has changed then.
    pub fn append_besides(
        &mut self,
        spec: &Spec<'_>,
        accesses: &[Access],
        launches: &[NodeId],
    ) -> Result<NodeId, Refused> {
        self.make_room_for_edges(1, spec, spec.after.iter().chain(launches))?;
        let edges = launches.iter().filter(|id| self.nodes.is_in_order(**id)).count() as u32;
        // The node finds others by its uses meanwhile, and gets no room that these need.
        self.edges.reserve_besides(edges);
        let spec = Spec { references: spec.references + 1, ..*spec };
        let appended = if accesses.is_empty() { self.append(&spec) } else { self.append_using(&spec, accesses) };
        self.edges.give_back_besides(edges);
        let node = appended?;
        self.follow_launches(node.index, launches);
        self.release(node)?;
        Ok(node)
    }

    /// As [`Graph::fill`], of a node that also starts when each of these has come to [`Mark::Launched`].
    ///
    /// # Errors
    ///
    /// As [`Graph::fill`]. Nothing has changed then.
    pub fn fill_besides(&mut self, node: NodeId, spec: &Spec<'_>, launches: &[NodeId]) -> Result<(), Refused> {
        self.make_room_for_edges(0, spec, spec.after.iter().chain(launches))?;
        if let Some(then) = self.nodes.find(node) {
            for first in launches {
                if let Some(first) = self.nodes.find(*first) {
                    self.refuse_cycle(first, then)?;
                }
            }
        }
        self.fill(node, spec)?;
        self.follow_launches(node.index, launches);
        Ok(())
    }

    fn follow_launches(&mut self, node: u32, launches: &[NodeId]) {
        for first in launches {
            let found = self.nodes.find(*first);
            // To PhysX a launched task has finished.
            if let Some(first) = found.filter(|first| !self.is_physx() || self.nodes[*first].stage != Stage::Launched) {
                self.link(first, node, self.mark(first, node, Some(Mark::Launched)), true);
            }
        }
    }

    /// The node comes after these because of data, and does not fail with them. Each of these is there once, may still
    /// be mentioned, and no edge leads from it to the node yet.
    #[inline(never)]
    pub(crate) fn follow_by_data(&mut self, node: u32, after: &[NodeId], kind: Kind) {
        for first in after {
            match kind.is_device() {
                true => self.link_in_order(first.index, node, Mark::Launched),
                false => self.link_by_data(first.index, node),
            }
        }
    }

    /// The same, of the mark that the kinds of both ask for.
    #[inline(never)]
    fn link_by_data(&mut self, first: u32, then: u32) {
        self.link_in_order(first, then, self.mark(first, then, None));
    }

    /// As [`Graph::link`], of an edge that passes no failure on: none, if the first node has ended.
    #[inline(always)] // as `Graph::link`
    pub(crate) fn link_in_order(&mut self, first: u32, then: u32, mark: Mark) {
        let slots = self.nodes.slots();
        let [from, to] = two(slots, first, then);
        if from.stage == Stage::Ended {
            return;
        }
        let is_counted = from.stage != Stage::Launched || mark != Mark::Launched;
        let (is_less_urgent, effective) = (from.effective < to.effective, to.effective);
        if is_counted {
            to.references += 1;
        } else {
            self.lanes.offer(from, to);
        }
        let edge = Edge { passes_no_failure: true, ..Edge::new(first, then, mark, false, is_counted) };
        self.edges.link(slots, edge);
        if is_less_urgent {
            self.raise(first, effective);
        }
    }
}
