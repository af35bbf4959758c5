//! A software GPU: hardware queues, copy engines, stream memory operations and virtual time.
//!
//! It stands behind [`hal::Driver`], so that all code above the seam can be tested without a GPU, deterministically,
//! against the hazards of real hardware. Every constant is a parameter ([`Parameters`]) that was fitted to
//! measurements. `model/README.md` explains the mechanisms, and `tests/fidelity` replays the measurements.
//!
//! # Supported
//! - Devices and attributes, primary and own contexts, several processes ([`SoftGpu::process`]) on several devices.
//! - Streams with both default streams, events with timing, capture in its three modes, and graphs of
//!   captured kernels, copies, memsets, waits and writes.
//! - Device, pinned and registered memory under unified addressing; copies in 1D, 2D and 3D of every kind, peer copies,
//!   memsets, pageable copies that consume their source before they return.
//! - Memory of pools, and pieces of memory mapped into reserved addresses ([`SoftGpu::map`]). Kernels fault on memory
//!   of other contexts, unless peer access was enabled, and where they write to memory registered for reading only.
//! - Memory and semaphores of another API, by descriptor ([`ForeignMemory`], [`ForeignSemaphore`]).
//! - Waits and writes of 32 and 64 bits with all four conditions, and batches of up to 255.
//! - PTX modules whose kernels are registered by name ([`KernelSpec`]; [`BUILTIN_PTX`] lists those that always are).
//! - Injected faults ([`Fault`]), a trace, counts, and the proof of a deadlock with its report ([`Deadlock`]).
//!
//! # Rejected
//! - Graphs with pageable copies, frees, signals of another API or other graphs: `NOT_SUPPORTED` when they are made
//!   ready, and a launch into a capture.
//! - An image that is not PTX, or PTX with a kernel that is not registered: `INVALID_IMAGE`. PTX that does not parse,
//!   or whose parameters differ from the registered ones: `INVALID_PTX`.
//! - Mapped memory of other devices than the first, of a part of a memory, or of one that was mapped before:
//!   `NOT_SUPPORTED`. Copies and sets to memory registered for reading only: `INVALID_VALUE`.
//! - PTX of a later version than the driver of the preset knows: `UNSUPPORTED_PTX_VERSION`. The sizes of a kernel's
//!   parameters before CUDA 12.4: `NOT_FOUND`.
//! - Attributes that are not modelled: `INVALID_VALUE`. All other mistakes are refused as the driver refuses them.
//! - Stuck for ever under the stepped clock: a blocked call returns `LAUNCH_TIMEOUT` with the report of the deadlock,
//!   where a real driver would never return.
//!
//! Only [`Builder::environment`] reads `OVERTAKE_SOFT_PRESET`, `OVERTAKE_SOFT_FAULTS`, `OVERTAKE_SOFT_DEVICES`,
//! `OVERTAKE_SOFT_HANDLES` and CUDA's two connection variables.
//!
//! ```
//! use hal::Driver;
//!
//! let gpu = overtake_softgpu::SoftGpu::builder().build();
//! let context = gpu.primary_context_retain(hal::Device(0)).unwrap();
//! gpu.context_set_current(Some(context)).unwrap();
//! let memory = gpu.mem_alloc(1 << 20).unwrap();
//! gpu.memset_d8_async(memory, 7, 1 << 20, hal::Stream::LEGACY).unwrap();
//! gpu.context_synchronize().unwrap();
//! assert_eq!(gpu.live().operations, 0);
//! ```
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

mod attribute;
mod builder;
mod builtin;
mod copy_kernel;
mod driver;
mod fault;
mod foreign;
mod gpu;
mod host;
mod kernel;
mod lookup;
mod mapping;
mod model;
mod pageable;
mod parameters;
mod planted;
mod ptx;
mod raw;
mod shape;
mod submit;

pub use builder::{Builder, Connections, DEVICES, FAULTS, HANDLES, MAX_CONNECTIONS, MAX_COPY_CONNECTIONS, PRESET};
pub use builtin::BUILTIN_PTX;
pub use fault::Fault;
pub use foreign::{ForeignMemory, ForeignSemaphore};
pub use gpu::SoftGpu;
pub use host::Clock;
pub use kernel::{Direction, Io, KernelSpec, Running, Step};
pub use model::{Blocked, Counts, Deadlock, Live, Payload, TraceEntry};
pub use parameters::{
    CopyKernelParameters, DeviceParameters, EngineParameters, HostParameters, KernelParameters, MemopParameters,
    Parameters, PeerParameters, QueueParameters,
};
pub use planted::Planted;
