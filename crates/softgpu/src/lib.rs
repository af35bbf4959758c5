//! A software GPU: hardware queues, copy engines, stream memory operations and virtual time.
//!
//! It stands behind [`hal::Driver`], so that everything above the seam can be tested without a GPU, deterministically,
//! against the hazards that the hardware really has. Every constant of it is a parameter ([`Parameters`]) that was fitted
//! to measurements; `model/README.md` explains the mechanisms, and `tests/fidelity.rs` replays the measurements.
//!
//! ```
//! use hal::Driver;
//!
//! let gpu = softgpu::SoftGpu::builder().build();
//! let context = gpu.primary_context_retain(hal::Device(0)).unwrap();
//! gpu.context_set_current(Some(context)).unwrap();
//! let memory = gpu.mem_alloc(1 << 20).unwrap();
//! gpu.memset_d8_async(memory, 7, 1 << 20, hal::Stream::LEGACY).unwrap();
//! gpu.context_synchronize().unwrap();
//! assert_eq!(gpu.live().operations, 0);
//! ```
#![deny(unsafe_code)]

mod attribute;
mod builder;
mod builtin;
mod copy_kernel;
mod driver;
mod fault;
mod gpu;
mod host;
mod kernel;
mod lookup;
mod model;
mod parameters;
mod planted;
mod ptx;
mod raw;
mod shape;
mod submit;

pub use builder::{Builder, Connections, DEVICES, FAULTS, MAX_CONNECTIONS, MAX_COPY_CONNECTIONS, PRESET};
pub use builtin::BUILTIN_PTX;
pub use fault::Fault;
pub use gpu::SoftGpu;
pub use host::Clock;
pub use kernel::{Direction, Io, KernelSpec, Running, Step};
pub use model::{Blocked, Counts, Deadlock, Live, Payload, TraceEntry};
pub use parameters::{
    CopyKernelParameters, DeviceParameters, EngineParameters, HostParameters, KernelParameters, MemopParameters,
    Parameters, QueueParameters,
};
pub use planted::Planted;
