//! Why a call returned no stage.

use std::fmt;

/// A call that makes no sense: it has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A ring of no stages.
    Stages,
    /// No producer, no consumer, or more than [`crate::MEMBERS_MAX`] of one.
    Members {
        /// How many produce.
        producers: u32,
        /// How many consume.
        consumers: u32,
    },
    /// The ring has members, or arrivals are owed to it.
    InUse,
    /// The member does not produce.
    NotProducer,
    /// The member does not consume.
    NotConsumer,
    /// The member has acquired a stage, and has not committed it.
    Acquired,
    /// The member has no stage to commit.
    NotAcquired,
    /// The member has waited for a stage, and has not released it.
    Waited,
    /// The member has no stage to release.
    NotWaited,
    /// All stages are in use, and one of them is free only when this member releases it.
    OwnRelease,
    /// The stage is complete only when this member has committed it.
    OwnCommit,
    /// The member has quit.
    Quit,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Refused::Stages => "a ring has between 1 and 255 stages",
            Refused::Members { producers, consumers } => {
                return write!(
                    f,
                    "{producers} producers and {consumers} consumers: there must be between 1 and {} of each",
                    crate::MEMBERS_MAX
                );
            }
            Refused::InUse => {
                "the ring is in use: it is free when all its members have quit, and all owed arrivals have come"
            }
            Refused::NotProducer => "this member is a consumer: only producers acquire and commit",
            Refused::NotConsumer => "this member is a producer: only consumers wait and release",
            Refused::Acquired => "this member has acquired a stage: commit it before the next",
            Refused::NotAcquired => "this member has acquired no stage: acquire one before you commit",
            Refused::Waited => "this member has a stage to consume: release it before the next",
            Refused::NotWaited => "this member has no stage to release: wait for one first",
            Refused::OwnRelease => {
                "all stages are in use, and this member has not released the oldest: it would wait for itself"
            }
            Refused::OwnCommit => {
                "all committed stages have been consumed, and this member commits the next: it would wait for itself"
            }
            Refused::Quit => "this member has quit",
        };
        f.write_str(text)
    }
}

impl std::error::Error for Refused {}

/// Why a call gave no stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The call makes no sense.
    Refused(Refused),
    /// All peers have quit: there will be no further stage.
    Deserted,
    /// A peer has failed with this stage, which counts as consumed. The next call is about the next stage.
    ///
    /// To a producer: a consumer has failed with the stage of this position. The next call gives the stage.
    Spoilt {
        /// How many stages were before it.
        position: u64,
    },
    /// No thread can ever complete the stage: a model of time has proven it.
    Stuck,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refused) => write!(f, "{refused}"),
            Error::Deserted => write!(f, "all peers have quit: there will be no further stage"),
            Error::Spoilt { position } => {
                write!(f, "a peer has failed with stage {position}, which is left out: go on with the next one")
            }
            Error::Stuck => write!(f, "no thread can ever complete the stage: a peer waits for this one"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::Refused(refused)
    }
}
