//! Launches that are repeated where they fail.

use graph::Refused;

use crate::work::fault::Error;
use crate::work::function::{Launch, More, Work};
use crate::work::lane::Lane;

/// Why a function of the host is not repeated.
pub(crate) const ONCE: &str = "a function of the host can be called once only: repeat the part of it that may fail";

/// The same launch, called again up to so many times after an error. Turns that have succeeded are not repeated. The
/// task goes behind the other ready ones meanwhile, and those after it wait on.
///
/// A panic is not repeated, and neither is a launch for a device that is lost.
#[cold]
fn again(mut launch: Launch, most: u32) -> Launch {
    let (mut left, mut turn) = (most, 0);
    Launch::own(move |lane: &mut Lane<'_>| {
        lane.call.turn.set(turn);
        match launch.call(lane) {
            Ok(more) => {
                turn += 1;
                Ok(more)
            }
            Err(error) if left > 0 && lane.site.inside.may_run_again(lane.call.node, lane.call.lane, &*error) => {
                left -= 1;
                Ok(More::Again)
            }
            Err(error) => Err(error),
        }
    })
}

impl Work {
    /// The same work, repeated up to so many times.
    #[inline]
    pub fn repeated(self, most: u32) -> Work {
        match self {
            Work::Launch(launch) if most > 0 => Work::Launch(again(launch, most)),
            other => other,
        }
    }

    /// Whether it can be.
    pub fn may_be_repeated(&self, task: &str) -> Result<(), Error> {
        match self {
            Work::Function(_) | Work::Step(_) => {
                Err(Error::Refused(Refused::Data { task: task.to_owned(), fault: ONCE }))
            }
            _ => Ok(()),
        }
    }
}
