//! Validity: in which memories each byte of an object is up to date, and the transfers that a use of it needs.
//!
//! Everything is recorded when a node is submitted, before it runs. A record names the node that will make it true, and
//! is checked at the next use: if the node has ended well, only the record remains; if it has failed, the record never
//! became true.

use std::ops::Range;

use super::layers::{Contents, Copies, Layers, Progress};
use super::spans::Spans;
use crate::devices::{Location, Locations};

/// Bytes that have to be copied before a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch<N> {
    /// The bytes.
    pub bytes: Range<u64>,
    /// The memory that has them.
    pub from: Location,
    /// The nodes without which they are not there, as far as they may not have ended: the transfer that brings them
    /// there, or those that write them. This one comes after them.
    pub after: Vec<N>,
}

/// The needs of a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs<N> {
    /// The copies to be made.
    pub fetches: Vec<Fetch<N>>,
    /// Transfers of others that bring bytes of the use: it comes after them.
    pub arrivals: Vec<N>,
    /// The nodes that write bytes which are there, as far as they may not have ended: it comes after them.
    pub writers: Vec<N>,
    /// Those of a use with relaxed access, which has no order with others that have such access there. Some may have
    /// failed.
    pub writers_of_relaxed: Vec<N>,
    /// A node that should have written some of the bytes and has failed.
    pub lost: Option<N>,
    /// Some of the bytes have never been written.
    pub is_unwritten: bool,
}

/// The memories in which each byte of an object is up to date. `N` is a node.
#[derive(Clone, Debug)]
pub struct Validity<N> {
    spans: Spans<Layers<N>>,
}

impl<N: Clone + PartialEq> Validity<N> {
    /// An object of so many bytes, which are up to date in this memory, or have not been written.
    #[must_use]
    pub fn new(bytes: u64, at: Option<Location>) -> Validity<N> {
        let contents = at.map_or(Contents::Unwritten, |_| Contents::Written);
        let at = at.map_or(Locations::NONE, Locations::only);
        Validity { spans: Spans::new(bytes, Layers::new(Copies::new(contents, at))) }
    }

    /// The needs of a node that uses these bytes there. They come from the memory of the highest `nearness`; one of 0
    /// is no source, if there is another.
    pub fn needs(
        &mut self,
        bytes: &Range<u64>,
        place: Location,
        nearness: impl Fn(Location) -> f64,
        mut progress: impl FnMut(&N) -> Progress,
    ) -> Needs<N> {
        self.settle(bytes, &mut progress);
        let mut needs = Needs::none();
        self.spans.each(bytes, |bytes, all| needs.add(bytes, all.now(), place, &nearness));
        needs
    }

    /// The same for bytes that are to leave their memory, of those of which no other one has a copy already: they go to
    /// `place`. A copy that is on its way may fail. None if they must stay until a writer has begun
    /// ([`Validity::may_write`]).
    pub fn needs_to_leave(
        &mut self,
        bytes: &Range<u64>,
        (from, place): (Location, Location),
        mut progress: impl FnMut(&N) -> Progress,
    ) -> Option<Needs<N>> {
        self.spans.change(bytes, |all| all.settle_all(&mut progress));
        let mut needs = Needs::none();
        let mut is_kept = false;
        self.spans.each(bytes, |bytes, all| {
            is_kept |= all.are_kept_at(from, place);
            if all.now().is_only_at(from) {
                needs.add(bytes, all.now(), place, &|_| 1.0);
            }
        });
        (!is_kept).then_some(needs)
    }

    /// A transfer has been submitted that brings these bytes there.
    pub fn arrives(&mut self, bytes: &Range<u64>, place: Location, transfer: &N) {
        self.spans.change(bytes, |all| {
            let now = all.now_mut();
            now.at = now.at.and(place);
            now.arrivals.push((place, transfer.clone()));
        });
    }

    /// A node has been submitted that writes these bytes there.
    pub fn writes(&mut self, bytes: &Range<u64>, place: Location, writer: &N) {
        self.spans.change(bytes, |all| all.write(place, writer, false));
        self.spans.unite(bytes);
    }

    /// The same of a node that may fail before it begins ([`Validity::begins`]): then these bytes are as they were
    /// before. Until that is known no node takes them for its results.
    pub fn may_write(
        &mut self,
        bytes: &Range<u64>,
        place: Location,
        writer: &N,
        mut progress: impl FnMut(&N) -> Progress,
    ) {
        self.settle(bytes, &mut progress);
        self.spans.change(bytes, |all| {
            let mut behind = Copies::new(Contents::Unwritten, Locations::NONE);
            behind.write(place, writer, false);
            all.asked.push((writer.clone(), behind));
        });
    }

