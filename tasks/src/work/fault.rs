//! Failures of tasks, and the errors of this module.

use std::fmt;
use std::sync::Arc;

use graph::Refused;

/// The reason why a task failed.
#[derive(Clone, Debug)]
pub enum Reason {
    /// A driver call of its launch.
    Driver(hal::Error),
    /// The device has failed, in this call: no task of the device runs any more.
    Device(hal::Error),
    /// The error that its function returned.
    Returned(String),
    /// Its function panicked.
    Panicked(String),
    /// The dispatcher was closed before it ran.
    Closed,
    /// It was cancelled before it started.
    Cancelled,
    /// A reason that is no longer kept: many tasks have failed since.
    Forgotten,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Driver(error) => write!(f, "{error}"),
            Reason::Device(error) => write!(f, "the device has failed, and its tasks with it: {error}"),
            Reason::Returned(error) => write!(f, "{error}"),
            Reason::Panicked(message) => write!(f, "it panicked: {message}"),
            Reason::Cancelled => write!(f, "it was cancelled"),
            Reason::Closed => write!(f, "the dispatcher was closed before it had ended: wait for tasks before that"),
            Reason::Forgotten => write!(f, "the reason is no longer kept: more than {FAULTS_KEPT} have failed since"),
        }
    }
}

/// The failure of a task.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The task that failed, as errors name it.
    pub task: String,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Cancelled => write!(f, "task {} was cancelled", self.task),
            _ => write!(f, "task {} failed: {}", self.task, self.reason),
        }
    }
}

/// The reasons of the last failures are kept.
pub(crate) const FAULTS_KEPT: usize = 256;

/// An error of a task, or of a call about one.
#[derive(Clone)]
pub enum Error {
    /// The call is not possible, and has changed nothing.
    Refused(Refused),
    /// The dispatcher has been closed.
    Closed {
        /// The task that was to be submitted. `None` in calls about earlier tasks, whose names the dispatcher had.
        task: Option<String>,
    },
    /// The task failed.
    Failed(Arc<Fault>),
    /// The task was not run, or its results are not there, because a task before it failed, or because it or a task
    /// before it was cancelled ([`Reason::Cancelled`]).
    NotRun {
        /// The task.
        task: String,
        /// The failure of the other one, or its own end.
        fault: Arc<Fault>,
        /// It is its own.
        is_own: bool,
    },
    /// The dispatcher is full, and the task was submitted by a function of its own, which must not wait for room.
    NoRoomInside {
        /// The task.
        task: String,
    },
    /// The task was to be ordered with a task of another dispatcher.
    Foreign {
        /// The task.
        task: String,
    },
    /// No thread and no device will ever complete the task: a model of the device has proven it. A reference is held
    /// that no thread releases, for example.
    Stuck {
        /// The task.
        task: String,
    },
    /// The time of the call is over.
    TimedOut {
        /// What it waited for, and the cure.
        why: String,
    },
    /// The process is the child of a fork. The threads that run tasks are not in it.
    Forked,
    /// A driver call.
    Driver(hal::Error),
}

/// As [`fmt::Display`]: a program whose `main` returns the error prints its cause and its cure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refused) => write!(f, "{refused}"),
            Error::Closed { task: Some(task) } => {
                write!(
                    f,
                    "task {task} is refused: the dispatcher has been closed; open another one, and submit it there"
                )
            }
            Error::Closed { task: None } => write!(f, "the dispatcher of the task has been closed: open another one"),
            Error::Failed(fault) => write!(f, "{fault}"),
            Error::NotRun { task, fault, is_own: true } => write!(f, "task {task} was not run: {}", fault.reason),
            Error::NotRun { task, fault, is_own: false } => write!(f, "task {task} was not run: {fault}"),
            Error::NoRoomInside { task } => {
                write!(
                    f,
                    "task {task} is refused: the graph is full, and the function of a task must not wait for room; \
                     submit it from outside, or have more room (tasks_max)"
                )
            }
            Error::Foreign { task } => {
                write!(f, "task {task} cannot be ordered with a task of another dispatcher: wait for that one instead")
            }
            Error::Stuck { task } => {
                write!(
                    f,
                    "task {task} will never end: release its references, and those of the tasks before it; if another \
                     thread is to do so, the software GPU has to know it: start it by hal::spawn, or set \
                     OVERTAKE_SOFT_CLOCK=free"
                )
            }
            Error::Forked => {
                write!(f, "this process is the child of a fork, and has no threads for tasks: open a dispatcher in it")
            }
            Error::TimedOut { why } => write!(f, "{why}"),
            Error::Driver(error) => write!(f, "{error}"),
        }
    }
}

impl Error {
    /// The failure of a task that this tells of.
    #[must_use]
    pub fn fault(&self) -> Option<Arc<Fault>> {
        match self {
            Error::Failed(fault) | Error::NotRun { fault, .. } => Some(Arc::clone(fault)),
            _ => None,
        }
    }
}

impl std::error::Error for Error {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::Refused(refused)
    }
}

impl From<hal::Error> for Error {
    fn from(error: hal::Error) -> Error {
        Error::Driver(error)
    }
}
