//! Staging: pageable copies through pinned slots that several threads fill or empty (`README.md`).

mod call;
mod conductor;
mod pages;
mod pinned;
mod pool;
mod ring;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hal::{Driver, Event, Result};
use options::Options;
use terms::Direction;

use crate::pool::Pool as Spare;
use pool::Pool;
use ring::Ring;

pub(crate) use conductor::{Conductor, Means, Order, cut};
pub(crate) use pages::are_resident;
pub(crate) use pinned::Pinned;

/// More threads move bytes no faster: as measured on an H100 with 16 cores.
const THREADS_MAX: [usize; 2] = [8, 6];

/// Slots for each thread: one that it moves, one on its way, and one ready for it.
const SLOTS_A_THREAD: usize = 3;

/// The threads and the rings of a context. Both are made by the first copy that needs them.
pub(crate) struct Staging {
    threads: usize,
    slots: usize,
    pool: OnceLock<Pool>,
    rings: [OnceLock<Ring>; 2],
    /// A thread makes the missing part, or has failed to: for others it is not there.
    is_closed: AtomicBool,
}

impl Staging {
    /// `None` where the options ask for none, or the process may use one core only.
    pub(crate) fn new(options: &Options) -> Option<Staging> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = match options.staging_threads as usize {
            0 => (cores / 2).min(THREADS_MAX[0]),
            threads => threads,
        };
        let slots = match options.staging_slots as usize {
            0 => (threads + 1) * SLOTS_A_THREAD,
            slots => slots,
        };
        (options.enabled && options.staging && threads > 0).then(|| Staging {
            threads,
            slots,
            pool: OnceLock::new(),
            rings: [const { OnceLock::new() }; 2],
            is_closed: AtomicBool::new(false),
        })
    }

    /// The threads and the slots of a direction. They are made first if they are missing, in memory that `pin` pins.
    /// `None` where the system or the driver refuses them, while another thread makes them, and after
    /// [`Staging::leave`].
    pub(crate) fn ready(
        &self,
        driver: &Arc<dyn Driver>,
        direction: Direction,
        pin: impl FnOnce(u64) -> Result<Pinned>,
    ) -> Option<(&Pool, &Ring)> {
        let ring = &self.rings[usize::from(direction == Direction::DeviceToHost)];
        let is_ready = || Some((self.pool.get()?, ring.get()?));
        let found = is_ready();
        if found.is_some() || self.is_closed.swap(true, Ordering::AcqRel) {
            return found.filter(|_| !self.has_left());
        }
        let made = self.make(driver, ring, pin);
        if made {
            self.is_closed.store(false, Ordering::Release);
        }
        is_ready()
    }

    fn has_left(&self) -> bool {
        self.pool.get().is_some_and(|pool| pool.threads() == 0)
    }

    fn make(&self, driver: &Arc<dyn Driver>, ring: &OnceLock<Ring>, pin: impl FnOnce(u64) -> Result<Pinned>) -> bool {
        let memory = pin(Ring::bytes(self.slots));
        let memory = memory.inspect_err(|error| {
            let bytes = Ring::bytes(self.slots);
            log::warn!("pageable copies go to the driver, because {bytes} bytes could not be pinned: {error}");
        });
        let Ok(memory) = memory else { return false };
        let _ = ring.set(Ring::new(memory, self.slots));
        let to_host_max = self.threads.min(THREADS_MAX[1]);
        let pool = self.pool.get_or_init(|| Pool::new(driver, self.threads, to_host_max));
        pool.threads() > 0
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.pool.get().map_or(0, Pool::threads)
    }

    /// Ends the threads. Copies under way complete without them, and later ones go natively.
    pub(crate) fn leave(&self) {
        self.is_closed.store(true, Ordering::Release);
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
