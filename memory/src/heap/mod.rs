//! Heaps: device, pinned, write-combined and ordinary memory in blocks that cost no driver call.
//!
//! A driver that frees device or pinned memory waits for the device, and keeps every other thread's copies out
//! meanwhile. So a heap asks it for *pages* while it warms up, and hands out blocks of them. After [`Heap::settle`]
//! pages of device memory come in the order of a stream, which stops no copy, pages of pinned memory come in a declared
//! [`Heap::pause`] only, and no page goes before the heap is closed or trimmed.
//!
//! The books are kept outside the memory that is handed out, by the crate `offset-allocator`: constant time for each
//! block, at most 12.5 % of a page lost to the sizes of its bins. At its level `debug` that crate logs each block while
//! the heap's lock is held, so a logger that takes blocks of the same heap leaves that level off.
//!
//! # Example
//! ```
//! use overtake::context::CudaContext;
//! use overtake::hal::{Device, Driver};
//! use overtake::heap::{Heap, HeapOptions, Space};
//! # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
//!
//! let context = CudaContext::primary(&driver, Device(0))?;
//! let heap = Heap::open(&context, Space::Device, HeapOptions { reserve_bytes: 64 << 20, ..HeapOptions::default() })?;
//! heap.settle();
//! let frame = heap.alloc(1920 * 1080 * 4, 256, "frames")?;
//! let scratch = heap.alloc(4096, 256, "scratch")?;
//! // Submit work that uses both. When it has completed:
//! drop(scratch);
//! drop(frame);
//! assert!(heap.close().is_clean());
//! # Ok::<(), overtake::hal::Error>(())
//! ```

mod block;
mod book;
#[expect(clippy::module_inception, reason = "the file is named after its noun")]
mod heap;
mod options;
mod shared;
mod source;
mod statistics;

pub use block::Block;
pub use heap::{Heap, Pause};
pub use options::{HeapOptions, Space};
pub use statistics::{Closed, HeapStatistics, OwnerStatistics};
