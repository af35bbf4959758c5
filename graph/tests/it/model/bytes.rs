//! The bytes of an object, each kept by itself, and random uses of them: the oracle of validity.

use std::collections::BTreeSet;
use std::ops::Range;

use overtake_graph::{Fetch, Location, Needs, Progress, Validity};

pub const BYTES: usize = 12;
pub const PLACES: [Location; 3] = [Location::Host, Location::Device(0), Location::Device(1)];

/// One byte as the oracle sees it: for each place the transfer that brought it there, or none if it was written there.
#[derive(Clone, Default)]
struct Byte {
    at: Vec<(Location, Option<usize>)>,
    /// One, or several with relaxed access.
    writers: Vec<usize>,
    is_relaxed: bool,
    /// Those before all of them, or the transfer that brought their results.
    under: Vec<usize>,
    /// The node that should have written it, or brought it to the last place.
    lost: Option<usize>,
    /// The nodes that should have written it, or brought it somewhere, since it was written.
    failed: Vec<usize>,
    is_written: bool,
    /// The byte as it was before a writer that has not begun.
    before: Option<Box<Byte>>,
}

impl Byte {
    /// A node has failed.
    fn fail(&mut self, node: usize) {
        if let Some(mut before) = self.before.take() {
            before.fail(node);
            if self.writers.contains(&node) {
                *self = *before;
                assert!(!self.at.is_empty() || self.lost.is_some() || !self.is_written, "it has left all memories");
                return;
            }
            self.before = Some(before);
        }
        if self.writers.contains(&node) || self.at.iter().any(|(_, by)| *by == Some(node)) {
            self.failed.push(node);
        }
        if self.writers.contains(&node) {
            let (failed, writers) = (std::mem::take(&mut self.failed), std::mem::take(&mut self.writers));
            *self = Byte { lost: Some(node), failed, writers, is_written: true, ..Byte::default() };
        }
        let before = self.at.len();
        self.at.retain(|(_, by)| *by != Some(node));
        if self.at.is_empty() && before > 0 {
            self.lost = Some(node);
        }
    }

    /// Whether one of these has been asked to write it before the node was.
    fn is_asked_before(&self, node: usize, pending: &[usize]) -> bool {
        let befores = std::iter::successors(Some(self), |byte| byte.before.as_deref());
        let mut befores = befores.skip_while(|byte| !byte.writers.contains(&node)).skip(1);
        befores.any(|byte| byte.writers.iter().any(|writer| pending.contains(writer)))
    }

    /// A node has ended well. What a writer that has not begun leaves unwritten stays so.
    fn end(&mut self, node: usize) {
        if let Some(before) = &mut self.before {
            before.end(node);
            if self.writers.contains(&node) && !before.is_written && before.lost.is_none() {
                *self = std::mem::take(before);
            }
        }
        self.begin(node);
    }

    /// A node has begun, or has ended well.
    fn begin(&mut self, node: usize) {
        if self.writers.contains(&node) {
            self.before = None;
        }
        if let Some(before) = &mut self.before {
            before.begin(node);
        }
    }

    /// A node does not begin. Where its results are in one memory alone the byte is as it was before.
    fn withdraw(&mut self, node: usize, nodes: &[Progress]) {
        let is_there = |by: &Option<usize>| by.is_none_or(|by| nodes[by] != Progress::Pending);
        let is_alone = self.at.len() == 1 && self.at.iter().all(|(_, by)| is_there(by));
        if self.before.is_some() && self.writers == [node] && is_alone {
            *self = *self.before.take().expect("there is one");
        } else if let Some(before) = &mut self.before {
            before.withdraw(node, nodes);
        }
    }

    fn leave(&mut self, place: Location) {
        self.at.retain(|(at, _)| *at != place);
        if let Some(before) = &mut self.before {
            before.leave(place);
        }
    }
}

/// A program, and the oracle.
pub struct Program {
    pub validity: Validity<usize>,
    bytes: Vec<Byte>,
    pub nodes: Vec<Progress>,
    /// Nodes that may not have begun to write, with their bytes.
    asked: Vec<(usize, Range<usize>)>,
}

/// From the second device to the first no copy goes, and the host is the farthest from both.
fn nearness(from: Location, to: Location) -> f64 {
    match (from, to) {
        (Location::Device(1), Location::Device(0)) => 0.0,
        (Location::Host, _) => 1.0,
        _ => 2.0,
    }
}

