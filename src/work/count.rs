//! The count of a set's tasks that have not ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// The count of a set's tasks that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pending: AtomicU64,
}

impl Count {
    pub fn begun(&self) {
        self.pending.fetch_add(1, Ordering::AcqRel);
    }

    pub fn ended(&self) {
        self.pending.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn is_none(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }
}
