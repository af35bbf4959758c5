//! Inference: which nodes a new one comes after because of the data that it uses.

use std::collections::BTreeSet;

use crate::data::{Access, DataId, Mode};
use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{NodeId, Spec};
use crate::nodes::Nodes;
use crate::refused::Refused;

impl Graph {
    /// A new object of so many bytes, which no node uses yet.
    pub fn data(&mut self, bytes: u64) -> DataId {
        self.data.create(Some(bytes), self.options.inference.sees_const)
    }

    /// A new object without bytes, for an order that is not about memory.
    pub fn token(&mut self) -> DataId {
        self.data.create(None, self.options.inference.sees_const)
    }

    /// Forgets an object. The order of its users stands. The memory itself may be freed after the last of
    /// them: a node that frees it uses the object like any other, and the object is forgotten afterwards.
    ///
    /// # Errors
    ///
    /// [`Refused::Data`], if it has been forgotten before.
    pub fn forget(&mut self, data: DataId) -> Result<(), Refused> {
        self.data.forget(data).map_err(|fault| Refused::Data { task: String::new(), fault })
    }

    /// Adds a node that uses data: as [`Graph::append`], after those of the spec and after every node that it has an
    /// order with because of the data. Nodes that come before another one of these anyway are left out (GR-04).
    ///
    /// # Errors
    ///
    /// Nothing has changed then. As [`Graph::append`], and [`Refused::Data`].
    pub fn append_using(&mut self, spec: &Spec<'_>, accesses: &[Access]) -> Result<NodeId, Refused> {
        if self.is_physx() && !accesses.is_empty() {
            let fault = "the order of PhysX knows no data: state the order of tasks, or choose the default order";
            return Err(Refused::Data { task: spec.name.to_owned(), fault });
        }
        let mut found = std::mem::take(&mut self.data.found);
        found.clear();
        let told = match self.find_all(spec.after, accesses, &mut found) {
            Ok(strong) => {
                let (after, in_order) = found.split_at(strong);
                match in_order {
                    [] => self.append_after(spec, after),
                    _ => self.append_in_order(spec, after, in_order),
                }
            }
            Err(fault) => Err(Refused::Data { task: spec.name.to_owned(), fault }),
        };
        // To look whether the empty list there has memory to be freed would cost as much.
        std::mem::forget(std::mem::replace(&mut self.data.found, found));
        let node = told?;
        for access in accesses {
            self.enter(node, access);
        }
        Ok(node)
    }

    /// The nodes, not ended, that a node would come after which uses data so and comes after these: as
    /// [`Graph::append_using`] finds them.
    ///
    /// # Errors
    ///
    /// [`Refused::Data`].
    pub fn would_follow(&mut self, after: &[NodeId], accesses: &[Access]) -> Result<Vec<NodeId>, Refused> {
        let mut found = Vec::new();
        let told = self.find_all(after, accesses, &mut found);
        told.map_err(|fault| Refused::Data { task: String::new(), fault })?;
        found.retain(|id| self.nodes.is_in_order(*id));
        Ok(found)
    }

    /// Whether the node cannot end without a later call: it or one before it is held, or has a name and has not been
    /// submitted, or a group is open.
    #[must_use]
    pub fn is_held(&self, node: NodeId) -> bool {
        let (mut seen, mut left) = (BTreeSet::new(), Vec::from_iter(self.nodes.find(node)));
        while let Some(node) = left.pop() {
            let slot = &self.nodes[node];
            let is_absent = slot.is_absent && slot.references > 0 && !slot.is_left;
            if slot.held > 0 || is_absent || self.open_groups > 0 {
                return true;
            }
            let mut edge = slot.into;
            while edge != NONE {
                let before = self.edge(edge).from;
                left.extend(seen.insert(before).then_some(before));
                edge = self.edge(edge).into_next;
            }
        }
        false
    }

    /// The nodes, not ended, that a later use of data may have to come after: GrCUDA's frontier (GR-01).
    #[must_use]
    pub fn frontier(&self) -> Vec<NodeId> {
        let mut frontier = Vec::new();
        for uses in self.data.all() {
            uses.each(&(0..u64::MAX), |_, uses| uses.active(|id| frontier.push(id)));
        }
        frontier.retain(|id| self.nodes.is_in_order(*id));
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    /// Into how many parts the uses of an object differ. Those of an object that has been forgotten are none.
    #[must_use]
    pub fn parts(&self, data: DataId) -> usize {
        self.data.parts(data)
    }

    /// Calls `each` with the nodes before this one to which it has an edge, in the order in which they were stated or
    /// found. An edge goes when the node before has ended.
    pub fn predecessors(&self, node: NodeId, each: impl FnMut(NodeId)) {
        let Some(node) = self.nodes.find(node) else { return };
        let mut before = Vec::new();
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            before.push(self.nodes.id(self.edge(edge).from));
            edge = self.edge(edge).into_next;
        }
        before.into_iter().rev().for_each(each);
    }

