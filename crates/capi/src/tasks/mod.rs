//! Tasks from C: dispatchers, sets of tasks, tasks, and the inside of a launch.
//!
//! | file | content |
//! |---|---|
//! | `dispatcher.rs` | dispatchers: opening and counts |
//! | `set.rs` | sets of tasks, and groups |
//! | `submit.rs` | submitting a task |
//! | `task.rs` | submitted tasks: their handles, and what C does with them |
//! | `ends.rs` | functions that hear of the end of a task, and cancelled tasks |
//! | `picture.rs` | the picture of a dispatcher's tasks |
//! | `template.rs` | templates, and their replays |
//! | `lane.rs` | the inside of a launch |
//! | `callback.rs` | functions of the program: their data and their answers |
//! | `answer.rs` | functions that an exception can end before they answer |
//! | `interpreter.rs` | interpreters that functions belong to, and forks |
//! | `patience.rs` | times that calls may wait, and other spans |
//! | `layer.rs` | the copy layer of a dispatcher |
//! | `handles.rs` | the table behind all handles, those of copy queues too |
//! | `home.rs` | the dispatcher that a thing belongs to |

pub mod answer;
pub mod callback;
pub mod dispatcher;
pub mod ends;
pub(crate) mod handles;
mod home;
pub mod interpreter;
pub mod lane;
mod layer;
pub mod patience;
pub mod picture;
pub mod set;
pub mod submit;
pub mod task;
pub mod template;

use overtake::task::{Error, Refused};

use crate::codes;
use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match &error {
            Error::Refused(Refused::WouldBlock) => codes::OVERTAKE_ERROR_WOULD_BLOCK,
            Error::Refused(Refused::Priority { .. } | Refused::Options(_)) => codes::OVERTAKE_ERROR_INVALID_ARGUMENT,
            Error::Refused(_) | Error::NoRoomInside { .. } => codes::OVERTAKE_ERROR_REFUSED,
            Error::Foreign { .. } => codes::OVERTAKE_ERROR_INVALID_ARGUMENT,
            Error::Closed { .. } => codes::OVERTAKE_ERROR_CLOSED,
            Error::Failed(_) => codes::OVERTAKE_ERROR_TASK_FAILED,
            Error::NotRun { .. } => codes::OVERTAKE_ERROR_TASK_NOT_RUN,
            Error::Stuck { .. } => codes::OVERTAKE_ERROR_STUCK,
            Error::TimedOut { .. } => codes::OVERTAKE_ERROR_TIMEOUT,
            Error::Forked => codes::OVERTAKE_ERROR_OFF,
            Error::Driver(error) => return Failure::from(error.clone()),
        };
        Failure::new(code, &error.to_string())
    }
}
