//! The dispatcher: it gives the tasks of the graph to lanes of the device and to threads of the host.
//!
//! `tasks/src/dispatch/README.md` describes its states.

pub(crate) mod arrivals;
mod batch;
mod beside;
pub(crate) mod body;
mod dispatcher;
mod drain;
mod expectations;
pub(crate) mod faults;
mod held;
pub(crate) mod inside;
pub(crate) mod kit;
mod launching;
mod lock;
mod loss;
pub(crate) mod mailboxes;
pub(crate) mod marks;
#[cfg(all(test, loom))]
mod models;
mod options;
mod prefetch;
pub(crate) mod ranks;
pub(crate) mod replay;
mod rest;
mod seat;
mod serve;
pub(crate) mod shared;
mod sleepers;
pub(crate) mod state;
mod statistics;
pub(crate) mod step;
mod trail;
mod turn;
mod visit;
mod waits;
mod watch;

pub use dispatcher::Dispatcher;
pub use options::DispatchOptions;
pub use ranks::Candidate;
pub use statistics::DispatchStatistics;
