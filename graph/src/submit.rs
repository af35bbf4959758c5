//! Submission: nodes, edges, references, names, groups.

use priority::Priority;

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Edge, Kind, Mark, NodeId, Slot, Spec, Stage};
use crate::nodes::two;
use crate::refused::Refused;

impl Graph {
    /// Adds a node. It is ready as soon as it has no references.
    ///
    /// # Errors
    ///
    /// Nothing has changed then. [`Refused::WouldBlock`], [`Refused::Edges`], [`Refused::Priority`],
    /// [`Refused::NoDispatcher`]; in the order of PhysX also [`Refused::Finished`].
    #[inline]
    pub fn append(&mut self, spec: &Spec<'_>) -> Result<NodeId, Refused> {
        self.append_after(spec, spec.after)
    }

    /// As [`Graph::append`], after these nodes.
    #[inline(never)]
    pub(crate) fn append_after(&mut self, spec: &Spec<'_>, after: &[NodeId]) -> Result<NodeId, Refused> {
        let effective = self.admit(spec)?;
        self.make_room_behind(1, spec, after, &[])?;
        let node = self.nodes.take(spec, effective);
        match after {
            [] => {}
            [first] if spec.kind.is_device() => self.follow_one(node, *first),
            _ => self.follow(node, after, spec.kind),
        }
        Ok(self.appended(node))
    }

    /// As [`Graph::append`], after these nodes, and after others that data has found, in the order alone.
    #[inline(never)]
    pub(crate) fn append_in_order(
        &mut self,
        spec: &Spec<'_>,
        after: &[NodeId],
        in_order: &[NodeId],
    ) -> Result<NodeId, Refused> {
        let effective = self.admit(spec)?;
        self.make_room_behind(1, spec, after, in_order)?;
        let node = self.nodes.take(spec, effective);
        if !after.is_empty() {
            self.follow(node, after, spec.kind);
        }
        match in_order {
            [first] if spec.kind.is_device() => self.link_in_order(first.index, node, Mark::Launched),
            _ => self.follow_by_data(node, in_order, spec.kind),
        }
        Ok(self.appended(node))
    }

    /// The node knows those before it. Returns its id.
    #[inline(always)] // a call would be a tenth of the callers
    fn appended(&mut self, node: u32) -> NodeId {
        let slot = &self.nodes[node];
        let id = NodeId { index: node, generation: slot.generation };
        if slot.references == 0 {
            self.schedule(node, self.is_usual);
            self.settle();
        }
        id
    }

    /// The node to which others refer by this name. If there is none, a node is made that waits for [`Graph::fill`]
    /// and has one reference, which [`Graph::release`] takes away: an empty node, if it has not been filled (PX-05).
    ///
    /// # Errors
    ///
    /// [`Refused::WouldBlock`].
    pub fn named(&mut self, name: &str) -> Result<NodeId, Refused> {
        if let Some(node) = self.nodes.named(name) {
            return Ok(self.nodes.id(node));
        }
        self.make_room(1, 0)?;
        let node = self.nodes.take(&Spec { name, references: 1, ..Spec::of(Kind::Empty) }, Priority::LOWEST);
        self.nodes.publish_name(node);
        self.nodes[node].is_absent = true;
        Ok(self.nodes.id(node))
    }

    /// Submits the task of a node that [`Graph::named`] made. It keeps its name.
    ///
    /// # Errors
    ///
    /// As [`Graph::append`]; [`Refused::NameTaken`] if it has been submitted before, and [`Refused::Cycle`].
    pub fn fill(&mut self, node: NodeId, spec: &Spec<'_>) -> Result<(), Refused> {
        let node = self.unfinished(node, String::new)?;
        if !self.nodes[node].is_absent || self.nodes[node].stage != Stage::Waiting {
            return Err(Refused::NameTaken { task: self.label_of(node) });
        }
        self.admit(&Spec { name: self.nodes.name(node), ..*spec })?;
        self.make_room_behind(0, spec, spec.after, &[])?;
        for first in spec.after {
            if let Some(first) = self.nodes.find(*first) {
                self.refuse_cycle(first, node)?;
            }
        }
        let slot = &mut self.nodes[node];
        (slot.is_absent, slot.kind, slot.own, slot.device) = (false, spec.kind, spec.priority, spec.device);
        slot.references += spec.references;
        slot.held += spec.references;
        self.raise(node, spec.priority);
        self.count_edges_anew(node);
        self.follow(node, spec.after, spec.kind);
        Ok(())
    }

