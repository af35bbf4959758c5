//! Submission: answers the questions of a decision, and carries out its plan.
//!
//! | file | content |
//! |---|---|
//! | `asked.rs` | the steps of a copy: asked, placed and planned |
//! | `answer.rs` | answers to the questions of a decision |
//! | `place.rs`, `batch.rs` | the memory of one copy, and of several, from the driver |
//! | `native.rs`, `urgent.rs`, `kernel.rs`, `staged.rs`, `channel.rs` | one way each |
//! | `served.rs` | a batch of the copy service, as one copy of all its bytes |
//! | `fine.rs` | a program's call of many small copies, as such a batch |
//! | `finish.rs` | the end of every submission: the counters, and the handle |
//! | `tracked.rs` | the common part of the ways: a fence, the raised word, the hand-over to the watcher |
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

mod answer;
mod asked;
mod batch;
mod channel;
mod fine;
mod finish;
mod kernel;
mod native;
mod place;
mod served;
mod staged;
mod tracked;
mod urgent;

use std::ops::ControlFlow;
use std::sync::Arc;

use hal::Result;
use priority::Priority;

use crate::cargo::Cargo;
use crate::decide::{Company, Decision, Known, Plan, Question, Reason, Setback, Spent, decide, decide_alone};
use crate::handle::CopyHandle;
use crate::native::Native;
use crate::records::Fence;
use crate::request::Request;
use crate::state::StreamState;

use asked::{Asked, Miss, Placed, Planned, Went};
pub(crate) use fine::prepare;
use finish::finish;
pub(crate) use served::{as_one, submit_batch};

/// What a look at the engine of a copy has found.
#[doc(hidden)] // for crates/shim
#[derive(Clone, Copy, Debug)]
pub enum Look {
    /// The copy meets no other priority: it goes natively.
    Alone,
    /// It may meet others.
    Met(Met),
}

/// The company that a look has found, so that the copy need not look again.
#[doc(hidden)] // for crates/shim
#[derive(Clone, Copy, Debug, Default)]
pub struct Met(Option<Company>);

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
    unsafe { submit_met(stream, request, native, Met(None)) }
}

/// Submits one request, which has `met` others at a look.
///
/// # Safety
/// As for [`submit`].
#[inline(always)] // without a look it costs nothing to have had none
pub(crate) unsafe fn submit_met(
    stream: &Arc<StreamState>,
    request: &Request,
    native: Option<&Native<'_>>,
    met: Met,
) -> Result<CopyHandle> {
    let asked = Asked::new(stream, Cargo::One(request), native);
    // SAFETY: passed on to the caller.
    match unsafe { asked.submit_at_once(met) } {
        ControlFlow::Break(result) => result,
        // SAFETY: passed on to the caller.
        ControlFlow::Continue(tried) => unsafe { submit_asking(stream, Cargo::One(request), native, tried) },
    }
}

/// Submits several requests without an order among them as one copy of all their bytes, with the priority of the first.
/// If they do not go one way together, `native` makes them.
///
/// # Safety
/// As for [`submit`], for each.
pub(crate) unsafe fn submit_all(
    stream: &Arc<StreamState>,
    requests: &[Request],
    native: &Native<'_>,
) -> Result<CopyHandle> {
    if let [request] = requests {
        // SAFETY: passed on to the caller.
        return unsafe { submit(stream, request, Some(native)) };
    }
    // SAFETY: passed on to the caller.
    if let Some(submitted) = unsafe { fine::submit(stream, requests, native) } {
        return submitted;
    }
    // SAFETY: passed on to the caller.
    unsafe { submit_asking(stream, Cargo::Batch(requests), Some(native), None) }
}

