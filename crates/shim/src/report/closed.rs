//! The figures of contexts that have closed, or are closing.

use std::collections::BTreeMap;

use crate::record::DeviceRecord;

/// The figures of closed contexts.
#[derive(Default)]
pub(crate) struct Closed {
    /// The last ones, summed up by device: a program may make contexts for ever.
    sums: BTreeMap<i32, DeviceRecord>,
    /// Those of contexts that are closing, by number.
    closing: BTreeMap<u64, DeviceRecord>,
    /// The number of contexts that have begun to close.
    pub(super) begun: u64,
}

impl Closed {
    /// A context begins to close, with these figures so far. Returns its number.
    pub(crate) fn begin(&mut self, part: DeviceRecord) -> u64 {
        self.begun += 1;
        self.closing.insert(self.begun, part);
        self.begun
    }

    /// A context has closed. Without last figures, those at the beginning count.
    pub(crate) fn end(&mut self, number: u64, last: Option<DeviceRecord>) {
        let Some(part) = self.closing.remove(&number).map(|first| last.unwrap_or(first)) else { return };
        match self.sums.get_mut(&part.device) {
            Some(sum) => sum.add(&part),
            None => drop(self.sums.insert(part.device, part)),
        }
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &DeviceRecord> {
        self.sums.values().chain(self.closing.values())
    }
}
