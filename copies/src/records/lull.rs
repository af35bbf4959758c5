//! Whether any bulk is under way on each engine. While none is, an urgent copy has no copy to hold off.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    /// Whether an urgent copy has gone in the lull since the watcher's last look.
    passed: AtomicBool,
}

impl Lull {
    /// All engines in a lull, if there are to be any.
    pub(crate) fn new(is_wanted: bool) -> Lull {
        let began_at = if is_wanted { 0 } else { u64::MAX };
        let engine = |_| EngineLull {
            bulk: AtomicU64::new(0),
            began_at: AtomicU64::new(began_at),
            passed: AtomicBool::new(false),
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

    /// The number of copies by which lulls of an engine have ended so far.
    pub(crate) fn ends(&self, engine: usize) -> u64 {
        self.engines[engine].bulk.load(Ordering::Relaxed)
    }

    /// The bulk up to that number has ended. If more has come meanwhile, no lull begins.
    pub(crate) fn begin(&self, engine: usize, ends: u64) {
        self.engines[engine].began_at.store(ends, Ordering::Relaxed);
    }

    /// Whether an urgent copy may go in a lull of its engine. Notes that it does.
    #[inline]
    pub(crate) fn lets_pass(&self, direction: Direction) -> bool {
        let engine = &self.engines[direction.index()];
        let passes = engine.bulk.load(Ordering::Relaxed) == engine.began_at.load(Ordering::Relaxed);
        if passes && !engine.passed.load(Ordering::Relaxed) {
            engine.passed.store(true, Ordering::Relaxed);
        }
        passes
    }

    /// Whether an urgent copy has gone in a lull since [`Lull::take_passed`].
    pub(crate) fn has_passed(&self, engine: usize) -> bool {
        self.engines[engine].passed.load(Ordering::Relaxed)
    }

    pub(crate) fn take_passed(&self, engine: usize) -> bool {
        self.has_passed(engine) && self.engines[engine].passed.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Direction = Direction::DeviceToHost;

    #[test]
    fn a_lull_ends_with_bulk_of_its_engine_and_begins_when_all_of_it_has_ended() {
        let lull = Lull::new(true);
        assert!(lull.lets_pass(WAY), "no bulk has come yet");
        lull.end(WAY);
        assert!(!lull.lets_pass(WAY) && lull.lets_pass(Direction::HostToDevice));
        let seen = lull.ends(WAY.index());
        lull.end(WAY);
        lull.begin(WAY.index(), seen);
        assert!(!lull.lets_pass(WAY), "more bulk has come meanwhile");
        lull.begin(WAY.index(), lull.ends(WAY.index()));
        assert!(lull.lets_pass(WAY));
    }

    #[test]
    fn copies_that_pass_are_told_once() {
        let lull = Lull::new(true);
        assert!(!lull.take_passed(WAY.index()));
        assert!(lull.lets_pass(WAY) && lull.has_passed(WAY.index()));
        assert!(lull.take_passed(WAY.index()) && !lull.take_passed(WAY.index()));
        lull.end(WAY);
        assert!(!lull.lets_pass(WAY) && !lull.has_passed(WAY.index()), "it raised a word instead");
    }

    #[test]
    fn without_the_option_there_is_no_lull() {
        assert!(!Lull::new(false).lets_pass(WAY));
    }
}