/// Looks whether a copy would go natively because it is alone. The usual case makes no call, and so needs few
/// registers.
#[inline(always)]
pub(crate) fn look(stream: &Arc<StreamState>, request: &Request, priority: Priority) -> Look {
    let asked = Asked { priority, ..Asked::new(stream, Cargo::One(request), None) };
    if let Some(direction) = request.direction()
        && asked.inner().options.manages(direction)
        && (stream.is_settled(direction, priority) || (request.shape.is_linear() && asked.cargo.is_inlined(direction)))
        && asked.inner().all_may_go_at_once
    {
        return match stream.met(direction, priority) {
            None if asked.goes_alone() => Look::Alone,
            met => Look::Met(Met(met)),
        };
    }
    look_anywhere(stream, request, priority)
}

#[cold]
#[inline(never)]
fn look_anywhere(stream: &Arc<StreamState>, request: &Request, priority: Priority) -> Look {
    let asked = Asked { priority, ..Asked::new(stream, Cargo::One(request), None) };
    let direction = request.direction();
    // A copy that never meets an engine is never announced, and need not be.
    let is_inlined = || direction.is_some_and(|direction| asked.cargo.is_inlined(direction));
    let meets_none = || asked.company(direction) == (priority, priority);
    match asked.may_go_at_once() && (asked.is_settled(direction) || is_inlined()) && meets_none() && asked.goes_alone()
    {
        true => Look::Alone,
        false => Look::Met(Met(None)),
    }
}

/// Has the driver make a copy that the layer does not judge, by the caller's own call.
pub(crate) fn as_it_is(
    stream: &Arc<StreamState>,
    reason: Reason,
    copy: impl FnOnce() -> Result<()>,
) -> Result<CopyHandle> {
    let (began, plan) = (stream.began(), Plan::Native(reason));
    let went = stream.natively(copy).map(|()| (plan, None));
    finish(stream, went, (stream.priority, None, 0), began)
}

impl Asked<'_> {
    /// Whether the copy goes natively where it meets none but its own priority.
    #[inline(always)]
    fn goes_alone(&self) -> bool {
        let known = Known { company: Some((self.priority, self.priority)), ..self.known_at_once() };
        decide_alone(&known) == Some(Decision::Go(Plan::Native(Reason::Alone)))
    }

    /// Submits a copy that is alone, or urgent and covered by a fence of its stream, before the driver is asked about
    /// it. For an urgent copy that no fence covers, returns its company.
    ///
    /// A thread that has slept for a while finds little of this in its caches. So this stands by itself, and other
    /// copies need more.
    ///
    /// # Safety
    /// As for [`submit`].
    #[inline(always)]
    unsafe fn submit_at_once(&self, met: Met) -> ControlFlow<Result<CopyHandle>, Option<Company>> {
        let (stream, inner, request) = (self.stream, self.inner(), self.cargo.first());
        let Some(direction) = request.direction() else { return ControlFlow::Continue(None) };
        if request.priority.is_some_and(|priority| !inner.options.priorities.contains(priority)) {
            return ControlFlow::Continue(None);
        }
        if !self.may_go_at_once() || !stream.is_settled(direction, self.priority) {
            return ControlFlow::Continue(None);
        }
        let about = |bytes| (self.priority, Some(direction), bytes);
        let Some(company) = met.0.or_else(|| stream.met(direction, self.priority)) else {
            if !self.goes_alone() {
                return ControlFlow::Continue(None);
            }
            let began = stream.began();
            // SAFETY: passed on to the caller.
            let submitted = unsafe { self.copy_natively(direction) };
            let went = submitted.map(|()| (Plan::Native(Reason::Alone), None));
            return ControlFlow::Break(finish(stream, went, about(request.bytes()), began));
        };
        // A statement is looked at last: to carry it along would cost every copy several instructions.
        let mut known = Known { is_ready: None, company: Some(company), ..self.known_at_once() };
        if decide(&known) != Decision::Ask(Question::Dependencies) {
            return ControlFlow::Continue(None);
        }
        known.depends = Some(stream.ahead.may_be_below(self.priority));
        if decide(&known) != Decision::Go(Plan::Urgent) || request.ready == Some(false) {
            return ControlFlow::Continue(None);
        }
        let (began, bytes) = (stream.began(), request.bytes());
        // SAFETY: passed on to the caller.
        match unsafe { self.go_covered(direction, bytes) } {
            None => ControlFlow::Continue(known.company),
            Some(submitted) => {
                let went = submitted.map(|()| (Plan::Urgent, None));
                ControlFlow::Break(finish(stream, went, about(bytes), began))
            }
        }
    }
}

