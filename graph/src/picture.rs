//! A graph at work as text for Graphviz.

use std::fmt::Write;

use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Kind, Mark, Slot, Stage};

impl Graph {
    /// The nodes that have not ended in the language of Graphviz's `dot`, with the edges that still stand: a colour for
    /// each stage, a dashed edge where the node after it needs the launch alone, dotted where it passes no failure on.
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = "digraph tasks {\n  node [shape=box, style=filled];\n".to_owned();
        // Slots that are kept for tasks to come have neither a name nor an edge.
        let is_expected = |slot: &Slot| slot.is_kept || slot.out.first != NONE;
        let live = |slot: &Slot| slot.stage != Stage::Ended && (!slot.is_absent || is_expected(slot));
        let mut nodes: Vec<u32> = (0..self.nodes.all().len() as u32).filter(|node| live(&self.nodes[*node])).collect();
        nodes.sort_unstable_by_key(|node| self.nodes[*node].number);
        for node in &nodes {
            let slot = &self.nodes[*node];
            let _ = writeln!(text, "  n{node} [label={:?}, fillcolor={}];", self.caption(*node), colour(slot));
        }
        for node in nodes {
            let mut edge = self.nodes[node].out.first;
            while edge != NONE {
                let it = self.edge(edge);
                let style = match (it.passes_no_failure, self.mark(it.from, it.to, it.is_asked.then_some(it.mark))) {
                    (true, _) => " [style=dotted]",
                    (false, Mark::Launched) => " [style=dashed]",
                    (false, Mark::Complete) => "",
                };
                let _ = writeln!(text, "  n{} -> n{}{style};", it.from, it.to);
                edge = it.out_next;
            }
        }
        text + "}\n"
    }

    /// What a node does and how far it is.
    fn caption(&self, node: u32) -> String {
        let slot = &self.nodes[node];
        let kind = match slot.kind {
            Kind::Copy(direction) => format!("copy {}", direction.name()),
            Kind::Kernel => "kernel".to_owned(),
            Kind::Empty => "join".to_owned(),
            Kind::Host => "function".to_owned(),
            Kind::Light => "light".to_owned(),
        };
        let stage = match slot.stage {
            _ if slot.is_absent => if slot.is_kept { "named, not submitted" } else { "on its way" }.to_owned(),
            Stage::Waiting if slot.held > 0 => "held".to_owned(),
            Stage::Waiting => "waits".to_owned(),
            Stage::Ready => "ready".to_owned(),
            Stage::Running => "runs".to_owned(),
            Stage::Launched if slot.kind.is_device() => format!("in flight, lane {}", slot.lane),
            Stage::Launched => "launched".to_owned(),
            Stage::Ended => "ended".to_owned(),
        };
        let device = if slot.kind.is_device() { format!(" on device {}", slot.device) } else { String::new() };
        let id = || self.nodes.id(node).to_string();
        let name = if slot.has_name { self.nodes.name(node).to_owned() } else { id() };
        format!("{name}\n{kind}{device}, priority {}\n{stage}", slot.effective)
    }
}

fn colour(slot: &Slot) -> &'static str {
    match slot.stage {
        _ if slot.is_absent => "white",
        Stage::Waiting => "lightgrey",
        Stage::Ready => "khaki",
        Stage::Running => "lightblue",
        Stage::Launched | Stage::Ended => "palegreen",
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use priority::Priority;

    use crate::{Cause, Graph, Options, Spec};
    use crate::{Kind, NodeId};

    fn add(graph: &mut Graph, name: &str, after: &[NodeId], references: u32) -> NodeId {
        let spec = Spec { name, after, references, priority: Priority::LOWEST, ..Spec::of(Kind::Kernel) };
        graph.append(&spec).unwrap()
    }

    #[test]
    fn nodes_that_have_not_ended_stand_with_their_edges() {
        let mut graph = Graph::new(Options::default()).unwrap();
        assert!((0..3).all(|_| graph.reserve().is_some()));
        assert_eq!(graph.dot().lines().count(), 3, "numbers for tasks to come are none: {}", graph.dot());
        graph.named("named").unwrap();
        assert!(graph.dot().contains("named, not submitted"), "{}", graph.dot());
        let first = add(&mut graph, "first", &[], 0);
        let held = add(&mut graph, "a \"held\" one", &[first], 1);
        add(&mut graph, "last", &[held, first], 0);
        let text = graph.dot();
        let line = |words: &str| text.lines().find(|line| line.contains(words)).unwrap_or_default().trim().to_owned();
        assert!(line("first").contains("ready\", fillcolor=khaki"), "{text}");
        assert!(line("held\\\"").contains("nheld\", fillcolor=lightgrey"), "{text}");
        assert!(line("last").contains("last\\nkernel on device 0, priority 1\\nwaits\""), "{text}");
        let number = |words: &str| line(words).split(' ').next().unwrap().to_owned();
        let [first, held, last] = ["first", "held\\\"", "last"].map(number);
        for (from, to) in [(&first, &held), (&first, &last), (&held, &last)] {
            assert!(text.contains(&format!("  {from} -> {to} [style=dashed];\n")), "a kernel needs the launch: {text}");
        }
        graph.fail(Cause(NonZeroU32::MIN));
        while graph.ended().is_some() {}
        let text = graph.dot();
        assert!(!text.contains("first") && !text.contains(&format!("{first} ->")), "it has ended: {text}");
    }
}