    /// `then` comes after `first`: start-after and finish-before (PX-02). A host function starts when work of the
    /// device before it is complete, and all other nodes start when those before them are launched.
    ///
    /// # Errors
    ///
    /// [`Refused::Finished`], [`Refused::Started`] if `then` no longer waits, [`Refused::Cycle`],
    /// [`Refused::WouldBlock`].
    pub fn before(&mut self, first: NodeId, then: NodeId) -> Result<(), Refused> {
        self.order(first, then, None, true)
    }

    /// The same, also where there is no room for the edge. Others have so much less until it has ended, so it is for
    /// an order that must not fail, of nodes that are bounded in another way.
    ///
    /// # Errors
    ///
    /// As [`Graph::before`], but [`Refused::WouldBlock`].
    pub fn before_without_room(&mut self, first: NodeId, then: NodeId) -> Result<(), Refused> {
        self.order(first, then, None, false)
    }

    /// `then` starts when `first` has come to this mark, for all kinds of both: completion tasks
    /// ([`Mark::Launched`], PX-07) and completion prerequisites ([`Mark::Complete`], PX-19).
    ///
    /// # Errors
    ///
    /// As [`Graph::before`].
    pub fn before_at(&mut self, first: NodeId, then: NodeId, mark: Mark) -> Result<(), Refused> {
        self.order(first, then, Some(mark), true)
    }

    /// One more reference, which [`Graph::release`] takes away.
    ///
    /// # Errors
    ///
    /// [`Refused::Started`].
    pub fn hold(&mut self, node: NodeId) -> Result<(), Refused> {
        let node = self.waiting(node)?;
        self.nodes[node].references += 1;
        self.nodes[node].held += 1;
        Ok(())
    }

    /// One reference less. At none the node is ready, once.
    ///
    /// # Errors
    ///
    /// [`Refused::NotHeld`].
    pub fn release(&mut self, node: NodeId) -> Result<(), Refused> {
        let held = self.nodes.find(node).filter(|&node| self.nodes[node].held > 0);
        let Some(node) = held else { return Err(Refused::NotHeld { task: self.label(node) }) };
        self.nodes[node].held -= 1;
        self.drop_reference(node, self.is_usual);
        self.settle();
        Ok(())
    }

    /// Gives a node another priority of its own. Its predecessors inherit it.
    ///
    /// # Errors
    ///
    /// [`Refused::Priority`]. The priority of a node that has ended changes nothing.
    pub fn set_priority(&mut self, node: NodeId, priority: Priority) -> Result<(), Refused> {
        self.admit(&Spec { priority, name: self.nodes.name_of(node), ..Spec::of(Kind::Empty) })?;
        if self.nodes.is_live(node) {
            let node = node.index;
            self.nodes[node].own = priority;
            self.raise(node, priority);
            self.lower(node);
        }
        Ok(())
    }

    /// A group begins: nodes of the device are handed out when all groups have ended (PX-12).
    pub fn begin_group(&mut self) {
        self.open_groups += 1;
        self.find_plain();
    }

    /// A group ends.
    pub fn end_group(&mut self) {
        self.open_groups = self.open_groups.saturating_sub(1);
        self.find_plain();
    }

    /// Begins a simulation: in the order of PhysX, strands are free when all simulations have ended (PX-18).
    pub fn begin_simulation(&mut self) {
        self.simulations += 1;
    }

    /// Ends a simulation.
    pub fn end_simulation(&mut self) {
        self.simulations = self.simulations.saturating_sub(1);
        if self.simulations == 0 {
            self.lanes.free_retired();
        }
    }

    /// Whether a node may be made of this, and the priority that it begins with: PhysX sees none.
    #[inline]
    pub(crate) fn admit(&self, spec: &Spec<'_>) -> Result<Priority, Refused> {
        let has_lanes = spec.device < self.options.devices;
        let is_usual = self.is_usual && has_lanes && self.options.priorities.contains(spec.priority);
        if is_usual { Ok(spec.priority) } else { self.examine(spec) }
    }

