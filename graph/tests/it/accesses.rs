//! Graphs of kernels that use data, for the tests that have them.

use overtake_graph::{Access, DataId, Graph, Kind, Mode, NodeId, Options, Spec};

pub fn graph() -> Graph {
    Graph::new(Options::default()).unwrap()
}

pub fn append(graph: &mut Graph, accesses: &[Access]) -> NodeId {
    graph.append_using(&Spec::of(Kind::Kernel), accesses).unwrap()
}

pub fn reads(data: DataId) -> Access {
    Access::new(data, Mode::Read)
}

pub fn writes(data: DataId) -> Access {
    Access::new(data, Mode::Write)
}

pub fn before(graph: &Graph, node: NodeId) -> Vec<NodeId> {
    let mut all = Vec::new();
    graph.predecessors(node, |node| all.push(node));
    all
}
