//! One copy on its way through the layer, and what is known of it.

use std::sync::Arc;

use channels::{Direction, Shape};
use semaphores::{Priority, emulation};

use crate::copy::handle::CopyHandle;
use crate::copy::native::Native;
use crate::copy::plan::{Plan, Reason};
use crate::copy::request::{Placement, Request, is_allocated};
use crate::engine::Engine;
use crate::kernel::Descriptor;
use crate::overtake::Inner;
use crate::records::{Dependency, Ticket};
use crate::stream::StreamState;

/// One copy on its way through the layer.
pub(super) struct Job<'a> {
    pub(super) inner: &'a Inner,
    pub(super) stream: &'a Arc<StreamState>,
    pub(super) shape: Shape,
    pub(super) priority: Priority,
    pub(super) placement: Option<Placement>,
    /// The levels and engines of unfinished copies before it in its stream that are less urgent.
    pub(super) below: Vec<Dependency>,
    /// Whether it could go by kernel, if the channel does not take it.
    pub(super) fits_kernel: bool,
    /// The program's own call; `None` for a copy of the layer's user.
    pub(super) native: Option<&'a Native<'a>>,
    /// What the kernel has to do where that is not just the shape.
    pub(super) pieces: Vec<Descriptor>,
    pub(super) requests: &'a [Request],
}

impl Job<'_> {
    /// Whether it holds off what is below.
    pub(super) fn raises(&self, plan: Plan) -> bool {
        match plan {
            Plan::Native(_) | Plan::UrgentKernel => false,
            Plan::Urgent => true,
            Plan::Kernel { raises } => raises,
            Plan::Engine { raises } => raises && self.counts_on_cpu(),
        }
    }

    /// The level whose word it waits for, if it does.
    pub(super) fn waits_at(&self, plan: Plan) -> Option<Priority> {
        let level = match plan {
            Plan::Kernel { .. } => self.priority,
            Plan::Engine { .. } => self.engine().level(self.priority),
            Plan::Native(_) | Plan::Urgent | Plan::UrgentKernel => return None,
        };
        (level < self.inner.options.priorities.highest()).then_some(level)
    }

    /// Whether a copy that goes natively is tracked nevertheless, because copies that it depends on are to be lifted
    /// for as long as it is pending.
    pub(super) fn lifts(&self, reason: Reason) -> bool {
        let off = matches!(reason, Reason::Disabled | Reason::StoodDown | Reason::Capturing);
        !off && !self.below.is_empty()
    }

    pub(super) fn handle(&self, plan: Plan, ticket: Option<Ticket>) -> CopyHandle {
        CopyHandle { stream: Arc::clone(self.stream), ticket, plan }
    }

    /// Whether the copy has completed when its call returns.
    pub(super) fn is_blocking(&self) -> bool {
        self.native.is_some_and(Native::is_blocking)
    }

    fn counts_on_cpu(&self) -> bool {
        emulation(self.inner.options.emulation).counts_on_cpu()
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.inner.engine(self.direction())
    }

    pub(super) fn direction(&self) -> Direction {
        self.placement.map_or(Direction::Peer, |placement| placement.direction)
    }

    /// The shape with the host side's address as the device sees it.
    pub(super) fn seen_by_device(&self) -> Shape {
        let mut shape = self.shape;
        let Some(Placement { direction, host_seen_by_device: Some(seen), .. }) = self.placement else { return shape };
        match direction {
            Direction::HostToDevice => shape.source.address = seen.0,
            _ => shape.target.address = seen.0,
        }
        shape
    }

    /// Whether both sides lie within their allocations: past them a kernel would take the context down, where the
    /// driver only refuses.
    pub(super) fn lies_within(&self) -> bool {
        if self.requests.len() > 1 {
            return true; // or nobody could place them: `batch::combine`
        }
        let driver = &*self.inner.driver;
        self.shape.extents().into_iter().all(|(address, bytes)| is_allocated(driver, address, bytes))
    }
}
