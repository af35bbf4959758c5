//! The device memory that an array has, and the arrays that can be evicted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::{DevicePtr, Nanos};
use overtake_memory::heap::Heap;

use crate::list::List;
use crate::memory::Owner;

/// Memory of the device. Tasks that use it keep it, also when the array has left it.
pub(super) struct Resident {
    start: u64,
    // The memory goes before it is counted as gone.
    _owner: Owner,
    /// None for memory of the caller's, which never leaves its array.
    gone: Option<Gone>,
}

struct Gone {
    counts: Arc<Counts>,
    is_apart: bool,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.counts.apart.fetch_sub(self.is_apart.into(), Ordering::Relaxed);
        self.counts.gone.fetch_add(1, Ordering::Release);
    }
}

#[derive(Default)]
struct Counts {
    made: AtomicU64,
    gone: AtomicU64,
    /// Those that are of no array.
    apart: AtomicU64,
}

impl Resident {
    /// The caller's memory at this address, with its owner.
    pub fn adopted(start: DevicePtr, owner: Owner) -> Resident {
        Resident { start: start.0, _owner: owner, gone: None }
    }

    /// Its address.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether it is the caller's.
    pub fn is_lent(&self) -> bool {
        self.gone.is_none()
    }
}

/// The blocks of all arrays.
pub(super) struct Residents {
    heap: Heap,
    counts: Arc<Counts>,
    /// The records that have one, and some that had.
    pub records: List,
}

impl Residents {
    pub fn new(heap: Heap) -> Residents {
        Residents { heap, counts: Arc::default(), records: List::default() }
    }

    /// A new block of an array.
    pub fn alloc(&self, bytes: u64, align_bytes: u64) -> hal::Result<Arc<Resident>> {
        self.take(bytes, align_bytes, false).map(Arc::new)
    }

    /// A new block of no array, which goes when the program says so.
    pub fn alloc_apart(&self, bytes: u64, align_bytes: u64) -> hal::Result<Resident> {
        self.take(bytes, align_bytes, true)
    }

    fn take(&self, bytes: u64, align_bytes: u64, is_apart: bool) -> hal::Result<Resident> {
        // Before it is there: others that find no room meanwhile wait for it.
        self.counts.made.fetch_add(1, Ordering::Relaxed);
        let block = self.heap.alloc(bytes, align_bytes, "arrays").inspect_err(|_| {
            self.counts.made.fetch_sub(1, Ordering::Relaxed);
        })?;
        let start = block.device_pointer().map_or(0, |DevicePtr(start)| start);
        self.counts.apart.fetch_add(is_apart.into(), Ordering::Relaxed);
        Ok(Resident { start, _owner: Box::new(block), gone: Some(Gone { counts: Arc::clone(&self.counts), is_apart }) })
    }

    /// Whether there are some of no array.
    pub fn has_apart(&self) -> bool {
        self.counts.apart.load(Ordering::Relaxed) > 0
    }

    /// Gives memory back that no array has.
    pub fn trim(&self) -> hal::Result<u64> {
        self.heap.pause().trim(0)
    }

    /// How many blocks there are, or are being made.
    pub fn count(&self) -> u64 {
        self.counts.made.load(Ordering::Relaxed).saturating_sub(self.gone())
    }

    /// How many have gone.
    pub fn gone(&self) -> u64 {
        self.counts.gone.load(Ordering::Acquire)
    }
}

/// A submission that finds no room waits for so long, unless its caller says how long.
pub(super) const ROOM_WITHIN: Nanos = Nanos::from_ms(60_000);
/// A thread for whose own accesses all waits is told so when nothing has gone for so long: memory of work that has
/// ended goes a moment later.
pub(super) const STILL_FOR: Nanos = Nanos::from_ms(100);
/// The time between two looks at the lanes: a task behind a function of the host is seen then.
pub(super) const LOOK_EVERY: Nanos = Nanos::from_ms(1);
