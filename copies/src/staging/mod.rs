//! Staging: pageable copies through pinned slots that several threads fill or empty (`README.md`).

mod areas;
mod call;
mod conductor;
mod pages;
mod pinned;
mod pool;
mod ring;
mod stores;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hal::locks::lock;
use hal::{Driver, Event, Result};
use options::Options;
use priority::Direction;
use semaphores::Pages;
use threads::Worker;

use crate::pool::Pool as Spare;
use pool::Pool;
use ring::Ring;

pub(crate) use areas::Areas;
pub(crate) use conductor::{Conductor, Means, Order, SHARED_PIECE_BYTES_MAX, cut};
pub(crate) use pages::are_resident;
pub(crate) use pinned::pin;

/// More threads move bytes no faster, as measured on an H100 with 16 cores; and one is slower than the driver.
const THREADS: RangeInclusive<usize> = 2..=8;

/// Slots for each thread: one that it moves, one ready for it, and two that the engine has.
const SLOTS_A_THREAD: usize = 4;

/// Smaller copies are not faster than the driver's, by direction. On an H100 2 MiB to the device had 10.2 to 13.6 GB/s
/// with two to eight threads, and 6.2 by the driver; 12.4 to 14.5 and 11.5 where their source was in the caches.
const BYTES_MIN: [u64; 2] = [2 << 20, 1 << 20];

/// The driver keeps copies to the device of up to this size, and returns while earlier work of their stream is not
/// complete (`reports/pageable`). Some hosts have it return so only up to 64 KiB; then the caller waits as natively.
const KEPT_BYTES_MAX: u64 = 2 << 20;

/// A ring or the threads are missing, and may be made; a thread makes them; or none may make any.
const OPEN: u8 = 0;
const MAKES: u8 = 1;
const CLOSED: u8 = 2;

/// The threads and the rings of a context. Both are made for the first copy that needs them, by a thread of their own:
/// to pin a ring takes as long as the driver needs for 200 MiB.
pub(crate) struct Staging {
    threads: usize,
    slots: usize,
    /// By direction.
    bytes_min: [u64; 2],
    kept_bytes_max: u64,
    pool: OnceLock<Pool>,
    rings: [OnceLock<Ring>; 2],
    state: AtomicU8,
    maker: Mutex<Option<Worker>>,
}

impl Staging {
    /// `None` where the options ask for none, or the process may use so few cores that the driver is faster.
    pub(crate) fn new(options: &Options) -> Option<Staging> {
        let threads = match options.staging_threads as usize {
            0 => threads_for(os::threads::cores()),
            threads => threads,
        };
        let slots = match options.profile.staging_slots as usize {
            0 => (threads + 1) * SLOTS_A_THREAD,
            slots => slots,
        };
        (options.enabled && options.staging && threads > 0).then(|| Staging {
            threads,
            slots,
            bytes_min: match options.profile.staging_bytes_min {
                0 => BYTES_MIN,
                bytes => [bytes; 2],
            },
            kept_bytes_max: if options.profile.staging_bytes_min == 0 { KEPT_BYTES_MAX } else { 0 },
            pool: OnceLock::new(),
            rings: [const { OnceLock::new() }; 2],
            state: AtomicU8::new(OPEN),
            maker: Mutex::default(),
        })
    }

    /// Smaller copies are left to the driver; those of an unknown direction too if either direction leaves them.
    pub(crate) fn bytes_min(&self, direction: Option<Direction>) -> u64 {
        let [to_device, to_host] = self.bytes_min;
        direction.map_or(to_device.max(to_host), |direction| self.bytes_min[side(direction)])
    }

    /// Whether the driver may return from a copy before earlier work of its stream is complete. A staged copy waits for
    /// that work.
    pub(crate) fn may_be_kept(&self, direction: Direction, bytes: u64) -> bool {
        direction == Direction::HostToDevice && bytes <= self.kept_bytes_max
    }

    /// The threads and the slots of a direction. `None` until [`Staging::begin`] has made them, and after
    /// [`Staging::leave`].
    pub(crate) fn ready(&self, direction: Direction) -> Option<(&Pool, &Ring)> {
        let (pool, ring) = (self.pool.get()?, self.rings[side(direction)].get()?);
        (pool.threads() > 0).then_some((pool, ring))
    }

