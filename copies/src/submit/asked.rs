//! The stages of a copy around its decision: asked, placed, planned.

use std::sync::Arc;

use channels::{Refusal, Shape};
use hal::Error;
use priority::{Direction, Priority};
use threads::stream_lock::Exclusive;

use crate::cargo::Cargo;
use crate::decide::{Known, Plan, Reason, Setback, Spent};
use crate::emulated;
use crate::engine::Engine;
use crate::inner::Inner;
use crate::kernel::Descriptor;
use crate::native::Native;
use crate::records::{Dependency, Fence};
use crate::service::served::Served;
use crate::state::{CALM_RUN_BYTES, StreamState};

/// A copy, as its caller asks for it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) stream: &'a Arc<StreamState>,
    pub(super) cargo: Cargo<'a>,
    pub(super) priority: Priority,
    /// The program's own call; `None` for a copy of the layer's user.
    pub(super) native: Option<&'a Native<'a>>,
}

/// A copy, with the facts that are known about it.
pub(super) struct Placed<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) known: Known<'a>,
    /// The unfinished copies before it in its stream that are less urgent.
    pub(super) below: Vec<Dependency>,
    /// The descriptors of a batch for the kernel; none if the kernel cannot make all of it.
    pub(super) pieces: Vec<Descriptor>,
    /// The batch of the copy service that it stands for.
    pub(super) served: Option<Served<'a>>,
}

/// A copy with its plan.
pub(super) struct Planned<'a> {
    pub(super) placed: &'a Placed<'a>,
    pub(super) asked: &'a Asked<'a>,
    pub(super) plan: Plan,
    /// The budget that it spends, if it is bulk that goes natively for that.
    pub(super) spent: Option<Spent>,
}

/// The result of an attempt at a plan: the copy's fence, if it has one of its own. `Went<()>` is the result of handing
/// a copy to the driver.
pub(super) type Went<T = Option<Fence>> = std::result::Result<T, Miss>;

/// The reason why an attempt at a plan came to nothing.
#[derive(Debug)]
pub(super) enum Miss {
    /// No part of the copy is on its way.
    Setback(Setback),
    /// Likewise, and a driver call failed.
    Failed(Error),
    /// A driver call failed when a part of the copy was on its way: its error is the caller's.
    Begun(Error),
}

impl Miss {
    /// The same where a part of the copy is on its way already.
    pub(super) fn begun(self) -> Miss {
        match self {
            Miss::Failed(error) => Miss::Begun(error),
            other => other,
        }
    }
}

impl From<Setback> for Miss {
    fn from(setback: Setback) -> Miss {
        Miss::Setback(setback)
    }
}

impl From<Error> for Miss {
    fn from(error: Error) -> Miss {
        Miss::Failed(error)
    }
}

impl From<Refusal> for Miss {
    fn from(refusal: Refusal) -> Miss {
        match refusal {
            Refusal::Unready => Miss::Setback(Setback::Occupied),
            Refusal::Failed(error) => Miss::Failed(error),
        }
    }
}

impl<'a> Asked<'a> {
    #[inline(always)]
    pub(super) fn new(stream: &'a Arc<StreamState>, cargo: Cargo<'a>, native: Option<&'a Native<'a>>) -> Asked<'a> {
        let priority = cargo.first().priority.unwrap_or(stream.priority);
        Asked { stream, cargo, priority, native }
    }

    /// The facts before the first question.
    #[inline(always)]
    pub(super) fn known(&self) -> Known<'a> {
        let inner = self.inner();
        Known {
            is_enabled: inner.is_enabled,
            leaves_urgent_copies: inner.leaves_urgent_copies,
            is_blocking: self.is_blocking(),
            is_passive: inner.records.standing.is_passive(),
            may_stage: may_stage(inner, self.cargo),
            ..Known::of(&inner.options, self.cargo, self.priority)
        }
    }

    /// The same for a copy that may go at once. The compiler leaves the rare cases out of its decision then, and keeps
    /// the facts in registers.
    #[inline(always)]
    pub(super) fn known_at_once(&self) -> Known<'a> {
        Known { is_enabled: true, may_stage: false, ..self.known() }
    }

    /// Whether the copy may go before the driver is asked about it. Without staging no copy pays for its size.
    #[inline(always)]
    pub(super) fn may_go_at_once(&self) -> bool {
        let inner = self.inner();
        inner.all_may_go_at_once || is_not_for_staging(inner, self.cargo)
    }

    #[inline(always)]
    pub(super) fn inner(&self) -> &'a Inner {
        &self.stream.inner
    }

    /// Whether the copy has completed when its call returns.
    #[inline(always)]
    pub(super) fn is_blocking(&self) -> bool {
        self.native.is_some_and(Native::is_blocking)
    }
}

