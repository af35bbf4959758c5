//! Templates: a part of a graph, recorded once and submitted any number of times.
//!
//! Everything that its nodes know of each other is computed when it is recorded: the edges, the marks that they wait
//! for, how many references each node has through them, and the priorities that they inherit. A replay writes that into
//! slots, and looks at the rest of the graph only for the nodes at which the template begins.

use priority::Priority;

use crate::graph::Graph;
use crate::node::{Edge, Kind, Mark, NodeId, Spec};
use crate::refused::Refused;

/// A stretch of a graph. Nodes are added in an order in which they may run.
#[derive(Clone, Debug, Default)]
pub struct Template {
    nodes: Vec<Recorded>,
    names: Vec<String>,
    /// The edges into each node, in the order of the nodes.
    edges: Vec<Inner>,
    /// The nodes at which the stretch begins: they come after no other one of it.
    first: Vec<u32>,
    /// The first node for the device, if there is one.
    of_device: Option<u32>,
    /// The node of the highest priority.
    most_urgent: usize,
}

/// A node of a template.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    kind: Kind,
    own: Priority,
    /// That which it inherits in the template included.
    effective: Priority,
    /// How many edges lead to it.
    into: u32,
    /// Whether an edge leads from it.
    has_next: bool,
    /// Whether one leads to a function of the host.
    is_wanted: bool,
    has_name: bool,
}

/// A node of a template, for callers that keep more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its work.
    pub kind: Kind,
    /// Its own priority.
    pub priority: Priority,
    /// Whether a function of the host of the template comes after it.
    pub is_wanted: bool,
}

/// An edge of a template, from this node into the one that it is kept for.
#[derive(Clone, Copy, Debug)]
struct Inner {
    from: u32,
    mark: Mark,
}

/// The description of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// Each node has at least this priority.
    pub priority: Priority,
    /// The nodes after which the first ones of the template come.
    pub after: &'a [NodeId],
    /// References of those first ones, which [`Graph::release`] takes away.
    pub references: u32,
    /// The device that does the work of all nodes that a device does.
    pub device: u8,
}

impl Default for Replay<'_> {
    fn default() -> Self {
        Replay { priority: Priority::LOWEST, after: &[], references: 0, device: 0 }
    }
}

impl Template {
    /// An empty one.
    #[must_use]
    pub fn new() -> Template {
        Template::default()
    }

    /// Adds a node that comes after these, and returns its number: from 0 up.
    ///
    /// # Errors
    ///
    /// [`Refused::NotRecorded`].
    pub fn add(&mut self, kind: Kind, priority: Priority, name: &str, after: &[usize]) -> Result<usize, Refused> {
        let number = self.nodes.len();
        if let Some(step) = after.iter().find(|step| **step >= number) {
            return Err(Refused::NotRecorded { task: name.to_owned(), step: *step });
        }
        let mut into: Vec<usize> = Vec::with_capacity(after.len());
        for step in after {
            if !into.contains(step) {
                into.push(*step);
            }
        }
        for &from in &into {
            let needs_results = kind.is_host() && !self.nodes[from].kind.is_host();
            let mark = if needs_results { Mark::Complete } else { Mark::Launched };
            self.edges.push(Inner { from: from as u32, mark });
            self.nodes[from].has_next = true;
            self.nodes[from].is_wanted |= kind.is_host();
        }
        if into.is_empty() {
            self.first.push(number as u32);
        }
        if kind.is_device() && self.of_device.is_none() {
            self.of_device = Some(number as u32);
        }
        let (count, has_name) = (into.len() as u32, !name.is_empty());
        let (has_next, is_wanted) = (false, false);
        let node = Recorded { kind, own: priority, effective: priority, into: count, has_next, is_wanted, has_name };
        self.nodes.push(node);
        self.names.push(name.to_owned());
        if self.nodes[self.most_urgent].own < priority {
            self.most_urgent = number;
        }
        if priority > Priority::LOWEST {
            self.inherit();
        }
        Ok(number)
    }

    /// Priorities go back along the edges. An edge leads to a later node, so one look at each is enough.
    fn inherit(&mut self) {
        let mut edge = self.edges.len();
        for number in (0..self.nodes.len()).rev() {
            let Recorded { into, effective, .. } = self.nodes[number];
            let first = edge - into as usize;
            for inner in &self.edges[first..edge] {
                let from = &mut self.nodes[inner.from as usize];
                from.effective = from.effective.max(effective);
            }
            edge = first;
        }
    }

    /// How many nodes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes before one, by number.
    pub fn before(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let into = |node: &Recorded| node.into as usize;
        let first: usize = self.nodes[..node].iter().map(into).sum();
        self.edges[first..first + into(&self.nodes[node])].iter().map(|edge| edge.from as usize)
    }

