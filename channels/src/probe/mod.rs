//! Measures how many hardware queues copies have on this machine, and how streams get one. A waiting stream also holds
//! up every stream that shares its queue. The sharing follows from neither documentation nor attributes, and environment
//! variables change it, so it is measured.
//!
//! Nothing here can hang. A stream only waits for a word that the CPU opens with a plain store, another thread opens it
//! if a call of the probe does not return (`opener.rs`), and every look has a deadline in host time. A stream that has
//! not drained by its deadline is reported, and its memory stays allocated.

mod opener;
mod queues;
mod rig;

pub use opener::Opener;
pub use queues::{Assignment, ProbeOptions, QueueMap, probe_queues, probe_queues_and_keep};
pub use rig::{HOST_DIRECTIONS, Rig, STREAM_PRIORITY_DEFAULT};
