//! Asks, decides, and has the plan carried out.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use hal::{Nanos, Result};
use semaphores::Priority;

use crate::copy::batch;
use crate::copy::handle::CopyHandle;
use crate::copy::job::Job;
use crate::copy::native::Native;
use crate::copy::plan::{Plan, Reason, Situation, fits_kernel, plan};
use crate::copy::request::{Request, place};
use crate::copy::ride::{AtOnce, at_once};
use crate::kernel::Workers;
use crate::stream::{StreamState, directions};

/// Who carries an urgent copy by ungated kernel: more than bulk gets, because it is short.
const URGENT: Workers = Workers { blocks: 16, warps: 16 };

/// Submits one request.
///
/// # Safety
/// The ranges of the request stay valid until the copy has completed, as the driver's copy of that kind demands.
pub(crate) unsafe fn submit(
    stream: &Arc<StreamState>,
    request: &Request,
    native: Option<&Native<'_>>,
) -> Result<CopyHandle> {
    // SAFETY: passed on to the caller.
    match unsafe { at_once(stream, request, native) } {
        AtOnce::Went(result) => result,
        // SAFETY: passed on to the caller.
        AtOnce::Not => unsafe { submit_asking(stream, std::slice::from_ref(request), native) },
    }
}

/// Submits several requests that have no order among them, as one copy of all their bytes with the first one's
/// priority. Where they do not go one way together, `native` makes them.
///
/// # Safety
/// As for [`submit`], for each.
pub(crate) unsafe fn submit_all(
    stream: &Arc<StreamState>,
    requests: &[Request],
    native: &Native<'_>,
) -> Result<CopyHandle> {
    // SAFETY: passed on to the caller.
    unsafe {
        match requests {
            [request] => submit(stream, request, Some(native)),
            _ => submit_asking(stream, requests, Some(native)),
        }
    }
}

/// Submits what does not go at once.
#[inline(never)] // its frame is large, and copies that go at once need none of it
unsafe fn submit_asking(
    stream: &Arc<StreamState>,
    requests: &[Request],
    native: Option<&Native<'_>>,
) -> Result<CopyHandle> {
    let inner = &*stream.inner;
    // Copies that go at once do so only where nothing is lost.
    inner.records.standing.check()?;
    let request = &requests[0];
    let priority = request.priority.unwrap_or(stream.priority);
    inner.check(priority, "overtake memcpy_async")?;
    let mut job = Job {
        inner,
        stream,
        shape: request.shape.flattened(),
        priority,
        placement: None,
        below: Vec::new(),
        fits_kernel: false,
        native,
        pieces: Vec::new(),
        requests,
    };
    if requests.len() > 1 {
        job.shape = batch::sum(requests);
    }
    let began = stream.began();
    let (mut lowest, mut highest) = if inner.options.enabled { job.company(request) } else { (priority, priority) };
    if lowest != highest {
        job.find(request);
        if request.direction.is_none() {
            // It may have met the other engine's copies so far.
            (lowest, highest) = job.company(request);
        }
    }
    let mut capturing = false;
    if lowest != highest {
        job.below = stream.ahead.below(priority, &inner.records.tickets);
        capturing = !native.is_some_and(Native::no_captures) && inner.is_capturing(stream.stream);
        if requests.len() > 1 {
            let combined = batch::combine(&*inner.driver, requests);
            (job.placement, job.pieces) = combined.map_or((None, Vec::new()), |(place, pieces)| (Some(place), pieces));
        }
    }
    let situation = Situation {
        shape: &job.shape,
        placement: job.placement,
        priority,
        highest_open: highest,
        lowest_open: lowest,
        capturing,
        stood_down: inner.records.standing.is_passive(),
        kernel_available: inner.may_use_kernel(),
    };
    let decided = plan(&inner.options, &situation);
    job.fits_kernel = matches!(decided, Plan::Engine { .. }) && fits_kernel(&inner.options, &situation);
    // SAFETY: passed on to the caller.
    let result = unsafe { job.carry_out(decided) }.and_then(|copied| job.settle(copied));
    job.account(&result, began);
    result
}

impl Job<'_> {
    /// The bounds of all priorities that it meets on its engine, or on both where the engine is not known. Copies of
    /// other streams reckon with its kind from now on.
    fn company(&mut self, request: &Request) -> (Priority, Priority) {
        let (stream, priority) = (self.stream, self.priority);
        let known = |job: &Self| request.direction.or(job.placement.map(|placement| placement.direction));
        if !directions(known(self)).any(|direction| stream.is_announced(direction, priority)) {
            self.find(request);
        }
        let bounds = directions(known(self)).map(|direction| stream.bounds_with(direction, priority));
        bounds.fold((priority, priority), |(low, high), (lowest, highest)| (low.min(lowest), high.max(highest)))
    }

    /// What became of it, for the books.
    fn account(&self, result: &Result<CopyHandle>, began: Option<Nanos>) {
        let direction = self.placement.map(|placement| placement.direction);
        self.stream.account(result, self.priority, direction, self.shape.bytes(), began);
    }

    /// Asks where its bytes are, and announces it on the engine that it will meet.
    fn find(&mut self, request: &Request) {
        if self.placement.is_some() {
            return;
        }
        self.placement = place(&*self.inner.driver, request);
        if let Some(placement) = self.placement.filter(|placement| placement.meets_engine(&self.shape))
            && !self.stream.is_announced(placement.direction, self.priority)
        {
            self.stream.announce(placement.direction, self.priority);
        }
    }

    pub(super) unsafe fn carry_out(&self, plan: Plan) -> Result<CopyHandle> {
        // SAFETY: passed on to the caller, in every arm.
        unsafe {
            match plan {
                Plan::Native(reason) if !self.lifts(reason) => {
                    self.native()?;
                    self.space(reason);
                    Ok(self.handle(plan, None))
                }
                Plan::Native(_) | Plan::Urgent => self.tracked(plan, || Ok(self.native()?)),
                // Only the driver can say what is wrong with it.
                _ if !self.lies_within() => self.carry_out(Plan::Native(Reason::Unknown)),
                Plan::UrgentKernel => self.tracked(plan, || Ok(self.by_kernel(None, URGENT)?)),
                Plan::Kernel { .. } => self.tracked(plan, || self.by_bulk_kernel()),
                Plan::Engine { .. } => self.tracked(plan, || self.by_engine()),
            }
        }
    }

    /// Waits for a copy that has to have completed when its call returns.
    fn settle(&self, copied: CopyHandle) -> Result<CopyHandle> {
        if self.is_blocking() && !matches!(copied.plan, Plan::Native(_) | Plan::Urgent) {
            self.inner.driver.stream_synchronize(self.stream.stream)?;
            self.inner.records.standing.check()?;
        }
        Ok(copied)
    }
}
