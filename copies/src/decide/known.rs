//! The facts on which a decision is based, and its result.

use priority::{Direction, Priority};

use crate::cargo::Cargo;
use crate::decide::budget::Budget;
use crate::decide::plan::Plan;
use crate::placement::Placement;
use options::Options;

/// The least and the most urgent priority that a copy meets on its engine, its own included. The most urgent copy in a
/// lull meets none but its own.
pub(crate) type Company = (Priority, Priority);

/// The facts about a copy that are known so far. `None` means that the fact has not been asked for.
///
/// They own nothing: then the compiler keeps those of a copy that goes at once in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) options: &'a Options,
    /// The option `enabled`, copied to a cache line that such a copy reads anyway.
    pub(crate) is_enabled: bool,
    /// The answer of [`crate::decide::leaves_urgent_copies`] for the options, copied likewise.
    pub(crate) leaves_urgent_copies: bool,
    pub(crate) cargo: Cargo<'a>,
    pub(crate) priority: Priority,
    /// The direction, if the caller named it.
    pub(crate) direction: Option<Direction>,
    /// Whether everything before the copy in its stream is complete, if the caller has stated that.
    pub(crate) is_ready: Option<bool>,
    /// Whether the call returns only when the copy has completed.
    pub(crate) is_blocking: bool,
    /// Whether no word is raised now: the layer has stood down, or ends.
    pub(crate) is_passive: bool,
    /// Whether the copy is staged if its host side is pageable.
    pub(crate) may_stage: bool,
    /// Whether the copy kernel is loaded and may be used.
    pub(crate) is_kernel_there: bool,
    /// The least and the most urgent priority of this copy and of all copies of other streams on its engine.
    pub(crate) company: Option<Company>,
    /// Whether the copy comes after unfinished copies that are less urgent.
    pub(crate) depends: Option<bool>,
    pub(crate) placement: Option<Placement>,
    pub(crate) is_captured: Option<bool>,
    /// Whether it stands for a batch of the copy service.
    pub(crate) is_served: bool,
    /// Whether all copies of a batch have the known placement. True for a single copy.
    pub(crate) is_together: Option<bool>,
    /// Whether both sides lie within their allocations.
    pub(crate) is_within: Option<bool>,
    /// How long those above it may wait.
    pub(crate) budget: Option<Budget>,
    /// The last plan, and the reason why it failed.
    pub(crate) setback: Option<(Plan, Setback)>,
}

impl<'a> Known<'a> {
    /// The facts before the first question.
    #[inline(always)]
    pub(crate) fn of(options: &'a Options, cargo: Cargo<'a>, priority: Priority) -> Known<'a> {
        Known {
            options,
            is_enabled: true,
            leaves_urgent_copies: true,
            cargo,
            priority,
            direction: cargo.first().direction(),
            is_ready: cargo.first().ready,
            is_blocking: false,
            is_passive: false,
            may_stage: false,
            is_kernel_there: false,
            company: None,
            depends: None,
            placement: None,
            is_captured: None,
            is_served: false,
            is_together: matches!(cargo, Cargo::One(_)).then_some(true),
            is_within: None,
            budget: None,
            setback: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// No missing fact could change the plan.
    Go(Plan),
    /// Likewise: natively, because it is within that budget.
    Spend(Spent),
    /// The plan depends on this fact.
    Ask(Question),
}

/// A wait budget that a copy of bulk spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// That of a calm.
    Idle,
    /// The one that all owners above it state: other copies count on its turn until it has completed.
    Stated,
}

/// A fact of [`Known`] that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// `company`, from the streams.
    Company,
    /// `depends`, from the stream.
    Dependencies,
    /// `placement`, from the driver.
    Placement,
    /// `is_captured`, from the driver.
    Capture,
    /// `is_together`, from the driver.
    Together,
    /// `is_within`, from the driver.
    Bounds,
    /// `budget`, from the engine.
    Budget,
}

/// The reason why a plan failed. No part of the copy is on its way then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setback {
    /// No fence of the stream covers the copy, so it needs one of its own.
    Uncovered,
    /// No fence is left.
    RingFull,
    /// Other streams' copies occupy the channel, the turns at the engine, or the carriers of guarded copies.
    Occupied,
    /// No slot, no thread or no page was to be had.
    Unstaged,
    /// A driver call failed.
    Failed,
}
