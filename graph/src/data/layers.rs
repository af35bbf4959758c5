//! The copies of bytes in all memories, with the nodes that make them true.

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
pub(super) enum Contents<N> {
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
pub(super) struct Copies<N> {
    pub contents: Contents<N>,
    /// They are up to date there, or will be.
    pub at: Locations,
    /// Transfers that may not have ended.
    pub arrivals: Vec<(Location, N)>,
    /// The writer has relaxed access: others may write there at the same time.
    is_relaxed: bool,
    /// Those others, as far as they may not have ended.
    pub beside: Vec<N>,
    /// The writers before all of these, or the transfer of their results to there, as far as they may not have ended
    /// well.
    pub under: Vec<N>,
}

/// The copies of some bytes, in layers: the last is that of now, and those before it stand for it if its writer never
/// begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layers<N> {
    pub first: Copies<N>,
    /// Those of each writer that may never begin, and that writer.
    pub asked: Vec<(N, Copies<N>)>,
}

impl<N: Clone + PartialEq> Copies<N> {
    /// They have these contents there, and nowhere else.
    pub fn new(contents: Contents<N>, at: Locations) -> Copies<N> {
        let (arrivals, [beside, under]) = (Vec::new(), [Vec::new(), Vec::new()]);
        Copies { contents, at, arrivals, is_relaxed: false, beside, under }
    }

    /// They are those of a node that writes there.
    pub fn write(&mut self, place: Location, writer: &N, is_relaxed: bool) {
        (self.contents, self.at) = (Contents::Writing(writer.clone()), Locations::only(place));
        self.is_relaxed = is_relaxed;
        self.arrivals.clear();
        self.beside.clear();
        self.under.clear();
    }

    /// The node whose results they are, if it may not have ended.
    fn writer(&self) -> Option<&N> {
        if let Contents::Writing(writer) = &self.contents { Some(writer) } else { None }
    }

    /// The same with those beside it.
    pub fn writers(&self) -> impl Iterator<Item = &N> {
        self.writer().into_iter().chain(&self.beside)
    }

    /// Whether a node with relaxed access there writes beside others.
    pub fn is_shared_at(&self, place: Location) -> bool {
        self.is_relaxed && self.writer().is_some() && self.at == Locations::only(place)
    }

    /// No node has to be looked at any more.
    pub fn is_settled(&self) -> bool {
        self.arrivals.is_empty() && self.writer().is_none()
    }

    /// Forgets nodes that have ended.
    pub fn settle(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
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
        let is_writing = self.writer().is_some();
        self.under.retain(|node| is_writing && progress(node) != Progress::Done);
    }

    /// The transfer that brings the bytes there, if it may not have ended.
    pub fn arrival(&self, place: Location) -> Option<&N> {
        self.arrivals.iter().find(|(at, _)| *at == place).map(|(_, transfer)| transfer)
    }

    /// Whether no other memory has the bytes already.
    pub fn is_only_at(&self, place: Location) -> bool {
        let others = self.arrivals.iter().fold(self.at.without(place), |at, (arrival, _)| at.without(*arrival));
        self.at.has(place) && others == Locations::NONE
    }

    /// The memory to copy from: the nearest in which the bytes are already, else the nearest to which they are on their
    /// way. One that is not near at all only if there is no other.
    pub fn source(&self, nearness: &impl Fn(Location) -> f64) -> Option<Location> {
        let nearest = |places: &mut dyn Iterator<Item = Location>| {
            let near = places.map(|place| (nearness(place), place)).filter(|(nearness, _)| *nearness > 0.0);
            near.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, place)| place)
        };
        let there = nearest(&mut self.at.iter().filter(|place| self.arrival(*place).is_none()));
        there.or_else(|| nearest(&mut self.at.iter())).or_else(|| self.at.iter().next())
    }

    /// Their memory there goes.
    pub fn leave(&mut self, place: Location) {
        self.at = self.at.without(place);
        self.arrivals.retain(|(at, _)| *at != place);
    }
}

impl<N: Clone + PartialEq> Layers<N> {
    pub fn new(first: Copies<N>) -> Layers<N> {
        Layers { first, asked: Vec::new() }
    }

    pub fn now(&self) -> &Copies<N> {
        self.asked.last().map_or(&self.first, |(_, copies)| copies)
    }

    pub fn now_mut(&mut self) -> &mut Copies<N> {
        self.asked.last_mut().map_or(&mut self.first, |(_, copies)| copies)
    }

    /// They are those of a node that writes there.
    pub fn write(&mut self, place: Location, writer: &N, is_relaxed: bool) {
        self.asked.clear();
        self.first.write(place, writer, is_relaxed);
    }

    pub fn is_settled(&self) -> bool {
        self.asked.is_empty() && self.first.is_settled()
    }

    /// Forgets nodes that have ended. Before a writer that has not, it looks at none.
    pub fn settle(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
        match self.asked.last() {
            Some((writer, _)) if progress(writer) != Progress::Pending => self.settle_all(progress),
            _ => self.now_mut().settle(progress),
        }
    }

    /// The same in all layers. That of a writer goes if it has failed, or if it has written nothing and there were no
    /// contents. Those before it go if it has ended well.
    pub fn settle_all(&mut self, progress: &mut impl FnMut(&N) -> Progress) {
        self.first.settle(progress);
        for (writer, mut copies) in std::mem::take(&mut self.asked) {
            copies.settle(progress);
            match progress(&writer) {
                Progress::Pending => self.asked.push((writer, copies)),
                Progress::Done if self.now().contents != Contents::Unwritten => *self = Layers::new(copies),
                _ => {}
            }
        }
    }

    fn place_of(&self, writer: &N) -> Option<usize> {
        self.asked.iter().rposition(|(asked, _)| asked == writer)
    }

    /// A writer begins.
    pub fn begin(&mut self, writer: &N) {
        let begun = self.place_of(writer).and_then(|place| self.asked.drain(..=place).next_back());
        if let Some((_, copies)) = begun {
            self.first = copies;
        }
    }

    /// A writer will not begin: its layer goes, if it has failed or no copies were made of it.
    pub fn withdraw(&mut self, writer: &N, progress: &mut impl FnMut(&N) -> Progress) {
        let Some(place) = self.place_of(writer) else { return };
        let copies = &mut self.asked[place].1;
        copies.settle(progress);
        let is_alone = copies.arrivals.is_empty() && copies.at.iter().count() == 1;
        match progress(writer) {
            Progress::Pending if !is_alone => {}
            Progress::Done => {}
            _ => drop(self.asked.remove(place)),
        }
    }

    /// Whether they were there before a writer that may never begin, and nowhere else, nor on their way to `to`. Later
    /// copies from there would come after the writer.
    pub fn are_kept_at(&self, place: Location, to: Location) -> bool {
        let mut all = [&self.first].into_iter().chain(self.asked.iter().map(|(_, copies)| copies));
        all.by_ref().take(self.asked.len()).any(|copies| copies.is_only_at(place) && !copies.at.has(to))
    }

    /// Their memory there goes.
    pub fn leave(&mut self, place: Location) {
        self.first.leave(place);
        self.asked.iter_mut().for_each(|(_, copies)| copies.leave(place));
    }
}
