//! Whether any bulk is under way on each engine. While none is, an urgent copy has no copy to hold off.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::Stream;
use terms::Direction;

/// Bulk is counted by its own callers, and the watcher sees it end. So an urgent copy in a lull reads two words, and
/// raises none.
pub(crate) struct Lull {
    is_wanted: bool,
    engines: [EngineLull; Direction::COUNT],
}

/// Every word is a hint and orders nothing else: a copy that reads an old one gives way too early or too late.
struct EngineLull {
    /// The number of copies that had to give way to others.
    bulk: AtomicU64,
    /// That number when the lull began. Another number means that it is over.
    began_at: AtomicU64,
    /// The streams whose urgent copies have gone in the lull since the watcher's last look.
    passed: AtomicU64,
}

/// The streams whose urgent copies have passed, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed(u64);

impl Passed {
    pub(crate) const NONE: Passed = Passed(0);
    pub(crate) const SEVERAL: Passed = Passed(u64::MAX);

    /// This stream alone. The default streams of several threads have one handle.
    #[inline]
    pub(crate) fn of(stream: Stream) -> Passed {
        if stream.is_default() { Passed::SEVERAL } else { Passed(stream.0) }
    }

    /// Whether this stream is noted already. Never of the default stream, whose handle is 0, while none is.
    #[inline]
    fn has(self, stream: Stream) -> bool {
        self == Passed::SEVERAL || (self.0 == stream.0 && self != Passed::NONE)
    }

    /// The stream, if it is one alone.
    pub(crate) fn only(self) -> Option<Stream> {
        (self != Passed::NONE && self != Passed::SEVERAL).then_some(Stream(self.0))
    }
}

impl Lull {
    /// All engines in a lull, if there are to be any.
    pub(crate) fn new(is_wanted: bool) -> Lull {
        let began_at = if is_wanted { 0 } else { u64::MAX };
        let engine = |_| EngineLull {
            bulk: AtomicU64::new(0),
            began_at: AtomicU64::new(began_at),
            passed: AtomicU64::new(Passed::NONE.0),
        };
        Lull { is_wanted, engines: Direction::ALL.map(engine) }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Bulk comes to the engine, or is under way there.
    pub(crate) fn end(&self, direction: Direction) {
        self.engines[direction.index()].bulk.fetch_add(1, Ordering::Relaxed);
    }

    /// Bulk that has ended a lull before its submission is under way now. The submission may have taken so long that
    /// the next lull has begun meanwhile.
    #[inline]
    pub(crate) fn outlast(&self, direction: Direction) {
        if self.engines[direction.index()].lasts() {
            self.end(direction);
        }
    }

    /// The number of copies by which lulls of an engine have ended so far.
    pub(crate) fn ends(&self, engine: usize) -> u64 {
        self.engines[engine].bulk.load(Ordering::Relaxed)
    }

    /// The bulk up to that number has ended. If more has come meanwhile, no lull begins.
    pub(crate) fn begin(&self, engine: usize, ends: u64) {
        self.engines[engine].began_at.store(ends, Ordering::Relaxed);
    }

    /// Whether an urgent copy of a stream may go in a lull of its engine. Notes that it does.
    #[inline(always)] // a call would cost a copy that goes at once more than the question
    pub(crate) fn lets_pass(&self, direction: Direction, stream: Stream) -> bool {
        let engine = &self.engines[direction.index()];
        let passes = engine.lasts();
        if passes && !Passed(engine.passed.load(Ordering::Relaxed)).has(stream) {
            engine.note_passed(Passed::of(stream));
        }
        passes
    }

    /// The streams whose urgent copies have gone in a lull since [`Lull::take_passed`].
    pub(crate) fn passed(&self, engine: usize) -> Passed {
        Passed(self.engines[engine].passed.load(Ordering::Relaxed))
    }

    pub(crate) fn take_passed(&self, engine: usize) -> Passed {
        match self.passed(engine) {
            Passed::NONE => Passed::NONE,
            _ => Passed(self.engines[engine].passed.swap(Passed::NONE.0, Ordering::Relaxed)),
        }
    }
}

impl EngineLull {
    /// No bulk has come since it began.
    #[inline]
    fn lasts(&self) -> bool {
        self.bulk.load(Ordering::Relaxed) == self.began_at.load(Ordering::Relaxed)
    }

    #[cold]
    fn note_passed(&self, stream: Passed) {
        let noted = self.passed.compare_exchange(Passed::NONE.0, stream.0, Ordering::Relaxed, Ordering::Relaxed);
        if noted.is_err_and(|other| other != stream.0) {
            self.passed.store(Passed::SEVERAL.0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Direction = Direction::DeviceToHost;
    const ONE: Stream = Stream(0x5500);
    const OTHER: Stream = Stream(0x5540);

    #[test]
    fn a_lull_ends_with_bulk_of_its_engine_and_begins_when_all_of_it_has_ended() {
        let lull = Lull::new(true);
        assert!(lull.lets_pass(WAY, ONE), "no bulk has come yet");
        lull.end(WAY);
        assert!(!lull.lets_pass(WAY, ONE) && lull.lets_pass(Direction::HostToDevice, ONE));
        let seen = lull.ends(WAY.index());
        lull.end(WAY);
        lull.begin(WAY.index(), seen);
        assert!(!lull.lets_pass(WAY, ONE), "more bulk has come meanwhile");
        lull.begin(WAY.index(), lull.ends(WAY.index()));
        assert!(lull.lets_pass(WAY, ONE));
    }

    #[test]
    fn the_streams_of_copies_that_pass_are_told_once() {
        let lull = Lull::new(true);
        assert_eq!(lull.take_passed(WAY.index()), Passed::NONE);
        for _ in 0..2 {
            assert!(lull.lets_pass(WAY, ONE) && lull.passed(WAY.index()).only() == Some(ONE));
        }
        assert_eq!(lull.take_passed(WAY.index()).only(), Some(ONE));
        assert_eq!(lull.take_passed(WAY.index()), Passed::NONE);
        lull.end(WAY);
        assert!(!lull.lets_pass(WAY, ONE), "it raises a word instead");
        assert_eq!(lull.passed(WAY.index()), Passed::NONE);
    }

    #[test]
    fn two_streams_are_several_and_so_are_the_default_streams() {
        for streams in [&[ONE, OTHER, ONE][..], &[ONE, OTHER, OTHER], &[Stream::PER_THREAD], &[Stream::DEFAULT]] {
            let lull = Lull::new(true);
            assert!(streams.iter().all(|stream| lull.lets_pass(WAY, *stream)));
            let passed = lull.take_passed(WAY.index());
            assert_eq!((passed, passed.only()), (Passed::SEVERAL, None), "{streams:?}");
        }
    }

    #[test]
    fn without_the_option_there_is_no_lull() {
        assert!(!Lull::new(false).lets_pass(WAY, ONE));
    }
}
