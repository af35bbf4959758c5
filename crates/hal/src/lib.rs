//! The seam between overtake and a CUDA driver.
//!
//! Everything above this crate talks to a [`Driver`]; two implementations stand below it: the real `libcuda.so.1`
//! (`overtake::driver`) and the software GPU (`overtake-softgpu`). This page is the contract between the two sides; it
//! was written before the second implementation existed, and `tests/conformance` holds both to it.
//!
//! # Contract
//!
//! **Who validates.** The implementation does, exactly as the CUDA driver would: a bad argument comes back as an
//! [`Error`] with the driver's own code, never as a panic. The trait adds no checks of its own.
//!
//! **What blocks.** Only these may block the calling thread until the device has made progress: `*_synchronize`,
//! the synchronous copies, copies from or to pageable host memory, `host_free`, `mem_free`, `module_load` and
//! [`Host::wait_until`]. Any submission may block when its stream already holds as many operations as the hardware
//! takes (about a thousand). Everything else returns without waiting for the device.
//!
//! **Threads.** Every method may be called from any thread. A thread must have a current context
//! ([`Driver::context_set_current`]) before it calls anything that needs one; the current context is a property of the
//! thread. Two threads that submit to the same stream are ordered by the driver, in whichever order they enter it.
//!
//! **Memory.** Host pointers handed to an asynchronous copy must stay valid until the copy has completed, unless the
//! memory is pageable: then the source has been consumed (H2D) or the copy has completed (D2H) on return. That duty
//! makes the copy methods `unsafe`.
//!
//! **Time.** Nobody above the seam reads a clock, sleeps or spins on its own: time belongs to the device, because the
//! software GPU's is virtual. All of it goes through [`Driver::host`].
//!
//! **Errors.** An error names the call ([`Error::call`]) and carries the CUresult as a newtype ([`Code`]), so a code
//! that this crate has never heard of is still carried faithfully.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![deny(unsafe_code)]

mod copy;
mod device;
mod driver;
mod error;
mod handle;
mod host;
mod launch;
mod memop;
mod memory;
mod stream;
mod time;

pub use copy::{Copy2d, Copy3d, Endpoint, Plane, Volume};
pub use device::{Attribute, Device, Uuid};
pub use driver::{Driver, beside_captures};
pub use error::{Code, Error, Result};
pub use handle::{Context, DevicePtr, Event, Function, Graph, Module, Stream};
pub use host::{Host, HostThread, ThreadToken, Wait, spawn};
pub use launch::Launch;
pub use memop::{MemOp, WaitCondition, Width};
pub use memory::{HostAllocFlags, HostRegisterFlags, MemoryKind, PointerInfo};
pub use stream::{CaptureMode, CaptureStatus, EventFlags, PriorityRange, StreamFlags};
pub use time::Nanos;
