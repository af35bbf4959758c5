//! Validity: random uses against an oracle that keeps every byte by itself, and single rules.

use std::ops::Range;

use overtake_graph::{Location, Progress, Validity};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::model::bytes::{BYTES, PLACES, Program};

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_where_the_oracle_has_it(
        starts in any::<bool>(),
        uses in vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>()), 1..60),
    ) {
        let mut program = Program::new(starts.then_some(Location::Host));
        uses.into_iter().for_each(|one| program.step(one));
        for place in PLACES {
            program.reads(0..BYTES, place);
        }
    }
}

#[test]
fn readers_share_a_transfer_and_a_failed_one_is_made_again() {
    let mut program = Program::new(Some(Location::Host));
    let device = Location::Device(0);
    let first = program.needs(&(0..8), device);
    assert_eq!((first.fetches.len(), first.fetches[0].bytes.clone()), (1, 0..8));
    let transfer = program.node();
    program.validity.arrives(&(0..8), device, &transfer);
    // The second reader waits for the first one's transfer, and fetches the rest.
    let second = program.needs(&(4..12), device);
    assert_eq!((second.arrivals, second.fetches[0].bytes.clone()), (vec![transfer], 8..12));
    program.nodes[transfer] = Progress::Failed;
    let third = program.needs(&(0..8), device);
    assert_eq!((third.arrivals, third.lost, third.fetches[0].from), (vec![], None, Location::Host));
}

#[test]
fn neighbours_with_one_source_are_one_copy() {
    let mut program = Program::new(Some(Location::Host));
    program.writes(9..10, Location::Host);
    program.nodes[0] = Progress::Done;
    let fetches = program.needs(&(0..12), Location::Device(0)).fetches;
    assert_eq!((fetches.len(), fetches[0].bytes.clone()), (1, 0..12));
}

#[test]
fn the_bytes_of_a_failed_writer_are_lost_until_they_are_written() {
    let mut program = Program::new(Some(Location::Host));
    program.writes(0..12, Location::Device(0));
    program.nodes[0] = Progress::Failed;
    assert_eq!(program.needs(&(3..4), Location::Host).lost, Some(0));
    program.writes(2..6, Location::Host);
    assert_eq!(program.needs(&(2..6), Location::Host).lost, None);
    assert_eq!(program.needs(&(2..7), Location::Host).lost, Some(0));
}

/// Bytes of a writer that fails before it begins are as they were, but for those that a later one writes, and stay
/// where they were until it has begun.
#[test]
fn a_writer_that_does_not_begin_is_undone() {
    let mut program = Program::new(Some(Location::Device(0)));
    let device = Location::Device(0);
    let first = program.may_write(0..12, Location::Host);
    let second = program.may_write(2..10, Location::Host);
    let later = program.node();
    program.validity.writes(&(4..5), Location::Device(1), &later);
    let leave = |program: &mut Program, bytes: Range<u64>| {
        let nodes = &program.nodes;
        program.validity.needs_to_leave(&bytes, (device, Location::Host), |node| nodes[*node]).map(|it| it.fetches)
    };
    assert_eq!([0..2, 3..5, 4..5].map(|bytes| leave(&mut program, bytes).is_some()), [false, false, true]);
    program.nodes[first] = Progress::Failed;
    assert_eq!(leave(&mut program, 10..12).map(|fetches| fetches.len()), Some(1));
    assert_eq!(leave(&mut program, 2..3), None);
    program.nodes[second] = Progress::Failed;
    let needs = program.needs(&(0..12), Location::Host);
    let fetches: Vec<_> = needs.fetches.iter().map(|it| (it.bytes.clone(), it.from)).collect();
    assert_eq!(fetches, [(0..4, device), (4..5, Location::Device(1)), (5..12, device)]);
    assert_eq!(needs.lost, None);
}

/// However many are asked for and left, the last finds the copies before all of them.
#[test]
fn writers_that_are_withdrawn_leave_no_copies() {
    let (device, pending) = (Location::Device(0), |_: &usize| Progress::Pending);
    let mut validity = Validity::new(12, Some(device));
    for writer in 0..100_000 {
        validity.may_write(&(0..12), Location::Host, &writer, pending);
        validity.withdraws(&(0..12), &writer, pending);
    }
    let fetches = validity.needs(&(0..12), Location::Host, |_| 1.0, pending).fetches;
    assert_eq!(fetches.iter().map(|it| (it.bytes.clone(), it.from)).collect::<Vec<_>>(), [(0..12, device)]);
}

