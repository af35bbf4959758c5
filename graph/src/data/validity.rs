//! Validity: in which memories each byte of an object is up to date, and the transfers that a use of it needs.
//!
//! Everything is recorded when a node is submitted, before it runs. A record names the node that will make it true, and
//! is checked at the next use: if the node has ended well, only the record remains; if it has failed, the record never
//! became true.

use std::ops::Range;

use super::spans::Spans;
use crate::devices::{Location, Locations};

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not ended.
    Pending,
    /// It has ended well.
    Done,
    /// It has failed, or was not run.
    Failed,
}

/// The contents of bytes. `N` is a node.
#[derive(Clone, Debug, PartialEq)]
enum Contents<N> {
    /// None yet.
    Unwritten,
    Written,
    /// Written by a node that may not have ended, and by those beside it ([`Copies::beside`]).
    Writing(N),
    /// Those of a node that has failed.
    Lost(N),
}

/// The copies of some bytes.
#[derive(Clone, Debug, PartialEq)]
struct Copies<N> {
    contents: Contents<N>,
    /// They are up to date there, or will be.
    at: Locations,
    /// Transfers that may not have ended.
    arrivals: Vec<(Location, N)>,
    /// The writer has relaxed access: others may write there at the same time.
    is_relaxed: bool,
    /// Those others, as far as they may not have ended.
    beside: Vec<N>,
    /// The writers before all of these, or the transfer of their results to there, as far as they may not have ended
    /// well.
    under: Vec<N>,
    /// Those before a writer that may never begin.
    before: Option<Box<Copies<N>>>,
}

impl<N: Clone + PartialEq> Copies<N> {
    /// They have these contents there, and nowhere else.
    fn new(contents: Contents<N>, at: Locations) -> Copies<N> {
        let (arrivals, [beside, under]) = (Vec::new(), [Vec::new(), Vec::new()]);
        Copies { contents, at, arrivals, is_relaxed: false, beside, under, before: None }
    }

    /// They are those of a node that writes there.
    fn write(&mut self, place: Location, writer: &N, is_relaxed: bool) {
        (self.contents, self.at) = (Contents::Writing(writer.clone()), Locations::only(place));
        self.is_relaxed = is_relaxed;
        self.arrivals.clear();
        self.beside.clear();
        self.under.clear();
        self.before = None;
    }

    /// The nodes whose results they are, as far as they may not have ended.
    fn writers(&self) -> impl Iterator<Item = &N> {
        let writer = if let Contents::Writing(writer) = &self.contents { Some(writer) } else { None };
        writer.into_iter().chain(&self.beside)
    }

    /// Whether a node with relaxed access there writes beside others.
    fn is_shared_at(&self, place: Location) -> bool {
        self.is_relaxed && matches!(self.contents, Contents::Writing(_)) && self.at == Locations::only(place)
    }

    /// No node has to be looked at any more.
    fn is_settled(&self) -> bool {
        self.arrivals.is_empty() && self.before.is_none() && !matches!(self.contents, Contents::Writing(_))
    }

    /// Forgets nodes that have ended.
    fn settle(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
        self.settle_before(progress);
        self.settle_writers(progress);
        let Copies { contents, at, arrivals, .. } = self;
        let mut failed = None;
        arrivals.retain(|(place, transfer)| {
            let now = progress(transfer);
            if now == Progress::Failed {
                *at = at.without(*place);
                failed = Some(transfer.clone());
            }
            now == Progress::Pending
        });
        if let Some(transfer) = failed.filter(|_| *at == Locations::NONE) {
            *contents = Contents::Lost(transfer);
        }
    }

    /// The copies before a writer that has ended well are forgotten. They are those again if it fails before it begins,
    /// or if it has not begun and there were no contents.
    fn settle_before(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
        while let (Some(mut before), Contents::Writing(writer)) = (self.before.take(), &self.contents) {
            match progress(writer) {
                Progress::Done => {
                    before.settle(progress);
                    if before.contents == Contents::Unwritten {
                        *self = *before;
                    }
                }
                Progress::Failed => *self = *before,
                Progress::Pending => {
                    before.settle(progress);
                    self.before = Some(before);
                    return;
                }
            }
        }
    }

    /// A writer begins.
    fn begin(&mut self, writer: &N) {
        if matches!(&self.contents, Contents::Writing(own) if own == writer) {
            self.before = None;
        }
        if let Some(before) = &mut self.before {
            before.begin(writer);
        }
    }

    /// A writer will not begin: the copies before it stand for it, if no others were made of its own.
    fn withdraw(&mut self, writer: &N) {
        let is_own = matches!(&self.contents, Contents::Writing(own) if own == writer);
        let is_alone = self.arrivals.is_empty() && self.beside.is_empty() && self.at.iter().count() == 1;
        if let Some(before) = self.before.take_if(|_| is_own && is_alone) {
            *self = *before;
        } else if let Some(before) = &mut self.before {
            before.withdraw(writer);
        }
    }

    fn settle_writers(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
        let Contents::Writing(writer) = &mut self.contents else { return };
        let mut failed = None;
        let mut is_pending = |node: &N| {
            let now = progress(node);
            failed = failed.take().or_else(|| (now == Progress::Failed).then(|| node.clone()));
            now == Progress::Pending
        };
        self.beside.retain(&mut is_pending);
        if !is_pending(writer) {
            match self.beside.pop() {
                Some(other) => *writer = other,
                None => self.contents = Contents::Written,
            }
        }
        if let Some(failed) = failed {
            self.contents = Contents::Lost(failed);
            self.at = Locations::NONE;
            self.arrivals.clear();
            self.beside.clear();
        }
        let is_writing = matches!(self.contents, Contents::Writing(_));
        self.under.retain(|node| is_writing && progress(node) != Progress::Done);
    }

