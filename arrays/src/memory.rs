//! The host memory of an array.
#![allow(unsafe_code)] // the heap only knows its address

use std::any::Any;
use std::ptr::NonNull;

use bytemuck::Pod;
use overtake_memory::buffer::PinnedBuffer;
use overtake_memory::heap::{Block, Heap};

/// The alignment of an array. A type that needs more is refused.
pub(super) const ALIGN_BYTES: u64 = 256;

/// Pinned memory of the host: a block of a heap, or a buffer of the caller's.
pub(super) struct HostMemory {
    /// Its address.
    start: u64,
    owner: Owner,
}

/// The owner of memory: it is dropped when no task uses the memory any more.
pub(super) type Owner = Box<dyn Any + Send + Sync>;

impl HostMemory {
    /// A block of zeros: no reference to memory without contents comes of it.
    pub fn zeros(heap: &Heap, bytes: u64) -> hal::Result<HostMemory> {
        let block = heap.alloc(bytes, ALIGN_BYTES, "arrays")?;
        let start = block.host_pointer().expect("pinned memory has an address on the host");
        // SAFETY: the block has so many bytes, and no other part knows it yet.
        unsafe { start.write_bytes(0, bytes as usize) };
        Ok(HostMemory { start: address(start), owner: Box::new(block) })
    }

    /// The caller's memory, which [`HostMemory::into_buffer`] gives back.
    pub fn lent<T: Pod>(buffer: PinnedBuffer<T>) -> HostMemory
    where
        PinnedBuffer<T>: Send + Sync,
    {
        HostMemory { start: buffer.start() as u64, owner: Box::new(buffer) }
    }

    /// The caller's memory at this address, with its owner.
    pub fn adopted(start: u64, owner: Owner) -> HostMemory {
        HostMemory { start, owner }
    }

    /// Whether it is the caller's.
    pub fn is_lent(&self) -> bool {
        !self.owner.is::<Block>()
    }

    /// Its address.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The caller's buffer. None if the memory is a heap's.
    pub fn into_buffer<T: Pod>(self) -> Option<PinnedBuffer<T>> {
        self.owner.downcast().ok().map(|buffer| *buffer)
    }
}

fn address(start: NonNull<u8>) -> u64 {
    start.as_ptr() as u64
}
