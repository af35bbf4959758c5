//! The time since the last urgent copy on each engine.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::Nanos;
use terms::Direction;

/// The watcher notes urgent copies, so that they pay nothing for it. It sees each, because no other thread lowers the
/// word of one; between its looks the raised word itself tells of it.
pub(crate) struct Calm {
    urgent_at: [AtomicU64; Direction::COUNT],
}

impl Default for Calm {
    /// No engine is calm until the watcher has begun to look.
    fn default() -> Calm {
        Calm { urgent_at: [const { AtomicU64::new(u64::MAX) }; Direction::COUNT] }
    }
}

impl Calm {
    /// A copy of the engine with that index is urgent now.
    pub(crate) fn end(&self, engine: usize, now: Nanos) {
        // It orders nothing else.
        self.urgent_at[engine].store(now.0, Ordering::Relaxed);
    }

    /// The time for which no urgent copy has gone that way.
    pub(crate) fn lasts(&self, direction: Direction, now: Nanos) -> Nanos {
        now.since(Nanos(self.urgent_at[direction.index()].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calm_lasts_from_the_last_urgent_copy_of_its_engine() {
        let (calm, way) = (Calm::default(), Direction::DeviceToHost);
        assert_eq!(calm.lasts(way, Nanos::from_ms(5_000)), Nanos::ZERO, "the watcher has not begun");
        calm.end(way.index(), Nanos::from_ms(10));
        assert_eq!(calm.lasts(way, Nanos::from_ms(12)), Nanos::from_ms(2));
        assert_eq!(calm.lasts(way, Nanos::from_ms(9)), Nanos::ZERO, "a thread that has read its time before");
        calm.end(Direction::HostToDevice.index(), Nanos::from_ms(12));
        assert_eq!(calm.lasts(way, Nanos::from_ms(13)), Nanos::from_ms(3), "copies to the device do not end it");
    }
}
