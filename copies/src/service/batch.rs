//! A batch: unordered copies and sets, and the pinned memory from which the kernel reads them.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::ops::Range;
use std::sync::Arc;

use hal::{DevicePtr, Driver, Result, Stream};

use super::entry::{Entry, PIECE_BYTES};
use super::table::Table;
use crate::request::Request;

/// Copies and sets. A batch that has been submitted is shared, and a shared one cannot change: it changes again when
/// its launch has completed ([`super::batches::Batches`]).
pub(crate) struct Batch {
    entries: Vec<Entry>,
    /// `None` if the driver had no memory for it.
    table: Option<Table>,
    pieces: usize,
    bytes: u64,
}

impl Batch {
    /// An empty batch with room for so many copies of one piece. Without memory for the kernel it goes natively.
    pub(crate) fn new(driver: &Arc<dyn Driver>, capacity: usize) -> (Batch, Result<()>) {
        let table = Table::new(driver, capacity);
        let (table, error) = match table {
            Ok(table) => (Some(table), Ok(())),
            Err(error) => (None, Err(error)),
        };
        (Batch { entries: Vec::with_capacity(capacity), table, pieces: 0, bytes: 0 }, error)
    }

    /// A batch that goes natively.
    pub(crate) fn without_table() -> Batch {
        Batch { entries: Vec::new(), table: None, pieces: 0, bytes: 0 }
    }

    /// The number of pieces that it has room for: none if it goes natively.
    pub(crate) fn capacity(&self) -> usize {
        self.table.as_ref().map_or(0, Table::capacity)
    }

    /// Whether an entry of so many bytes fits beside those that it has.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.table.is_none() || self.pieces + (bytes.div_ceil(PIECE_BYTES) as usize) <= self.capacity()
    }

    /// Adds an entry that fits; the shifts lead from the driver's addresses to those of the device.
    pub(crate) fn add(&mut self, entry: Entry, target_shift: u64, source_shift: u64) {
        if let Some(table) = &mut self.table {
            for piece in entry.pieces(target_shift, source_shift) {
                table.write(self.pieces, piece);
                self.pieces += 1;
            }
        }
        self.entries.push(entry);
        self.bytes += entry.bytes;
    }

    /// Makes it empty.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        (self.pieces, self.bytes) = (0, 0);
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The copy that it consists of, if it is one copy and no more.
    pub(crate) fn only_copy(&self) -> Option<Request> {
        let [entry] = &self.entries[..] else { return None };
        entry.request()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The pieces for the kernel: their device address, and their number. `None` if it can only go natively.
    pub(crate) fn pieces(&self) -> Option<(DevicePtr, u32)> {
        self.table.as_ref().map(|table| (table.address(), self.pieces as u32))
    }

    pub(crate) fn touches(&self, memory: &Range<u64>) -> bool {
        self.entries.iter().any(|entry| entry.touches(memory))
    }

    /// Has the driver make each entry. The first failure is returned when all have been tried.
    ///
    /// # Safety
    /// The ranges of the entries stay valid until they have completed.
    pub(crate) unsafe fn make_natively(&self, driver: &dyn Driver, stream: Stream) -> Result<()> {
        // SAFETY: passed on to the caller.
        let made = self.entries.iter().map(|entry| unsafe { entry.make_natively(driver, stream) });
        made.fold(Ok(()), Result::and)
    }
}
