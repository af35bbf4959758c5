//! Lanes: which one a node gets, and the points that it joins there.

use overtake_graph::{Direction, Graph, Kind, NodeId, Options, Order, Point, Priority, Refused, Runner, Spec};

const KERNEL: Spec<'static> = Spec::of(Kind::Kernel);

/// A node that has been launched.
struct Place {
    at: Point,
    strand: u32,
    joins: Vec<Point>,
}

/// Launches the node whose turn it is: `node`.
fn launch(graph: &mut Graph, node: NodeId) -> Place {
    let ready = graph.next(Runner::Device).unwrap();
    let (next, strand, joins) = (ready.node, ready.place.unwrap().strand, ready.joins.to_vec());
    assert_eq!(next, node);
    Place { at: graph.launched(node).unwrap().at.unwrap(), strand, joins }
}

/// A node after those, launched at once.
fn follow(graph: &mut Graph, after: &[NodeId]) -> (NodeId, Place) {
    let node = graph.append(&Spec { after, ..KERNEL }).unwrap();
    (node, launch(graph, node))
}

fn graph(order: Order, lanes: u8, groups: u8) -> Graph {
    Graph::new(Options { order, lanes, groups, ..Options::default() }).unwrap()
}

#[test]
fn a_strand_is_folded_onto_the_lane_with_the_fewest() {
    let mut graph = graph(Order::Default, 2, 2);
    let lanes: Vec<u8> = (0..5).map(|_| follow(&mut graph, &[]).1.at.lane).collect();
    assert_eq!(lanes, [0, 1, 0, 1, 0]);
    let urgent = Spec { priority: Priority::new(8).unwrap(), ..KERNEL };
    let nodes: Vec<NodeId> = (0..4).map(|_| graph.append(&urgent).unwrap()).collect();
    let lanes: Vec<u8> = nodes.iter().map(|node| launch(&mut graph, *node).at.lane).collect();
    assert_eq!(lanes, [2, 3, 2, 3]);
    // Two strands of lane 1 end: it has none then, and the next goes there.
    graph.complete(1, 2).unwrap();
    assert_eq!(follow(&mut graph, &[]).1.at.lane, 1);
}

/// Strands begin and end in any order, in two groups of lanes.
#[test]
fn each_strand_goes_to_the_first_lane_with_the_fewest() {
    for seed in [1_u32, 2, 3] {
        let mut graph = graph(Order::Default, 5, 2);
        let (mut strands, mut complete, mut random) = ([0; 10], [0; 10], seed);
        for step in 0..600 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let choice = (random >> 8) as usize;
            let lane = choice / 16 % 10;
            // There are more and more of them, and then fewer.
            if choice % 16 < if step % 200 < 100 { 12 } else { 4 } {
                let priority = Priority::new(if lane < 5 { 1 } else { 8 }).unwrap();
                let node = graph.append(&Spec { priority, ..KERNEL }).unwrap();
                let group = lane / 5 * 5..lane / 5 * 5 + 5;
                let fewest = group.min_by_key(|lane| strands[*lane]).unwrap();
                assert_eq!(usize::from(launch(&mut graph, node).at.lane), fewest, "step {step} of {seed}: {strands:?}");
                strands[fewest] += 1;
            } else if strands[lane] > 0 {
                strands[lane] -= 1;
                complete[lane] += 1;
                graph.complete(lane as u8, complete[lane]).unwrap();
                while graph.ended().is_some() {}
            }
        }
    }
}

#[test]
fn a_node_that_becomes_urgent_leaves_the_strand_of_bulk_and_joins_it() {
    let mut graph = graph(Order::Default, 2, 2);
    let (bulk, before) = follow(&mut graph, &[]);
    let node = graph.append(&Spec { after: &[bulk], ..KERNEL }).unwrap();
    graph.set_priority(node, Priority::new(8).unwrap()).unwrap();
    let urgent = launch(&mut graph, node);
    assert_eq!((before.at.lane, urgent.at.lane, urgent.joins), (0, 2, vec![before.at]));
    // The strand of bulk has no other node, so it is free when that has ended.
    graph.complete(0, 1).unwrap();
    assert_eq!(follow(&mut graph, &[]).1.strand, before.strand);
}

