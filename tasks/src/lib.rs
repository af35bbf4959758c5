//! Tasks with an order between them, on the device and on the host, and the dispatcher that runs them. Users depend on
//! the crate `overtake`, which exports [`task`], [`dispatch`] and [`queues`].
//!
//! | folder | content |
//! |---|---|
//! | `task/` | the calls of a user: sets of tasks, their handles, templates |
//! | `dispatch/` | the dispatcher: lanes, marks, threads |
//! | `work/` | a task's function, the lane in which it is launched, its outcome and its failure |
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![deny(unsafe_code)]

pub mod dispatch;
pub mod queues;
pub mod task;
#[doc(hidden)]
pub mod within;
mod work;
