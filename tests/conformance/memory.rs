//! Buffers, and safe wrappers of the unsafe methods of the seam. This is the only file of the suite with unsafe code.
//!
//! Two rules make the wrappers safe. Every buffer belongs to a [`Rig`], which frees nothing before all its streams
//! are idle (else it leaks). Every wrapper checks its range against the buffers before the call.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use hal::{Context, DevicePtr, Driver, Function, GraphExec, HostAllocFlags, HostRegisterFlags, Launch, Shape, Stream};

use crate::place::{self, Block, Buffer, Extent, Side};
use crate::rig::Rig;

const PAGE_BYTES: usize = 4096;

/// A block of the program's own heap, on separate pages.
struct HeapBlock {
    base: NonNull<u8>,
    layout: Layout,
}

impl HeapBlock {
    fn new(bytes: usize) -> HeapBlock {
        assert!(bytes > 0, "an empty block has no address");
        let layout = Layout::from_size_align(bytes.next_multiple_of(PAGE_BYTES), PAGE_BYTES).expect("a small layout");
        // SAFETY: the layout is not empty, as asserted above.
        let base = unsafe { alloc_zeroed(layout) };
        HeapBlock { base: NonNull::new(base).expect("the heap is exhausted"), layout }
    }
}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc_zeroed` with this very layout and is freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// The origin of pinned memory.
enum Origin {
    Driver,
    Registered(ManuallyDrop<HeapBlock>),
}

/// Pinned host memory that the CPU and the device both read and write. A forgotten value is leaked, because the
/// device may still use it.
pub struct Pinned {
    base: NonNull<u8>,
    bytes: u64,
    origin: Origin,
}

// SAFETY: the memory is reached through raw pointers only, never through references to its bytes, and the words that
// threads race on are reached as atomics; the address stays valid until `release` consumes the value.
unsafe impl Send for Pinned {}
// SAFETY: as for `Send`.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// From the driver, mapped and portable.
    pub fn allocate(driver: &dyn Driver, bytes: u64) -> hal::Result<Pinned> {
        let base = driver.host_alloc(bytes, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))?;
        let base = NonNull::new(base).expect("host_alloc succeeded with a null pointer");
        Ok(Pinned { base, bytes, origin: Origin::Driver })
    }

    /// From the heap, registered with the driver.
    pub fn register(driver: &dyn Driver, bytes: u64) -> hal::Result<Pinned> {
        let block = HeapBlock::new(bytes as usize);
        let flags = HostRegisterFlags(HostRegisterFlags::PORTABLE.0 | HostRegisterFlags::DEVICEMAP.0);
        // SAFETY: the block is mapped for at least `bytes`, and `release` unregisters it before it frees it.
        unsafe { driver.host_register(block.base.as_ptr(), bytes, flags)? };
        Ok(Pinned { base: block.base, bytes, origin: Origin::Registered(ManuallyDrop::new(block)) })
    }

    /// Gives the memory back.
    pub fn release(self, driver: &dyn Driver) -> hal::Result<()> {
        match self.origin {
            // SAFETY: `base` came from `host_alloc`, and consuming `self` ends the last use of it.
            Origin::Driver => unsafe { driver.host_free(self.base.as_ptr()) },
            Origin::Registered(block) => {
                driver.host_unregister(self.base.as_ptr())?;
                drop(ManuallyDrop::into_inner(block));
                Ok(())
            }
        }
    }

    /// The start, for the host.
    pub fn pointer(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The start, as a number.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// The pointer to a range that lies inside the buffer.
    pub fn range(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{offset} + {bytes} > {}", self.bytes);
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// Stores bytes. The device must not be using them.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let target = self.range(offset, bytes.len() as u64);
        // SAFETY: `range` has shown that the target lies inside the buffer; `bytes` is a slice of other memory.
        unsafe { std::ptr::copy(bytes.as_ptr(), target, bytes.len()) }
    }

    /// Loads bytes. The device must have finished with them.
    pub fn read(&self, offset: u64, bytes: u64) -> Vec<u8> {
        let source = self.range(offset, bytes);
        let mut result = vec![0; bytes as usize];
        // SAFETY: `range` has shown that the source lies inside the buffer; `result` is fresh and as long.
        unsafe { std::ptr::copy_nonoverlapping(source, result.as_mut_ptr(), result.len()) };
        result
    }

    /// All bytes.
    pub fn read_all(&self) -> Vec<u8> {
        self.read(0, self.bytes)
    }

    /// A word that CPU and device may both access at any time.
    pub fn word32(&self, offset: u64) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "a word must be aligned");
        // SAFETY: in range and aligned (the base is page-aligned); the memory outlives `self`'s borrow.
        unsafe { AtomicU32::from_ptr(self.range(offset, 4).cast()) }
    }

    /// As [`Pinned::word32`], with 64 bits.
    pub fn word64(&self, offset: u64) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "a word must be aligned");
        // SAFETY: in range and aligned (the base is page-aligned); the memory outlives `self`'s borrow.
        unsafe { AtomicU64::from_ptr(self.range(offset, 8).cast()) }
    }
}

/// The wrappers. Each range is inside a buffer of a rig, and a rig frees no buffer before its streams are idle.
impl Rig {
    /// Pinned host memory to device memory.
    pub fn htod(&self, target: (Buffer, u64), source: (&Pinned, u64), bytes: u64, stream: Stream) -> hal::Result<()> {
        let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
        // SAFETY: `from` is readable for `bytes` (checked) and outlives the copy (the rig's rule above).
        unsafe { self.driver().copy_htod_async(to, from, bytes, stream) }
    }

    /// Device memory to pinned host memory.
    pub fn dtoh(&self, target: (&Pinned, u64), source: (Buffer, u64), bytes: u64, stream: Stream) -> hal::Result<()> {
        let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
        // SAFETY: `to` is writable for `bytes` (checked) and outlives the copy (the rig's rule above).
        unsafe { self.driver().copy_dtoh_async(to, from, bytes, stream) }
    }

    /// Device memory to device memory.
    pub fn dtod(&self, target: (Buffer, u64), source: (Buffer, u64), bytes: u64, stream: Stream) -> hal::Result<()> {
        let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
        // SAFETY: both ranges are allocated (checked) and outlive the copy (the rig's rule above).
        unsafe { self.driver().copy_dtod_async(to, from, bytes, stream) }
    }

    /// A copy between addresses of any kind.
    pub fn copy_any(&self, target: (Side, u64), source: (Side, u64), bytes: u64, stream: Stream) -> hal::Result<()> {
        let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
        // SAFETY: both ranges are valid (checked) and outlive the copy (the rig's rule above).
        unsafe { self.driver().copy_async(to, from, bytes, stream) }
    }

    /// From one device to another.
    pub fn copy_peer(
        &self,
        target: (Buffer, u64, Context),
        source: (Buffer, u64, Context),
        bytes: u64,
        stream: Stream,
    ) -> hal::Result<()> {
        let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
        // SAFETY: both ranges are allocated (checked) and outlive the copy (the rig's rule above).
        unsafe { self.driver().copy_peer_async(to, target.2, from, source.2, bytes, stream) }
    }

    /// A copy of two dimensions or, where the depth is not 1, of three.
    pub fn copy_box(&self, target: Block, source: Block, extent: Extent, stream: Stream) -> hal::Result<()> {
        target.check(extent);
        source.check(extent);
        // SAFETY: both boxes are valid (checked) and outlive the copy (the rig's rule above).
        unsafe { self.driver().copy_shape_async(&place::shape(&target, &source, extent), stream) }
    }

    /// Pageable host memory to device memory, asynchronously: the source has been consumed on return.
    pub fn htod_pageable(&self, target: (Buffer, u64), source: &[u8], stream: Stream) -> hal::Result<()> {
        let to = target.0.range(target.1, source.len() as u64);
        // SAFETY: the source is a live slice; being pageable it is not needed after the call.
        unsafe { self.driver().copy_htod_async(to, source.as_ptr(), source.len() as u64, stream) }
    }

    /// Device memory to pageable host memory, asynchronously: the copy has completed on return.
    pub fn dtoh_pageable(&self, target: &mut [u8], source: (Buffer, u64), stream: Stream) -> hal::Result<()> {
        let (bytes, from) = (target.len() as u64, source.0.range(source.1, target.len() as u64));
        // SAFETY: the target is a live exclusive slice; being pageable it is not written after the call.
        unsafe { self.driver().copy_dtoh_async(target.as_mut_ptr(), from, bytes, stream) }
    }

    /// Host memory to device memory, synchronously.
    pub fn htod_now(&self, target: (Buffer, u64), source: &[u8]) -> hal::Result<()> {
        let to = target.0.range(target.1, source.len() as u64);
        // SAFETY: the source is a live slice, and the copy does not outlive the call.
        unsafe { self.driver().copy_htod(to, source.as_ptr(), source.len() as u64) }
    }

    /// Device memory to host memory, synchronously.
    pub fn dtoh_now(&self, source: (Buffer, u64), bytes: u64) -> hal::Result<Vec<u8>> {
        let from = source.0.range(source.1, bytes);
        let mut target = vec![0; bytes as usize];
        // SAFETY: the target is a live exclusive slice, and the copy does not outlive the call.
        unsafe { self.driver().copy_dtoh(target.as_mut_ptr(), from, bytes)? };
        Ok(target)
    }

    /// One of the built-in kernels, with arguments already checked by the caller's types.
    fn launch(&self, function: Function, parameters: &[*mut c_void], stream: Stream) -> hal::Result<()> {
        let (grid, block) = ([1; 3], [1; 3]);
        let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters };
        // SAFETY: called only by the doors below, with the parameters that the kernels in `builtin.ptx` declare.
        unsafe { self.driver().launch(&launch) }
    }

    /// Launches a graph.
    pub fn launch_graph(&self, graph: GraphExec, stream: Stream) -> hal::Result<()> {
        // SAFETY: the captured operations are those of the wrappers here, with memory of a rig that outlives them.
        unsafe { self.driver().graph_launch(graph, stream) }
    }

    pub fn launch_noop(&self, noop: Function, stream: Stream) -> hal::Result<()> {
        self.launch(noop, &[], stream)
    }

    pub fn launch_spin(&self, spin: Function, mut span_ns: u64, stream: Stream) -> hal::Result<()> {
        self.launch(spin, &[(&raw mut span_ns).cast()], stream)
    }

    /// `soft_atomic_add_u32` on a word of a buffer.
    pub fn launch_add(&self, add: Function, word: (Buffer, u64), mut addend: i32, stream: Stream) -> hal::Result<()> {
        let mut address = word.0.range(word.1, 4);
        self.launch(add, &[(&raw mut address).cast(), (&raw mut addend).cast()], stream)
    }

    /// `soft_store_u32` on a word of a buffer.
    pub fn launch_store(
        &self,
        store: Function,
        word: (Buffer, u64),
        mut value: u32,
        stream: Stream,
    ) -> hal::Result<()> {
        let mut address = word.0.range(word.1, 4);
        self.launch(store, &[(&raw mut address).cast(), (&raw mut value).cast()], stream)
    }
}

/// Calls that a driver has to refuse. They break the seam's safety rules in ways that the driver detects before it
/// touches memory. That it does so is the subject of the checks.
pub mod attempt {
    use super::*;

    /// An asynchronous copy to the device, which cannot be carried out.
    pub fn htod(driver: &dyn Driver, target: DevicePtr, source: u64, bytes: u64, stream: Stream) -> hal::Result<()> {
        // SAFETY: callers pass a target range that no allocation holds, or a null source: refused before a byte moves.
        unsafe { driver.copy_htod_async(target, source as *const u8, bytes, stream) }
    }

    /// An asynchronous copy from the device, which cannot be carried out.
    pub fn dtoh(driver: &dyn Driver, target: u64, source: DevicePtr, bytes: u64, stream: Stream) -> hal::Result<()> {
        // SAFETY: callers pass a source range that no allocation holds, or a null target: refused before a byte moves.
        unsafe { driver.copy_dtoh_async(target as *mut u8, source, bytes, stream) }
    }

    /// A synchronous copy to the device, which cannot be carried out.
    pub fn htod_now(driver: &dyn Driver, target: DevicePtr, source: &[u8]) -> hal::Result<()> {
        // SAFETY: the source is a live slice; the driver checks the target.
        unsafe { driver.copy_htod(target, source.as_ptr(), source.len() as u64) }
    }

    /// A synchronous copy from the device, which cannot be carried out.
    pub fn dtoh_now(driver: &dyn Driver, target: &mut [u8], source: DevicePtr) -> hal::Result<()> {
        // SAFETY: the target is a live exclusive slice; the driver checks the source.
        unsafe { driver.copy_dtoh(target.as_mut_ptr(), source, target.len() as u64) }
    }

    /// A copy inside the device, which cannot be carried out.
    pub fn dtod(
        driver: &dyn Driver,
        target: DevicePtr,
        source: DevicePtr,
        bytes: u64,
        stream: Stream,
    ) -> hal::Result<()> {
        // SAFETY: callers pass a range that no allocation holds: refused before a byte moves.
        unsafe { driver.copy_dtod_async(target, source, bytes, stream) }
    }

    /// A copy between addresses of any kind, which cannot be carried out.
    pub fn copy_any(
        driver: &dyn Driver,
        target: DevicePtr,
        source: DevicePtr,
        bytes: u64,
        stream: Stream,
    ) -> hal::Result<()> {
        // SAFETY: callers pass null for one of the two: refused before a byte moves.
        unsafe { driver.copy_async(target, source, bytes, stream) }
    }

    /// A copy between contexts, which cannot be carried out.
    pub fn copy_peer(
        driver: &dyn Driver,
        target: (DevicePtr, Context),
        source: (DevicePtr, Context),
        bytes: u64,
        stream: Stream,
    ) -> hal::Result<()> {
        // SAFETY: callers pass null for one of the two: refused before a byte moves.
        unsafe { driver.copy_peer_async(target.0, target.1, source.0, source.1, bytes, stream) }
    }

    /// A copy of two or three dimensions whose shape is wrong.
    pub fn copy_shape(driver: &dyn Driver, shape: &Shape, stream: Stream) -> hal::Result<()> {
        // SAFETY: callers pass a shape that the driver refuses before a byte moves.
        unsafe { driver.copy_shape_async(shape, stream) }
    }

    /// A launch of a kernel without parameters, with a shape or handle that is wrong.
    pub fn launch(driver: &dyn Driver, launch: &Launch) -> hal::Result<()> {
        // SAFETY: callers pass `soft_noop`, which has no parameters, or a handle that the driver refuses.
        unsafe { driver.launch(launch) }
    }

    /// A registration that the driver has to refuse.
    pub fn register(driver: &dyn Driver, base: *mut u8, bytes: u64) -> hal::Result<()> {
        // SAFETY: callers pass a range that is empty, null or registered already: refused, and nothing is pinned.
        unsafe { driver.host_register(base, bytes, HostRegisterFlags::default()) }
    }

    /// A free of host memory that frees nothing.
    pub fn host_free(driver: &dyn Driver, base: *mut u8) -> hal::Result<()> {
        // SAFETY: callers pass null or an address that the driver never returned: nothing is freed.
        unsafe { driver.host_free(base) }
    }
}
