//! The hardware's queues for kernels. The driver makes 8, and streams share them: where more than 8 have kernels, an
//! urgent kernel may stand behind a copy kernel that gives way, and be late. The driver can make 32.
//!
//! A program that runs a dispatcher or pipelines beside several streams of bulk asks for them, first of all:
//!
//! ```
//! overtake::queues::ask();
//! ```
//!
//! [`crate::Statistics::crowded`] counts the streams that had no queue to themselves, and the log has a warning then.

pub use copies::options::queues::{QUEUES_MAX, kernel_queues};

use copies::options::queues::MAX_CONNECTIONS;

/// The answer to [`ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The driver makes 32 queues, if it has not been initialised yet.
    Most,
    /// The environment had a number, which stays.
    Given(u32),
    /// The process has other threads, which may be reading the environment: nothing has changed.
    TooLate,
}

/// Asks the driver for as many queues as it can make, by setting `CUDA_DEVICE_MAX_CONNECTIONS` in this process, unless
/// it is set. Call it at the beginning of `main`, before the driver is initialised and before any thread is started;
/// programs that this one starts inherit the variable.
pub fn ask() -> Asked {
    if std::env::var_os(MAX_CONNECTIONS).is_some() {
        return Asked::Given(kernel_queues());
    }
    match doors::variable::set_alone(MAX_CONNECTIONS, &QUEUES_MAX.to_string()) {
        true => Asked::Most,
        false => Asked::TooLate,
    }
}
