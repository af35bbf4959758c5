//! Validity: random uses against an oracle that keeps every byte by itself, and single rules.

use std::collections::BTreeSet;
use std::ops::Range;

use overtake_graph::{Location, Needs, Progress, Validity};
use proptest::collection::vec;
use proptest::prelude::*;

const BYTES: usize = 12;
const PLACES: [Location; 3] = [Location::Host, Location::Device(0), Location::Device(1)];

/// One byte as the oracle sees it: for each place the transfer that brought it there, or none if it was written there.
#[derive(Clone, Default)]
struct Byte {
    at: Vec<(Location, Option<usize>)>,
    writer: Option<usize>,
    /// The node that should have written it, or brought it to the last place.
    lost: Option<usize>,
    /// The nodes that should have written it, or brought it somewhere, since it was written.
    failed: Vec<usize>,
    is_written: bool,
    /// The node before its writer, which does not run if that one fails, and the byte as it was before.
    before: Option<(usize, Box<Byte>)>,
}

impl Byte {
    /// A node has failed.
    fn fail(&mut self, node: usize) {
        if let Some((entry, mut before)) = self.before.take() {
            before.fail(node);
            if entry == node {
                *self = *before;
                assert!(!self.at.is_empty() || self.lost.is_some() || !self.is_written, "it has left all memories");
                return;
            }
            self.before = Some((entry, before));
        }
        if self.writer == Some(node) || self.at.iter().any(|(_, by)| *by == Some(node)) {
            self.failed.push(node);
        }
        if self.writer == Some(node) {
            let failed = std::mem::take(&mut self.failed);
            *self = Byte { lost: Some(node), failed, is_written: true, ..Byte::default() };
        }
        let before = self.at.len();
        self.at.retain(|(_, by)| *by != Some(node));
        if self.at.is_empty() && before > 0 {
            self.lost = Some(node);
        }
    }

    /// A node has ended well: what comes after it alone runs.
    fn enter(&mut self, node: usize) {
        match self.before.take() {
            Some((entry, mut before)) if entry != node => {
                before.enter(node);
                self.before = Some((entry, before));
            }
            _ => {}
        }
    }

    fn leave(&mut self, place: Location) {
        self.at.retain(|(at, _)| *at != place);
        if let Some((_, before)) = &mut self.before {
            before.leave(place);
        }
    }
}

/// A program, and the oracle.
struct Program {
    validity: Validity<usize>,
    bytes: Vec<Byte>,
    nodes: Vec<Progress>,
    /// Nodes each of which comes before another one.
    pairs: Vec<(usize, usize)>,
}

/// From the second device to the first no copy goes, and the host is the farthest from both.
fn nearness(from: Location, to: Location) -> f64 {
    match (from, to) {
        (Location::Device(1), Location::Device(0)) => 0.0,
        (Location::Host, _) => 1.0,
        _ => 2.0,
    }
}

/// Whether the second is as good as the first. Among those that are not near at all, any is.
fn near_first(one: (bool, bool, f64), best: (bool, bool, f64)) -> bool {
    one <= best || (!one.0 && !best.0)
}

/// The numbers of a use: its kind, its place and its bytes.
type Use = (u8, u8, u8, u8);

impl Program {
    fn new(at: Option<Location>) -> Program {
        let byte = Byte { at: at.iter().map(|at| (*at, None)).collect(), is_written: at.is_some(), ..Byte::default() };
        Program {
            validity: Validity::new(BYTES as u64, at),
            bytes: vec![byte; BYTES],
            nodes: Vec::new(),
            pairs: Vec::new(),
        }
    }

    fn node(&mut self) -> usize {
        self.nodes.push(Progress::Pending);
        self.nodes.len() - 1
    }

