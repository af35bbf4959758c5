//! Batches of several chains: the kernels that are handed out behind the last ones of all, and those that are not.

use std::num::NonZeroU32;

use overtake_graph::{Cause, Direction, Graph, Kind, NodeId, Options, Point, Priority, Runner, Spec, Stage};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

fn graph() -> Graph {
    Graph::new(Options { lanes: 4, groups: 2, ..Options::default() }).unwrap()
}

fn urgent() -> Priority {
    Priority::new(8).unwrap()
}

/// Hands a node out by the call that appends it, if it is the next: without joins.
fn at_once(graph: &mut Graph, spec: &Spec<'_>) -> Option<NodeId> {
    graph.append_running(spec, std::iter::empty(), |_| true).map(|(node, ..)| node)
}

/// Kernels one after the other, of which the last is `then`.
fn chain(graph: &mut Graph, count: usize, then: &Spec<'_>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = Vec::new();
    for number in 1..=count {
        let (spec, after) = (if number == count { then } else { &KERNEL }, nodes.last().copied());
        nodes.push(graph.append(&Spec { after: after.as_slice(), ..*spec }).unwrap());
    }
    nodes
}

/// Hands out these kernels, which are all that are ready.
fn hand_out(graph: &mut Graph, firsts: &[NodeId]) {
    let mut last = graph.next(Runner::Device).unwrap().node;
    let mut all = vec![last];
    while let Some(ready) = graph.next_beside(last) {
        last = ready.node;
        all.push(last);
    }
    assert_eq!(all, firsts);
}

/// Two chains of so many kernels, and their first ones, which are handed out.
fn two_begun(graph: &mut Graph, count: usize) -> ([Vec<NodeId>; 2], [NodeId; 2]) {
    let chains = [(); 2].map(|()| chain(graph, count, &KERNEL));
    let firsts = [0, 1].map(|it: usize| chains[it][0]);
    hand_out(graph, &firsts);
    (chains, firsts)
}

/// All that may be handed out behind these, which were handed out last.
fn abreast(graph: &mut Graph, round: &[NodeId]) -> Vec<NodeId> {
    let mut all = Vec::new();
    graph.next_abreast(round.iter().copied(), |it| {
        assert_eq!(it.turn, 0);
        all.push(it.node);
        true
    });
    assert!(all.iter().all(|node| graph.stage(*node) == Stage::Running));
    all
}

/// The launch of a node is reported, in the one way if it fits, or in the other.
fn report(graph: &mut Graph, node: NodeId) -> (bool, Point) {
    let followed = graph.launched_followed(node);
    (followed.is_some(), followed.unwrap_or_else(|| graph.launched(node).unwrap().at.unwrap()))
}

#[test]
fn chains_are_handed_out_in_rounds() {
    let mut graph = graph();
    let [long, short, other] = [3, 1, 3].map(|count| chain(&mut graph, count, &KERNEL));
    hand_out(&mut graph, &[long[0], short[0], other[0]]);
    // A chain may end.
    let mut round = vec![long[0], short[0], other[0]];
    let mut all = round.clone();
    for next in 1..3 {
        round = abreast(&mut graph, &round);
        assert_eq!(round, [long[next], other[next]]);
        all.extend(&round);
    }
    assert_eq!(abreast(&mut graph, &round), []);
    let reported: Vec<(bool, u8, u64)> = all
        .iter()
        .map(|it| report(&mut graph, *it))
        .map(|(is_followed, at)| (is_followed, at.lane, at.value))
        .collect();
    let expected =
        [(true, 0, 1), (false, 1, 1), (true, 2, 1), (true, 0, 2), (true, 2, 2), (false, 0, 3), (false, 2, 3)];
    assert_eq!(reported, expected);
    // None is being launched: the round ends.
    assert!(graph.next(Runner::Device).is_none() && at_once(&mut graph, &KERNEL).is_some());
}

#[test]
fn a_launch_is_reported_once() {
    let mut graph = graph();
    let (_, firsts) = two_begun(&mut graph, 2);
    abreast(&mut graph, &firsts);
    assert!(graph.launched_followed(firsts[0]).is_some());
    assert!(graph.launched_followed(firsts[0]).is_none(), "it is not running any more");
    assert!(graph.launched_followed(firsts[1]).is_some());
}

#[test]
fn kernels_that_are_taken_back_are_the_next_again() {
    for made in 1..6 {
        let mut graph = graph();
        let chains = [(); 3].map(|()| chain(&mut graph, 2, &KERNEL));
        let [firsts, seconds] = [0, 1].map(|at: usize| [0, 1, 2].map(|it: usize| chains[it][at]));
        hand_out(&mut graph, &firsts);
        assert_eq!(abreast(&mut graph, &firsts), seconds);
        let order = [firsts, seconds].concat();
        order[made..].iter().rev().for_each(|node| graph.take_back(*node).unwrap());
        // Those behind which one was taken back make that ready.
        let are_followed = order[..made].iter().map(|it| report(&mut graph, *it).0).collect::<Vec<_>>();
        assert_eq!(are_followed, (0..made).map(|it| it + 3 < made).collect::<Vec<_>>());
        for (at, node) in order.iter().enumerate().skip(made) {
            let ready = graph.next(Runner::Device).unwrap();
            assert_eq!((ready.node, ready.place.unwrap().lane, ready.joins), (*node, at as u8 % 3, &[][..]));
            graph.launched(*node).unwrap();
        }
        assert!(graph.next(Runner::Device).is_none());
    }
}

