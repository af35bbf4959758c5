//! What this machine really does with copies: how many hardware queues they have and how streams get one, which stream
//! memory operations work. Measured, not assumed: a stream that waits also holds up every stream that shares its queue,
//! the sharing follows neither from documentation nor from an attribute, and environment variables change it.
//!
//! Nothing here can hang. A stream is only ever made to wait for a word that the CPU opens with a plain store, every
//! look has a deadline in host time, and what has not drained by its deadline is left allocated and reported.

mod memops;
mod queues;
mod rig;

pub use memops::{MemOpSupport, Support, WaitSupport, probe_mem_ops};
pub use queues::{Assignment, ProbeOptions, QueueMap, probe_queues};
pub use rig::{HOST_DIRECTIONS, Rig, STREAM_PRIORITY_DEFAULT};
