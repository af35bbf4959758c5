//! Nodes of the device as they are handed out, alone and in batches, and what can be seen of a node.

use overtake_graph::{Ended, Graph, NodeId, Point, Priority, Ready, Runner, Spec, Stage};

/// A node that has been handed out.
pub struct Launch {
    pub id: NodeId,
    pub turn: u32,
    pub priority: Priority,
    /// The lane and the joins of a node of the device.
    pub place: Option<(u8, Vec<Point>)>,
}

impl Launch {
    pub fn of(ready: &Ready<'_>) -> Launch {
        let place = ready.place.map(|place| (place.lane, ready.joins.to_vec()));
        Launch { id: ready.node, turn: ready.turn, priority: ready.priority, place }
    }

    /// A node that is handed out by the call that appends it, if that can be.
    pub fn at_once(graph: &mut Graph, spec: &Spec<'_>) -> Option<Launch> {
        let mut joins: Vec<Point> = vec![];
        let join = |point: Point| {
            let before = joins.len();
            // The last of a lane stands for those before it.
            joins.retain(|known| known.lane != point.lane);
            joins.push(point);
            joins.len() > before
        };
        let (id, lane, own) = graph.append_running(spec, spec.after.iter().copied().map(Some), join)?;
        joins.extend(own);
        Some(Launch { id, turn: 0, priority: spec.priority, place: Some((lane, joins)) })
    }
}

/// Nodes that are handed out before any of them is reported.
pub struct LaunchBatch {
    pub launches: Vec<Launch>,
    /// Each is behind the one before it.
    pub is_chain: bool,
}

impl LaunchBatch {
    /// The next node of the device, and up to so many behind or beside it.
    pub fn next(graph: &mut Graph, most: usize) -> Option<LaunchBatch> {
        let first = Launch::of(&graph.next(Runner::Device)?);
        let may_follow = most > 0 && first.place.as_ref().is_some_and(|(_, joins)| joins.is_empty());
        let mut batch = LaunchBatch { launches: vec![first], is_chain: false };
        if may_follow {
            batch.add_behind(graph, most);
            batch.is_chain = batch.launches.len() > 1;
        }
        if may_follow && !batch.is_chain {
            batch.add_beside(graph, most);
            batch.add_abreast(graph, most);
        }
        Some(batch)
    }

    fn add(&mut self, id: NodeId, turn: u32, lane: u8) {
        self.launches.push(Launch { id, turn, priority: self.launches[0].priority, place: Some((lane, vec![])) });
    }

    fn add_behind(&mut self, graph: &mut Graph, most: usize) {
        graph.next_behind(self.launches[0].id, |it| {
            self.add(it.node, it.turn, it.lane);
            self.launches.len() <= most
        });
    }

    fn add_beside(&mut self, graph: &mut Graph, most: usize) {
        while self.launches.len() <= most {
            let Some(ready) = graph.next_beside(self.launches[self.launches.len() - 1].id) else { break };
            let launch = Launch::of(&ready);
            assert_eq!((launch.priority, ready.joins.len()), (self.launches[0].priority, 0));
            self.launches.push(launch);
        }
    }

    /// Those behind the ones that were handed out last, round by round.
    fn add_abreast(&mut self, graph: &mut Graph, most: usize) {
        let mut from = 0;
        while from < self.launches.len() && self.launches.len() <= most {
            let round: Vec<NodeId> = self.launches[from..].iter().map(|it| it.id).collect();
            from = self.launches.len();
            graph.next_abreast(round.into_iter(), |it| {
                self.add(it.node, it.turn, it.lane);
                self.launches.len() <= most
            });
        }
    }
}

/// A node as a trace has it.
#[derive(Debug, PartialEq)]
pub struct Seen {
    stage: Stage,
    point: Option<Point>,
    priority: Option<Priority>,
    lane: Option<u8>,
    launches: u32,
    ended: Option<Ended>,
}

impl Seen {
    pub fn of(graph: &Graph, id: NodeId, lane: Option<u8>, launches: u32, ended: Option<Ended>) -> Seen {
        Seen { stage: graph.stage(id), point: graph.point(id), priority: graph.priority(id), lane, launches, ended }
    }
}