#[test]
fn a_node_that_has_begun_stays_in_its_lane_and_joins_nothing_again() {
    let mut graph = graph(Order::Default, 2, 2);
    let [(first, first_at), (second, second_at)] = [(); 2].map(|()| follow(&mut graph, &[]));
    let node = graph.append(&Spec { after: &[first, second], ..KERNEL }).unwrap();
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!((ready.node, ready.place.unwrap().lane, ready.joins), (node, first_at.at.lane, &[second_at.at][..]));
    graph.again(node).unwrap();
    graph.set_priority(node, Priority::new(8).unwrap()).unwrap();
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!((ready.turn, ready.place.unwrap().lane, ready.joins), (1, first_at.at.lane, &[][..]));
    assert_eq!((graph.statistics().joins, graph.statistics().joins_saved), (1, 0));
}

#[test]
fn a_lane_joins_the_latest_point_of_each_other_lane_once() {
    for is_first_first in [true, false] {
        let mut graph = graph(Order::Default, 8, 1);
        let (first, first_at) = follow(&mut graph, &[]);
        let (second, second_at) = follow(&mut graph, &[first]);
        assert_eq!((first_at.at.lane, second_at.at.lane), (0, 0));
        let third = follow(&mut graph, &[second]).0;
        let after = if is_first_first { [first, second] } else { [second, first] };
        let (both, both_at) = follow(&mut graph, &after);
        assert_eq!(both_at.joins, [second_at.at]);
        assert_eq!((graph.statistics().joins, graph.statistics().joins_saved), (1, 1));
        // A lane does not join a point again, and another one joins no more than its node asks for.
        let again = follow(&mut graph, &[both, second]).1;
        assert_eq!((again.at.lane, again.joins), (both_at.at.lane, vec![]));
        assert_eq!((graph.statistics().joins, graph.statistics().joins_saved), (1, 2));
        assert_eq!(follow(&mut graph, &[first]).1.joins, [first_at.at]);
        let own = graph.point(third).unwrap();
        assert_eq!(follow(&mut graph, &[third, first]).1.joins, []);
        assert_eq!((own.lane, graph.statistics().joins_saved), (0, 2));
    }
}

#[test]
fn points_that_are_complete_are_not_joined() {
    for done in [0, 1] {
        let mut graph = graph(Order::Default, 8, 1);
        let nodes = [follow(&mut graph, &[]), follow(&mut graph, &[])];
        let after = [nodes[0].0, nodes[1].0];
        let empty = graph.append(&Spec { kind: Kind::Empty, after: &after, ..KERNEL }).unwrap();
        let (done, other) = (nodes[done].1.at, nodes[1 - done].1.at);
        assert_eq!((done.lane + other.lane, done.lane * other.lane), (1, 0));
        graph.complete(done.lane, done.value).unwrap();
        assert_eq!(follow(&mut graph, &[]).1.at.lane, done.lane, "it has no strand any more");
        let third = follow(&mut graph, &[empty]).1;
        assert_eq!((third.at.lane, third.joins), (2, vec![other]));
    }
}

#[test]
fn each_lane_joins_a_barrier_once() {
    let mut graph = graph(Order::PhysX, 2, 1);
    let first = follow(&mut graph, &[]).1;
    let barrier = graph.append(&KERNEL).unwrap();
    let ready = graph.next(Runner::Device).unwrap();
    assert_eq!(ready.node, barrier);
    let point = graph.sync_point(barrier).unwrap();
    let at = graph.launched(barrier).unwrap().at.unwrap();
    assert_eq!((first.at.lane, point.lane, at.lane, point.value, at.value), (0, 1, 1, 1, 2));
    // Strands are folded onto the lanes in turn.
    let places: Vec<Place> = (0..4).map(|_| follow(&mut graph, &[]).1).collect();
    assert_eq!(places.iter().map(|place| place.at.lane).collect::<Vec<_>>(), [0, 1, 0, 1]);
    let joins: Vec<&[Point]> = places.iter().map(|place| place.joins.as_slice()).collect();
    assert_eq!(joins, [&[point][..], &[first.at], &[], &[]]);
    assert_eq!((graph.statistics().joins, graph.statistics().joins_saved), (2, 0));
}