    /// As [`Graph::admit`], for all nodes.
    #[inline(never)]
    fn examine(&self, spec: &Spec<'_>) -> Result<Priority, Refused> {
        let task = || spec.name.to_owned();
        let priorities = self.options.priorities;
        if !priorities.contains(spec.priority) {
            return Err(Refused::Priority { task: task(), asked: spec.priority, priorities });
        }
        if spec.kind.is_device() && (self.lanes.count() == 0 || spec.device >= self.options.devices) {
            return Err(Refused::NoDispatcher { task: task() });
        }
        if self.is_physx() {
            for first in spec.after {
                self.unfinished(*first, || format!("\"{}\"", spec.name))?;
            }
            return Ok(Priority::LOWEST);
        }
        Ok(spec.priority)
    }

    /// Whether there is room for so many more nodes and edges. Nodes that have ended take some until they are returned
    /// ([`Graph::ended`]).
    #[must_use]
    pub fn has_room(&self, nodes: u32, edges: usize) -> bool {
        self.make_room(nodes, edges).is_ok()
    }

    #[inline]
    pub(crate) fn make_room(&self, nodes: u32, edges: usize) -> Result<(), Refused> {
        let has_room = self.has_room_behind(nodes, edges) || (edges == 0 && nodes <= self.nodes.room());
        if has_room { Ok(()) } else { Err(Refused::WouldBlock) }
    }

    /// The same, but where there are more edges than may be: then it does not tell that no edge needs no room.
    #[inline]
    fn has_room_behind(&self, nodes: u32, edges: usize) -> bool {
        nodes <= self.nodes.room() && self.edges.has_room(edges)
    }

    /// Room for so many nodes, and for the edges from these.
    #[inline(always)] // as `append_after`, where most of it is known
    fn make_room_behind(
        &self,
        nodes: u32,
        spec: &Spec<'_>,
        after: &[NodeId],
        in_order: &[NodeId],
    ) -> Result<(), Refused> {
        if self.has_room_behind(nodes, after.len() + in_order.len()) {
            return Ok(());
        }
        self.make_room_for_edges(nodes, spec, after.iter().chain(in_order))
    }

