//! Graphs: captured operations, and their launch.
//!
//! A launch is one operation of its stream. It begins with a marker that waits for all earlier work there and for the
//! last launch of the same graph, and ends with a marker that waits for all nodes. In between, the nodes of each
//! captured stream run in a stream of the launch's own, which has that stream's priority and goes with its last node.

use std::collections::BTreeMap;
use std::sync::Arc;

use hal::{Code, MemOp, StreamFlags};

use super::copy::CapturedCopy;
use super::kernel::LaunchPlan;
use super::op::{FillJob, MemopJob, OpKind};
use super::queue::Class;
use super::stream::{Role, Route};
use super::{Caller, ContextKey, Failure, Model, OpKey, Outcome, StreamKey, handles, slab::Key};

/// The work of a node.
pub(crate) enum Work {
    Copy(CapturedCopy),
    Fill(FillJob),
    Memops(Vec<MemOp>),
    Kernel(LaunchPlan),
    /// Work that is captured and not modelled in a launch, in words.
    Other(&'static str),
}

/// A captured operation.
pub(crate) struct Node {
    pub(crate) work: Work,
    /// The nodes that it comes after. They are before it in the list.
    pub(crate) before: Vec<u32>,
    /// The captured stream, and its priority.
    pub(crate) stream: StreamKey,
    pub(crate) priority: i32,
}

/// A captured graph.
pub(crate) struct Graph {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) nodes: Arc<Vec<Node>>,
}

/// A graph that can be launched.
pub(crate) struct GraphExec {
    process: usize,
    context: ContextKey,
    nodes: Arc<Vec<Node>>,
    /// The end of the last launch.
    last: Option<OpKey>,
}

impl Work {
    /// The operation of a launch.
    fn operation(&self) -> Option<(Route, OpKind)> {
        Some(match self {
            Work::Copy(copy) => copy.operation(),
            Work::Fill(job) => (Route::Class(Class::Compute), OpKind::Fill(Box::new(*job))),
            Work::Memops(ops) => (Route::Memop, OpKind::Memops(MemopJob::new(ops))),
            Work::Kernel(plan) => (Route::Class(Class::Compute), OpKind::Kernel(Box::new(plan.clone().job()))),
            Work::Other(_) => return None,
        })
    }
}

impl Model {
    fn graph(&self, caller: Caller, handle: hal::Graph) -> Outcome<Key<Graph>> {
        let key = self.graphs.key(handle.0, handles::GRAPH);
        let found = key.filter(|&key| self.graphs.get(key).is_some_and(|graph| graph.process == caller.process));
        found.ok_or_else(|| Failure::new(Code::INVALID_VALUE, format!("{handle:?} is no graph")))
    }

    fn graph_exec(&self, caller: Caller, handle: hal::GraphExec) -> Outcome<Key<GraphExec>> {
        let key = self.graph_execs.key(handle.0, handles::GRAPH_EXEC);
        let found = key.filter(|&key| self.graph_execs.get(key).is_some_and(|exec| exec.process == caller.process));
        found.ok_or_else(|| Failure::new(Code::INVALID_VALUE, format!("{handle:?} is no graph that can be launched")))
    }

    pub(crate) fn graph_destroy(&mut self, caller: Caller, handle: hal::Graph) -> Outcome<()> {
        let key = self.graph(caller, handle)?;
        self.graphs.remove(key);
        Ok(())
    }

    /// Nodes of a captured graph.
    pub(crate) fn graph_nodes(&self, handle: hal::Graph) -> Option<usize> {
        let key = self.graphs.key(handle.0, handles::GRAPH)?;
        self.graphs.get(key).map(|graph| graph.nodes.len())
    }

    pub(crate) fn graph_instantiate(&mut self, caller: Caller, handle: hal::Graph) -> Outcome<hal::GraphExec> {
        let graph = &self.graphs[self.graph(caller, handle)?];
        let other = |node: &Node| match node.work {
            Work::Other(what) => Some(what),
            _ => None,
        };
        if let Some(what) = graph.nodes.iter().find_map(other) {
            return Err(Failure::new(Code::NOT_SUPPORTED, format!("{what} in a graph is not modelled")));
        }
        let (process, context, nodes) = (graph.process, graph.context, Arc::clone(&graph.nodes));
        let exec = GraphExec { process, context, nodes, last: None };
        Ok(hal::GraphExec(self.graph_execs.insert_as(exec, handles::GRAPH_EXEC)))
    }

    pub(crate) fn graph_exec_destroy(&mut self, caller: Caller, handle: hal::GraphExec) -> Outcome<()> {
        let key = self.graph_exec(caller, handle)?;
        self.graph_execs.remove(key);
        Ok(())
    }

    /// Queues all nodes of a graph.
    pub(crate) fn graph_launch(&mut self, caller: Caller, handle: hal::GraphExec, stream: StreamKey) -> Outcome<()> {
        let key = self.graph_exec(caller, handle)?;
        let exec = &self.graph_execs[key];
        if self.streams[stream].context != exec.context {
            return Err(Failure::new(Code::NOT_SUPPORTED, "the graph and the stream are of different contexts"));
        }
        if self.streams[stream].capture.is_some() {
            return Err(Failure::new(Code::NOT_SUPPORTED, "a graph as a part of another one is not modelled"));
        }
        let (nodes, last) = (Arc::clone(&exec.nodes), exec.last);
        self.refuse_on_capturing(stream)?;
        self.counts.graph_launches += 1;
        let begin = self.submit_after(stream, caller.at, Route::None, OpKind::Join, last);
        let ends = self.nodes_submit(caller, stream, &nodes, begin);
        let end = self.submit_after(stream, caller.at, Route::None, OpKind::Join, ends);
        self.graph_execs[key].last = Some(end);
        Ok(())
    }

    /// Queues nodes behind an operation. Returns the operations of those that no other node comes after.
    fn nodes_submit(&mut self, caller: Caller, stream: StreamKey, nodes: &[Node], begin: OpKey) -> Vec<OpKey> {
        let context = self.streams[stream].context;
        let mut lanes: BTreeMap<StreamKey, StreamKey> = BTreeMap::new();
        let mut ops: Vec<OpKey> = Vec::with_capacity(nodes.len());
        let mut is_last = vec![true; nodes.len()];
        for node in nodes {
            let lane = *lanes
                .entry(node.stream)
                .or_insert_with(|| self.add_stream(context, Role::Made, StreamFlags::NON_BLOCKING, node.priority));
            let Some((route, kind)) = node.work.operation() else { unreachable!("instantiation refuses such nodes") };
            node.before.iter().for_each(|before| is_last[*before as usize] = false);
            let before = node.before.iter().map(|before| ops[*before as usize]);
            let before: Vec<OpKey> = if node.before.is_empty() { vec![begin] } else { before.collect() };
            ops.push(self.submit_after(lane, caller.at, route, kind, before));
        }
        // No handle names them, and they go with their last operations.
        lanes.into_values().for_each(|lane| self.streams[lane].destroyed = true);
        ops.into_iter().zip(is_last).filter_map(|(op, is_last)| is_last.then_some(op)).collect()
    }
}
