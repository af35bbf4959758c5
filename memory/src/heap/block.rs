//! Blocks: parts of a heap's pages.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use hal::DevicePtr;

use crate::heap::Space;
use crate::heap::book::{Place, Taken};
use crate::heap::shared::Shared;

/// A part of a heap's memory, with undefined contents. Dropping it gives it back at once, so it is kept until the work
/// of the device that uses it has completed.
///
/// It has addresses and no contents: the calls that use them are `unsafe`, and keep the block meanwhile.
pub struct Block {
    place: Place,
    start: u64,
    device_start: Option<DevicePtr>,
    shared: Arc<Shared>,
}

impl Block {
    pub(super) fn new(taken: Taken, shared: &Arc<Shared>) -> Block {
        let Taken { place, start, device_start } = taken;
        Block { place, start, device_start, shared: Arc::clone(shared) }
    }

    /// The bytes that were asked for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.place.bytes()
    }

    /// The kind of memory.
    #[must_use]
    pub fn space(&self) -> Space {
        self.shared.space()
    }

    /// The address at which the device sees it. Ordinary memory of the host has none.
    #[must_use]
    pub fn device_pointer(&self) -> Option<DevicePtr> {
        self.device_start
    }

    /// The address at which the host sees it. Memory of the device has none.
    #[must_use]
    pub fn host_pointer(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.start as *mut u8).filter(|_| self.space() != Space::Device)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.shared.give(&self.place);
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Block { start, device_start, .. } = self;
        f.debug_struct("Block")
            .field("space", &self.space())
            .field("start", &format_args!("{start:#x}"))
            .field("device_start", device_start)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