#[test]
fn to_physx_strands_are_free_when_all_simulations_have_ended() {
    let mut graph = graph(Order::PhysX, 4, 1);
    let strand = |graph: &mut Graph| {
        let place = follow(graph, &[]).1;
        graph.complete(place.at.lane, place.at.value).unwrap();
        place.strand
    };
    graph.begin_simulation();
    graph.begin_simulation();
    assert_eq!((strand(&mut graph), strand(&mut graph)), (0, 1));
    graph.end_simulation();
    assert_eq!(strand(&mut graph), 2);
    graph.end_simulation();
    let mut free = [strand(&mut graph), strand(&mut graph)];
    free.sort_unstable();
    assert!(free.iter().all(|strand| *strand < 3), "{free:?}");
}

#[test]
fn points_of_lanes_that_there_are_not_are_refused() {
    for lanes in [1, 8, 32] {
        let mut graph = graph(Order::Default, lanes, 2);
        let point = Point { lane: 2 * lanes, value: 0 };
        assert_eq!(graph.complete(point.lane, 0), Err(Refused::NotReached { point }));
        assert_eq!(graph.complete(2 * lanes - 1, 0), Ok(()));
    }
}

#[test]
fn a_node_of_no_lane_stands_for_the_points_of_those_before_it_until_it_ends() {
    let points = |graph: &Graph, node| {
        let mut points = Vec::new();
        graph.points(node, |point| points.push(point));
        points.sort_unstable();
        points
    };
    let mut graph = graph(Order::Default, 8, 1);
    let waiting = graph.append(&Spec { references: 1, ..KERNEL }).unwrap();
    let [(first, first_at), (second, second_at)] = [(); 2].map(|()| follow(&mut graph, &[]));
    let empty = graph.append(&Spec { kind: Kind::Empty, after: &[first, second], ..KERNEL }).unwrap();
    assert_eq!((points(&graph, waiting), points(&graph, first)), (vec![], vec![first_at.at]));
    assert_eq!(points(&graph, empty), [first_at.at, second_at.at]);
    for at in [first_at.at, second_at.at] {
        graph.complete(at.lane, at.value).unwrap();
    }
    assert_eq!((points(&graph, first), points(&graph, empty)), (vec![], vec![]));
}

#[test]
fn a_node_that_ends_before_one_that_its_lane_has_joined_leaves_no_edge() {
    let mut graph = graph(Order::Default, 8, 1);
    let (first, its) = follow(&mut graph, &[]);
    let (goes_on, behind) = follow(&mut graph, &[first]);
    let (joins, other) = follow(&mut graph, &[first]);
    assert_eq!((other.joins, behind.joins), (vec![its.at], vec![]));
    // It has ended, so the device has come to that point too, which is not reported yet.
    graph.complete(other.at.lane, other.at.value).unwrap();
    assert_eq!((graph.ended().map(|ended| ended.node), graph.statistics().edges), (Some(joins), 1));
    let (again, place) = follow(&mut graph, &[goes_on]);
    assert_eq!((again.index(), place.joins.len()), (joins.index(), 0), "its slot is another node's");
    graph.complete(place.at.lane, place.at.value).unwrap();
    let ends: Vec<_> = std::iter::from_fn(|| graph.ended()).map(|ended| ended.node).collect();
    assert_eq!((ends, graph.statistics().edges), (vec![first, goes_on, again], 0));
}

#[test]
fn a_node_that_ends_takes_the_edges_to_all_that_follow_it() {
    for followers in 1..4 {
        let mut graph = graph(Order::Default, 8, 1);
        let (first, place) = follow(&mut graph, &[]);
        for _ in 0..followers {
            follow(&mut graph, &[first]);
        }
        assert_eq!(graph.statistics().edges, followers);
        graph.complete(place.at.lane, place.at.value).unwrap();
        assert_eq!(graph.statistics().edges, 0);
    }
}

