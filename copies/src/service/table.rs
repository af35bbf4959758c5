//! The pinned memory in which the kernel finds the pieces of a batch.
#![allow(unsafe_code)] // memory of the driver's, which the device reads

use std::sync::Arc;

use hal::{DevicePtr, Driver, HostAllocFlags, Result};

use super::entry::Piece;

/// Pinned memory for pieces.
pub(super) struct Table {
    driver: Arc<dyn Driver>,
    pieces: *mut Piece,
    seen_by_device: DevicePtr,
    capacity: usize,
}

// SAFETY: the memory belongs to the table alone, and is written through `&mut` only.
unsafe impl Send for Table {}
// SAFETY: a shared table gives out numbers only.
unsafe impl Sync for Table {}

impl Table {
    /// Memory for so many pieces, in the current context.
    pub(super) fn new(driver: &Arc<dyn Driver>, capacity: usize) -> Result<Table> {
        let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
        let memory = driver.host_alloc((capacity * size_of::<Piece>()) as u64, flags)?;
        // Built before the next call that can fail, so that it is dropped then.
        let mut table =
            Table { driver: Arc::clone(driver), pieces: memory.cast(), seen_by_device: DevicePtr::NULL, capacity };
        table.seen_by_device = driver.host_device_pointer(memory)?;
        Ok(table)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The device's address of the first piece.
    pub(super) fn address(&self) -> DevicePtr {
        self.seen_by_device
    }

    /// Writes a piece. No launch that reads this table is under way: the owner of a table that is read shares it.
    pub(super) fn write(&mut self, index: usize, piece: Piece) {
        assert!(index < self.capacity, "piece {index} of {}", self.capacity);
        // SAFETY: the memory holds `capacity` pieces, is aligned to a page, and nothing else refers to it.
        unsafe { self.pieces.add(index).write(piece) };
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // An error means that the context is gone, and its memory with it.
        // SAFETY: the memory came from this driver, and no reference to it exists.
        let _ = unsafe { self.driver.host_free(self.pieces.cast()) };
    }
}
