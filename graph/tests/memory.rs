//! Memory: the millionth task costs as much as the thousandth.
#![allow(unsafe_code)] // an allocator that counts

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU32;

use overtake_graph::{Access, Cause, Graph, Kind, Mode, NodeId, Options, Point, Priority, Runner, Spec};

struct Counting;

thread_local! {
    /// Those of this thread: the test's runner has threads of its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as i64);
        // SAFETY: the caller keeps the contract of this method, which is that one's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A round: a fork, a join through an empty node, a host task, a named task, an order and a change of priority.
fn round(graph: &mut Graph, points: &mut Vec<Point>) {
    fn spec(kind: Kind, after: &[NodeId]) -> Spec<'_> {
        Spec { after, name: "a name", ..Spec::of(kind) }
    }
    let held = Spec { references: 1, ..spec(Kind::Kernel, &[]) };
    let first = graph.append(&held).unwrap();
    let [left, right] = [0, 1].map(|_| graph.append(&spec(Kind::Kernel, &[first])).unwrap());
    let join = graph.append(&spec(Kind::Empty, &[left, right])).unwrap();
    let last = graph.append(&spec(Kind::Kernel, &[join])).unwrap();
    let named = graph.named("named").unwrap();
    graph.fill(named, &spec(Kind::Host, &[last])).unwrap();
    graph.release(named).unwrap();
    graph.before(first, last).unwrap();
    graph.set_priority(named, Priority::new(8).unwrap()).unwrap();
    graph.release(first).unwrap();
    while let Some(node) = graph.next(Runner::Device).map(|ready| ready.node) {
        points.extend(graph.launched(node).unwrap().at);
    }
    points.drain(..).for_each(|at| graph.complete(at.lane, at.value).unwrap());
    let host: NodeId = graph.next(Runner::Host).unwrap().node;
    graph.launched(host).unwrap();
    graph.inherited(|_, _| {});
    assert_eq!(std::iter::from_fn(|| graph.ended()).count(), 6);
}

#[test]
fn a_million_tasks_allocate_no_more_than_a_thousand() {
    let tasks = if cfg!(miri) { 300 } else { 1_000_000 };
    let mut graph = Graph::new(Options::default()).unwrap();
    let mut points = Vec::new();
    (0..tasks.min(1000) / 6).for_each(|_| round(&mut graph, &mut points));
    let before = ALLOCATIONS.get();
    (0..tasks / 6).for_each(|_| round(&mut graph, &mut points));
    assert_eq!(ALLOCATIONS.get() - before, 0);

    // Changes that are not asked for take no room of their own.
    let kernel = graph.append(&Spec::of(Kind::Kernel)).unwrap();
    let node = graph.next(Runner::Device).unwrap().node;
    assert_eq!(node, kernel);
    graph.set_priority(kernel, Priority::new(8).unwrap()).unwrap();
    let before = ALLOCATIONS.get();
    for number in 0..1000_u16 {
        graph.set_priority(kernel, Priority::new((number % 7 + 1) as u8).unwrap()).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let at = graph.launched(kernel).unwrap().at.unwrap();
    graph.complete(at.lane, at.value).unwrap();
    assert_eq!(graph.ended().map(|ended| ended.node), Some(kernel));
    let left = graph.statistics();
    assert_eq!((left.nodes, left.edges), (0, 0));
}

/// Those that fail before the nodes that they come after have ended are mentioned in the records of data meanwhile.
#[test]
fn failures_leave_no_memory() {
    let mut graph = Graph::new(Options::default()).unwrap();
    let uses = [Access::new(graph.data(8), Mode::Write)];
    let mut fail = || {
        let first = graph.append_using(&Spec::of(Kind::Kernel), &uses).unwrap();
        let mut behind =
            |after| graph.append_using(&Spec { after: &[after], ..Spec::of(Kind::Kernel) }, &uses).unwrap();
        let second = behind(first);
        behind(second);
        assert_eq!(graph.next(Runner::Device).map(|ready| ready.node), Some(first));
        let at = graph.launched(first).unwrap().at.unwrap();
        graph.failed(first, Cause(NonZeroU32::MIN)).unwrap();
        graph.complete(at.lane, at.value).unwrap();
        assert_eq!(std::iter::from_fn(|| graph.ended()).count(), 3);
    };
    (0..1000).for_each(|_| fail());
    let before = LIVE_BYTES.get();
    (0..if cfg!(miri) { 100 } else { 3000 }).for_each(|_| fail());
    assert_eq!(LIVE_BYTES.get() - before, 0);
}
