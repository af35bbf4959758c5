//! A list of records, which neither owns them nor names their type: records know their store.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

/// A list of records, those left out that have gone.
#[derive(Default)]
pub(super) struct List(Mutex<Vec<Weak<dyn Any + Send + Sync>>>);

impl List {
    /// The record is in the list from now on, once.
    pub fn add<R: Send + Sync + 'static>(&self, record: &Arc<R>) {
        let record: Weak<dyn Any + Send + Sync> = Arc::<R>::downgrade(record);
        let mut records = hal::locks::lock(&self.0);
        records.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&record));
        records.push(record);
    }

    /// The records that have not gone.
    pub fn records<R: Send + Sync + 'static>(&self) -> Vec<Arc<R>> {
        let records = hal::locks::lock(&self.0);
        records.iter().filter_map(|record| record.upgrade()?.downcast().ok()).collect()
    }
}
