//! The directions of copies that do not name theirs. Two questions to the driver for each such copy would cost more
//! than all else that is noted of it, so answers are kept.

use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Driver, MemoryKind};

use crate::call::Call;

/// The number of answers that are kept.
const KEPT: usize = 64;

/// Memory of host and device never shares so large a page.
const PAGE_SHIFT: u32 = 21;

/// An answer, in the lowest bits of a word whose other bits tell the pages.
const TO_DEVICE: u64 = 1;
const TO_HOST: u64 = 2;
const NEITHER: u64 = 3;

/// The latest answers, by the pages of both addresses.
#[derive(Debug)]
pub(super) struct Directions([AtomicU64; KEPT]);

impl Default for Directions {
    fn default() -> Directions {
        Directions([const { AtomicU64::new(0) }; KEPT])
    }
}

impl Directions {
    /// The engine of a copy: 0 to the device, 1 to the host.
    pub(super) fn engine_of(&self, driver: &dyn Driver, call: &Call<'_>) -> Option<usize> {
        let request = call.requests.first()?;
        if let Some(direction) = request.direction() {
            return direction.has_host_side().then(|| usize::from(direction == copies::Direction::DeviceToHost));
        }
        match self.answer(request.addresses(), |address| kind(driver, address)) {
            TO_DEVICE => Some(0),
            TO_HOST => Some(1),
            _ => None,
        }
    }

    fn answer(&self, [target, source]: [u64; 2], ask: impl Fn(u64) -> Option<MemoryKind>) -> u64 {
        let mixed = mix((target >> PAGE_SHIFT).rotate_left(32) ^ (source >> PAGE_SHIFT)) & !NEITHER;
        let place = &self.0[(mixed >> 32) as usize % KEPT];
        let known = place.load(Ordering::Relaxed);
        if known & !NEITHER == mixed && known != mixed {
            return known & NEITHER;
        }
        let is_device = |address| ask(address).map(|kind| kind == MemoryKind::Device);
        let answer = match [is_device(target), is_device(source)] {
            [Some(true), Some(false)] => TO_DEVICE,
            [Some(false), Some(true)] => TO_HOST,
            [Some(_), Some(_)] => NEITHER,
            // A driver that is asked again may know.
            _ => return NEITHER,
        };
        place.store(mixed | answer, Ordering::Relaxed);
        answer
    }
}

fn kind(driver: &dyn Driver, address: u64) -> Option<MemoryKind> {
    driver.pointer_kind(address).map(|info| info.kind).ok()
}

fn mix(pages: u64) -> u64 {
    let mixed = pages.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Device memory begins at 1 GiB.
    fn asked(directions: &Directions, addresses: [u64; 2], count: &Cell<u32>) -> u64 {
        directions.answer(addresses, |address| {
            count.set(count.get() + 1);
            Some(if address >= 1024 * MIB { MemoryKind::Device } else { MemoryKind::Pinned })
        })
    }

    #[test]
    fn the_driver_is_asked_once_for_two_pages() {
        let (directions, count) = (Directions::default(), Cell::new(0));
        for offset in 0..100 {
            assert_eq!(asked(&directions, [2048 * MIB + offset, 64 * MIB + 9 * offset], &count), TO_DEVICE);
        }
        assert_eq!(count.get(), 2);
    }

    #[test]
    fn each_pair_of_pages_has_an_answer_of_its_own() {
        let (directions, count) = (Directions::default(), Cell::new(0));
        for page in 0..500 {
            let (near, far) = (2 * page * MIB, (1024 + 2 * page) * MIB);
            for (addresses, answer) in [([far, near], TO_DEVICE), ([near, far], TO_HOST), ([far, far], NEITHER)] {
                assert_eq!(asked(&directions, addresses, &count), answer, "{addresses:?}");
            }
        }
    }

    #[test]
    fn a_question_that_fails_is_asked_again() {
        let directions = Directions::default();
        assert_eq!(directions.answer([1024 * MIB, 0], |_| None), NEITHER);
        assert_eq!(asked(&directions, [1024 * MIB, 0], &Cell::new(0)), TO_DEVICE);
    }
}