/// However many have not begun: to leave one looks at no other.
#[test]
fn a_writer_that_is_withdrawn_looks_at_no_other() {
    let (device, mut looks) = (Location::Device(0), 0);
    let mut validity = Validity::new(12, Some(device));
    for writer in 0..100 {
        validity.may_write(&(0..12), Location::Host, &writer, |_| Progress::Pending);
    }
    for (writer, progress) in [(98, Progress::Failed), (99, Progress::Pending)] {
        validity.withdraws(&(0..12), &writer, |_| {
            looks += 1;
            progress
        });
    }
    assert!(looks < 10, "{looks}");
    let needs = validity.needs(&(0..12), Location::Host, |_| 1.0, |_| Progress::Pending);
    assert_eq!(needs.writers, [97]);
}

/// However many have not begun at once: they are no depth of the stack.
#[test]
fn many_writers_that_have_not_begun_are_beside_each_other() {
    const MANY: usize = 50_000;
    let (device, mut nodes) = (Location::Device(0), vec![Progress::Pending; MANY]);
    let mut validity = Validity::new(12, Some(device));
    for writer in 0..MANY {
        validity.may_write(&(0..12), Location::Host, &writer, |node| nodes[*node]);
    }
    let mut needs = |nodes: &[Progress]| validity.needs(&(0..12), Location::Host, |_| 1.0, |node| nodes[*node]);
    assert_eq!(needs(&nodes).writers, [MANY - 1]);
    nodes[2..].fill(Progress::Failed);
    assert_eq!(needs(&nodes).writers, [1]);
    nodes[..2].fill(Progress::Failed);
    assert_eq!(needs(&nodes).fetches.iter().map(|it| it.from).collect::<Vec<_>>(), [device]);
}

/// A copy of what it was to write is undone with it, also one that has failed.
#[test]
fn a_failed_copy_of_a_writer_that_does_not_begin_is_undone() {
    let mut program = Program::new(Some(Location::Host));
    let (device, host) = (Location::Device(0), Location::Host);
    let (writer, copy) = (program.may_write(0..12, device), program.node());
    program.validity.arrives(&(0..12), host, &copy);
    program.validity.leaves(&(0..12), device);
    program.nodes[copy] = Progress::Failed;
    assert_eq!(program.needs(&(0..12), host).lost, Some(copy));
    program.nodes[writer] = Progress::Failed;
    assert_eq!(program.needs(&(0..12), host).lost, None);
}

/// Of one that has begun nothing is undone, wherever it stands, and nothing has to stay.
#[test]
fn a_writer_that_has_begun_is_the_last() {
    let mut program = Program::new(Some(Location::Device(0)));
    let device = Location::Device(0);
    let (first, second) = (program.may_write(0..12, Location::Host), program.may_write(4..12, Location::Host));
    program.begins(0);
    let nodes = &program.nodes;
    let left = program.validity.needs_to_leave(&(0..12), (device, Location::Host), |node| nodes[*node]);
    assert_eq!(left.map(|it| it.fetches), Some(vec![]));
    program.nodes[first] = Progress::Failed;
    assert_eq!(program.needs(&(0..4), Location::Host).lost, Some(first));
    assert_eq!(program.needs(&(4..12), Location::Host).lost, None);
    program.nodes[second] = Progress::Failed;
    assert_eq!(program.needs(&(4..12), Location::Host).lost, Some(first));
    // Of those that have ended none is kept.
    for _ in 0..3 {
        let last = program.may_write(0..12, Location::Host);
        program.nodes[last] = Progress::Done;
        assert_eq!(program.needs(&(0..12), device).lost, None);
    }
}

#[test]
fn parts_that_agree_become_one_again() {
    let mut validity: Validity<usize> = Validity::new(1 << 20, Some(Location::Host));
    for at in 0..1000 {
        validity.writes(&(at..at + 1), Location::Host, &7);
        validity.needs(&(at..at + 1), Location::Host, |_| 1.0, |_| Progress::Done);
    }
    assert!(validity.parts() < 64, "{} parts", validity.parts());
    let mut two: Validity<usize> = Validity::new(8, Some(Location::Host));
    assert_eq!(two.parts(), 1);
    two.writes(&(0..4), Location::Host, &7);
    assert_eq!(two.parts(), 2);
    let mut parts = Vec::new();
    validity.each(&(0..1 << 20), |_| Progress::Done, |bytes, at| parts.push((bytes.end, at.has(Location::Host))));
    assert!(parts.iter().all(|(_, at)| *at) && parts.last().is_some_and(|(end, _)| *end == 1 << 20));
}

