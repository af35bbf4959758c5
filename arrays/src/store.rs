//! What the arrays of a set share: its tasks, and heaps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use copies::Overtake;
use graph::{Priority, Selection};
use overtake_memory::heap::{Heap, Space};
use overtake_tasks::task::{Handle, Tasks};

use crate::guards::Guards;
use crate::list::List;
use crate::options::ArrayOptions;
use crate::order::Order;
use crate::places::Places;
use crate::resident::Residents;
use crate::statistics::Counts;
use crate::times::Times;

/// The parts that arrays share.
pub(super) struct Store {
    pub tasks: Tasks,
    /// The memory of each device. It, the places, the counts and the times are shared with the stores of sections.
    pub residents: Arc<Vec<Residents>>,
    pub places: Arc<Places>,
    pub pinned: Arc<Heap>,
    /// Held while a task is appended with its transfers.
    pub order: Order,
    pub counts: Arc<Counts>,
    /// If they are measured.
    pub times: Option<Arc<Times>>,
    /// The records that have, or had, partial results of reductions.
    pub reduced: List,
    /// The records in memory of the caller's.
    pub adopted: List,
    /// Guards of the host that are open.
    pub guards: Guards,
    /// It is that of a section that has ended.
    pub is_over: AtomicBool,
    /// The least priority of what is submitted: that of a section.
    pub least: Priority,
    /// All that is submitted comes after this, and fails with it: it ends when the bytes are there that a section is
    /// lent.
    pub entry: Option<Handle>,
    /// [`ArrayOptions::is_serial`].
    pub is_serial: bool,
    uses: Arc<AtomicU64>,
}

impl Store {
    pub fn open(tasks: Tasks, options: &ArrayOptions) -> hal::Result<Store> {
        let shared = tasks.within();
        let layers = shared.layers();
        let residents = |layer: &Arc<Overtake>| {
            let heap = Heap::open_beside(layer, Space::Device, options.device)?;
            if layers.len() == 1 {
                // From now on pages come in the order of a stream, which stops no copy. Other devices have no access to
                // such memory, though they have it to the rest.
                heap.settle();
            }
            Ok(Residents::new(heap))
        };
        let residents = Arc::new(layers.iter().map(residents).collect::<hal::Result<Vec<_>>>()?);
        // To allocate pinned memory stops none either, and it is not freed before the end.
        let pinned = Arc::new(Heap::open_beside(&layers[0], Space::Pinned, options.pinned)?);
        let (order, guards) = (Order::default(), Guards::default());
        let [reduced, adopted] = [(); 2].map(|()| List::default());
        let (counts, uses, is_over) = (Arc::default(), Arc::default(), AtomicBool::new(false));
        let places = Arc::new(Places::open(layers, options)?);
        let is_measured = options.measures || options.selection == Selection::MinEndTime;
        let times = is_measured.then(|| Arc::new(Times::new(layers)));
        let (least, entry, is_serial) = (Priority::LOWEST, None, options.is_serial);
        Ok(Store {
            tasks,
            residents,
            places,
            pinned,
            order,
            counts,
            times,
            reduced,
            adopted,
            guards,
            is_over,
            least,
            entry,
            is_serial,
            uses,
        })
    }

    /// That of a section of this priority, whose bytes are there when `entry` has ended: tasks and an order of its own,
    /// in the same memory.
    pub fn inner(&self, priority: Priority, entry: &Handle) -> Store {
        let (least, entry) = (priority.max(self.least), Some(entry.clone()));
        let (tasks, order) = (self.tasks.beside(), Order::default());
        let [reduced, adopted] = [(); 2].map(|()| List::default());
        let (guards, is_over, times) = (Guards::default(), AtomicBool::new(false), self.times.clone());
        let (residents, places, pinned) =
            (Arc::clone(&self.residents), Arc::clone(&self.places), Arc::clone(&self.pinned));
        let (counts, uses, is_serial) = (Arc::clone(&self.counts), Arc::clone(&self.uses), self.is_serial);
        Store {
            tasks,
            residents,
            places,
            pinned,
            order,
            counts,
            times,
            reduced,
            adopted,
            guards,
            is_over,
            least,
            entry,
            is_serial,
            uses,
        }
    }

    /// The number of a use.
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }
}
