//! Why a call of a pipeline returned no frame.

use std::fmt;

use overtake_tasks::task;
use stages::Refused;

/// A frame that a peer has failed with.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The pipeline.
    pub pipeline: String,
    /// The frame's number, if it is still known.
    pub frame: Option<u64>,
    /// The failure of its task. Without one, the peer panicked.
    pub cause: Option<task::Error>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.frame {
            Some(frame) => write!(f, "frame {frame} of pipeline {:?} failed: ", self.pipeline)?,
            None => write!(f, "a frame of pipeline {:?} failed: ", self.pipeline)?,
        }
        match &self.cause {
            Some(cause) => write!(f, "{cause}"),
            None => write!(f, "its thread panicked, or gave it up without an end"),
        }
    }
}

/// An error of a pipeline.
#[derive(Clone)]
pub enum Error {
    /// The other end has gone: there are no further frames.
    Ended,
    /// A peer has failed with a frame, which is left out. The next call is about the next frame.
    Failed(Failure),
    /// The call makes no sense here, and has changed nothing.
    Refused(Refused),
    /// A frame that may be dropped for a newer one has no tasks before the consumer has it.
    WorkTooEarly,
    /// No thread and no device will ever complete the frame: a model of the device has proven it.
    Stuck,
    /// A task of the frame could not be submitted.
    Task(task::Error),
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
            Error::Ended => write!(f, "the other end of the pipeline has gone: there are no further frames"),
            Error::Failed(failure) => write!(f, "{failure}"),
            Error::Refused(refused) => write!(f, "{refused}"),
            Error::WorkTooEarly => write!(
                f,
                "this pipeline may drop a frame for a newer one until the consumer has it: submit its tasks there"
            ),
            Error::Stuck => write!(
                f,
                "no thread can ever complete this frame: its peer waits for this thread, or the software GPU does not \
                 know the peer's thread: start it by hal::spawn, or set OVERTAKE_SOFT_CLOCK=free"
            ),
            Error::Task(error) => write!(f, "{error}"),
            Error::Driver(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::Refused(refused)
    }
}

impl From<task::Error> for Error {
    fn from(error: task::Error) -> Error {
        Error::Task(error)
    }
}

impl From<hal::Error> for Error {
    fn from(error: hal::Error) -> Error {
        Error::Driver(error)
    }
}
