//! The parts that arrays share: a set of tasks, and heaps.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use copies::Overtake;

use crate::data::options::ArrayOptions;
use crate::data::resident::Residents;
use crate::data::statistics::Counts;
use crate::dispatch::Dispatcher;
use crate::heap::{Heap, Space};
use crate::task::Tasks;

/// The parts that arrays share.
pub(super) struct Store {
    pub tasks: Tasks,
    pub residents: Residents,
    pub pinned: Heap,
    /// Held while a task is appended with its transfers: taken before records' locks and the dispatcher's.
    pub order: Mutex<()>,
    pub counts: Counts,
    uses: AtomicU64,
}

impl Store {
    pub fn open(dispatcher: &Dispatcher, options: &ArrayOptions) -> hal::Result<Store> {
        let overtake: &Overtake = dispatcher.shared().layer();
        let device = Heap::open_beside(overtake, Space::Device, options.device)?;
        // From now on pages come in the order of a stream, which stops no copy.
        device.settle();
        // To allocate pinned memory stops none either, and it is not freed before the end.
        let pinned = Heap::open_beside(overtake, Space::Pinned, options.pinned)?;
        let (order, counts, uses) = (Mutex::new(()), Counts::default(), AtomicU64::new(0));
        let residents = Residents::new(device);
        Ok(Store { tasks: Tasks::new(dispatcher), residents, pinned, order, counts, uses })
    }

    /// The number of a use.
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }
}
