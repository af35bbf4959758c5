//! The batches of a context: spare ones, and those that the device may still read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hal::Driver;
use hal::locks::lock;

use super::batch::Batch;
use super::kernel::ServiceKernel;
use crate::kernel::CopyKernel;
use crate::records::{Fence, Records};

/// The most batches of a context. While the device may read all of them, further ones go natively.
const BATCHES_MAX: usize = 64;

/// The kernel and the batches of a context.
pub(crate) struct Batches {
    driver: Arc<dyn Driver>,
    records: Arc<Records>,
    /// `None` if the driver could not load it: all batches go natively.
    kernel: Option<Arc<ServiceKernel>>,
    store: Mutex<Store>,
}

#[derive(Default)]
struct Store {
    spare: Vec<Batch>,
    under_way: VecDeque<UnderWay>,
    /// The batches that exist and have memory for the kernel.
    made: usize,
}

/// A batch that the device may still read.
struct UnderWay {
    batch: Arc<Batch>,
    /// Done when the launch has completed. Without one the batch is kept to the end.
    fence: Option<Fence>,
}

impl Batches {
    /// Loads the kernel into the current context. May wait for all work in it.
    pub(crate) fn new(driver: &Arc<dyn Driver>, records: &Arc<Records>, copy: Option<&Arc<CopyKernel>>) -> Batches {
        let kernel = copy.and_then(|copy| {
            let loaded = ServiceKernel::load(driver, copy);
            let tell = |error: &hal::Error| {
                records.counters.failed();
                log::warn!(
                    "the copy service makes each copy by itself, because its kernel could not be loaded: {error}"
                );
            };
            loaded.inspect_err(tell).ok().map(Arc::new)
        });
        Batches { driver: Arc::clone(driver), records: Arc::clone(records), kernel, store: Mutex::default() }
    }

    /// The same with a store of its own.
    pub(crate) fn another(&self) -> Batches {
        let (driver, records, kernel) = (Arc::clone(&self.driver), Arc::clone(&self.records), self.kernel.clone());
        Batches { driver, records, kernel, store: Mutex::default() }
    }

    pub(crate) fn kernel(&self) -> Option<&Arc<ServiceKernel>> {
        self.kernel.as_ref()
    }

    /// Makes batches until there are `count` of this capacity, those that the device may still read included.
    pub(crate) fn provide(&self, count: usize, capacity: usize) {
        let store = lock(&self.store);
        let under_way = store.under_way.iter().filter(|under_way| under_way.batch.capacity() >= capacity).count();
        let spare = store.spare.iter().filter(|batch| batch.capacity() >= capacity).count();
        drop(store);
        let ready: Vec<Batch> = (under_way..count.max(under_way + spare)).map(|_| self.take(capacity)).collect();
        ready.into_iter().for_each(|batch| self.give(batch));
    }

    /// An empty batch that no launch reads.
    pub(crate) fn take(&self, capacity: usize) -> Batch {
        if let Some(batch) = self.spare(capacity) {
            return batch;
        }
        let mut store = lock(&self.store);
        // Shorter ones are left from before a reserve grew.
        let replaced = store.spare.pop();
        store.made -= usize::from(replaced.is_some());
        if self.kernel.is_none() || store.made == BATCHES_MAX {
            return Batch::without_table();
        }
        store.made += 1;
        drop(store);
        drop(replaced);
        let (batch, made) = Batch::new(&self.driver, capacity);
        if let Err(error) = made {
            lock(&self.store).made -= 1;
            self.records.counters.failed();
            log::debug!("copies go one by one, because the driver gave no pinned memory for a batch: {error}");
        }
        batch
    }

    /// An empty batch of at least this capacity that no launch reads, if there is one.
    pub(crate) fn spare(&self, capacity: usize) -> Option<Batch> {
        let mut store = lock(&self.store);
        self.reclaim(&mut store);
        let fitting = store.spare.iter().position(|batch| batch.capacity() >= capacity)?;
        Some(store.spare.swap_remove(fitting))
    }

    /// Takes back a batch that no launch reads.
    pub(crate) fn give(&self, mut batch: Batch) {
        batch.clear();
        if batch.capacity() > 0 {
            lock(&self.store).spare.push(batch);
        }
    }

    /// Takes back a batch that was submitted. No other batch gets its memory before its launch has completed.
    /// A batch that was not launched has no fence either, but then no other part of the layer has a share in it.
    pub(crate) fn keep(&self, batch: Arc<Batch>, was_launched: bool, fence: Option<Fence>) {
        if was_launched {
            lock(&self.store).under_way.push_back(UnderWay { batch, fence });
            return;
        }
        match Arc::try_unwrap(batch) {
            Ok(batch) => self.give(batch),
            Err(batch) => lock(&self.store).under_way.push_back(UnderWay { batch, fence: None }),
        }
    }

    /// Makes batches spare whose launches have completed.
    fn reclaim(&self, store: &mut Store) {
        for _ in 0..store.under_way.len() {
            let Some(UnderWay { batch, fence }) = store.under_way.pop_front() else { return };
            if !fence.is_some_and(|fence| self.records.fences.is_done(fence)) {
                store.under_way.push_back(UnderWay { batch, fence });
                continue;
            }
            match Arc::try_unwrap(batch) {
                Ok(mut batch) => {
                    batch.clear();
                    store.spare.push(batch);
                }
                // A carrier has not forgotten it yet.
                Err(batch) => store.under_way.push_back(UnderWay { batch, fence }),
            }
        }
    }

    /// Whether no launch reads a batch.
    pub(crate) fn is_at_rest(&self) -> bool {
        let mut store = lock(&self.store);
        self.reclaim(&mut store);
        store.under_way.is_empty()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        if !self.is_at_rest() {
            // Launches read memory that is freed next. An error means that the context is gone, and they with it.
            let _ = self.driver.context_synchronize();
        }
    }
}
