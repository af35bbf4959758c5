//! The streams that copy, in a table of fixed size: no lock and no allocation on the way of a copy.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering};

use copies::Priority;
use hal::Nanos;

use crate::demand::Meter;
use crate::observed::Engine;

/// The number of streams that are told apart. Further ones are counted with the last.
const SLOTS: usize = 512;

/// The number of slots, from its own on, that a stream may lie in.
const REACH: usize = 16;

/// What stood before an urgent copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// Bulk of another stream.
    Bulk,
    /// Perhaps other work of its own stream.
    OwnWork,
}

const BEFORE: [Before; 3] = [Before::Nothing, Before::Bulk, Before::OwnWork];

/// An urgent copy that is the last work of its stream: the time of its call, and what stood before it. 0: there is
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending(pub(super) u64);

impl Pending {
    pub(super) fn new(since: Nanos, before: Before) -> Pending {
        // An origin of its own keeps the time within 62 bits.
        Pending((since.0.max(1) << 2) | before as u64)
    }

    pub(super) fn since(self) -> Nanos {
        Nanos(self.0 >> 2)
    }

    pub(super) fn before(self) -> Before {
        BEFORE[(self.0 & 3) as usize % BEFORE.len()]
    }
}

/// The last work of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// A copy, or nothing.
    Copy,
    /// A kernel, a set, a host function or a wait for another stream.
    Work,
}

/// Copies of one direction in one stream.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) copies: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) blocked_ns: AtomicU64,
    pub(super) blocked_max_ns: AtomicU64,
    pub(super) captured: AtomicU64,
    pub(super) urgent: AtomicU64,
    pub(super) urgent_by_priority: AtomicU64,
    pub(super) bulk: AtomicU64,
    pub(super) bulk_bytes: AtomicU64,
    pub(super) bulk_large_bytes: AtomicU64,
    pub(super) behind: AtomicU64,
    pub(super) behind_ns: AtomicU64,
    pub(super) large_pageable: AtomicU64,
    pub(super) large_pageable_bytes: AtomicU64,
    pub(super) large_pageable_blocked_ns: AtomicU64,
    pub(super) small_asked: AtomicU64,
    pub(super) small_pageable: AtomicU64,
}

/// Adds to a count.
#[inline(always)]
pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// One stream.
#[derive(Debug)]
pub(super) struct Slot {
    /// A number of the stream; 0: the slot is free.
    key: AtomicU64,
    pub(super) device: AtomicI32,
    /// Its CUDA priority below the least, which is 0.
    pub(super) cuda_priority: AtomicI32,
    /// The priority that the program has given it; 0 for none.
    given: AtomicU8,
    pub(super) meter: Meter,
    pending: AtomicU64,
    /// Whether work may be under way in the stream that came before its next copy.
    is_busy: AtomicBool,
    last: AtomicU8,
    /// By direction: to the device, to the host.
    pub(super) tallies: [Tallies; 2],
}

impl Slot {
    fn new() -> Slot {
        Slot {
            key: AtomicU64::new(0),
            device: AtomicI32::new(0),
            cuda_priority: AtomicI32::new(0),
            given: AtomicU8::new(0),
            meter: Meter::default(),
            pending: AtomicU64::new(0),
            // Nobody knows what came before its first copy.
            is_busy: AtomicBool::new(true),
            last: AtomicU8::new(Last::Copy as u8),
            tallies: Default::default(),
        }
    }

    /// The priority that the program has given its copies.
    pub(super) fn given(&self) -> Option<Priority> {
        Priority::new(self.given.load(Ordering::Relaxed))
    }

    pub(super) fn give(&self, priority: Option<Priority>) {
        self.given.store(priority.map_or(0, Priority::get), Ordering::Relaxed);
    }

