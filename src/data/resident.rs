//! Memory of the device that an array has, and the arrays that leave it to make room.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hal::{DevicePtr, Nanos};

use crate::heap::{Block, Heap};

/// A block of the device. Tasks that use it keep it, also when the array has left it.
pub(super) struct Resident {
    // The block goes before it is counted as gone.
    block: Block,
    _gone: Gone,
}

struct Gone(Arc<Counts>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.gone.fetch_add(1, Ordering::Release);
    }
}

#[derive(Default)]
struct Counts {
    made: AtomicU64,
    gone: AtomicU64,
}

impl Resident {
    /// Its address.
    pub fn start(&self) -> u64 {
        self.block.device_pointer().map_or(0, |DevicePtr(start)| start)
    }
}

/// The blocks of all arrays.
pub(super) struct Residents {
    heap: Heap,
    counts: Arc<Counts>,
    /// The records that have one, and some that had. Their type is left out, because they know these blocks.
    records: Mutex<Vec<Weak<dyn Any + Send + Sync>>>,
}

impl Residents {
    pub fn new(heap: Heap) -> Residents {
        Residents { heap, counts: Arc::default(), records: Mutex::default() }
    }

    /// A new block.
    pub fn alloc(&self, bytes: u64, align_bytes: u64) -> hal::Result<Arc<Resident>> {
        let block = self.heap.alloc(bytes, align_bytes, "arrays")?;
        self.counts.made.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Resident { block, _gone: Gone(Arc::clone(&self.counts)) }))
    }

    /// The record has a block from now on.
    pub fn enlist<R: Send + Sync + 'static>(&self, record: &Arc<R>) {
        let record: Weak<dyn Any + Send + Sync> = Arc::<R>::downgrade(record);
        let mut records = hal::locks::lock(&self.records);
        records.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&record));
        records.push(record);
    }

    /// The records that have one, and some that had.
    pub fn records<R: Send + Sync + 'static>(&self) -> Vec<Arc<R>> {
        let records = hal::locks::lock(&self.records);
        records.iter().filter_map(|record| record.upgrade()?.downcast().ok()).collect()
    }

    /// Gives memory back that no array has.
    pub fn trim(&self) -> hal::Result<u64> {
        self.heap.pause().trim(0)
    }

    /// How many blocks there are.
    pub fn count(&self) -> u64 {
        self.counts.made.load(Ordering::Relaxed).saturating_sub(self.gone())
    }

    /// How many have gone.
    pub fn gone(&self) -> u64 {
        self.counts.gone.load(Ordering::Acquire)
    }
}

/// A submission that finds no room waits for so long.
pub(super) const ROOM_WITHIN: Nanos = Nanos::from_ms(60_000);
/// The time between two looks at the lanes: a task behind a function of the host is seen then.
pub(super) const LOOK_EVERY: Nanos = Nanos::from_ms(1);
