//! The parts that arrays share: a set of tasks, and heaps.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use copies::Overtake;
use graph::Selection;

use crate::data::list::List;
use crate::data::options::ArrayOptions;
use crate::data::places::Places;
use crate::data::resident::Residents;
use crate::data::statistics::Counts;
use crate::data::times::Times;
use crate::heap::{Heap, Space};
use crate::task::Tasks;

/// The parts that arrays share.
pub(super) struct Store {
    pub tasks: Tasks,
    /// The memory of each device.
    pub residents: Vec<Residents>,
    pub places: Places,
    pub pinned: Heap,
    /// Held while a task is appended with its transfers: taken before records' locks and the dispatcher's.
    pub order: Mutex<()>,
    pub counts: Counts,
    /// If they are measured.
    pub times: Option<Arc<Times>>,
    /// The records that have, or had, partial results of reductions.
    pub reduced: List,
    /// Guards of the host that are open.
    pub guards: AtomicU64,
    uses: AtomicU64,
}

impl Store {
    pub fn open(tasks: Tasks, options: &ArrayOptions) -> hal::Result<Store> {
        let shared = Arc::clone(tasks.shared());
        let layers = &shared.layers[..];
        let residents = |layer: &Arc<Overtake>| {
            let heap = Heap::open_beside(layer, Space::Device, options.device)?;
            if layers.len() == 1 {
                // From now on pages come in the order of a stream, which stops no copy. Other devices have no access to
                // such memory, though they have it to the rest.
                heap.settle();
            }
            Ok(Residents::new(heap))
        };
        let residents = layers.iter().map(residents).collect::<hal::Result<_>>()?;
        // To allocate pinned memory stops none either, and it is not freed before the end.
        let pinned = Heap::open_beside(&layers[0], Space::Pinned, options.pinned)?;
        let (order, counts, reduced) = (Mutex::new(()), Counts::default(), List::default());
        let (guards, uses) = (AtomicU64::new(0), AtomicU64::new(0));
        let places = Places::open(layers, options)?;
        let is_measured = options.measures || options.selection == Selection::MinEndTime;
        let times = is_measured.then(|| Arc::new(Times::new(layers)));
        Ok(Store { tasks, residents, places, pinned, order, counts, times, reduced, guards, uses })
    }

    /// The number of a use.
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }
}
