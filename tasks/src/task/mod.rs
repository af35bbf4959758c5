//! Tasks: functions with an order between them, on the device and on the host.
//!
//! `docs/tasks.md` teaches them in ten minutes, with programs.

mod bridge;
mod builder;
mod handle;
mod tasks;
mod template;

pub use crate::work::fault::{Error, Fault, Reason};
pub use crate::work::function::{Launches, More, WorkResult};
pub use crate::work::kernel::{Arguments, Kernel, Shape};
pub use crate::work::lane::Lane;
pub use builder::TaskBuilder;
pub use graph::{Order, Refused};
pub use handle::Handle;
pub use tasks::{Group, Tasks};
pub use template::{Recording, Replay, Step, Template};