    /// The nodes that no other one of it comes after, by number.
    pub fn last(&self) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().enumerate().filter_map(|(number, node)| (!node.has_next).then_some(number))
    }

    /// The work of a node.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn kind(&self, number: usize) -> Kind {
        self.nodes[number].kind
    }

    /// All nodes, in their order.
    pub fn nodes(&self) -> impl Iterator<Item = Planned> + '_ {
        self.nodes.iter().map(|node| Planned { kind: node.kind, priority: node.own, is_wanted: node.is_wanted })
    }

    /// For each node how many others of it are in the longest chain before it.
    #[must_use]
    pub fn depths(&self) -> Vec<u32> {
        let (mut depths, mut edges) = (Vec::with_capacity(self.len()), self.edges.iter());
        for node in &self.nodes {
            let before = edges.by_ref().take(node.into as usize).map(|inner: &Inner| depths[inner.from as usize] + 1);
            let depth = before.max().unwrap_or(0);
            depths.push(depth);
        }
        depths
    }

    /// The name of a node, or nothing.
    #[must_use]
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// The nodes that come after no other one of it, by number.
    pub fn first(&self) -> impl Iterator<Item = usize> + '_ {
        self.first.iter().map(|number| *number as usize)
    }

    /// Whether one of those is none of the device: it waits until the nodes before the template are complete.
    #[must_use]
    pub fn begins_on_host(&self) -> bool {
        self.first().any(|number| !self.nodes[number].kind.is_device())
    }
}

impl Graph {
    /// Submits all nodes of a template, as if they had been appended one by one, in their order, before any of them
    /// could begin. `nodes` gets their ids, by number.
    ///
    /// # Errors
    ///
    /// Nothing has changed then. As [`Graph::append`].
    pub fn replay(&mut self, template: &Template, replay: &Replay<'_>, nodes: &mut Vec<NodeId>) -> Result<(), Refused> {
        nodes.clear();
        self.admit_all(template, replay)?;
        self.make_room_to_replay(template, replay.after.len())?;
        self.place_all(template, replay, nodes);
        if !replay.after.is_empty() {
            for first in &template.first {
                let node = nodes[*first as usize].index;
                self.follow(node, replay.after, self.nodes[node].kind);
            }
        }
        let is_usual = self.is_usual;
        for first in &template.first {
            let node = nodes[*first as usize].index;
            if self.nodes[node].references == 0 {
                self.schedule(node, is_usual);
                self.settle();
            }
        }
        Ok(())
    }

    /// Whether there is room for a template behind so many nodes.
    #[must_use]
    pub fn has_room_to_replay(&self, template: &Template, after: usize) -> bool {
        self.make_room_to_replay(template, after).is_ok()
    }

    fn make_room_to_replay(&self, template: &Template, after: usize) -> Result<(), Refused> {
        self.make_room(template.len() as u32, template.edges.len() + template.first.len() * after)
    }

    /// Whether nodes may be made of this: one check for all.
    fn admit_all(&self, template: &Template, replay: &Replay<'_>) -> Result<(), Refused> {
        let Some(urgent) = template.nodes.get(template.most_urgent) else { return Ok(()) };
        let number = template.of_device.map_or(template.most_urgent, |number| number as usize);
        let (kind, name) = (template.nodes[number].kind, template.names[number].as_str());
        let priority = urgent.own.max(replay.priority);
        let Replay { after, device, .. } = *replay;
        self.admit(&Spec { kind, priority, name, after, references: 0, device, in_copy_strand: false }).map(drop)
    }

    /// Writes the nodes and the edges between them.
    fn place_all(&mut self, template: &Template, replay: &Replay<'_>, nodes: &mut Vec<NodeId>) {
        let is_physx = self.is_physx();
        let mut edge = 0;
        for (recorded, name) in template.nodes.iter().zip(&template.names) {
            let own = recorded.own.max(replay.priority);
            let effective = if is_physx { Priority::LOWEST } else { recorded.effective.max(replay.priority) };
            let references = if recorded.into == 0 { replay.references } else { 0 };
            let name = if recorded.has_name { name.as_str() } else { "" };
            let (kind, device) = (recorded.kind, replay.device);
            let spec = Spec { kind, priority: own, name, after: &[], references, device, in_copy_strand: false };
            let node = self.nodes.take(&spec, effective);
            let slots = self.nodes.slots();
            slots[node as usize].references += recorded.into;
            let end = edge + recorded.into as usize;
            for inner in &template.edges[edge..end] {
                let from = nodes[inner.from as usize].index;
                // None has begun, so all are references.
                let mark = if is_physx { Mark::Launched } else { inner.mark };
                self.edges.link(slots, Edge::new(from, node, mark, false, true));
            }
            edge = end;
            nodes.push(NodeId { index: node, generation: self.nodes[node].generation });
        }
    }
}
