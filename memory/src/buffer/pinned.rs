//! Pinned host memory that is a slice while no copy uses it.
#![allow(unsafe_code)] // the driver allocates and frees the memory, and only knows its address

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use copies::{Inner, Overtake};
use hal::{Code, Driver, HostAllocFlags, Result};

use crate::buffer::bytes_of;

/// Pinned host memory: a slice of numbers that the device copies at full speed.
///
/// To allocate and to free it takes long, and a driver may wait for the device meanwhile. Use a buffer again rather
/// than making a new one.
pub struct PinnedBuffer<T: Pod> {
    elements: NonNull<[T]>,
    inner: Arc<Inner>,
}

// SAFETY: the buffer owns its elements as a boxed slice does. Any thread may free them, because that happens in the
// layer's context.
unsafe impl<T: Pod + Send> Send for PinnedBuffer<T> {}
// SAFETY: a shared buffer hands out shared references only.
unsafe impl<T: Pod + Sync> Sync for PinnedBuffer<T> {}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Inner>();
};

impl<T: Pod> PinnedBuffer<T> {
    /// Memory for so many elements, all zero.
    pub fn new(overtake: &Overtake, length: usize) -> Result<PinnedBuffer<T>> {
        let inner = overtake.inner();
        let (bytes, flags) = (bytes_of::<T>(length)?, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP));
        let start = inner.beside_all(|driver| driver.host_alloc(bytes, flags))?;
        let refused = |detail| Code::INVALID_VALUE.at("overtake PinnedBuffer").because(detail);
        let first = NonNull::new(start.cast::<T>()).ok_or_else(|| refused("the driver's memory has no address"))?;
        let buffer = PinnedBuffer { elements: NonNull::slice_from_raw_parts(first, length), inner: Arc::clone(inner) };
        if !first.is_aligned() {
            return Err(refused("the driver's memory is not aligned for such elements"));
        }
        // SAFETY: the memory has been allocated for so many elements, is aligned, and is this buffer's alone.
        unsafe { first.write_bytes(0, length) };
        Ok(buffer)
    }

    /// The address of the first element, for copies and kernels that take addresses. It is valid until the buffer is
    /// dropped.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.elements.as_ptr().cast()
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the elements are initialised, and live as long as the buffer. A copy that writes to them owns the
        // buffer and hands out no reference to it.
        unsafe { self.elements.as_ref() }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and the buffer is borrowed by this call alone.
        unsafe { self.elements.as_mut() }
    }
}

impl<T: Pod> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, length) = (self.elements.cast::<T>(), self.len());
        f.debug_struct("PinnedBuffer").field("start", &start).field("length", &length).finish_non_exhaustive()
    }
}

impl<T: Pod> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: the memory came from `host_alloc`, and its only owner goes now.
        let free = |driver: &dyn Driver| unsafe { driver.host_free(self.start()) };
        // An error means that the context is gone, and with it the memory.
        let _ = self.inner.beside_all(free);
    }
}
