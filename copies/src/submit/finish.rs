//! The end of every submission: counts it, and makes the handle.

use std::sync::Arc;

use hal::{Nanos, Result};
use terms::{Direction, Priority};

use crate::decide::Plan;
use crate::handle::CopyHandle;
use crate::records::{Ticket, TracedCopy};
use crate::state::StreamState;

/// The end of a copy of this priority, direction and size: the handle for its caller, and the counters.
#[inline(always)]
pub(super) fn finish(
    stream: &Arc<StreamState>,
    went: Result<(Plan, Option<Ticket>)>,
    (priority, direction, bytes): (Priority, Option<Direction>, u64),
    began: Option<Nanos>,
) -> Result<CopyHandle> {
    let counters = &stream.inner.records.counters;
    let (plan, ticket) = went.inspect_err(|_| counters.failed())?;
    counters.copied(plan, bytes);
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
        trace(stream, copy, ticket);
    }
    Ok(CopyHandle { stream: Arc::clone(stream), ticket, plan })
}

#[cold]
fn trace(stream: &StreamState, copy: TracedCopy, ticket: Option<Ticket>) {
    let returned = stream.inner.driver.host().now();
    stream.inner.records.trace.submitted(TracedCopy { returned, ..copy }, ticket);
}