    /// The node begins to write these bytes: if it fails now, they are lost.
    pub fn begins(&mut self, bytes: &Range<u64>, writer: &N) {
        self.spans.change(bytes, |all| all.begin(writer));
    }

    /// The node will not begin, and writes nothing: as far as nothing has been made of its results, it is forgotten.
    pub fn withdraws(&mut self, bytes: &Range<u64>, writer: &N, mut progress: impl FnMut(&N) -> Progress) {
        self.spans.change(bytes, |all| all.withdraw(writer, &mut progress));
    }

    /// A node with relaxed access to these bytes has been submitted there. It has no order with others that have such
    /// access there, so each of them counts.
    pub fn relaxes(&mut self, bytes: &Range<u64>, place: Location, writer: &N) {
        self.spans.change(bytes, |all| {
            let now = all.now_mut();
            if now.is_shared_at(place) {
                return now.beside.push(writer.clone());
            }
            let under = now.writers().chain(now.arrival(place)).cloned().collect();
            all.write(place, writer, true);
            all.first.under = under;
        });
    }

    /// The memory of these bytes goes there. They are lost if they are up to date nowhere else.
    pub fn leaves(&mut self, bytes: &Range<u64>, place: Location) {
        self.spans.change(bytes, |all| all.leave(place));
    }

    /// Each memory of these bytes, with nodes that have ended left out.
    pub fn each(
        &mut self,
        bytes: &Range<u64>,
        mut progress: impl FnMut(&N) -> Progress,
        mut each: impl FnMut(Range<u64>, Locations),
    ) {
        self.settle(bytes, &mut progress);
        self.spans.each(bytes, |bytes, all| each(bytes, all.now().at));
    }

    /// Into how many parts the copies differ.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.spans.count()
    }

    fn settle(&mut self, bytes: &Range<u64>, progress: &mut impl FnMut(&N) -> Progress) {
        let mut is_done = true;
        self.spans.each(bytes, |_, all| is_done &= all.is_settled());
        if !is_done {
            self.spans.change(bytes, |all| all.settle(progress));
        }
        self.spans.tidy(|all| all.settle(progress), |one, other| one == other);
    }
}

impl<N: Clone + PartialEq> Needs<N> {
    fn none() -> Needs<N> {
        let [arrivals, writers, writers_of_relaxed] = [const { Vec::new() }; 3];
        Needs { fetches: Vec::new(), arrivals, writers, writers_of_relaxed, lost: None, is_unwritten: false }
    }

    fn add(&mut self, bytes: Range<u64>, copies: &Copies<N>, place: Location, nearness: &impl Fn(Location) -> f64) {
        match &copies.contents {
            Contents::Unwritten => self.is_unwritten = true,
            Contents::Lost(cause) => self.lost = self.lost.take().or_else(|| Some(cause.clone())),
            _ => {}
        }
        if copies.at.has(place) {
            match copies.arrival(place) {
                Some(arrival) => put([arrival], &mut self.arrivals),
                None => self.add_writers(copies, place),
            }
            return;
        }
        let Some(from) = copies.source(nearness) else { return };
        let after = copies.arrival(from).map_or_else(|| copies.writers().cloned().collect(), |one| vec![one.clone()]);
        let fetch = Fetch { bytes, from, after };
        match self.fetches.last_mut() {
            Some(last) if last.bytes.end == fetch.bytes.start && last.from == from && last.after == fetch.after => {
                last.bytes.end = fetch.bytes.end;
            }
            _ => self.fetches.push(fetch),
        }
    }
    fn add_writers(&mut self, copies: &Copies<N>, place: Location) {
        put(copies.writers(), &mut self.writers);
        match copies.is_shared_at(place) {
            true => put(&copies.under, &mut self.writers_of_relaxed),
            false => put(copies.writers(), &mut self.writers_of_relaxed),
        }
    }
}

/// Adds those that are not there.
fn put<'n, N: Clone + PartialEq + 'n>(nodes: impl IntoIterator<Item = &'n N>, all: &mut Vec<N>) {
    for node in nodes {
        if !all.contains(node) {
            all.push(node.clone());
        }
    }
}
