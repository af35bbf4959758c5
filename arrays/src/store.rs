//! What the arrays of a set share: its tasks, and heaps.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use copies::Overtake;
use graph::Priority;
use overtake_memory::heap::{Heap, Space};
use overtake_tasks::task::{Error, Handle, Tasks};

use crate::guards::Guards;
use crate::list::List;
use crate::options::ArrayOptions;
use crate::order::Order;
use crate::places::Places;
use crate::resident::Residents;
use crate::statistics::DataStatistics;
use crate::times::Times;

/// The parts that arrays share.
pub(super) struct Store {
    pub tasks: Tasks,
    /// Held while a task is appended with its transfers.
    pub order: Order,
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
    common: Arc<Common>,
}

/// The parts that the stores of sections share with the one around them.
pub(super) struct Common {
    /// The memory of each device.
    pub residents: Vec<Residents>,
    pub places: Places,
    pub pinned: Heap,
    pub counts: Mutex<DataStatistics>,
    /// If they are measured.
    pub times: Option<Arc<Times>>,
    /// [`ArrayOptions::is_serial`].
    pub is_serial: bool,
    uses: AtomicU64,
}

impl Deref for Store {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.may_enter().is_err() {
            // Its memory and events are the parent's.
            std::mem::forget(Arc::clone(&self.common));
        }
    }
}

impl Store {
    pub fn open(tasks: Tasks, options: &ArrayOptions) -> hal::Result<Store> {
        let layers = tasks.within().layers();
        let residents = |layer: &Arc<Overtake>| {
            let heap = Heap::open_beside(layer, Space::Device, options.device)?;
            if layers.len() == 1 {
                // From now on pages come in the order of a stream, which stops no copy. Other devices have no access to
                // such memory, though they have it to the rest.
                heap.settle();
            }
            Ok(Residents::new(heap))
        };
        let common = Common {
            residents: layers.iter().map(residents).collect::<hal::Result<_>>()?,
            // To allocate pinned memory stops none either, and it is not freed before the end.
            pinned: Heap::open_beside(&layers[0], Space::Pinned, options.pinned)?,
            places: Places::open(layers, options)?,
            counts: Mutex::default(),
            times: options.measures.then(|| Arc::new(Times::new(layers))),
            is_serial: options.is_serial,
            uses: AtomicU64::new(0),
        };
        Ok(Store::with(tasks, Priority::LOWEST, None, Arc::new(common)))
    }

    /// That of a section of this priority, whose bytes are there when `entry` has ended: tasks and an order of its own,
    /// in the same memory.
    pub fn inner(&self, priority: Priority, entry: &Handle) -> Store {
        Store::with(self.tasks.beside(), priority.max(self.least), Some(entry.clone()), Arc::clone(&self.common))
    }

    fn with(tasks: Tasks, least: Priority, entry: Option<Handle>, common: Arc<Common>) -> Store {
        let (order, guards, is_over) = (Order::default(), Guards::default(), AtomicBool::new(false));
        Store { tasks, order, adopted: List::default(), guards, is_over, least, entry, common }
    }

    /// Refuses the child of a fork, where another thread of the parent may have held any lock: each call asks first.
    pub fn may_enter(&self) -> Result<(), Error> {
        self.tasks.within().may_enter()
    }

    /// The number of a use.
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use copies::Options;
    use hal::locks::lock;
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
    use testkit::fixture::failure::{Failure, Outcome};
    use testkit::fixture::forks::in_child;

    use super::*;
    use crate::{Array, Arrays, discard, read, read_write};

    /// Nothing is done in the child of a fork, and all that it has goes.
    fn is_refused(dispatcher: &Dispatcher, arrays: Arrays, array: Array<u32>) -> Outcome {
        let guard = read(&array).freeze(0);
        let told = [
            Arrays::open(dispatcher, ArrayOptions::default()).map(drop),
            guard.map(drop),
            arrays.array_of(&[1_u32]).map(drop),
            array.read().map(drop),
            array.overwrite().map(drop),
            read(&array).to_device().map(drop),
            arrays.host("host", (read_write(&array),), |_| Ok(())).submit().map(drop),
            arrays.launch("launch", (discard(&array),), |_, _| Ok(overtake_tasks::task::More::Done)).submit().map(drop),
            arrays.section("section", (read(&array),)).open().map(drop),
            arrays.wait(),
            array.release().map(drop),
            arrays.clone().finish(),
        ];
        let is_empty = arrays.statistics() == DataStatistics::default() && arrays.times().is_empty();
        let is_refused = told.iter().all(|told| matches!(told, Err(Error::Forked)));
        if is_refused && is_empty { Ok(()) } else { Err(Failure::new(format_args!("{told:?}, {is_empty}"))) }
    }

    /// Another thread of the parent may have held any lock.
    #[test]
    fn the_child_of_a_fork_takes_no_lock() {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions { measures: true, ..ArrayOptions::default() }).unwrap();
        let [array, other] = [(); 2].map(|()| arrays.array_of(&[1_u32; 8]).unwrap());
        let guard = read(&other).freeze(0).unwrap();
        let (store, record, both) = (Arc::clone(&arrays.store), Arc::clone(&array.record), Barrier::new(2));
        let other = Arc::clone(&other.record);
        let mut all = Some((arrays, array, guard));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _order = store.order.take();
                let _states = [&record, &other].map(|record| lock(&record.state));
                let _counts = lock(&store.counts);
                both.wait();
                both.wait();
            });
            both.wait();
            let end = in_child(|| {
                let (arrays, array, guard) = all.take().ok_or_else(|| Failure::new("it was taken"))?;
                drop(guard);
                is_refused(&dispatcher, arrays, array)
            });
            both.wait();
            end.unwrap_or_else(|failure| panic!("{failure}"));
        });
    }
}
