//! Device memory that several copies may share.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use copies::{Inner, Overtake};
use hal::{DevicePtr, Result};

use crate::buffer::bytes_of;

/// Device memory, or a part of it. Clones, parts and copies share the memory, which is freed with the last of them.
/// Its contents are undefined until a copy or a kernel writes them.
///
/// Copies and kernels that use the same bytes at the same time need an order, by their stream or by
/// [`copies::PriorityStream::wait_for`]. Without one the values of those bytes are undefined.
///
/// # Example
/// ```
/// # use overtake::hal::{Device, Driver};
/// # use overtake::{Options, Overtake, Priority};
/// use overtake::buffer::{DeviceBuffer, PinnedBuffer};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
/// # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// # let stream = overtake.stream(Priority::LOWEST)?;
/// let layers = DeviceBuffer::<u16>::new(&overtake, 4096)?;
/// let second = layers.part(1024..2048);
/// assert_eq!(second.pointer(), layers.pointer().offset(2048));
///
/// let mut pinned = PinnedBuffer::new(&overtake, second.len())?;
/// pinned.fill(7);
/// pinned.copy_to(&second, &stream)?.wait()?;
/// # Ok::<(), hal::Error>(())
/// ```
pub struct DeviceBuffer<T: Pod> {
    memory: Arc<Memory>,
    elements: Range<usize>,
    element: PhantomData<fn(T) -> T>,
}

/// An allocation of the driver's.
struct Memory {
    start: DevicePtr,
    inner: Arc<Inner>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error means that the context is gone, and with it the memory.
        let _ = self.inner.beside_all(|driver| driver.mem_free(self.start));
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Memory for so many elements, with undefined contents.
    pub fn new(overtake: &Overtake, length: usize) -> Result<DeviceBuffer<T>> {
        let inner = overtake.inner();
        let bytes = bytes_of::<T>(length)?;
        let start = inner.beside_all(|driver| driver.mem_alloc(bytes))?;
        let memory = Arc::new(Memory { start, inner: Arc::clone(inner) });
        Ok(DeviceBuffer { memory, elements: 0..length, element: PhantomData })
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether it is a part without elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements of a range, in the same memory.
    ///
    /// # Panics
    /// If the range ends before it begins, or after the last element.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> DeviceBuffer<T> {
        let (length, first) = (self.len(), self.elements.start);
        assert!(range.start <= range.end && range.end <= length, "{range:?} is no part of {length} elements");
        DeviceBuffer { elements: first + range.start..first + range.end, ..self.clone() }
    }

    /// The address of the first element, for kernels. It is valid while any clone, part or copy of the memory is.
    #[must_use]
    pub fn pointer(&self) -> DevicePtr {
        self.memory.start.offset((self.elements.start * size_of::<T>()) as u64)
    }

    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.memory.inner
    }
}

impl<T: Pod> Clone for DeviceBuffer<T> {
    fn clone(&self) -> DeviceBuffer<T> {
        DeviceBuffer { memory: Arc::clone(&self.memory), elements: self.elements.clone(), element: PhantomData }
    }
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, length) = (self.pointer(), self.len());
        f.debug_struct("DeviceBuffer").field("start", &start).field("length", &length).finish_non_exhaustive()
    }
}
