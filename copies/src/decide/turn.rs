//! Whole copies of bulk in the turns of a copy engine, and the wait of an urgent copy behind them.
//!
//! A copy engine takes the streams that want it in turn. A turn ends at the stream's next memory operation, so with a
//! write behind each copy it is one copy long (`reports/driver`, `turns`). Then an urgent copy waits for a turn of each
//! stream of bulk, and not for all copies that these have queued:
//!
//! * Behind one stream it waits for the rest of the copy that runs.
//! * Behind several it may wait for one turn more than there are streams. The next turn is settled when the copy before
//!   it begins, and a stream that comes after that may be passed by once.
//! * While the other direction is busy too, each turn takes longer ([`whole`]).
//! * In a hardware queue that it shares with a stream of bulk it stands behind all copies that this one has queued. So
//!   each stream needs a queue.
//!
//! Chunks look at a word before each turn. So only the next one of each channel comes before an urgent copy, if it has
//! begun to be fetched.

use channels::chunk::ENGINE_GAP;
use hal::Nanos;

/// The rate of an engine while the other direction is busy, in GB/s: less than the least that was measured, which is
/// 85.5 both ways together (`reports/tolerance`). The difference leaves time for the write behind a copy.
const BYTES_PER_NANOSECOND: u64 = 42;

/// The bulk of other streams that is under way on an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// The streams, with copies of any way.
    pub(crate) streams: u64,
    /// The longest time for which a copy of theirs, or a chunk of one, keeps the engine.
    pub(crate) longest: Nanos,
    /// The streams with copies that go whole.
    pub(crate) whole_streams: u64,
    /// The longest time of one of these.
    pub(crate) longest_whole: Nanos,
}

/// The place of a copy of bulk among those that take turns at its engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Whether no urgent copy of another stream has gone for a while.
    pub(crate) is_calm: bool,
    /// The wait that all copies to come above it tolerate; zero if some tolerate none, or none are to come.
    pub(crate) tolerated: Nanos,
    /// The time for which the copy keeps the engine if it goes whole.
    pub(crate) whole: Nanos,
    pub(crate) others: Others,
    /// The channels of its priority: streams of ours that have turns.
    pub(crate) channels: u64,
    /// The streams that copies to come above it may go in.
    pub(crate) urgent_streams: u64,
    /// The hardware's queues for copies of its direction.
    pub(crate) queues: u64,
}

impl Turn {
    /// Whether the copy may go whole: no copy above it waits longer than its owner tolerates.
    pub(crate) fn admits_whole(&self) -> bool {
        let streams = self.others.streams + 1;
        let longest = self.whole.max(self.others.longest);
        // One queue more, for a stream that nothing has announced yet.
        let taken = self.urgent_streams + streams + self.channels + 1;
        longest.0.saturating_mul(rounds(streams)) <= self.tolerated.0 && taken <= self.queues
    }

    /// The length of chunks that make use of the tolerance; `None` if they would be no longer than `blocking_max`.
    pub(crate) fn chunk(&self, blocking_max: Nanos) -> Option<Nanos> {
        // A copy finds the engine in a chunk, and the next of each channel may have begun to be fetched.
        let share = Nanos(self.tolerated.0 / (1 + self.channels.max(1) + self.others.whole_streams));
        (self.tolerated.0 / 2 > blocking_max.0).then_some(share)
    }

    /// The length of the chunks of the first half of a copy whose others have that of `chunk`: half of it beside bulk
    /// of other streams, unless the gaps between chunks would take a tenth of that (`docs/decisions`, rising chunks).
    pub(crate) fn first_chunk(&self, chunk: Nanos) -> Nanos {
        let half = Nanos(chunk.0 / 2);
        if self.others.streams > 0 && half.0 >= 10 * ENGINE_GAP.0 { half } else { chunk }
    }

    /// Whether such chunks keep to the tolerance beside the whole copies of other streams.
    pub(crate) fn admits_chunks(&self, blocking_max: Nanos) -> bool {
        self.chunk(blocking_max).is_some_and(|share| self.others.longest_whole <= share)
    }
}

/// The time for which a copy of so many bytes keeps its engine, and a copy of another stream waiting.
pub(crate) fn whole(bytes: u64) -> Nanos {
    Nanos(bytes / BYTES_PER_NANOSECOND) + ENGINE_GAP
}

/// The turns for which an urgent copy waits behind so many streams.
fn rounds(streams: u64) -> u64 {
    if streams > 1 { streams + 1 } else { streams }
}
