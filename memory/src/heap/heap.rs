//! The heap and its calls.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contexts::CudaContext;
use copies::Overtake;
use hal::Result;

use crate::heap::book::Request;
use crate::heap::shared::Shared;
use crate::heap::source::Source;
use crate::heap::{Block, Closed, HeapOptions, HeapStatistics, Space};

/// Memory of one kind, in pages of the driver's, handed out in blocks. Any thread may use it; blocks may be dropped on
/// any thread.
pub struct Heap {
    shared: Arc<Shared>,
    is_warming_up: AtomicBool,
    is_closed: bool,
}

impl Heap {
    /// A heap of the context, which warms up: until [`Heap::settle`] it gets pages when it needs them. A heap of device
    /// memory makes one stream.
    ///
    /// Where a copy layer is open in the context, use [`Heap::open_beside`], so that its copies go on while pages come
    /// and go.
    pub fn open(context: &CudaContext, space: Space, options: HeapOptions) -> Result<Heap> {
        Heap::begin(context, None, space, options)
    }

    /// A heap of the layer's context, which announces to the layer each call that may keep copies out of the driver.
    pub fn open_beside(overtake: &Overtake, space: Space, options: HeapOptions) -> Result<Heap> {
        Heap::begin(overtake.cuda_context(), Some(overtake), space, options)
    }

    fn begin(context: &CudaContext, layer: Option<&Overtake>, space: Space, options: HeapOptions) -> Result<Heap> {
        options.check()?;
        let shared = Arc::new(Shared::new(Source::new(context, layer, space)?, options));
        let heap = Heap { shared, is_warming_up: AtomicBool::new(true), is_closed: false };
        heap.reserve(options.reserve_bytes)?;
        Ok(heap)
    }

    /// A block that begins at a multiple of `align_bytes`, a power of two; it is a multiple of 256 in any case. The
    /// owner is a name for the statistics and the report of leaks; use few different ones.
    pub fn alloc(&self, bytes: u64, align_bytes: u64, owner: &str) -> Result<Block> {
        let taken = self.shared.take(&Request { bytes, align_bytes, owner })?;
        Ok(Block::new(taken, &self.shared))
    }

    /// Has at least so many bytes in pages, in use or not.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        self.shared.reserve(bytes)
    }

    /// Ends the warming up. From now on device memory comes in the order of a stream, which stops no copy, and pinned
    /// memory in a [`Heap::pause`] only.
    pub fn settle(&self) {
        if self.is_warming_up.swap(false, Ordering::Relaxed)
            && let Ok(mut book) = self.shared.book()
        {
            book.pauses -= 1;
        }
    }

    /// Declares that copies and kernels may be held up until the pause is dropped: pages may come and go.
    pub fn pause(&self) -> Pause<'_> {
        if let Ok(mut book) = self.shared.book() {
            book.pauses += 1;
        }
        Pause { shared: &self.shared }
    }

    /// The kind of its memory.
    #[must_use]
    pub fn space(&self) -> Space {
        self.shared.space()
    }

    /// The counts at this moment.
    #[must_use]
    pub fn statistics(&self) -> HeapStatistics {
        self.shared.statistics()
    }

    /// Gives all memory back, and tells which blocks are still in use. Dropping the heap does the same, and logs it.
    pub fn close(mut self) -> Closed {
        self.is_closed = true;
        self.shared.close()
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let closed = self.shared.close();
        if !closed.is_clean() {
            log::warn!("{closed}");
        }
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Heap").field(&self.statistics()).finish()
    }
}

/// A time in which pages may come and go, at the cost of copies and kernels.
#[must_use = "the pause ends when this is dropped"]
pub struct Pause<'a> {
    shared: &'a Shared,
}

impl Pause<'_> {
    /// Gives pages without blocks back until at most `keep_bytes` are reserved, as far as there are such pages. Returns
    /// the bytes that went.
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        self.shared.trim(keep_bytes)
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        if let Ok(mut book) = self.shared.book() {
            book.pauses -= 1;
        }
    }
}

impl fmt::Debug for Pause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pause").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use copies::Options;
    use testkit::fixture::failure::ensure;
    use testkit::fixture::faulty::Faulty;
    use testkit::fixture::forks::in_child;

    use super::*;
    use crate::buffer::{DeviceBuffer, PinnedBuffer};

    /// Another thread of the parent may have held the lock of the books.
    #[test]
    fn the_child_of_a_fork_takes_nothing_and_gives_nothing_back() {
        let gpu: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        // The child counts calls by an atomic: a thread of the layer may have had the software GPU's lock.
        let calls = Faulty::new(&gpu, hal::Code::UNKNOWN);
        let driver: Arc<dyn hal::Driver> = Arc::clone(&calls) as _;
        let overtake = Overtake::open(&driver, hal::Device(0), Options::default()).unwrap();
        let heap = Heap::open_beside(&overtake, Space::Device, HeapOptions::default()).unwrap();
        let blocks = [(); 2].map(|()| heap.alloc(1000, 1, "test").unwrap());
        let buffers = (DeviceBuffer::<u8>::new(&overtake, 8).unwrap(), PinnedBuffer::<u8>::new(&overtake, 8).unwrap());
        let shared = Arc::clone(&heap.shared);
        let mut all = Some((heap, blocks, buffers));
        let book = shared.book().unwrap();
        let end = in_child(|| {
            let before = calls.calls();
            let (heap, blocks, buffers) = all.take().expect("the child has taken nothing before");
            ensure!(heap.alloc(1, 1, "child").is_err() && heap.reserve(1 << 40).is_err(), "it has memory");
            ensure!(heap.pause().trim(0).is_err(), "it has the parent's");
            ensure!(heap.statistics().blocks == 0, "it counts the parent's");
            heap.settle();
            drop((blocks, buffers));
            ensure!(Heap::open_beside(&overtake, Space::Device, HeapOptions::default()).is_err(), "it has a heap");
            ensure!(heap.close().is_clean() && calls.calls() == before, "it has called the driver");
            Ok(())
        });
        drop(book);
        end.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
