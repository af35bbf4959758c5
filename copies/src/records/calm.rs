//! The time since the last urgent copy on each engine.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Nanos, Stream};
use terms::Direction;

use crate::records::Passed;

/// The watcher notes urgent copies, so that they pay nothing for it. It sees each, because no other thread lowers the
/// word of one; between its looks the raised word itself tells of it.
///
/// Bulk never keeps an urgent copy of its own stream waiting, for that stands behind it in any case. So such copies do
/// not end the calm of that stream: by demand the first copies of a stream that has begun to keep the link busy are
/// urgent.
#[derive(Default)]
pub(crate) struct Calm {
    engines: [EngineCalm; Direction::COUNT],
}

/// Only the watcher writes. A reader that sees one word old and one new takes a calm for a little longer or shorter.
struct EngineCalm {
    /// The stream that alone had the last urgent copies, and the last of these.
    by: AtomicU64,
    by_at: AtomicU64,
    /// The last urgent copy of any other stream.
    others_at: AtomicU64,
}

impl Default for EngineCalm {
    /// No engine is calm until the watcher has begun to look.
    fn default() -> EngineCalm {
        EngineCalm { by: AtomicU64::new(0), by_at: AtomicU64::new(0), others_at: AtomicU64::new(u64::MAX) }
    }
}

impl Calm {
    /// A copy of the engine with that index is urgent now: of no matter which stream.
    pub(crate) fn end(&self, engine: usize, now: Nanos) {
        // It orders nothing else.
        self.engines[engine].others_at.store(now.0, Ordering::Relaxed);
    }

    /// Copies of these streams are urgent now.
    pub(crate) fn end_by(&self, engine: usize, passed: Passed, now: Nanos) {
        let calm = &self.engines[engine];
        match passed.only() {
            None => self.end(engine, now),
            Some(stream) => {
                if calm.by.load(Ordering::Relaxed) != stream.0 {
                    calm.others_at.fetch_max(calm.by_at.load(Ordering::Relaxed), Ordering::Relaxed);
                    calm.by.store(stream.0, Ordering::Relaxed);
                }
                calm.by_at.store(now.0, Ordering::Relaxed);
            }
        }
    }

    /// The time for which no urgent copy of another stream has gone that way.
    pub(crate) fn lasts(&self, direction: Direction, stream: Stream, now: Nanos) -> Nanos {
        let calm = &self.engines[direction.index()];
        let others_at = calm.others_at.load(Ordering::Relaxed);
        let own = calm.by.load(Ordering::Relaxed) == stream.0;
        now.since(Nanos(if own { others_at } else { others_at.max(calm.by_at.load(Ordering::Relaxed)) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Direction = Direction::DeviceToHost;
    const BULK: Stream = Stream(0x5500);
    const OTHER: Stream = Stream(0x5540);

    /// A calm, and the milliseconds that it has lasted for a stream.
    fn lasts_ms(calm: &Calm, stream: Stream, ms: u64) -> u64 {
        calm.lasts(WAY, stream, Nanos::from_ms(ms)).0 / 1_000_000
    }

    #[test]
    fn a_calm_lasts_from_the_last_urgent_copy_of_its_engine() {
        let calm = Calm::default();
        assert_eq!(lasts_ms(&calm, BULK, 5_000), 0, "the watcher has not begun");
        calm.end(WAY.index(), Nanos::from_ms(10));
        assert_eq!(lasts_ms(&calm, BULK, 12), 2);
        assert_eq!(lasts_ms(&calm, BULK, 9), 0, "a thread that has read its time before");
        calm.end(Direction::HostToDevice.index(), Nanos::from_ms(12));
        assert_eq!(lasts_ms(&calm, BULK, 13), 3, "copies to the device do not end it");
    }

    #[test]
    fn the_urgent_copies_of_a_stream_do_not_end_its_own_calm() {
        let calm = Calm::default();
        let ended_by = |stream, ms| calm.end_by(WAY.index(), Passed::of(stream), Nanos::from_ms(ms));
        calm.end(WAY.index(), Nanos::from_ms(10));
        ended_by(BULK, 20);
        assert_eq!((lasts_ms(&calm, BULK, 30), lasts_ms(&calm, OTHER, 30)), (20, 10));
        ended_by(OTHER, 32);
        assert_eq!((lasts_ms(&calm, BULK, 40), lasts_ms(&calm, OTHER, 40)), (8, 20));
        ended_by(BULK, 42);
        assert_eq!((lasts_ms(&calm, BULK, 50), lasts_ms(&calm, OTHER, 50)), (18, 8));
        calm.end_by(WAY.index(), Passed::SEVERAL, Nanos::from_ms(51));
        assert_eq!((lasts_ms(&calm, BULK, 60), lasts_ms(&calm, OTHER, 60)), (9, 9));
    }
}