    /// The transfer that brings the bytes there, if it may not have ended.
    fn arrival(&self, place: Location) -> Option<&N> {
        self.arrivals.iter().find(|(at, _)| *at == place).map(|(_, transfer)| transfer)
    }

    /// Whether no other memory has the bytes already.
    fn is_only_at(&self, place: Location) -> bool {
        let others = self.arrivals.iter().fold(self.at.without(place), |at, (arrival, _)| at.without(*arrival));
        self.at.has(place) && others == Locations::NONE
    }

    /// Whether they were there before a writer that may never begin, and nowhere else, nor on their way to `to`. Later
    /// copies from there would come after the writer.
    fn is_kept_at(&self, place: Location, to: Location) -> bool {
        let Some(before) = &self.before else { return false };
        (before.is_only_at(place) && !before.at.has(to)) || before.is_kept_at(place, to)
    }

    /// Their memory there goes.
    fn leave(&mut self, place: Location) {
        self.at = self.at.without(place);
        self.arrivals.retain(|(at, _)| *at != place);
        if let Some(before) = &mut self.before {
            before.leave(place);
        }
    }

    /// The memory to copy from: the nearest in which the bytes are already, else the nearest to which they are on their
    /// way. One that is not near at all only if there is no other.
    fn source(&self, nearness: &impl Fn(Location) -> f64) -> Option<Location> {
        let nearest = |places: &mut dyn Iterator<Item = Location>| {
            let near = places.map(|place| (nearness(place), place)).filter(|(nearness, _)| *nearness > 0.0);
            near.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, place)| place)
        };
        let there = nearest(&mut self.at.iter().filter(|place| self.arrival(*place).is_none()));
        there.or_else(|| nearest(&mut self.at.iter())).or_else(|| self.at.iter().next())
    }
}

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
    spans: Spans<Copies<N>>,
}

impl<N: Clone + PartialEq> Validity<N> {
    /// An object of so many bytes, which are up to date in this memory, or have not been written.
    #[must_use]
    pub fn new(bytes: u64, at: Option<Location>) -> Validity<N> {
        let contents = at.map_or(Contents::Unwritten, |_| Contents::Written);
        let at = at.map_or(Locations::NONE, Locations::only);
        Validity { spans: Spans::new(bytes, Copies::new(contents, at)) }
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
        self.spans.each(bytes, |bytes, copies| needs.add(bytes, copies, place, &nearness));
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
        self.settle(bytes, &mut progress);
        let mut needs = Needs::none();
        let mut is_kept = false;
        self.spans.each(bytes, |bytes, copies| {
            is_kept |= copies.is_kept_at(from, place);
            if copies.is_only_at(from) {
                needs.add(bytes, copies, place, &|_| 1.0);
            }
        });
        (!is_kept).then_some(needs)
    }

    /// A transfer has been submitted that brings these bytes there.
    pub fn arrives(&mut self, bytes: &Range<u64>, place: Location, transfer: &N) {
        self.spans.change(bytes, |copies| {
            copies.at = copies.at.and(place);
            copies.arrivals.push((place, transfer.clone()));
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
            let before = std::mem::replace(all, behind);
            all.before = Some(Box::new(before));
        });
    }

    /// The node begins to write these bytes: if it fails now, they are lost.
    pub fn begins(&mut self, bytes: &Range<u64>, writer: &N) {
        self.spans.change(bytes, |all| all.begin(writer));
    }

    /// The node will not begin, and writes nothing: as far as nothing has been made of its results, it is forgotten.
    pub fn withdraws(&mut self, bytes: &Range<u64>, writer: &N, mut progress: impl FnMut(&N) -> Progress) {
        self.settle(bytes, &mut progress);
        self.spans.change(bytes, |all| all.withdraw(writer));
    }

    /// A node with relaxed access to these bytes has been submitted there. It has no order with others that have such
    /// access there, so each of them counts.
    pub fn relaxes(&mut self, bytes: &Range<u64>, place: Location, writer: &N) {
        self.spans.change(bytes, |all| {
            if all.is_shared_at(place) {
                return all.beside.push(writer.clone());
            }
            let under = all.writers().chain(all.arrival(place)).cloned().collect();
            all.write(place, writer, true);
            all.under = under;
        });
    }

    /// The memory of these bytes goes there. They are lost if they are up to date nowhere else.
    pub fn leaves(&mut self, bytes: &Range<u64>, place: Location) {
        self.spans.change(bytes, |copies| copies.leave(place));
    }

    /// Each memory of these bytes, with nodes that have ended left out.
    pub fn each(
        &mut self,
        bytes: &Range<u64>,
        mut progress: impl FnMut(&N) -> Progress,
        mut each: impl FnMut(Range<u64>, Locations),
    ) {
        self.settle(bytes, &mut progress);
        self.spans.each(bytes, |bytes, copies| each(bytes, copies.at));
    }

    /// Into how many parts the copies differ.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.spans.count()
    }

    fn settle(&mut self, bytes: &Range<u64>, progress: &mut impl FnMut(&N) -> Progress) {
        let mut is_done = true;
        self.spans.each(bytes, |_, copies| is_done &= copies.is_settled());
        if !is_done {
            self.spans.change(bytes, |copies| copies.settle(progress));
        }
        self.spans.tidy(|copies| copies.settle(progress), |one, other| one == other);
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
