//! The mark of bytes that are frozen, as long as an access reads them on a device.

use std::ops::Range;
use std::sync::Arc;

use crate::claim::Claim;
use crate::record::Record;

/// The bytes are in the list of those that are frozen.
pub(super) struct Mark {
    record: Arc<Record>,
    bytes: Range<u64>,
}

impl Mark {
    pub fn of(claim: &Claim) -> Mark {
        let (record, bytes) = (Arc::clone(&claim.record), claim.bytes.clone());
        hal::locks::lock(&record.state).frozen.push(bytes.clone());
        Mark { record, bytes }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let frozen = &mut hal::locks::lock(&self.record.state).frozen;
        if let Some(place) = frozen.iter().position(|bytes| *bytes == self.bytes) {
            frozen.swap_remove(place);
        }
    }
}
