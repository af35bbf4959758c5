//! The seam between overtake and a CUDA driver.
//!
//! All code above this crate talks to a [`Driver`]. Two implementations stand below it: the real `libcuda.so.1`
//! (`overtake::driver`) and the software GPU (`overtake-softgpu`). This page is the contract between the two sides.
//! It was written before the second implementation existed, and `tests/conformance` holds both to it.
//!
//! # Contract
//!
//! **Validation.** The implementation validates arguments exactly as the CUDA driver does: a bad argument comes back
//! as an [`Error`] with the driver's own code, never as a panic. The trait adds no checks of its own.
//!
//! **Blocking.** Only these may block the calling thread until the device has made progress: `*_synchronize`, the
//! synchronous copies, copies from or to pageable host memory, `host_free`, `mem_free`, `module_load` and
//! [`Host::wait_until`]. Any submission may block when its stream already holds as many operations as the hardware
//! takes (about a thousand). All other methods return without waiting for the device.
//!
//! **Threads.** Every method may be called from any thread. A thread must have a current context
//! ([`Driver::context_set_current`]) before it calls anything that needs one; the current context is a property of the
//! thread. Two threads that submit to the same stream are ordered by the driver, in the order in which they enter it.
//!
//! **Memory.** Host pointers given to an asynchronous copy must stay valid until the copy has completed. With
//! pageable memory they need not: on return the source has been read (H2D) or the copy has completed (D2H). This duty
//! makes the copy methods `unsafe`.
//!
//! **Time.** Code above the seam never reads a clock, sleeps or spins on its own. Time belongs to the device, because
//! the time of the software GPU is virtual. All of it goes through [`Driver::host`].
//!
//! **Errors.** An error names the call ([`Error::call`]) and carries the CUresult as a newtype ([`Code`]), so codes
//! that this crate has no name for are carried faithfully.
//!
//! # Example
//!
//! Code above the seam takes a `&dyn Driver`, so it runs on a GPU and on the software GPU alike:
//!
//! ```
//! # use overtake_hal as hal; // the name that the workspace gives this crate
//! use hal::{Code, DevicePtr, Driver, Nanos, Stream, Wait};
//!
//! /// Fills device memory, and waits for it no longer than `patience`.
//! fn fill(driver: &dyn Driver, target: DevicePtr, bytes: u64, stream: Stream, patience: Nanos) -> hal::Result<()> {
//!     driver.memset_d8_async(target, 0xff, bytes, stream)?;
//!     let deadline = driver.host().now() + patience;
//!     while !driver.stream_query(stream)? {
//!         if driver.host().now() > deadline {
//!             return Err(Code::LAUNCH_TIMEOUT.at("fill").because("is another program using the device?"));
//!         }
//!         driver.host().sleep(Nanos::from_us(10));
//!     }
//!     Ok(())
//! }
//!
//! let error = Code::OUT_OF_MEMORY.at("cuMemAlloc_v2").because("free some memory first");
//! assert_eq!(
//!     error.to_string(),
//!     "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): free some memory first"
//! );
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod device;
mod driver;
mod error;
mod external;
mod handle;
mod host;
mod launch;
pub mod locks;
mod memop;
mod memory;
pub mod primitive;
mod shape;
mod stream;
mod time;

pub use device::{Attribute, Device, Uuid};
pub use driver::{Driver, beside_captures};
pub use error::{Code, Error, Result};
pub use external::ExternalSemaphoreKind;
pub use handle::{
    Context, DevicePtr, Event, ExternalMemory, ExternalSemaphore, Function, Graph, GraphExec, Module, Stream,
};
pub use host::{Host, HostThread, ThreadToken, Wait, spawn, spawn_small};
pub use launch::Launch;
pub use memop::{MemOp, WaitCondition, Width};
pub use memory::{HostAllocFlags, HostRegisterFlags, MemoryKind, PointerExtent, PointerInfo};
pub use shape::{Declared, Shape, Side};
pub use stream::{CaptureMode, CaptureStatus, ContextFlags, EventFlags, PriorityRange, StreamFlags};
pub use time::Nanos;