/// The device does not begin the urgent one before it.
#[test]
fn a_node_before_an_urgent_one_in_its_lane_stays_as_urgent() {
    let mut graph = graph(Order::Default, 1, 1);
    let (first, _) = follow(&mut graph, &[]);
    let urgent = Spec { priority: Priority::new(8).unwrap(), ..KERNEL };
    let node = graph.append(&urgent).unwrap();
    launch(&mut graph, node);
    graph.set_priority(first, Priority::new(2).unwrap()).unwrap();
    assert_eq!(graph.priority(first), Some(urgent.priority));
    graph.set_priority(node, Priority::LOWEST).unwrap();
    assert_eq!(graph.priority(first), Priority::new(2));
}

const UPLOAD: Spec<'static> = Spec { kind: Kind::Copy(Direction::HostToDevice), in_copy_strand: true, ..KERNEL };
const DOWNLOAD: Spec<'static> = Spec { kind: Kind::Copy(Direction::DeviceToHost), ..UPLOAD };

/// A node, launched at once.
fn launched(graph: &mut Graph, spec: &Spec<'_>) -> (NodeId, Place) {
    let node = graph.append(spec).unwrap();
    (node, launch(graph, node))
}

/// Ten copies to the device, each with a kernel and a copy back, in three lanes: copies to the device go one behind the
/// other, and so do those back where kernels share a lane. None waits for the kernel of another chain.
#[test]
fn copies_of_a_copy_strand_wait_for_copies_of_their_kind_only() {
    let mut graph = graph(Order::Default, 4, 1);
    let mut kernels = Vec::new();
    for number in 1..=5 {
        let (upload, up) = launched(&mut graph, &UPLOAD);
        assert_eq!((up.at, up.joins), (Point { lane: 0, value: number }, vec![]));
        let (kernel, at) = follow(&mut graph, &[upload]);
        let lane = [1, 2][(number as usize - 1) % 2];
        // The kernel before it in the lane is marked, for those that wait for it alone.
        let before = (number > 2).then_some(Point { lane, value: number.div_ceil(2) - 1 });
        assert_eq!(at.joins, [up.at].into_iter().chain(before).collect::<Vec<_>>());
        kernels.push((kernel, at.at));
    }
    for (number, (kernel, at)) in kernels.into_iter().enumerate() {
        let down = launched(&mut graph, &Spec { after: &[kernel], ..DOWNLOAD }).1;
        assert_eq!((down.at, down.joins), (Point { lane: 3, value: number as u64 + 1 }, vec![at]));
    }
}

/// A copy back goes on in the strand of its kernel while no other strand is in that lane.
#[test]
fn a_copy_goes_on_in_a_strand_that_has_its_lane_alone() {
    let mut graph = graph(Order::Default, 4, 1);
    let upload = launched(&mut graph, &UPLOAD).0;
    let (kernel, at) = follow(&mut graph, &[upload]);
    let down = launched(&mut graph, &Spec { after: &[kernel], ..DOWNLOAD }).1;
    assert_eq!((down.at.lane, down.strand, down.joins), (at.at.lane, at.strand, vec![]));
}

/// One that waits for another lane does not hold up those behind it, while there is a lane for it.
#[test]
fn a_copy_that_has_to_join_goes_beside_the_copy_strand() {
    let mut graph = graph(Order::Default, 5, 1);
    let (first, up) = launched(&mut graph, &UPLOAD);
    let [one, other] = [(); 2].map(|()| follow(&mut graph, &[first]).0);
    let joining = Spec { after: &[one, other], ..UPLOAD };
    // Two go on in the strands of the kernels, and the third begins one.
    let beside = [(); 3].map(|()| launched(&mut graph, &joining).1);
    assert_eq!((up.at.lane, [0, 1, 2].map(|at: usize| beside[at].at.lane)), (0, [1, 2, 3]));
    assert_eq!([0, 1, 2].map(|at: usize| beside[at].joins.len()), [1, 1, 2]);
    let waits = launched(&mut graph, &joining).1;
    assert_eq!(waits.at, Point { lane: 0, value: 2 }, "the last lane without strands is kept");
    // Another direction has a copy strand of its own, and so has each priority.
    assert_eq!(launched(&mut graph, &DOWNLOAD).1.at.lane, 4);
    let urgent = launched(&mut graph, &Spec { priority: Priority::new(2).unwrap(), ..UPLOAD }).1;
    assert_ne!(urgent.at.lane, 0);
}

