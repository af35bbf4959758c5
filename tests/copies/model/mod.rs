//! Properties that only a model can show: faults, machines with few queues, and leftovers.

pub mod bounds;
pub mod buffers;
pub mod captures;
pub mod closing;
pub mod deadlock;
pub mod faults;
pub mod flat;
pub mod guard;
pub mod heaps;
pub mod lull;
pub mod panics;
pub mod peers;
pub mod programs;
pub mod queues;
pub mod rescue;
pub mod service;
pub mod staging;
mod stall;
pub mod turns;
pub mod unpinned;

use testkit::fixture::machine::{Held, on};