    pub(super) fn pending(&self) -> Pending {
        Pending(self.pending.load(Ordering::Relaxed))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    pub(super) fn last(&self) -> Last {
        if self.last.load(Ordering::Relaxed) == Last::Work as u8 { Last::Work } else { Last::Copy }
    }

    /// An urgent copy is the last work of the stream.
    #[inline]
    pub(super) fn urgent(&self, pending: Pending) {
        self.pending.store(pending.0, Ordering::Relaxed);
        self.last.store(Last::Copy as u8, Ordering::Relaxed);
    }

    /// Bulk is.
    #[inline]
    pub(super) fn bulk(&self) {
        self.pending.store(0, Ordering::Relaxed);
        self.is_busy.store(true, Ordering::Relaxed);
        self.last.store(Last::Copy as u8, Ordering::Relaxed);
    }

    /// Other work is. Most calls find that it was before, and write nothing.
    #[inline]
    pub(super) fn work(&self) {
        if self.last() == Last::Work {
            return;
        }
        self.last.store(Last::Work as u8, Ordering::Relaxed);
        self.is_busy.store(true, Ordering::Relaxed);
        self.pending.store(0, Ordering::Relaxed);
    }

    /// The program has waited for all work of the stream. Returns the urgent copy that was the last of it.
    pub(super) fn complete(&self) -> Option<Pending> {
        self.is_busy.store(false, Ordering::Relaxed);
        self.last.store(Last::Copy as u8, Ordering::Relaxed);
        Some(Pending(self.pending.swap(0, Ordering::Relaxed))).filter(|pending| pending.0 != 0)
    }

    /// The same, for the point of an event: true if that copy is still the last work.
    pub(super) fn complete_to(&self, pending: Pending) -> bool {
        let is_last = self.pending.compare_exchange(pending.0, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_last {
            self.is_busy.store(false, Ordering::Relaxed);
        }
        is_last
    }

    /// The stream ends. Its handle may come again for another one.
    pub(super) fn renew(&self) {
        self.pending.store(0, Ordering::Relaxed);
        self.is_busy.store(true, Ordering::Relaxed);
        self.meter.renew();
        self.give(None);
    }

    /// Adds the figures to those of its engines.
    fn add_to(&self, engines: &mut Vec<Engine>) {
        let device = self.device.load(Ordering::Relaxed);
        for (tallies, direction) in self.tallies.iter().zip(["h2d", "d2h"]) {
            let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
            if load(&tallies.copies) + load(&tallies.captured) == 0 {
                continue;
            }
            let same = |engine: &Engine| engine.device == device && engine.direction == direction;
            let place = engines.iter().position(same).unwrap_or_else(|| {
                engines.push(Engine { device, direction: direction.to_owned(), ..Engine::default() });
                engines.len() - 1
            });
            tallies.add_to(&mut engines[place]);
        }
    }
}

impl Tallies {
    fn add_to(&self, engine: &mut Engine) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let us = |count: &AtomicU64| load(count) / 1_000;
        engine.copies += load(&self.copies);
        engine.bytes += load(&self.bytes);
        engine.blocked_us += us(&self.blocked_ns);
        engine.blocked_max_us = engine.blocked_max_us.max(us(&self.blocked_max_ns));
        engine.captured += load(&self.captured);
        engine.urgent += load(&self.urgent);
        engine.urgent_by_priority += load(&self.urgent_by_priority);
        engine.bulk += load(&self.bulk);
        engine.bulk_bytes += load(&self.bulk_bytes);
        engine.bulk_large_bytes += load(&self.bulk_large_bytes);
        engine.behind += load(&self.behind);
        engine.behind_us += us(&self.behind_ns);
        engine.large_pageable += load(&self.large_pageable);
        engine.large_pageable_bytes += load(&self.large_pageable_bytes);
        engine.large_pageable_blocked_us += us(&self.large_pageable_blocked_ns);
        engine.small_asked += load(&self.small_asked);
        engine.small_pageable += load(&self.small_pageable);
        engine.streams += u64::from(load(&self.copies) > 0);
        engine.streams_urgent += u64::from(load(&self.urgent) > 0);
        engine.streams_bulk += u64::from(load(&self.bulk) > 0);
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Streams(Box<[Slot]>);

impl Streams {
    pub(super) fn new() -> Streams {
        Streams((0..=SLOTS).map(|_| Slot::new()).collect())
    }

    fn places(key: u64) -> impl Iterator<Item = usize> {
        (0..REACH).map(move |step| (key as usize).wrapping_add(step) % SLOTS)
    }

    /// The stream of this number, if it has copied.
    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<(usize, &Slot)> {
        for place in Streams::places(key) {
            match self.0[place].key.load(Ordering::Acquire) {
                known if known == key => return Some((place, &self.0[place])),
                0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The same, with a slot for a new one, which `begin` describes.
    #[inline]
    pub(super) fn slot(&self, key: u64, begin: impl FnOnce(&Slot)) -> (usize, &Slot) {
        self.find(key).unwrap_or_else(|| self.claim(key, begin))
    }

    #[cold]
    fn claim(&self, key: u64, begin: impl FnOnce(&Slot)) -> (usize, &Slot) {
        for place in Streams::places(key) {
            let slot = &self.0[place];
            match slot.key.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    begin(slot);
                    return (place, slot);
                }
                Err(other) if other == key => return (place, slot),
                Err(_) => {}
            }
        }
        (SLOTS, &self.0[SLOTS])
    }

    /// The stream in this slot.
    pub(super) fn at(&self, place: usize) -> &Slot {
        &self.0[place.min(SLOTS)]
    }

    /// All that have copied, with their places.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.0.iter().enumerate().filter(|(_, slot)| slot.key.load(Ordering::Acquire) != 0)
    }

    /// The figures by engine.
    pub(super) fn engines(&self) -> Vec<Engine> {
        let mut engines = Vec::new();
        self.0.iter().for_each(|slot| slot.add_to(&mut engines));
        engines.sort_by(|a, b| (a.device, &b.direction).cmp(&(b.device, &a.direction)));
        engines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_copy_keeps_its_time_and_what_stood_before_it() {
        for before in BEFORE {
            let pending = Pending::new(Nanos::from_us(123_456_789), before);
            assert_eq!((pending.since(), pending.before()), (Nanos::from_us(123_456_789), before));
        }
        assert_ne!(Pending::new(Nanos::ZERO, Before::Nothing), Pending::default(), "it is there, whenever it came");
    }

    #[test]
    fn streams_have_a_slot_each_and_those_beyond_the_last_share_one() {
        let streams = Streams::new();
        let mut begun = 0;
        let first = streams.slot(7, |_| begun += 1).0;
        assert_eq!((streams.slot(7, |_| begun += 1).0, begun), (first, 1));
        assert_ne!(streams.slot(7 + SLOTS as u64, |_| ()).0, first, "the next slot");
        let shared = (0..2 * SLOTS as u64).map(|key| streams.slot(1 + key, |_| ()).0).filter(|at| *at == SLOTS);
        assert!(shared.count() > 0);
        assert!(streams.find(u64::MAX / 3).is_none());
    }

    #[test]
    fn work_behind_an_urgent_copy_hides_its_end() {
        let slot = Slot::new();
        slot.complete();
        let pending = Pending::new(Nanos::from_us(5), Before::Nothing);
        slot.urgent(pending);
        assert!(!slot.is_busy() && slot.last() == Last::Copy);
        slot.work();
        assert_eq!((slot.complete(), slot.is_busy()), (None, false));
        slot.urgent(pending);
        assert!(slot.complete_to(pending) && !slot.complete_to(pending));
        slot.urgent(pending);
        assert_eq!(slot.complete(), Some(pending));
        slot.bulk();
        assert!(slot.is_busy() && slot.complete().is_none());
    }
}