    /// Calls `each` with the nodes after this one to which it has an edge.
    pub fn successors(&self, node: NodeId, mut each: impl FnMut(NodeId)) {
        let Some(node) = self.nodes.find(node) else { return };
        let mut edge = self.nodes[node].out.first;
        while edge != NONE {
            let it = self.edge(edge);
            each(self.nodes.id(it.to));
            edge = it.out_next;
        }
    }

    /// All nodes that come after one of these, also behind others.
    #[must_use]
    pub fn all_behind(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
        let mut open: Vec<u32> = nodes.into_iter().filter_map(|node| self.nodes.find(node)).collect();
        let mut all = BTreeSet::new();
        while let Some(node) = open.pop() {
            let mut edge = self.nodes[node].out.first;
            while edge != NONE {
                let it = self.edge(edge);
                edge = it.out_next;
                if all.insert(self.nodes.id(it.to)) {
                    open.push(it.to);
                }
            }
        }
        all
    }

    /// Finds the nodes that one with these accesses comes after, behind those that are stated. It fails with the first
    /// so many, and comes after the others in the order alone.
    #[inline]
    fn find_all(
        &mut self,
        after: &[NodeId],
        accesses: &[Access],
        found: &mut Vec<NodeId>,
    ) -> Result<usize, &'static str> {
        self.visit += 1;
        for id in after {
            // To those that state it, one that is left out has ended. By its data it is found again.
            match self.left_out > 0 && self.is_left_out(*id) {
                true => found.push(*id),
                false => add(*id, &mut self.nodes, self.visit, found),
            }
        }
        let mut stated = found.len();
        for access in accesses {
            self.find(access, found)?;
        }
        if self.options.inference.search_max > 0 {
            stated = self.drop_redundant(found, stated);
        }
        Ok(stated)
    }

    /// Adds the nodes that a node with this access comes after.
    #[inline]
    fn find(&mut self, access: &Access, found: &mut Vec<NodeId>) -> Result<(), &'static str> {
        match self.data.whole(access) {
            Some(uses) => {
                let (nodes, visit) = (&mut self.nodes, self.visit);
                uses.before(access.mode, |id| add(id, nodes, visit, found));
                Ok(())
            }
            None => self.find_in_parts(access, found),
        }
    }

    /// As [`Graph::find`], for all accesses.
    #[inline(never)]
    fn find_in_parts(&mut self, access: &Access, found: &mut Vec<NodeId>) -> Result<(), &'static str> {
        let mode = self.mode_seen(access.mode);
        let (uses, range) = self.data.place(access.data, access.range.as_ref())?;
        let (nodes, visit) = (&mut self.nodes, self.visit);
        uses.each(&range, |_, uses| uses.before(mode, |id| add(id, nodes, visit, found)));
        Ok(())
    }

    /// The node uses the data from now on.
    #[inline]
    fn enter(&mut self, node: NodeId, access: &Access) {
        let nodes = &self.nodes;
        match self.data.whole(access) {
            Some(uses) => uses.enter(node, access.mode, |id| is_gone(id, nodes)),
            None => self.enter_parts(node, access),
        }
    }

    /// As [`Graph::enter`], for all accesses.
    #[inline(never)]
    fn enter_parts(&mut self, node: NodeId, access: &Access) {
        let mode = self.mode_seen(access.mode);
        let Ok((uses, range)) = self.data.place(access.data, access.range.as_ref()) else { return };
        let nodes = &self.nodes;
        let is_gone = |id| is_gone(id, nodes);
        uses.change(&range, |uses| uses.enter(node, mode, is_gone));
        if !mode.is_shared() {
            uses.unite(&range);
        }
        uses.tidy(|uses| uses.trim(is_gone), |one, other| one == other);
    }

    /// GrCUDA's no-const rule takes every use for one that writes (GR-02).
    fn mode_seen(&self, mode: Mode) -> Mode {
        if self.options.inference.sees_const { mode } else { Mode::ReadWrite }
    }
}

/// Adds a node, once. A node that has ended is added as long as its failure is not told.
#[inline]
fn add(id: NodeId, nodes: &mut Nodes, visit: u64, found: &mut Vec<NodeId>) {
    let Some(node) = nodes.find(id) else { return };
    let slot = &mut nodes[node];
    if slot.visit != visit {
        slot.visit = visit;
        found.push(id);
    }
}

/// Whether no later node comes after this one.
fn is_gone(id: NodeId, nodes: &Nodes) -> bool {
    nodes.find(id).is_none()
}
