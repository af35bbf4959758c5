//! Slots of pinned memory, between the program's memory and the device.

use std::collections::VecDeque;
use std::sync::Mutex;

use hal::locks::lock;
use hal::{Driver, Event};

use super::pinned::Pinned;
use crate::pool;

/// A slot has so many bytes.
pub(super) const SLOT_BYTES: u64 = 1 << 20;

/// The slots that only urgent copies take.
pub(super) const URGENT_SLOTS: usize = 4;

/// A slot.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) address: u64,
    is_urgent: bool,
}

/// The slots of one direction.
pub(crate) struct Ring {
    /// For bulk, and for urgent copies only. The slot that has rested longest comes first: the engine writes slowly to
    /// one that a core has in its cache.
    spare: Mutex<[VecDeque<Slot>; 2]>,
    /// Slots of copies whose call has returned, each with the event after the device's use of it.
    flying: Mutex<VecDeque<(Slot, Event)>>,
    count: usize,
    /// Ends after the slots.
    _memory: Pinned,
}

impl Ring {
    /// A ring of `count` slots for all copies, and some for urgent ones.
    pub(super) fn new(memory: Pinned, count: usize) -> Ring {
        let start = memory.address();
        let slot = |number: usize| Slot { address: start + number as u64 * SLOT_BYTES, is_urgent: number >= count };
        let spare = [(0..count).map(slot).collect(), (count..count + URGENT_SLOTS).map(slot).collect()];
        Ring { spare: Mutex::new(spare), flying: Mutex::default(), count, _memory: memory }
    }

    /// The bytes of a ring of `count` slots.
    pub(super) fn bytes(count: usize) -> u64 {
        (count + URGENT_SLOTS) as u64 * SLOT_BYTES
    }

    /// The number of slots for all copies.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A slot that the device has done with, if there is one.
    pub(super) fn take(&self, driver: &dyn Driver, events: &pool::Pool<Event>, is_urgent: bool) -> Option<Slot> {
        let spare = || {
            let [bulk, urgent] = &mut *lock(&self.spare);
            let own = if is_urgent { urgent.pop_front() } else { None };
            own.or_else(|| bulk.pop_front())
        };
        while let Some(slot) = spare().or_else(|| {
            let (slot, event) = lock(&self.flying).pop_front()?;
            match driver.event_query(event) {
                Ok(true) => {
                    events.give(event);
                    Some(slot)
                }
                _ => {
                    lock(&self.flying).push_front((slot, event));
                    None
                }
            }
        }) {
            if is_urgent || !slot.is_urgent {
                return Some(slot);
            }
            self.give(slot);
        }
        None
    }

    /// Gives a slot back that the device has done with.
    pub(super) fn give(&self, slot: Slot) {
        lock(&self.spare)[usize::from(slot.is_urgent)].push_back(slot);
    }

    /// Gives a slot back that the device uses until `event`.
    pub(super) fn give_after(&self, slot: Slot, event: Event) {
        lock(&self.flying).push_back((slot, event));
    }

    /// Whether the device has done with all slots of calls that have returned.
    pub(super) fn is_at_rest(&self, driver: &dyn Driver, events: &pool::Pool<Event>) -> bool {
        self.take(driver, events, false).into_iter().for_each(|slot| self.give(slot));
        let next = lock(&self.flying).front().map(|(_, event)| *event);
        next.is_none_or(|event| driver.event_query(event).unwrap_or(true))
    }

    /// Ends the events of slots in flight. Their context ends.
    pub(super) fn clear(&self, driver: &dyn Driver) {
        for (_, event) in lock(&self.flying).drain(..) {
            let _ = driver.event_destroy(event);
        }
    }
}