    /// A node ends. Those before it have ended, and if one of them has failed, it fails too.
    fn end(&mut self, number: u8, fails: bool) {
        let pending: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node] == Progress::Pending).collect();
        let Some(&node) = pending.get(usize::from(number) % pending.len().max(1)) else { return };
        let first = self.pairs.iter().find(|(first, then)| *then == node && pending.contains(first));
        let node = first.map_or(node, |(first, _)| *first);
        self.nodes[node] = if fails { Progress::Failed } else { Progress::Done };
        if !fails {
            return self.bytes.iter_mut().for_each(|byte| byte.enter(node));
        }
        self.bytes.iter_mut().for_each(|byte| byte.fail(node));
        if let Some((_, then)) = self.pairs.iter().find(|(first, _)| *first == node) {
            self.nodes[*then] = Progress::Failed;
        }
    }

    fn needs(&mut self, bytes: &Range<usize>, place: Location) -> Needs<usize> {
        let nodes = &self.nodes;
        let nearness = |from| nearness(from, place);
        self.validity.needs(&(bytes.start as u64..bytes.end as u64), place, nearness, |node| nodes[*node])
    }

    /// A use that needs the bytes: compares its needs byte by byte, and submits the transfers.
    fn reads(&mut self, bytes: Range<usize>, place: Location) {
        let needs = self.needs(&bytes, place);
        let (mut lost, mut unwritten, mut arrivals, mut writers) = (false, false, Vec::new(), Vec::new());
        for at in bytes.clone() {
            let byte = &self.bytes[at];
            (lost, unwritten) = (lost | byte.lost.is_some(), unwritten | !byte.is_written);
            let here = byte.at.iter().find(|(it, _)| *it == place);
            let pending = |by: &Option<usize>| by.filter(|by| self.nodes[*by] == Progress::Pending);
            let fetches: Vec<_> = needs.fetches.iter().filter(|it| it.bytes.contains(&(at as u64))).collect();
            match here {
                Some((_, by)) => {
                    assert!(fetches.is_empty(), "byte {at} is there, and is fetched");
                    arrivals.extend(pending(by));
                    writers.extend(pending(&byte.writer).filter(|_| pending(by).is_none()));
                }
                None => {
                    assert_eq!(fetches.len(), usize::from(!byte.at.is_empty()), "fetches of byte {at}");
                    for fetch in fetches {
                        let source = byte.at.iter().find(|(it, _)| *it == fetch.from);
                        let (_, by) = source.expect("the source has the byte");
                        let after: Vec<usize> = pending(by).or_else(|| pending(&byte.writer)).into_iter().collect();
                        assert_eq!(fetch.after, after, "byte {at}");
                        let is_best = self.is_nearest(byte, (fetch.from, *by), place);
                        assert!(is_best, "byte {at} is nearer elsewhere");
                    }
                }
            }
        }
        let sorted = |nodes: &[usize]| Vec::from_iter(nodes.iter().copied().collect::<BTreeSet<usize>>());
        let told = [&needs.arrivals, &needs.writers, &needs.writers_of_relaxed].map(|nodes| sorted(nodes));
        let expected = [&arrivals, &writers, &writers].map(|nodes| sorted(nodes));
        assert_eq!((told, needs.lost.is_some(), needs.is_unwritten), (expected, lost, unwritten));
        if let Some(cause) = needs.lost {
            // Of several nodes that have failed since the last use any may be named.
            let is_cause = |byte: &Byte| {
                byte.lost
                    .is_some_and(|lost| lost == cause || (byte.failed.contains(&lost) && byte.failed.contains(&cause)))
            };
            assert!(self.bytes[bytes.clone()].iter().any(is_cause), "{cause} lost none of these");
        }
        for fetch in needs.fetches {
            let transfer = self.node();
            self.validity.arrives(&fetch.bytes, place, &transfer);
            for at in fetch.bytes {
                self.bytes[at as usize].at.push((place, Some(transfer)));
            }
        }
    }

    /// Whether no other memory of a byte is a better source: one that has it already, and the nearest of these.
    fn is_nearest(&self, byte: &Byte, source: (Location, Option<usize>), place: Location) -> bool {
        let rank = |(it, by): (Location, Option<usize>)| {
            let is_there = by.is_none_or(|by| self.nodes[by] != Progress::Pending);
            (nearness(it, place) > 0.0, is_there, nearness(it, place))
        };
        byte.at.iter().all(|other| near_first(rank(*other), rank(source)))
    }

    fn writes(&mut self, bytes: Range<usize>, place: Location) {
        let writer = self.node();
        self.validity.writes(&(bytes.start as u64..bytes.end as u64), place, &writer);
        let byte = Byte { at: vec![(place, None)], writer: Some(writer), is_written: true, ..Byte::default() };
        self.bytes[bytes].fill(byte);
    }

    /// The host asks for the bytes: it has them if a node before it ends well.
    fn writes_behind(&mut self, bytes: Range<usize>, place: Location) {
        let (entry, writer) = (self.node(), self.node());
        self.pairs.push((entry, writer));
        let (range, nodes) = (bytes.start as u64..bytes.end as u64, &self.nodes);
        self.validity.writes_behind(&range, place, (&entry, &writer), |node| nodes[*node]);
        for byte in &mut self.bytes[bytes] {
            let before = Some((entry, Box::new(std::mem::take(byte))));
            *byte = Byte { at: vec![(place, None)], writer: Some(writer), is_written: true, before, ..Byte::default() };
        }
    }

    /// The memory goes. Bytes that are not elsewhere already are copied to another one before, if they are not on their
    /// way there.
    fn leaves(&mut self, bytes: Range<usize>, place: Location) {
        let (range, to) = (bytes.start as u64..bytes.end as u64, PLACES[usize::from(place == PLACES[0])]);
        let (validity, nodes) = (&mut self.validity, &self.nodes);
        let needs = validity.needs_to_leave(&range, (place, to), |node| nodes[*node]);
        let is_copied = |byte: &Byte| {
            let is_pending = |by: &Option<usize>| by.is_some_and(|by| nodes[by] == Progress::Pending);
            let is_other_sure = |(at, by): &(Location, Option<usize>)| *at != place && !is_pending(by);
            byte.at.iter().any(|(at, _)| *at == place)
                && !byte.at.iter().any(|other| is_other_sure(other) || other.0 == to)
        };
        let is_kept = |byte: &Byte| {
            let mut befores = std::iter::successors(byte.before.as_ref(), |(_, before)| before.before.as_ref());
            befores.any(|(_, before)| is_copied(before))
        };
        assert_eq!(needs.is_none(), self.bytes[bytes.clone()].iter().any(is_kept), "bytes that have to stay");
        let Some(needs) = needs else { return };
        let expected: Vec<usize> = bytes.clone().filter(|at| is_copied(&self.bytes[*at])).collect();
        let mut copied = Vec::new();
        for fetch in needs.fetches {
            let transfer = self.node();
            self.validity.arrives(&fetch.bytes, to, &transfer);
            for at in fetch.bytes.map(|at| at as usize) {
                self.bytes[at].at.push((to, Some(transfer)));
                copied.push(at);
            }
        }
        copied.sort_unstable();
        assert_eq!(copied, expected, "bytes that no other memory has already");
        self.validity.leaves(&range, place);
        self.bytes[bytes].iter_mut().for_each(|byte| byte.leave(place));
    }

    fn step(&mut self, (kind, place, from, to): Use) {
        let place = PLACES[usize::from(place) % PLACES.len()];
        let (from, to) = (usize::from(from) % (BYTES + 1), usize::from(to) % (BYTES + 1));
        let bytes = from.min(to)..from.max(to);
        match kind % 10 {
            0..3 => self.reads(bytes, place),
            3 | 4 => self.writes(bytes, place),
            5 | 6 => self.writes_behind(bytes, place),
            7 => self.end(from as u8, false),
            8 => self.end(from as u8, to % 3 == 0),
            _ => self.leaves(bytes, place),
        }
    }
}

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

