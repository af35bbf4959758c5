//! Pipelines from C: frames from a producer to a consumer, in stages with buffers on the host and on the device.
//!
//! | file | content |
//! |---|---|
//! | `options.rs` | the structures: options, frames, records, counts |
//! | `admission.rs` | places for frames at work at once, of several pipelines |
//! | `pipeline.rs` | opening a pipeline, its counts and its records |
//! | `end.rs` | the two ends, each with the frame that it has in hand |
//! | `frame.rs` | acquire, commit, wait, release |
//! | `work.rs` | copies and tasks that are part of a frame |

pub mod admission;
pub mod end;
pub mod frame;
pub mod options;
pub mod pipeline;
pub mod work;

use overtake::pipeline::Error;

use crate::codes;
use crate::failure::Failure;

/// The failure of a call of a pipeline.
pub fn failure(call: &str, error: Error) -> Failure {
    let code = match error {
        // No fault of the call: the words are those of Rust, as for tasks.
        Error::Ended => return Failure::new(codes::OVERTAKE_ERROR_ENDED, &error.to_string()),
        Error::Failed(_) => return Failure::new(codes::OVERTAKE_ERROR_FRAME_FAILED, &error.to_string()),
        Error::Refused(_) | Error::WorkTooEarly => codes::OVERTAKE_ERROR_REFUSED,
        Error::Stuck => codes::OVERTAKE_ERROR_STUCK,
        Error::Task(error) => return Failure::from(error),
        Error::Driver(error) => return Failure::from(error),
    };
    Failure::new(code, &format!("{call}: {error}"))
}