fn sorted(nodes: &[usize]) -> Vec<usize> {
    Vec::from_iter(nodes.iter().copied().collect::<BTreeSet<usize>>())
}

/// Whether the second is as good as the first. Among those that are not near at all, any is.
fn near_first(one: (bool, bool, f64), best: (bool, bool, f64)) -> bool {
    one <= best || (!one.0 && !best.0)
}

/// The numbers of a use: its kind, its place and its bytes.
pub type Use = (u8, u8, u8, u8);

impl Program {
    pub fn new(at: Option<Location>) -> Program {
        let byte = Byte { at: at.iter().map(|at| (*at, None)).collect(), is_written: at.is_some(), ..Byte::default() };
        Program {
            validity: Validity::new(BYTES as u64, at),
            bytes: vec![byte; BYTES],
            nodes: Vec::new(),
            asked: Vec::new(),
        }
    }

    pub fn node(&mut self) -> usize {
        self.nodes.push(Progress::Pending);
        self.nodes.len() - 1
    }

    /// A node ends.
    fn end(&mut self, number: u8, fails: bool) {
        let pending: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node] == Progress::Pending).collect();
        let Some(&node) = pending.get(usize::from(number) % pending.len().max(1)) else { return };
        // It comes after those.
        if !fails && self.bytes.iter().any(|byte| byte.is_asked_before(node, &pending)) {
            return;
        }
        self.nodes[node] = if fails { Progress::Failed } else { Progress::Done };
        if !fails {
            return self.bytes.iter_mut().for_each(|byte| byte.end(node));
        }
        self.bytes.iter_mut().for_each(|byte| byte.fail(node));
    }

    pub fn needs(&mut self, bytes: &Range<usize>, place: Location) -> Needs<usize> {
        let nodes = &self.nodes;
        let nearness = |from| nearness(from, place);
        self.validity.needs(&(bytes.start as u64..bytes.end as u64), place, nearness, |node| nodes[*node])
    }

    fn is_pending(&self, node: usize) -> bool {
        self.nodes[node] == Progress::Pending
    }

    /// The writers of a byte that have not ended.
    fn writers(&self, byte: &Byte) -> Vec<usize> {
        let is_open = |node: &usize| byte.lost.is_none() && self.is_pending(*node);
        byte.writers.iter().copied().filter(is_open).collect()
    }

    /// Whether one with relaxed access there writes beside others.
    fn is_shared_at(&self, byte: &Byte, place: Location) -> bool {
        let is_only = byte.at.iter().map(|(at, _)| *at).eq([place]);
        byte.is_relaxed && is_only && !self.writers(byte).is_empty()
    }

    /// Those that one with relaxed access there comes after, if the byte is there.
    fn before_relaxed(&self, byte: &Byte, place: Location) -> Vec<usize> {
        match self.is_shared_at(byte, place) {
            true => byte.under.iter().copied().filter(|node| self.nodes[*node] != Progress::Done).collect(),
            false => self.writers(byte),
        }
    }

    /// A use that needs the bytes: compares its needs byte by byte, and submits the transfers.
    pub fn reads(&mut self, bytes: Range<usize>, place: Location) {
        let needs = self.needs(&bytes, place);
        let (mut lost, mut unwritten, mut arrivals) = (false, false, Vec::new());
        let (mut writers, mut before_relaxed) = (Vec::new(), Vec::new());
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
                    if pending(by).is_none() {
                        writers.extend(self.writers(byte));
                        before_relaxed.extend(self.before_relaxed(byte, place));
                    }
                }
                None => {
                    assert_eq!(fetches.len(), usize::from(!byte.at.is_empty()), "fetches of byte {at}");
                    for fetch in fetches {
                        let source = byte.at.iter().find(|(it, _)| *it == fetch.from);
                        let (_, by) = source.expect("the source has the byte");
                        let after = pending(by).map_or_else(|| self.writers(byte), |by| vec![by]);
                        assert_eq!(sorted(&fetch.after), sorted(&after), "byte {at}");
                        let is_best = self.is_nearest(byte, (fetch.from, *by), place);
                        assert!(is_best, "byte {at} is nearer elsewhere");
                    }
                }
            }
        }
        let told = [&needs.arrivals, &needs.writers, &needs.writers_of_relaxed].map(|nodes| sorted(nodes));
        let expected = [&arrivals, &writers, &before_relaxed].map(|nodes| sorted(nodes));
        assert_eq!((told, needs.lost.is_some(), needs.is_unwritten), (expected, lost, unwritten));
        if let Some(cause) = needs.lost {
            // Of several nodes that have failed since the last use any may be named.
            let is_cause = |byte: &Byte| {
                byte.lost
                    .is_some_and(|lost| lost == cause || (byte.failed.contains(&lost) && byte.failed.contains(&cause)))
            };
            assert!(self.bytes[bytes.clone()].iter().any(is_cause), "{cause} lost none of these");
        }
        self.brings(needs.fetches, place);
    }

    /// Submits these transfers.
    fn brings(&mut self, fetches: Vec<Fetch<usize>>, place: Location) {
        for fetch in fetches {
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

    pub fn writes(&mut self, bytes: Range<usize>, place: Location) {
        let writer = self.node();
        self.validity.writes(&(bytes.start as u64..bytes.end as u64), place, &writer);
        let byte = Byte { at: vec![(place, None)], writers: vec![writer], is_written: true, ..Byte::default() };
        self.bytes[bytes].fill(byte);
    }

    /// A use with relaxed access, which needs the bytes too.
    fn relaxes(&mut self, bytes: Range<usize>, place: Location) {
        self.reads(bytes.clone(), place);
        // One that finds bytes lost is not submitted.
        if self.bytes[bytes.clone()].iter().any(|byte| byte.lost.is_some()) {
            return;
        }
        let node = self.node();
        self.validity.relaxes(&(bytes.start as u64..bytes.end as u64), place, &node);
        for at in bytes {
            let byte = &self.bytes[at];
            if self.is_shared_at(byte, place) {
                self.bytes[at].writers.push(node);
                continue;
            }
            let transfer = byte.at.iter().find(|(it, _)| *it == place).and_then(|(_, by)| *by);
            let under = self.writers(byte).into_iter().chain(transfer.filter(|by| self.is_pending(*by))).collect();
            let (at_place, writers) = (vec![(place, None)], vec![node]);
            self.bytes[at] =
                Byte { at: at_place, writers, is_relaxed: true, under, is_written: true, ..Byte::default() };
        }
    }

    /// The host asks for the bytes, and may never have them.
    pub fn may_write(&mut self, bytes: Range<usize>, place: Location) -> usize {
        let writer = self.node();
        self.asked.push((writer, bytes.clone()));
        let (range, nodes) = (bytes.start as u64..bytes.end as u64, &self.nodes);
        self.validity.may_write(&range, place, &writer, |node| nodes[*node]);
        for byte in &mut self.bytes[bytes] {
            let before = Some(Box::new(std::mem::take(byte)));
            *byte =
                Byte { at: vec![(place, None)], writers: vec![writer], is_written: true, before, ..Byte::default() };
        }
        writer
    }

    /// The host has the bytes for which it has asked.
    pub fn begins(&mut self, number: usize) {
        if self.asked.is_empty() {
            return;
        }
        let (writer, bytes) = self.asked.swap_remove(number % self.asked.len());
        if self.is_pending(writer) {
            self.validity.begins(&(bytes.start as u64..bytes.end as u64), &writer);
            self.bytes.iter_mut().for_each(|byte| byte.begin(writer));
        }
    }

    /// The host leaves without them.
    fn withdraws(&mut self, number: usize) {
        if self.asked.is_empty() {
            return;
        }
        let (writer, bytes) = self.asked.swap_remove(number % self.asked.len());
        if self.is_pending(writer) {
            let nodes = &self.nodes;
            self.validity.withdraws(&(bytes.start as u64..bytes.end as u64), &writer, |node| nodes[*node]);
            self.bytes.iter_mut().for_each(|byte| byte.withdraw(writer, nodes));
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
            let mut befores = std::iter::successors(byte.before.as_ref(), |before| before.before.as_ref());
            befores.any(|before| is_copied(before))
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

    pub fn step(&mut self, (kind, place, from, to): Use) {
        let place = PLACES[usize::from(place) % PLACES.len()];
        let (from, to) = (usize::from(from) % (BYTES + 1), usize::from(to) % (BYTES + 1));
        let bytes = from.min(to)..from.max(to);
        match kind % 14 {
            0..3 => self.reads(bytes, place),
            3 | 4 => self.writes(bytes, place),
            5 | 6 => drop(self.may_write(bytes, place)),
            7 => self.end(from as u8, false),
            12 => self.begins(from),
            13 => self.withdraws(from),
            8 => self.end(from as u8, to % 3 == 0),
            9 => self.leaves(bytes, place),
            _ => self.relaxes(bytes, place),
        }
    }
}