#[test]
fn each_relaxed_writer_counts() {
    let mut program = Program::new(Some(Location::Host));
    let device = Location::Device(0);
    let relax = |program: &mut Program, bytes: Range<u64>, place| {
        let node = program.node();
        program.validity.relaxes(&bytes, place, &node);
        node
    };
    let [first, second, third] = [0..12, 0..8, 4..12].map(|bytes| relax(&mut program, bytes, device));
    program.nodes[third] = Progress::Done;
    program.nodes[first] = Progress::Done;
    assert_eq!(program.needs(&(0..12), device).lost, None);
    // The last of several that end is the one that fails.
    program.nodes[second] = Progress::Failed;
    assert_eq!(program.needs(&(0..8), device).lost, Some(second));
    assert_eq!(program.needs(&(8..12), device).lost, None);
    // In another place it is the only one: the others came before it, by a transfer.
    let [fourth, fifth] = [Location::Host, device].map(|place| relax(&mut program, 8..12, place));
    program.nodes[fourth] = Progress::Failed;
    assert_eq!(program.needs(&(8..12), device).lost, None);
    program.nodes[fifth] = Progress::Done;
    assert_eq!(program.needs(&(8..12), Location::Host).fetches[0].from, device);
}

/// Another writer has an order with those after it: it is none of those that count together.
#[test]
fn a_relaxed_writer_takes_the_place_of_one_that_is_not() {
    let mut program = Program::new(Some(Location::Host));
    let (device, [first, then]) = (Location::Device(0), [(); 2].map(|()| program.node()));
    program.validity.writes(&(0..12), device, &first);
    program.validity.relaxes(&(0..12), device, &then);
    (program.nodes[first], program.nodes[then]) = (Progress::Failed, Progress::Done);
    assert_eq!(program.needs(&(0..12), device).lost, None);
}

/// Relaxed writers need none of each other, and all of them what was written before.
#[test]
fn a_relaxed_writer_needs_those_before_all_that_are_beside_it() {
    let mut program = Program::new(Some(Location::Host));
    let device = Location::Device(0);
    program.writes(0..12, device);
    let then = [(); 2].map(|()| program.node());
    then.iter().for_each(|node| program.validity.relaxes(&(0..12), device, node));
    for (progress, under) in [(Progress::Pending, vec![0]), (Progress::Failed, vec![0]), (Progress::Done, vec![])] {
        program.nodes[0] = progress;
        let needs = program.needs(&(0..12), device);
        assert_eq!((needs.writers, needs.writers_of_relaxed), (then.to_vec(), under), "{progress:?}");
    }
    // In another place all of them are before it.
    assert_eq!(program.needs(&(0..12), Location::Host).fetches[0].after, then);
}

/// The same of the transfer that brings the bytes for the first of them.
#[test]
fn relaxed_writers_need_the_transfer_of_the_first() {
    let mut program = Program::new(Some(Location::Host));
    let device = Location::Device(0);
    let [transfer, first, other] = [(); 3].map(|()| program.node());
    program.validity.arrives(&(0..12), device, &transfer);
    program.validity.relaxes(&(0..12), device, &first);
    for (progress, under) in [(Progress::Pending, vec![transfer]), (Progress::Failed, vec![transfer])] {
        program.nodes[transfer] = progress;
        let needs = program.needs(&(0..12), device);
        assert_eq!((needs.writers, needs.writers_of_relaxed), (vec![first], under), "{progress:?}");
    }
    program.nodes[transfer] = Progress::Done;
    program.validity.relaxes(&(0..12), device, &other);
    assert_eq!(program.needs(&(0..12), device).writers_of_relaxed, []);
}

/// A relaxed writer after one that has ended is no other of that one.
#[test]
fn a_relaxed_writer_counts_after_one_that_has_ended() {
    let mut program = Program::new(Some(Location::Host));
    for outcome in [Progress::Done, Progress::Failed] {
        let node = program.node();
        program.validity.relaxes(&(0..12), Location::Device(0), &node);
        program.nodes[node] = outcome;
        let lost = (outcome == Progress::Failed).then_some(node);
        assert_eq!(program.needs(&(0..12), Location::Device(0)).lost, lost);
    }
}

#[test]
fn of_memories_that_are_equally_near_the_first_is_the_source() {
    let mut validity: Validity<usize> = Validity::new(12, Some(Location::Host));
    validity.arrives(&(0..12), Location::Device(1), &0);
    let needs = validity.needs(&(0..12), Location::Device(0), |_| 1.0, |_| Progress::Done);
    assert_eq!(needs.fetches[0].from, Location::Host);
}