    /// The same. Those that have ended need no edge; more edges than there may be at all never have room.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room_for_edges<'n>(
        &self,
        nodes: u32,
        spec: &Spec<'_>,
        after: impl Iterator<Item = &'n NodeId>,
    ) -> Result<(), Refused> {
        let edges = after.filter(|id| self.nodes.is_in_order(**id)).count();
        let edges_max = self.edges.most();
        if edges > edges_max as usize {
            return Err(Refused::Edges { task: spec.name.to_owned(), edges, edges_max });
        }
        self.make_room(nodes, edges)
    }

    #[inline(never)]
    pub(crate) fn follow(&mut self, node: u32, after: &[NodeId], kind: Kind) {
        for first in after {
            if let Some(first) = self.nodes.find(*first) {
                if kind.is_device() {
                    self.link(first, node, Mark::Launched, false);
                } else {
                    self.link_unasked(first, node);
                }
            }
        }
    }

    /// Makes the edge that the kinds of both ask for.
    #[inline(never)]
    fn link_unasked(&mut self, first: u32, then: u32) {
        self.link(first, then, self.mark(first, then, None), false);
    }

    /// As [`Graph::follow`], of a new node of the device.
    #[inline(always)]
    fn follow_one(&mut self, node: u32, first: NodeId) {
        if let Some(first) = self.nodes.find(first) {
            self.link(first, node, Mark::Launched, false);
        }
    }

    /// Makes an edge, and counts it if `then` has to wait for its mark.
    #[inline(always)] // as `Edges::link`
    pub(crate) fn link(&mut self, first: u32, then: u32, mark: Mark, is_asked: bool) {
        let slots = self.nodes.slots();
        let [from, to] = two(slots, first, then);
        if from.stage == Stage::Ended || from.is_left {
            // If it is not yet returned, its failure is known.
            self.poison_new(first, then);
            return;
        }
        let is_counted = from.stage != Stage::Launched || mark != Mark::Launched;
        let (mut is_poisoned, is_less_urgent) = (false, from.effective < to.effective);
        if is_counted {
            to.references += 1;
        } else {
            self.lanes.offer(from, to);
            is_poisoned = from.poison.is_some();
        }
        let effective = to.effective;
        self.edges.link(slots, Edge::new(first, then, mark, is_asked, is_counted));
        if is_poisoned {
            self.poison_new(first, then);
        } else if is_less_urgent {
            self.raise(first, effective);
        }
    }

    /// A node starts behind one that may have failed. To PhysX it does not fail then.
    #[inline(never)]
    fn poison_new(&mut self, first: u32, then: u32) {
        let poison = self.nodes[first].poison.filter(|_| !self.is_physx());
        let slot = &mut self.nodes[then];
        slot.poison = slot.poison.or(poison);
        let (effective, first_slot) = (slot.effective, &self.nodes[first]);
        if first_slot.stage != Stage::Ended && !first_slot.is_left {
            self.raise(first, effective);
        }
    }

    fn order(&mut self, first: NodeId, then: NodeId, asked: Option<Mark>, needs_room: bool) -> Result<(), Refused> {
        let other = || self.label(then).to_string();
        let first = self.unfinished(first, other)?;
        let then = match self.nodes.is_live(then) {
            true => self.waiting(then)?,
            false => return Err(Refused::Finished { task: self.label(then), other: self.label_of(first).to_string() }),
        };
        if needs_room {
            self.make_room(0, 1)?;
        }
        self.refuse_cycle(first, then)?;
        self.link(first, then, self.mark(first, then, asked), asked.is_some());
        Ok(())
    }

    /// The slot of a node that still waits.
    fn waiting(&self, node: NodeId) -> Result<u32, Refused> {
        let is_waiting = |slot: &Slot| slot.stage == Stage::Waiting && !slot.is_left;
        let waiting = self.nodes.find(node).filter(|&node| is_waiting(&self.nodes[node]));
        waiting.ok_or_else(|| Refused::Started { task: self.label(node) })
    }

    /// The slot of a node that can still be ordered before others. To PhysX a launched task has finished.
    fn unfinished(&self, node: NodeId, other: impl Fn() -> String) -> Result<u32, Refused> {
        let is_open = |node: &u32| match self.nodes[*node].stage {
            _ if self.nodes[*node].is_left => false,
            Stage::Ended => false,
            Stage::Launched => !self.is_physx(),
            _ => true,
        };
        let found = self.nodes.find(node).filter(is_open);
        found.ok_or_else(|| Refused::Finished { task: self.label(node), other: other() })
    }

    /// The kind of a node has become known: its edges, in both directions, may have other marks now.
    fn count_edges_anew(&mut self, node: u32) {
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            self.mark_anew(edge);
            let it = self.edge_mut(edge);
            let is_new = !it.is_counted && it.mark == Mark::Complete;
            it.is_counted |= is_new;
            edge = it.into_next;
            self.nodes[node].references += u32::from(is_new);
        }
        let mut edge = self.nodes[node].out.first;
        while edge != NONE {
            self.mark_anew(edge);
            edge = self.edge(edge).out_next;
        }
    }

    pub(crate) fn mark_anew(&mut self, edge: u32) {
        let it = *self.edge(edge);
        self.edge_mut(edge).mark = self.mark(it.from, it.to, it.is_asked.then_some(it.mark));
    }

    /// Refuses an edge that would close a circle.
    pub(crate) fn refuse_cycle(&mut self, first: u32, then: u32) -> Result<(), Refused> {
        match self.path(then, first) {
            Some(path) => Err(Refused::Cycle { tasks: path.into_iter().map(|node| self.label_of(node)).collect() }),
            None => Ok(()),
        }
    }

    /// Nodes each of which comes before the next, from one to the other.
    fn path(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        self.visit += 1;
        // The nodes of the path, and for each the next edge to try.
        self.walk.clear();
        self.walk.push((from, self.nodes[from].out.first));
        while let Some((node, edge)) = self.walk.last_mut() {
            if *node == to {
                return Some(self.walk.iter().map(|(node, _)| *node).collect());
            }
            if *edge == NONE {
                self.walk.pop();
                continue;
            }
            let it = self.edges.get(self.nodes.all(), *edge);
            let next = it.to;
            *edge = it.out_next;
            if self.nodes[next].visit != self.visit {
                self.nodes[next].visit = self.visit;
                self.walk.push((next, self.nodes[next].out.first));
            }
        }
        None
    }
}
