//! The priorities that the nodes have now, against those of all that wait for them.

use overtake_graph::{NodeId, Point, Priority};

use super::program::Program;

/// What the oracle knows of a priority.
struct Expected {
    priority: Priority,
    /// It is known which of the nodes behind wait for this one.
    is_exact: bool,
    edges: usize,
}

impl Program {
    pub fn check_priorities(&self) {
        if !self.is_strict {
            return;
        }
        let live: Vec<usize> = (0..self.nodes.len()).filter(|node| self.is_in_order(*node)).collect();
        let point = |node: &usize| self.graph.point(self.nodes[*node].id).map(|point| (point, *node));
        let mut points: Vec<(Point, usize)> = live.iter().filter_map(point).collect();
        points.sort_unstable();
        let mut by_id: Vec<(NodeId, usize)> = live.iter().map(|node| (self.nodes[*node].id, *node)).collect();
        by_id.sort_unstable();
        for number in live {
            let node = &self.nodes[number];
            let mut expected = self.priority_of_those_behind(number, &by_id);
            if let Some(point) = self.graph.point(node.id) {
                // The next one in its lane waits for it too.
                let behind = points.iter().find(|(at, _)| at.lane == point.lane && at.value > point.value);
                let behind = behind.map(|(_, behind)| self.graph.priority(self.nodes[*behind].id).unwrap());
                expected.priority = expected.priority.max(behind.unwrap_or(Priority::LOWEST));
            }
            let is_left = self.is_left_out(number);
            self.graph.predecessors(node.id, |_| expected.edges += 1);
            // One that was left out, and has no edge, has ended and not been returned.
            let is_exact = expected.is_exact && (!is_left || expected.edges > 0);
            let priority = self.graph.priority(node.id).unwrap();
            assert!(priority == expected.priority || !is_exact, "{number} has {priority}, not {}", expected.priority);
            if node.launches > 0 && node.kind.is_device() && !is_left && self.in_hand == 0 {
                assert_eq!(node.told, priority, "{number} has not been told");
            }
        }
    }

    /// The highest of its own priority and of those that wait for it by an edge.
    fn priority_of_those_behind(&self, number: usize, by_id: &[(NodeId, usize)]) -> Expected {
        let (node, is_left) = (&self.nodes[number], self.is_left_out(number));
        let priority = if is_left { Priority::LOWEST } else { node.own };
        let mut expected = Expected { priority, is_exact: true, edges: 0 };
        self.graph.successors(node.id, |id| {
            let Ok(at) = by_id.binary_search_by(|it| it.0.cmp(&id)) else {
                panic!("{number} has an edge to one that is not there");
            };
            let then = by_id[at].1;
            expected.edges += 1;
            let waits = if is_left && !self.is_left_out(then) { self.waits_for_left(number, then) } else { Some(true) };
            expected.is_exact &= waits.is_some();
            if waits == Some(true) {
                expected.priority = expected.priority.max(self.graph.priority(id).unwrap());
            }
        });
        expected
    }

    /// Whether a node waits for one before it that was left out: by an order that passes no failure on. It does not if
    /// it fails with that one. None if it has orders of both kinds.
    fn waits_for_left(&self, number: usize, then: usize) -> Option<bool> {
        let mut passes = [false; 2];
        for it in self.nodes[then].before.iter().filter(|it| it.node == number && it.is_order) {
            passes[usize::from(it.is_stated())] = true;
        }
        let [is_weak, is_strong] = passes;
        (!(is_weak && is_strong)).then_some(is_weak)
    }
}
