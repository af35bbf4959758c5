//! The facts from which a decision is made, and its result.

use channels::Refusal;
use hal::Error;
use terms::{Direction, Priority};

use crate::cargo::Cargo;
use crate::decide::plan::Plan;
use crate::options::Options;
use crate::placement::Placement;

/// The least and the most urgent priority that a copy meets, its own included.
pub(crate) type Company = (Priority, Priority);

/// The facts that are known of a copy so far. A fact that is `None` has not been asked for.
#[derive(Clone, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) options: &'a Options,
    /// The option `enabled`, where a copy that goes at once has it in its cache.
    pub(crate) is_enabled: bool,
    /// The answer of [`crate::decide::leaves_urgent_copies`] for the options, there too.
    pub(crate) leaves_urgent_copies: bool,
    pub(crate) cargo: Cargo<'a>,
    pub(crate) priority: Priority,
    /// The direction, where the caller named it.
    pub(crate) direction: Option<Direction>,
    /// Whether the copy has to have completed when its call returns.
    pub(crate) is_blocking: bool,
    /// Whether no word is raised at the moment: the layer has stood down, or ends.
    pub(crate) is_passive: bool,
    /// Whether the copy kernel is there and may be used.
    pub(crate) is_kernel_there: bool,
    /// The least and the most urgent priority of this copy and of all copies of other streams on its engine.
    pub(crate) company: Option<Company>,
    /// Whether it comes after unfinished copies that are less urgent.
    pub(crate) depends: Option<bool>,
    /// Where its bytes are.
    pub(crate) placement: Option<Placement>,
    /// Whether its stream is being captured.
    pub(crate) is_captured: Option<bool>,
    /// Whether all copies of a batch have the placement that is known. A copy that stands by itself has.
    pub(crate) is_together: Option<bool>,
    /// Whether both sides lie within their allocations.
    pub(crate) is_within: Option<bool>,
    /// The plan that was tried last, and why it came to nothing.
    pub(crate) setback: Option<(Plan, Setback)>,
}

impl<'a> Known<'a> {
    /// The facts about any copy before the first question.
    #[inline(always)]
    pub(crate) fn of(options: &'a Options, cargo: Cargo<'a>, priority: Priority) -> Known<'a> {
        Known {
            options,
            is_enabled: true,
            leaves_urgent_copies: true,
            cargo,
            priority,
            direction: cargo.first().direction,
            is_blocking: false,
            is_passive: false,
            is_kernel_there: false,
            company: None,
            depends: None,
            placement: None,
            is_captured: None,
            is_together: matches!(cargo, Cargo::One(_)).then_some(true),
            is_within: None,
            setback: None,
        }
    }
}

/// Where the next step of a copy leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing that is unknown matters any more.
    Go(Plan),
    /// This has to be found out first.
    Ask(Question),
}

/// A fact of [`Known`] that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// `company`: the streams know.
    Company,
    /// `depends`: the stream knows.
    Dependencies,
    /// `placement`: the driver knows.
    Placement,
    /// `is_captured`: the driver knows.
    Capture,
    /// `is_together`: the driver knows.
    Together,
    /// `is_within`: the driver knows.
    Bounds,
}

/// Why a plan came to nothing. Nothing of the copy is on its way then.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setback {
    /// No ticket of the stream serves it, so it needs one of its own.
    Uncovered,
    /// No ticket is left.
    RingFull,
    /// Other streams' copies occupy the channel, or the carriers of guarded copies.
    Occupied,
    /// A driver call failed.
    Failed(Error),
}

impl From<Error> for Setback {
    fn from(error: Error) -> Setback {
        Setback::Failed(error)
    }
}

impl From<Refusal> for Setback {
    fn from(refusal: Refusal) -> Setback {
        match refusal {
            Refusal::Unready => Setback::Occupied,
            Refusal::Failed(error) => Setback::Failed(error),
        }
    }
}