/// Submits a copy that does not go at once. If it has `tried` to go at once as an urgent one, its company is known.
///
/// # Safety
/// As for [`submit`], for each.
#[inline(never)] // its frame is large, and copies that go at once need none of it
unsafe fn submit_asking(
    stream: &Arc<StreamState>,
    cargo: Cargo<'_>,
    native: Option<&Native<'_>>,
    tried: Option<Company>,
) -> Result<CopyHandle> {
    let asked = Asked::new(stream, cargo, native);
    let inner = asked.inner();
    // Copies go at once only in a context that has lost none.
    inner.records.standing.check()?;
    inner.check(asked.priority, "overtake memcpy_async")?;
    let began = stream.began();
    let mut placed = Placed::new(asked);
    placed.known.company = tried;
    placed.known.setback = tried.map(|_| (Plan::Urgent, Setback::Uncovered));
    // SAFETY: passed on to the caller.
    let went = unsafe { placed.submit() };
    let direction = placed.known_direction();
    finish(stream, went, (asked.priority, direction, cargo.bytes()), began)
}

impl Placed<'_> {
    /// Asks until it is decided. Returns the plan, and the budget that it spends.
    fn plan(&mut self) -> (Plan, Option<Spent>) {
        loop {
            match decide(&self.known) {
                Decision::Go(plan) => return (plan, None),
                Decision::Spend(spent) => return (Plan::Native(Reason::WithinBudget), Some(spent)),
                Decision::Ask(question) => self.answer(question),
            }
        }
    }

    /// Asks and decides until one way succeeds.
    ///
    /// # Safety
    /// As for [`submit`], for each.
    unsafe fn submit(&mut self) -> Result<(Plan, Option<Fence>)> {
        loop {
            let (plan, spent) = self.plan();
            let planned = Planned { placed: self, asked: &self.asked, plan, spent };
            // SAFETY: passed on to the caller.
            let setback = match unsafe { planned.go() } {
                Ok(fence) => {
                    planned.settle()?;
                    return Ok((plan, fence));
                }
                Err(Miss::Begun(error)) => return Err(error),
                Err(Miss::Failed(error)) if planned.is_left_to_driver() => return Err(error),
                Err(Miss::Failed(error)) => {
                    self.asked.inner().records.counters.failed();
                    log::debug!("a copy takes another way, because its own failed: {error}");
                    Setback::Failed
                }
                Err(Miss::Setback(setback)) => setback,
            };
            self.known.setback = Some((plan, setback));
        }
    }
}

impl Planned<'_> {
    /// # Safety
    /// As for [`submit`], for each.
    unsafe fn go(&self) -> Went {
        // SAFETY: passed on to the caller, in every arm.
        unsafe {
            match self.plan {
                Plan::Native(_) => self.go_natively(),
                Plan::Urgent => self.go_urgently(),
                Plan::Kernel { .. } | Plan::UrgentKernel => self.go_by_kernel(),
                Plan::Staged { .. } => self.go_staged(),
                Plan::Engine { .. } => self.go_by_channel(),
            }
        }
    }

    /// Waits for a copy that must have completed when its call returns.
    fn settle(&self) -> Result<()> {
        let has_settled = self.is_left_to_driver() || matches!(self.plan, Plan::Staged { .. });
        if self.asked.is_blocking() && !has_settled {
            let (driver, stream) = (&*self.inner().driver, self.asked.stream.stream);
            hal::beside_captures(driver, || driver.stream_synchronize(stream))?;
            self.inner().records.standing.check()?;
        }
        Ok(())
    }
}
