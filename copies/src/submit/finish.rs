//! The end of every submission: counts it, and makes the handle.

use std::sync::Arc;

use hal::{Nanos, Result};
use priority::{Direction, Priority};

use crate::decide::Plan;
use crate::handle::CopyHandle;
use crate::records::{Fence, TracedCopy};
use crate::state::StreamState;

/// The end of a copy of this priority, direction and size: the handle for its caller, and the counters.
#[inline(always)]
pub(super) fn finish(
    stream: &Arc<StreamState>,
    went: Result<(Plan, Option<Fence>)>,
    (priority, direction, bytes): (Priority, Option<Direction>, u64),
    began: Option<Nanos>,
) -> Result<CopyHandle> {
    let counters = &stream.inner.records.counters;
    let (plan, fence) = went.inspect_err(|_| counters.failed())?;
    counters.copied(plan, direction, bytes);
    if let Some(began) = began {
        let copy = TracedCopy {
            began,
            returned: began,
            landed: None,
            stream: stream.stream,
            priority,
            direction,
            bytes,
            plan,
        };
        trace(stream, copy, fence);
    }
    Ok(CopyHandle { stream: Arc::clone(stream), fence, plan })
}

#[cold]
fn trace(stream: &StreamState, copy: TracedCopy, fence: Option<Fence>) {
    let returned = stream.inner.driver.host().now();
    stream.inner.records.trace.submitted(TracedCopy { returned, ..copy }, fence);
}
