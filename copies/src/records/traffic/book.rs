//! The part of an engine's traffic that is behind a lock: the reservations, and the bulk that takes turns.

use hal::{Nanos, Stream};
use priority::Priority;

use crate::decide::Others;

/// The reservations, the streams that have none, and the bulk in flight.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) reserved: Counts<Reservation>,
    /// The open streams that reserve nothing, by the priority of their copies that name none. Their owners hold
    /// expectations in place of that.
    pub(super) quiet: Counts<Priority>,
    /// The streams with bulk under way, each of which takes turns on the engine.
    bulk: Vec<OfStream>,
}

/// Copies to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) priority: Priority,
    /// The wait for bulk that its owner states: each of its copies may find the engine taken for so long. Zero states
    /// none. Open streams state none.
    pub(crate) wait: Nanos,
}

/// Different things, and how many there are of each: a handful, so that a list is the fastest. It keeps its memory.
#[derive(Debug)]
pub(super) struct Counts<K>(Vec<(K, u64)>);

/// The room that a copy of bulk finds on its engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// The least wait of those that all copies to come above it state; zero if some state none, or none are to come.
    pub(crate) stated: Nanos,
    /// The quiet streams that these copies may come in.
    pub(crate) urgent_streams: u64,
    /// The bulk of other streams that is under way.
    pub(crate) others: Others,
}

/// The time for which a copy keeps its engine in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Of each of its chunks; zero for a copy kernel, which takes no turns.
    Part(Nanos),
    /// Of all of it.
    Whole(Nanos),
}

/// A copy that is counted, and has to be taken out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay {
    stream: Stream,
    is_whole: bool,
}

#[derive(Debug)]
struct OfStream {
    stream: Stream,
    copies: u32,
    whole_copies: u32,
    /// The longest stays since the stream last had no such copy under way.
    longest: Nanos,
    longest_whole: Nanos,
}

impl Book {
    /// The word from which copies learn of the reservations.
    pub(super) fn word(&self) -> u64 {
        self.reserved.each().fold(0, |word, (reservation, count)| {
            let bit = 1_u64 << reservation.priority.index();
            let is_several = count > 1 || word & bit != 0;
            word | bit | if is_several { bit << 32 } else { 0 }
        })
    }

    /// The longest wait that any owner states.
    pub(super) fn longest(&self) -> Nanos {
        self.reserved.each().fold(Nanos::ZERO, |longest, (reservation, _)| longest.max(reservation.wait))
    }

    /// The room for a copy of that priority in that stream.
    pub(super) fn room(&self, priority: Priority, stream: Stream) -> Room {
        let others = self.others(stream);
        let above = || self.reserved.each().filter(|(other, _)| other.priority > priority);
        let Some(least) = above().map(|(other, _)| other.priority).min() else {
            return Room { others, ..Room::default() };
        };
        let stated = above().fold(Nanos::MAX, |least, (other, _)| least.min(other.wait));
        let quiet = self.quiet.each().filter(|(of, _)| *of >= least);
        let urgent_streams = quiet.map(|(_, streams)| streams).sum();
        Room { stated, urgent_streams, others }
    }

    /// Counts a copy of bulk in.
    pub(super) fn begin(&mut self, stream: Stream, stay: Stay) -> UnderWay {
        let place = self.bulk.iter().position(|of| of.stream == stream).unwrap_or_else(|| {
            let (longest, longest_whole) = (Nanos::ZERO, Nanos::ZERO);
            self.bulk.push(OfStream { stream, copies: 0, whole_copies: 0, longest, longest_whole });
            self.bulk.len() - 1
        });
        let own = &mut self.bulk[place];
        own.copies += 1;
        let is_whole = match stay {
            Stay::Part(span) => {
                own.longest = own.longest.max(span);
                false
            }
            Stay::Whole(span) => {
                own.longest = own.longest.max(span);
                own.longest_whole = own.longest_whole.max(span);
                own.whole_copies += 1;
                true
            }
        };
        UnderWay { stream, is_whole }
    }

    /// Counts it out.
    pub(super) fn end(&mut self, copy: UnderWay) {
        let Some(place) = self.bulk.iter().position(|of| of.stream == copy.stream) else { return };
        let own = &mut self.bulk[place];
        own.copies -= 1;
        own.whole_copies -= u32::from(copy.is_whole);
        if own.whole_copies == 0 {
            own.longest_whole = Nanos::ZERO;
        }
        if own.copies == 0 {
            self.bulk.swap_remove(place);
        }
    }

    /// The bulk of all streams but this one.
    fn others(&self, stream: Stream) -> Others {
        let others = self.bulk.iter().filter(|of| of.stream != stream);
        others.fold(Others::default(), |all, of| Others {
            streams: all.streams + 1,
            longest: all.longest.max(of.longest),
            whole_streams: all.whole_streams + u64::from(of.whole_copies > 0),
            longest_whole: all.longest_whole.max(of.longest_whole),
        })
    }
}

impl<K: Copy + PartialEq> Counts<K> {
    pub(super) fn each(&self) -> impl Iterator<Item = (K, u64)> {
        self.0.iter().copied()
    }

    pub(super) fn add(&mut self, key: K) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None => self.0.push((key, 1)),
        }
    }

    pub(super) fn take(&mut self, key: K) {
        let place = self.0.iter().position(|(known, _)| *known == key);
        debug_assert!(place.is_some(), "what is taken away was added");
        let Some(place) = place else { return };
        self.0[place].1 -= 1;
        if self.0[place].1 == 0 {
            self.0.swap_remove(place);
        }
    }
}

impl<K> Default for Counts<K> {
    fn default() -> Counts<K> {
        Counts(Vec::new())
    }
}
