//! The urgent copies that have used an engine: their streams, and the time of the last one.

use hal::primitive::{AtomicU64, Ordering};
use hal::{Nanos, Stream};

/// The streams whose urgent copies have gone in a lull since the watcher's last look, in one word. It is a hint and
/// orders nothing else.
#[derive(Debug)]
pub(super) struct Passed(AtomicU64);

/// Streams, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streams(u64);

/// The last urgent copies. Those that hold none off note their stream, and nothing else: the watcher gives them their
/// time, so that they pay nothing for it. It sees all others too, because no other thread lowers the word of one;
/// between its looks the raised word itself tells of it.
///
/// Bulk never keeps an urgent copy of its own stream waiting, for that stands behind it in any case. So such copies do
/// not end the calm of that stream: by demand the first copies of a stream that has begun to keep the link busy are
/// urgent.
///
/// Only the watcher writes. A reader that sees one word old and one new takes a calm for a little longer or shorter.
#[derive(Debug)]
#[repr(align(64))] // apart from the words that each copy reads
pub(super) struct Urgent {
    /// The stream that alone had the last urgent copies, and the last of these.
    by: AtomicU64,
    by_at: AtomicU64,
    /// The last urgent copy of any other stream.
    others_at: AtomicU64,
}

impl Streams {
    const NONE: Streams = Streams(0);
    const SEVERAL: Streams = Streams(u64::MAX);

    /// This stream alone. The default streams of several threads have one handle.
    #[inline]
    fn of(stream: Stream) -> Streams {
        if stream.is_default() { Streams::SEVERAL } else { Streams(stream.0) }
    }

    /// Whether this stream is noted already. Never of the default stream, whose handle is 0, while none is.
    #[inline]
    fn has(self, stream: Stream) -> bool {
        self == Streams::SEVERAL || (self.0 == stream.0 && self != Streams::NONE)
    }
}

impl Default for Passed {
    fn default() -> Passed {
        Passed(AtomicU64::new(Streams::NONE.0))
    }
}

impl Passed {
    /// An urgent copy of that stream goes in a lull.
    #[inline]
    pub(super) fn note(&self, stream: Stream) {
        if !self.get().has(stream) {
            self.note_first(Streams::of(stream));
        }
    }

    #[cold]
    fn note_first(&self, stream: Streams) {
        let noted = self.0.compare_exchange(Streams::NONE.0, stream.0, Ordering::Relaxed, Ordering::Relaxed);
        if noted.is_err_and(|other| other != stream.0) {
            self.0.store(Streams::SEVERAL.0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn get(&self) -> Streams {
        Streams(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn is_any(&self) -> bool {
        self.get() != Streams::NONE
    }

    /// Whether any is of another stream than this one.
    pub(super) fn is_any_but(&self, stream: Stream) -> bool {
        // One look: the watcher may take them in between.
        let these = self.get();
        these != Streams::NONE && these != Streams(stream.0)
    }

    pub(super) fn take(&self) -> Option<Streams> {
        self.is_any().then(|| Streams(self.0.swap(Streams::NONE.0, Ordering::Relaxed)))
    }
}

impl Default for Urgent {
    /// No engine is calm until the watcher has begun to look.
    fn default() -> Urgent {
        Urgent { by: AtomicU64::new(0), by_at: AtomicU64::new(0), others_at: AtomicU64::new(u64::MAX) }
    }
}

impl Urgent {
    /// A copy is urgent now: of no matter which stream.
    pub(super) fn is_now(&self, now: Nanos) {
        self.others_at.store(now.0, Ordering::Relaxed);
    }

    /// Copies of these streams are.
    pub(super) fn are_now(&self, streams: Streams, now: Nanos) {
        if streams == Streams::SEVERAL {
            return self.is_now(now);
        }
        if self.by.load(Ordering::Relaxed) != streams.0 {
            self.others_at.fetch_max(self.by_at.load(Ordering::Relaxed), Ordering::Relaxed);
            self.by.store(streams.0, Ordering::Relaxed);
        }
        self.by_at.store(now.0, Ordering::Relaxed);
    }

    /// The time for which no urgent copy of another stream has gone.
    pub(super) fn calm(&self, stream: Stream, now: Nanos) -> Nanos {
        let others_at = self.others_at.load(Ordering::Relaxed);
        let own = self.by.load(Ordering::Relaxed) == stream.0;
        now.since(Nanos(if own { others_at } else { others_at.max(self.by_at.load(Ordering::Relaxed)) }))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BULK: Stream = Stream(0x5500);
    const OTHER: Stream = Stream(0x5540);

    /// Copies of these streams have passed, and the watcher looks then.
    fn passed(urgent: &Urgent, streams: &[Stream], ms: u64) {
        let passed = Passed::default();
        streams.iter().for_each(|stream| passed.note(*stream));
        urgent.are_now(passed.take().unwrap(), Nanos::from_ms(ms));
        assert!(!passed.is_any() && passed.take().is_none());
    }

    /// The milliseconds that a calm has lasted for a stream.
    fn calm_ms(urgent: &Urgent, stream: Stream, ms: u64) -> u64 {
        urgent.calm(stream, Nanos::from_ms(ms)).0 / 1_000_000
    }

    #[test]
    fn a_calm_lasts_from_the_last_urgent_copy() {
        let urgent = Urgent::default();
        assert_eq!(calm_ms(&urgent, BULK, 5_000), 0, "the watcher has not begun");
        urgent.is_now(Nanos::from_ms(10));
        assert_eq!(calm_ms(&urgent, BULK, 12), 2);
        assert_eq!(calm_ms(&urgent, BULK, 9), 0, "a thread that has read its time before");
    }

    #[test]
    fn the_urgent_copies_of_a_stream_do_not_end_its_own_calm() {
        let urgent = Urgent::default();
        let both = |ms| [BULK, OTHER].map(|stream| calm_ms(&urgent, stream, ms));
        urgent.is_now(Nanos::from_ms(10));
        passed(&urgent, &[BULK, BULK], 20);
        assert_eq!(both(30), [20, 10]);
        passed(&urgent, &[OTHER], 32);
        assert_eq!(both(40), [8, 20]);
        passed(&urgent, &[BULK], 42);
        assert_eq!(both(50), [18, 8]);
        passed(&urgent, &[BULK, OTHER], 51);
        assert_eq!(both(60), [9, 9]);
    }

    #[test]
    fn a_copy_is_told_of_others_before_the_watcher_has_looked() {
        let passed = Passed::default();
        let others = || [BULK, OTHER].map(|stream| passed.is_any_but(stream));
        assert_eq!(others(), [false, false]);
        passed.note(OTHER);
        assert_eq!(others(), [true, false]);
        passed.note(BULK);
        assert_eq!(others(), [true, true]);
    }

    #[test]
    fn two_streams_are_several_and_so_are_the_default_streams() {
        let of_one: [&[Stream]; 2] = [&[BULK], &[OTHER, OTHER]];
        let several: [&[Stream]; 4] =
            [&[BULK, OTHER, BULK], &[BULK, OTHER, OTHER], &[Stream::PER_THREAD], &[Stream::DEFAULT]];
        let taken = |streams: &[Stream]| {
            let passed = Passed::default();
            streams.iter().for_each(|stream| passed.note(*stream));
            passed.take()
        };
        assert_eq!(of_one.map(taken), [BULK, OTHER].map(|stream| Some(Streams(stream.0))));
        assert_eq!(several.map(taken), [Some(Streams::SEVERAL); 4]);
    }
}