/// A copy strand is over when its last copy has ended, and its lane is as others.
#[test]
fn a_copy_strand_ends_with_its_last_copy() {
    let mut graph = graph(Order::Default, 2, 1);
    let [up, behind] = [(); 2].map(|()| launched(&mut graph, &UPLOAD).1);
    assert_eq!((up.at.lane, behind.at.lane, up.strand), (0, 0, behind.strand));
    let ends = |graph: &mut Graph, value| graph.complete(0, value).unwrap();
    ends(&mut graph, 1);
    assert_eq!(launched(&mut graph, &UPLOAD).1.strand, up.strand, "the second is there still");
    ends(&mut graph, 3);
    let kernels = [(); 3].map(|()| follow(&mut graph, &[]).1.at.lane);
    assert_eq!(kernels, [0, 1, 0], "no lane is kept");
}

/// A lane whose only strand has ended is as one that never had any: of two without strands a kernel has one, though
/// copy strands are there.
#[test]
fn a_lane_is_without_strands_again_beside_a_copy_strand() {
    let mut graph = graph(Order::Default, 4, 1);
    assert_eq!(launched(&mut graph, &UPLOAD).1.at.lane, 0);
    assert_eq!([(); 2].map(|()| follow(&mut graph, &[]).1.at.lane), [1, 2]);
    assert_eq!(follow(&mut graph, &[]).1.at.lane, 1, "the last lane without strands is kept");
    graph.complete(2, 1).unwrap();
    assert_eq!([(); 2].map(|()| follow(&mut graph, &[]).1.at.lane), [2, 2]);
}

/// Of two copy strands in one lane the first ends: the lane still has the other, and kernels keep away from it.
#[test]
fn a_lane_has_a_copy_strand_until_the_last_of_several_ends() {
    let mut graph = graph(Order::Default, 2, 1);
    let urgent = Spec { priority: Priority::new(2).unwrap(), ..UPLOAD };
    let lanes = [&UPLOAD, &DOWNLOAD, &urgent].map(|spec| launched(&mut graph, spec).1.at.lane);
    assert_eq!(lanes, [0, 1, 0]);
    assert_eq!(follow(&mut graph, &[]).1.at.lane, 1, "each lane has copy strands, and this one has fewer");
    graph.complete(0, 1).unwrap();
    graph.complete(1, 1).unwrap();
    assert_eq!([(); 2].map(|()| follow(&mut graph, &[]).1.at.lane), [1, 1]);
}

/// The last lane without strands is kept in the group of the copy strand too that is not the first one.
#[test]
fn copy_strands_look_at_the_lanes_of_their_own_group() {
    let urgent = Priority::new(8).unwrap();
    let (upload, kernel) = (Spec { priority: urgent, ..UPLOAD }, Spec { priority: urgent, ..KERNEL });
    let mut four = graph(Order::Default, 4, 2);
    assert_eq!(launched(&mut four, &upload).1.at.lane, 4);
    assert_eq!([(); 3].map(|()| launched(&mut four, &kernel).1.at.lane), [5, 6, 5]);

    let mut three = graph(Order::Default, 3, 2);
    let before = [&upload, &kernel].map(|spec| launched(&mut three, spec).1.at.lane);
    let (bulk, at) = follow(&mut three, &[]);
    assert_eq!((before, at.at.lane), ([3, 4], 0));
    let joins = launched(&mut three, &Spec { after: &[bulk], ..upload }).1;
    assert_eq!(joins.at, Point { lane: 3, value: 2 }, "no two lanes are left for one that waits");
}

/// A strand that begins in a lane where all is complete marks nothing there.
#[test]
fn a_strand_behind_complete_work_of_its_lane_joins_nothing() {
    let mut graph = graph(Order::Default, 1, 1);
    let first = launched(&mut graph, &KERNEL).0;
    let held = Spec { after: &[first], references: 1, ..KERNEL };
    let [_takes_the_strand, other] = [(); 2].map(|()| graph.append(&held).unwrap());
    graph.complete(0, 1).unwrap();
    graph.release(other).unwrap();
    assert_eq!(launch(&mut graph, other).joins, []);
}
