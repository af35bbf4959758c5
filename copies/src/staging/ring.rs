//! Pinned staging buffers (slots) between the program's memory and the device.

use std::collections::VecDeque;
use std::sync::Mutex;

use hal::locks::lock;
use hal::{Driver, Event};
use semaphores::Pages;

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
    _memory: Pages,
}

impl Ring {
    /// A ring of `count` slots for all copies, and some for urgent ones.
    pub(super) fn new(memory: Pages, count: usize) -> Ring {
        let start = memory.start() as u64;
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
        hal::beside_captures(driver, || {
            self.take(driver, events, false).into_iter().for_each(|slot| self.give(slot));
            let next = lock(&self.flying).front().map(|(_, event)| *event);
            next.is_none_or(|event| driver.event_query(event).unwrap_or(true))
        })
    }

    /// Ends the events of slots in flight. Their context ends.
    pub(super) fn clear(&self, driver: &dyn Driver) {
        for (_, event) in lock(&self.flying).drain(..) {
            let _ = driver.event_destroy(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hal::{MemOp, Nanos, StreamFlags, WaitCondition};
    use semaphores::Words;

    use super::*;
    use crate::soft;
    use crate::staging::pin;

    const COUNT: usize = 3;

    /// Slots that go and come by lot. The device has done with the first `done` of those that were in flight.
    struct Bed {
        ring: Ring,
        spare: [usize; 2],
        taken: Vec<Slot>,
        flying: VecDeque<(u32, u64, bool)>,
        flown: u32,
        done: u32,
    }

    impl Bed {
        /// Whether there is a slot to take, with those in flight that the device has done with.
        fn has_one(&self, is_urgent: bool) -> bool {
            let landed = self.flying.iter().filter(|(number, ..)| *number <= self.done);
            let [bulk, urgent] = landed.fold(self.spare, |[bulk, urgent], (_, _, is_urgent)| {
                [bulk + usize::from(!is_urgent), urgent + usize::from(*is_urgent)]
            });
            bulk > 0 || is_urgent && urgent > 0
        }

        fn take(&mut self, driver: &dyn Driver, events: &pool::Pool<Event>, is_urgent: bool) {
            let expected = self.has_one(is_urgent);
            let slot = self.ring.take(driver, events, is_urgent);
            assert_eq!(slot.is_some(), expected, "for an urgent copy: {is_urgent}");
            let Some(slot) = slot else { return };
            assert!(is_urgent || !slot.is_urgent, "bulk has taken a slot of urgent copies");
            let mut others = self.taken.iter().map(|slot| slot.address);
            assert!(others.all(|other| other != slot.address), "two users");
            if let Some(at) = self.flying.iter().position(|(_, address, _)| *address == slot.address) {
                assert!(self.flying[at].0 <= self.done, "the device still uses it");
            }
            self.taken.push(slot);
            self.count();
        }

        /// Counts the slots that lie in the ring.
        fn count(&mut self) {
            let spare = self.ring.spare.lock().unwrap();
            self.spare = [spare[0].len(), spare[1].len()];
            let flying: BTreeSet<u64> = self.ring.flying.lock().unwrap().iter().map(|(slot, _)| slot.address).collect();
            self.flying.retain(|(_, address, _)| flying.contains(address));
            let all = self.spare[0] + self.spare[1] + self.flying.len() + self.taken.len();
            assert_eq!(all, COUNT + URGENT_SLOTS, "no slot is lost");
        }
    }

    #[test]
    fn a_slot_has_one_user_at_a_time_and_bulk_leaves_some_to_urgent_copies() {
        let (driver, events) = (soft::driver(), pool::Pool::<Event>::default());
        let (stream, words) =
            (driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap(), Words::new(&driver, 1).unwrap());
        words.store(0, 0);
        let ring = Ring::new(pin(&driver, Ring::bytes(COUNT)).unwrap(), COUNT);
        let mut bed =
            Bed { ring, spare: [COUNT, URGENT_SLOTS], taken: Vec::new(), flying: VecDeque::new(), flown: 0, done: 0 };
        let mut state = 41_u64;
        for _ in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = (state >> 33) as usize;
            match draw % 6 {
                0 | 1 => bed.take(&*driver, &events, false),
                2 => bed.take(&*driver, &events, true),
                3 if !bed.taken.is_empty() => {
                    let slot = bed.taken.swap_remove(draw / 6 % bed.taken.len());
                    bed.ring.give(slot);
                }
                4 if !bed.taken.is_empty() => {
                    let slot = bed.taken.swap_remove(draw / 6 % bed.taken.len());
                    bed.flown += 1;
                    bed.flying.push_back((bed.flown, slot.address, slot.is_urgent));
                    let lands = MemOp::wait32(words.host_address(0), bed.flown, WaitCondition::Geq);
                    driver.mem_op(stream, lands).unwrap();
                    bed.ring.give_after(slot, events.mark(&*driver, stream).unwrap());
                }
                5 if bed.done < bed.flown => {
                    bed.done += 1;
                    words.store(0, bed.done);
                    driver.host().sleep(Nanos::from_us(100));
                }
                _ => {}
            }
            bed.count();
        }
        assert!(bed.flown > 100 && bed.done > 100, "{} slots were in flight", bed.flown);
        words.store(0, bed.flown);
        driver.stream_synchronize(stream).unwrap();
        assert!(bed.ring.is_at_rest(&*driver, &events));
        bed.ring.clear(&*driver);
    }
}