/// One of two chains goes on with something else than a kernel that waits for that chain alone.
#[test]
fn nothing_is_handed_out_if_one_chain_goes_on_otherwise() {
    let copy = Spec::of(Kind::Copy(Direction::HostToDevice));
    for then in [copy, Spec { references: 1, ..KERNEL }, Spec::of(Kind::Empty), Spec::of(Kind::Host)] {
        let mut graph = graph();
        let chains = [&KERNEL, &then].map(|then| chain(&mut graph, 2, then));
        let firsts = [0, 1].map(|it: usize| chains[it][0]);
        hand_out(&mut graph, &firsts);
        assert_eq!(abreast(&mut graph, &firsts), [], "{then:?}");
    }
    let mut both = graph();
    let firsts = [(); 2].map(|()| both.append(&KERNEL).unwrap());
    let then = both.append(&Spec { after: &firsts, ..KERNEL }).unwrap();
    assert_eq!(both.next(Runner::Device).unwrap().node, firsts[0]);
    assert_eq!(abreast(&mut both, &firsts[..1]), [], "another one is ready, and {then} waits for both");
}

/// The priority of one has changed since it was handed out, or that of the one behind it.
#[test]
fn nothing_is_handed_out_behind_a_kernel_of_another_priority() {
    for number in 0..2 {
        let mut graph = graph();
        let (chains, firsts) = two_begun(&mut graph, 2);
        graph.set_priority(chains[1][number], urgent()).unwrap();
        assert_eq!(abreast(&mut graph, &firsts), []);
    }
}

/// A copy is ready when the first kernel of the round has been launched. It comes before the others if kernels have had
/// their share.
#[test]
fn a_round_ends_behind_a_kernel_that_makes_another_node_ready() {
    let copy = Spec::of(Kind::Copy(Direction::DeviceToHost));
    for phase_max in [1, 8] {
        let mut graph = Graph::new(Options { phase_max, ..Options::default() }).unwrap();
        let chains = [chain(&mut graph, 3, &copy), chain(&mut graph, 2, &KERNEL)];
        let firsts = [0, 1].map(|it: usize| chains[it][0]);
        hand_out(&mut graph, &firsts);
        let round = abreast(&mut graph, &firsts);
        assert_eq!(round, [chains[0][1]]);
        assert_eq!(abreast(&mut graph, &round), []);
        firsts.iter().chain(&round).for_each(|node| assert!(report(&mut graph, *node).1.value > 0));
        let order = [(); 2].map(|()| graph.next(Runner::Device).unwrap().node);
        let [copy, kernel] = [chains[0][2], chains[1][1]];
        assert_eq!(order, if phase_max == 1 { [copy, kernel] } else { [kernel, copy] }, "{phase_max}");
    }
}

/// Its first turn was launched before it failed, so it has more to launch, as without the batch.
#[test]
fn a_kernel_that_has_begun_and_failed_is_ready_again_when_it_is_taken_back() {
    let mut graph = graph();
    let [first, then] = chain(&mut graph, 2, &KERNEL)[..] else { panic!("two nodes") };
    hand_out(&mut graph, &[first]);
    graph.launched(first).unwrap();
    assert_eq!(graph.next(Runner::Device).unwrap().node, then);
    graph.again(then).unwrap();
    graph.failed(first, Cause(NonZeroU32::MIN)).unwrap();
    let other = graph.append(&KERNEL).unwrap();
    hand_out(&mut graph, &[then, other]);
    for node in [other, then] {
        graph.take_back(node).unwrap();
        assert_eq!(graph.stage(node), Stage::Ready);
    }
    hand_out(&mut graph, &[then, other]);
}

/// Kernels of a batch count as others do when the phase has had enough.
#[test]
fn a_phase_counts_them() {
    for phase_max in [4, 5] {
        let mut graph = Graph::new(Options { phase_max, ..Options::default() }).unwrap();
        let (_, firsts) = two_begun(&mut graph, 2);
        let seconds = abreast(&mut graph, &firsts);
        firsts.iter().chain(&seconds).for_each(|node| assert!(report(&mut graph, *node).1.value > 0));
        let kernel = graph.append(&KERNEL).unwrap();
        let copy = graph.append(&Spec::of(Kind::Copy(Direction::DeviceToHost))).unwrap();
        let order = [(); 2].map(|()| graph.next(Runner::Device).unwrap().node);
        assert_eq!(order, if phase_max == 4 { [copy, kernel] } else { [kernel, copy] }, "{phase_max}");
    }
}
