//! The hardware's queues for kernels. The driver makes 8, and streams share them: where more than 8 have kernels, an
//! urgent kernel may stand behind a copy kernel that gives way, and be late. The driver can make 32.
//!
//! A program that runs a dispatcher or pipelines beside several streams of bulk asks for them, first of all:
//!
//! ```
//! overtake::queues::ask();
//! ```
//!
//! Where bulk goes in chunks, because the pipelines beside it tolerate a wait, a chunk that gives way keeps a queue for
//! copies. The driver makes 4 of them for each direction. A program with more than a few live streams asks for more:
//!
//! ```
//! use overtake::queues::{COPY_QUEUES_OF_CHUNKS, ask_with_copies};
//!
//! ask_with_copies(COPY_QUEUES_OF_CHUNKS);
//! ```

pub use copies::options::queues::{QUEUES_MAX, kernel_queues};

use copies::options::queues::{COPY_QUEUES, MAX_CONNECTIONS, MAX_COPY_CONNECTIONS};

/// So many queues for copies are enough beside five cameras: bulk of three streams gives way in chunks there.
pub const COPY_QUEUES_OF_CHUNKS: u32 = 16;

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

/// Asks the driver for as many queues for kernels as it can make, by setting `CUDA_DEVICE_MAX_CONNECTIONS` in this
/// process, unless it is set. The queues for copies stay as many as the driver makes by itself, so that copies take
/// their turns as before (`CUDA_DEVICE_MAX_COPY_CONNECTIONS`, unless it is set).
///
/// Call it at the beginning of `main`, before the driver is initialised and before any thread is started. Programs that
/// this one starts inherit the variables.
pub fn ask() -> Asked {
    ask_with_copies(COPY_QUEUES)
}

/// As [`ask`], with so many queues for the copies of each direction, unless their variable is set. With more of them,
/// copies of different streams may go in another order than with the driver's four.
///
/// Layers count the queues by the variable. A driver that was initialised before has four all the same, and chunks wait
/// for the watchdog then.
pub fn ask_with_copies(queues: u32) -> Asked {
    if std::env::var_os(MAX_CONNECTIONS).is_some() {
        return Asked::Given(kernel_queues());
    }
    let set = |name, queues: u32| os::variable::set_alone(name, &queues.to_string());
    let has_copies = || std::env::var_os(MAX_COPY_CONNECTIONS).is_some() || set(MAX_COPY_CONNECTIONS, queues);
    match has_copies() && set(MAX_CONNECTIONS, QUEUES_MAX) {
        true => Asked::Most,
        false => Asked::TooLate,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_changes_nothing() {
        let variables = || [MAX_CONNECTIONS, MAX_COPY_CONNECTIONS].map(std::env::var_os);
        let before = variables();
        let expected = if before[0].is_some() { Asked::Given(kernel_queues()) } else { Asked::TooLate };
        // This thread is one, and that another.
        assert_eq!(std::thread::scope(|scope| scope.spawn(ask).join().unwrap()), expected);
        assert_eq!(variables(), before);
    }
}