/// Whether the copy is staged if its host side is pageable.
#[inline(always)]
fn may_stage(inner: &Inner, cargo: Cargo<'_>) -> bool {
    let Cargo::One(request) = cargo else { return false };
    inner.staging.as_ref().is_some_and(|staging| request.bytes() >= staging.bytes_min(request.direction))
}

#[cold]
#[inline(never)]
fn is_not_for_staging(inner: &Inner, cargo: Cargo<'_>) -> bool {
    inner.is_enabled && !may_stage(inner, cargo)
}

impl<'a> Placed<'a> {
    /// A copy with no facts known.
    pub(super) fn new(asked: Asked<'a>) -> Placed<'a> {
        let known = Known { is_kernel_there: asked.inner().may_use_kernel(), ..asked.known() };
        Placed { asked, known, below: Vec::new(), pieces: Vec::new(), served: None }
    }

    /// Whether the copy ends a lull when it goes as whole bulk, and not before that is decided: where urgent copies go
    /// by kernel they need none past the short pieces of a staged copy, which it may become.
    pub(super) fn ends_lull_late(&self) -> bool {
        !self.asked.inner().leaves_urgent_copies && self.known.may_stage
    }

    /// The direction, from the caller or the driver.
    pub(super) fn known_direction(&self) -> Option<Direction> {
        let placed = || self.known.placement?.known_direction();
        self.known.direction.or_else(placed)
    }
}

impl Planned<'_> {
    pub(super) fn inner(&self) -> &Inner {
        &self.asked.stream.inner
    }

    /// An unknown direction becomes one that lets the driver find it.
    pub(super) fn direction(&self) -> Direction {
        self.placed.known_direction().unwrap_or(Direction::Peer)
    }

    /// Keeps other threads out of the stream while the copy is submitted by several calls.
    pub(super) fn exclude_others(&self) -> Went<Exclusive<'_>> {
        self.asked.stream.exclude_others().ok_or(Setback::Occupied.into())
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.inner().engine(self.direction())
    }

    /// Whether the CPU raises a word that holds off the copies below.
    pub(super) fn raises(&self) -> bool {
        match self.plan {
            Plan::Native(_) | Plan::UrgentKernel | Plan::Staged { .. } => false,
            Plan::Urgent => true,
            Plan::Kernel { raises } => raises,
            Plan::Engine { raises } => raises && emulated::operations(&self.inner().options).counts_on_cpu(),
        }
    }

    /// The level at which it waits, if it does.
    pub(super) fn waits_at(&self) -> Option<Priority> {
        let priority = self.asked.priority;
        let level = match self.plan {
            Plan::Kernel { .. } => priority,
            Plan::Engine { .. } => self.engine().level(priority),
            Plan::Native(_) | Plan::Urgent | Plan::UrgentKernel | Plan::Staged { .. } => return None,
        };
        (level < self.inner().options.priorities.highest()).then_some(level)
    }

    /// Whether copies above it have to pass it: it waits for them, or they go by kernel beside it.
    pub(super) fn is_bulk(&self) -> bool {
        self.waits_at().is_some() || self.plan == Plan::Native(Reason::LeftAlone)
    }

    /// Whether the driver makes the copy in its own stream, and so gives the result.
    pub(super) fn is_left_to_driver(&self) -> bool {
        matches!(self.plan, Plan::Native(_) | Plan::Urgent)
    }

    /// Whether a word behind it would let other streams have their turn in a hardware queue.
    pub(super) fn gives_way(&self) -> bool {
        let known = &self.placed.known;
        match (self.plan, known.setback, self.spent) {
            (Plan::Native(Reason::NoKernel), ..) => !known.is_served,
            (Plan::Native(Reason::Occupied), Some((Plan::Kernel { .. }, Setback::Occupied)), _) => true,
            (_, _, Some(Spent::Idle)) => self.asked.stream.ends_run(self.asked.cargo.bytes(), CALM_RUN_BYTES),
            _ => false,
        }
    }

    /// A shape of the cargo, with the host side's address for the device.
    pub(super) fn seen_by_device(&self, mut shape: Shape) -> Shape {
        let seen = self.placed.known.placement.and_then(|placement| placement.seen_by_device);
        match (self.direction(), seen) {
            (_, None) => {}
            (Direction::HostToDevice, Some(seen)) => shape.source.address = seen.0,
            (_, Some(seen)) => shape.target.address = seen.0,
        }
        shape
    }

    /// The descriptors for a copy kernel.
    pub(super) fn descriptors(&self) -> Vec<Descriptor> {
        match self.asked.cargo {
            Cargo::One(request) => vec![Descriptor::copy(&self.seen_by_device(request.shape.flattened()))],
            Cargo::Batch(_) => self.placed.pieces.clone(),
        }
    }
}
