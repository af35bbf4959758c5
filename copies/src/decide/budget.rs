//! The wait budget: how long a copy may keep the engine, because the copies above it accept to wait that long.
//!
//! A budget is a time. A copy that goes whole costs the time of all its bytes ([`cost`]).
//!
//! | budget | of | is |
//! |---|---|---|
//! | floor | each copy | the time of `gate_bytes_min`, which is 4.2 us |
//! | stated | a copy below owners that all state one | the least that they state |
//! | idle | a copy that would go by kernel, in a calm | the time of `calm.bytes_max`, which is 0.2 ms |
//!
//! Copies within the floor or the idle budget are not added up: the next urgent copy waits for one such copy, or for
//! one run of copies of a stream. A stated budget is a promise, so what it is spent on is counted.
//!
//! A copy engine serves the streams that want it in turn. A turn ends at the stream's next memory operation, so with a
//! write behind each copy it is one copy long (`reports/driver`, `turns`). An urgent copy then waits for one turn of
//! each stream of bulk, and not for all copies that these streams have queued:
//!
//! * Behind one stream it waits for the rest of the running copy.
//! * Behind several it may wait for one turn more than there are streams. The next turn is settled when the copy before
//!   it begins, and a stream that arrives after that may be passed over once.
//! * While the other direction is busy too, each turn takes longer, as [`cost`] assumes.
//! * In a hardware queue that it shares with a stream of bulk, it stands behind all copies that this stream has queued.
//!   So each stream needs its own queue.
//!
//! Chunks check a word before each turn. So only the next chunk of each channel comes before an urgent copy, if the
//! engine has already begun to fetch it.

use channels::chunk::ENGINE_GAP;
use hal::Nanos;
use options::{Machine, Options};

/// The rate of an engine while the other direction is busy, in GB/s, on the machine of the measurements: less than the
/// least of them, which is 85.5 both ways together (`reports/tolerance`). The difference leaves time for the write
/// behind a copy.
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

/// How long those above a copy of bulk may wait, and the turns for which they would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The least wait of those that all copies to come above it state; zero if some state none, or none are to come.
    pub(crate) stated: Nanos,
    /// Whether no urgent copy of another stream has gone for a while.
    pub(crate) is_calm: bool,
    /// The cost of the copy, if it is counted.
    pub(crate) cost: Nanos,
    pub(crate) others: Others,
    /// The channels of its priority: streams of ours that have turns.
    pub(crate) channels: u64,
    /// The quiet streams that copies to come above it may go in.
    pub(crate) urgent_streams: u64,
    /// The hardware's queues for copies of its direction.
    pub(crate) queues: u64,
}

impl Budget {
    /// Whether the copy may go whole in its turn: no copy above it waits longer than its owner states.
    pub(crate) fn admits_whole(&self) -> bool {
        let streams = self.others.streams + 1;
        let longest = self.cost.max(self.others.longest);
        // One queue more, for a stream that nothing has announced yet.
        let taken = self.urgent_streams + streams + self.channels + 1;
        longest.0.saturating_mul(rounds(streams)) <= self.stated.0 && taken <= self.queues
    }

    /// The length of chunks: their share of what is stated, and `unstated` where nothing is.
    pub(crate) fn chunk(&self, unstated: Nanos) -> Nanos {
        match self.stated {
            Nanos::ZERO => unstated,
            // A copy finds the engine in a chunk, and the next of each channel may have begun to be fetched.
            Nanos(stated) => Nanos(stated / (1 + self.channels.max(1) + self.others.whole_streams)),
        }
    }

    /// The length of the chunks of the first half of a copy whose others have that of `chunk`: half of it beside bulk
    /// of other streams, unless the gaps between chunks would take a tenth of that (`docs/decisions`, rising chunks).
    pub(crate) fn first_chunk(&self, chunk: Nanos) -> Nanos {
        let half = Nanos(chunk.0 / 2);
        if self.others.streams > 0 && half.0 >= 10 * ENGINE_GAP.0 { half } else { chunk }
    }

    /// Whether what is stated has room for chunks that are worth more than a copy kernel: longer ones than `unstated`.
    pub(crate) fn has_room_for_chunks(&self, unstated: Nanos) -> bool {
        self.stated.0 / 2 > unstated.0
    }

    /// Whether chunks keep to what is stated beside the whole copies of other streams.
    pub(crate) fn admits_chunks(&self, unstated: Nanos) -> bool {
        self.others.longest_whole <= self.chunk(unstated)
    }
}

/// The time for which a copy of so many bytes keeps its engine, and a copy of another stream waiting.
pub(crate) fn cost(bytes: u64, options: &Options) -> Nanos {
    let (here, measured) = (u64::from(options.link_gbps()), u64::from(Machine::MEASURED.link_gbps));
    Nanos(bytes.saturating_mul(measured) / (BYTES_PER_NANOSECOND * here)) + ENGINE_GAP
}

/// The turns for which an urgent copy waits behind so many streams.
fn rounds(streams: u64) -> u64 {
    if streams > 1 { streams + 1 } else { streams }
}