/// Bytes of a writer that is not run are as before it, but for those that a later one writes, and stay where they were
/// until it is known whether it runs.
#[test]
fn a_writer_that_is_not_run_is_undone() {
    let mut program = Program::new(Some(Location::Device(0)));
    let device = Location::Device(0);
    program.writes_behind(0..12, Location::Host);
    program.writes_behind(2..10, Location::Host);
    let later = program.node();
    program.validity.writes(&(4..5), Location::Device(1), &later);
    let leave = |program: &mut Program, bytes: Range<u64>| {
        let nodes = &program.nodes;
        program.validity.needs_to_leave(&bytes, (device, Location::Host), |node| nodes[*node]).map(|it| it.fetches)
    };
    assert_eq!([0..2, 3..5, 4..5].map(|bytes| leave(&mut program, bytes).is_some()), [false, false, true]);
    program.nodes[0] = Progress::Failed;
    assert_eq!(leave(&mut program, 10..12).map(|fetches| fetches.len()), Some(1));
    assert_eq!(leave(&mut program, 2..3), None);
    program.nodes[2] = Progress::Failed;
    let needs = program.needs(&(0..12), Location::Host);
    let fetches: Vec<_> = needs.fetches.iter().map(|it| (it.bytes.clone(), it.from)).collect();
    assert_eq!(fetches, [(0..4, device), (4..5, Location::Device(1)), (5..12, device)]);
    assert_eq!(needs.lost, None);
}

/// Of one that runs nothing is undone.
#[test]
fn a_writer_that_runs_is_the_last() {
    let mut program = Program::new(Some(Location::Device(0)));
    program.writes_behind(0..12, Location::Host);
    program.nodes[0] = Progress::Done;
    assert_eq!(program.needs(&(0..12), Location::Host).fetches, []);
    program.nodes[1] = Progress::Failed;
    assert_eq!(program.needs(&(0..12), Location::Host).lost, Some(1));
    // Of those that have ended none is kept.
    for _ in 0..3 {
        program.writes_behind(0..12, Location::Host);
        let last = program.nodes.len();
        program.nodes[last - 2..].fill(Progress::Done);
        assert_eq!(program.needs(&(0..12), Location::Device(0)).lost, None);
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