    /// Has a thread make the slots of a direction, in memory that `pin` pins, and the threads that move bytes, unless
    /// one does so already, or the system or the driver has refused them.
    pub(crate) fn begin(
        self: &Arc<Self>,
        driver: &Arc<dyn Driver>,
        direction: Direction,
        pin: impl Fn(u64) -> Result<Pages> + Send + 'static,
    ) {
        let mut maker = lock(&self.maker);
        if self.ready(direction).is_some() || !self.turn(OPEN, MAKES) {
            return;
        }
        let (staging, its_driver) = (Arc::clone(self), Arc::clone(driver));
        let make = move |_: &dyn hal::Host| {
            let state = if staging.make(&its_driver, direction, &pin) { OPEN } else { CLOSED };
            staging.turn(MAKES, state);
        };
        // The thread before has ended with its ring.
        let made = Worker::start(driver, "overtake-ring", || (), make, || ());
        *maker = made.inspect_err(|error| self.refuse(error)).ok();
    }

    fn refuse(&self, error: &hal::Error) {
        log::warn!("pageable copies go to the driver, because no thread makes slots for them: {error}");
        self.turn(MAKES, CLOSED);
    }

    fn turn(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether a thread makes slots.
    pub(crate) fn is_being_made(&self) -> bool {
        self.state.load(Ordering::Acquire) == MAKES
    }

    fn make(&self, driver: &Arc<dyn Driver>, direction: Direction, pin: impl Fn(u64) -> Result<Pages>) -> bool {
        let memory = pin(Ring::bytes(self.slots));
        let memory = memory.inspect_err(|error| {
            let bytes = Ring::bytes(self.slots);
            log::warn!("pageable copies go to the driver, because {bytes} bytes could not be pinned: {error}");
        });
        let Ok(memory) = memory else { return false };
        let pool = self.pool.get_or_init(|| Pool::new(driver, self.threads));
        let _ = self.rings[side(direction)].set(Ring::new(memory, self.slots));
        pool.threads() > 0
    }

    /// The number of threads, once they are there.
    pub(crate) fn threads(&self) -> usize {
        self.pool.get().map_or(self.threads, Pool::threads)
    }

    /// Ends the threads. Copies under way complete without them, and later ones go natively.
    pub(crate) fn leave(&self) {
        self.state.store(CLOSED, Ordering::Release);
        let maker = lock(&self.maker).take();
        drop(maker);
        self.pool.get().into_iter().for_each(Pool::leave);
    }

    /// Whether the device has done with all slots.
    pub(crate) fn is_at_rest(&self, driver: &dyn Driver, events: &Spare<Event>) -> bool {
        self.rings.iter().filter_map(OnceLock::get).all(|ring| ring.is_at_rest(driver, events))
    }

    /// Ends the threads and the events. The context ends.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        self.leave();
        self.rings.iter().filter_map(OnceLock::get).for_each(|ring| ring.clear(driver));
    }
}

/// Half of the cores, because the program has threads of its own; none where those are too few.
fn threads_for(cores: usize) -> usize {
    let half = (cores / 2).min(*THREADS.end());
    if THREADS.contains(&half) { half } else { 0 }
}

fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::DeviceToHost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use options::Profile;

    #[test]
    fn few_cores_leave_pageable_copies_to_the_driver() {
        let threads = [1, 2, 3, 4, 7, 16, 17, 200].map(threads_for);
        assert_eq!(threads, [0, 0, 0, 2, 3, 8, 8, 8]);
        let staging =
            |threads| Staging::new(&Options { staging: true, staging_threads: threads, ..Options::default() });
        assert_eq!(staging(3).map(|staging| staging.threads), Some(3), "the options ask for them");
    }

    #[test]
    fn each_direction_has_its_smallest_copy() {
        let with = |staging_bytes_min| {
            let profile = Profile { staging_bytes_min, ..Profile::LIBRARY };
            Staging::new(&Options { staging: true, staging_threads: 2, profile, ..Options::default() })
        };
        let sizes = |staging: Staging| {
            let of = |direction| staging.bytes_min(direction);
            [of(Some(Direction::HostToDevice)), of(Some(Direction::DeviceToHost)), of(None)]
        };
        assert_eq!(with(0).map(sizes), Some([2 << 20, 1 << 20, 2 << 20]));
        assert_eq!(with(5000).map(sizes), Some([5000; 3]));
    }
}
