//! Launches, made without the lock, and their reports.

use std::sync::Arc;

use copies::PriorityStream;
use copies::copy::CopyHandle;
use hal::Stream;

use super::Visit;
use crate::dispatch::kit::Launching;
use crate::dispatch::marks::Joins;
use crate::dispatch::rest::is_idle;
use crate::dispatch::shared::{Held, Shared};
use crate::dispatch::step::Told;
use crate::work::captures;
use crate::work::caught::caught;
use crate::work::failed::Failed;
use crate::work::fault::Reason;
use crate::work::function::More;
use crate::work::lane::{Call, Lane};

impl Shared {
    /// As [`Shared::launch_here`], where there are joins.
    #[inline(never)]
    pub(super) fn launch_behind<'s>(
        self: &'s Arc<Shared>,
        held: &mut Held<'s>,
        launching: &mut Launching,
        joins: Joins<'_>,
        copies: &mut Vec<CopyHandle>,
        visit: &mut Visit<'s>,
    ) -> bool {
        self.launch_here(held, launching, joins, copies, visit)
    }

    /// Makes a launch behind its joins, and takes the lock again to report it. Returns whether it is done.
    #[inline(always)] // of three callers one has no joins, and one knows most of the launch
    pub(super) fn launch_here<'s>(
        self: &'s Arc<Shared>,
        held: &mut Held<'s>,
        launching: &mut Launching,
        joins: Joins<'_>,
        copies: &mut Vec<CopyHandle>,
        visit: &mut Visit<'s>,
    ) -> bool {
        let lane = launching.call.lane;
        let stream = self.lane(lane);
        let mut joined = visit.begin(self, lane);
        if joined.is_ok() {
            joined = self.join(stream.raw(), joins);
        }
        if let Err(error) = joined {
            held.take_again();
            held.not_joined(launching, joins, error);
            return false;
        }
        match self.call(launching, stream, copies, visit) {
            Ok(more) if !visit.site.is_lent(&launching.call) => {
                held.take_again();
                held.joined(lane, joins);
                held.launched(launching, copies, Ok(more));
                more == More::Done
            }
            outcome => self.look_after_launch(held, launching, joins, copies, visit, outcome),
        }
    }

    /// Ends [`Shared::launch_here`] behind a function that has failed, or may have done anything with its stream.
    #[cold]
    #[inline(never)]
    fn look_after_launch<'s>(
        self: &'s Arc<Shared>,
        held: &mut Held<'s>,
        launching: &mut Launching,
        joins: Joins<'_>,
        copies: &mut Vec<CopyHandle>,
        visit: &Visit<'s>,
        outcome: Told,
    ) -> bool {
        let (outcome, lost) = self.look_after(&launching.call, outcome, visit);
        held.take_again();
        held.joined(launching.call.lane, joins);
        let is_done = matches!(outcome, Ok(More::Done));
        held.launched(launching, copies, outcome);
        if let Some(error) = lost {
            let fault = held.fault(launching.call.node, Reason::Device(*error));
            held.lose(fault);
            return false;
        }
        is_done
    }

    /// Calls the function of a launch. Returns its outcome, and the error of a device that is lost.
    #[inline(always)] // as `launch_here`
    pub fn launch(
        &self,
        launching: &mut Launching,
        copies: &mut Vec<CopyHandle>,
        visit: &Visit<'_>,
    ) -> (Told, Option<Box<hal::Error>>) {
        let outcome = self.call(launching, self.lane(launching.call.lane), copies, visit);
        if outcome.is_err() || visit.site.is_lent(&launching.call) {
            self.look_after(&launching.call, outcome, visit)
        } else {
            (outcome, None)
        }
    }

    #[inline(always)] // as `launch_here`
    fn call(
        &self,
        launching: &mut Launching,
        stream: &PriorityStream,
        copies: &mut Vec<CopyHandle>,
        visit: &Visit<'_>,
    ) -> Told {
        let Launching { call, work } = launching;
        let mut entered = Lane { site: &visit.site, stream, call, copies, beside: None };
        let mut more = More::Done;
        // Read alone: a move would read eight bytes where the function has written one, and wait for all stores before.
        caught(|| work.launch(&mut entered).map(|it| more = it)).map(|()| more).map_err(Failed::of)
    }

    /// Looks after a lane whose function has failed, or may have done anything with its stream. Returns the outcome of
    /// the launch, and the error of a device that is lost.
    #[inline(never)]
    fn look_after(&self, call: &Call, mut outcome: Told, visit: &Visit<'_>) -> (Told, Option<Box<hal::Error>>) {
        let (driver, stream) = (&*self.driver, self.lane(call.lane).raw());
        if visit.site.is_lent(call) {
            let (left_open, lost) = self.end_captured(call);
            if left_open {
                outcome = Err(Failed::with(captures::LEFT_OPEN));
            }
            if lost.is_some() {
                return (outcome, lost);
            }
        }
        if outcome.is_ok() {
            return (outcome, None);
        }
        // A launch that failed may have left the device dead. Its streams say so.
        let lost = hal::beside_captures(driver, || is_idle(driver, stream)).err();
        (outcome, lost.map(Box::new))
    }

    /// Ends a capture that the function of a launch has left open. Returns whether it has, and the error of a stream
    /// that cannot be used any more.
    pub fn end_captured(&self, call: &Call) -> (bool, Option<Box<hal::Error>>) {
        match captures::end(&*self.driver, self.lane(call.lane).raw()) {
            Ok(left_open) => {
                if left_open {
                    self.enter().statistics.captures_ended += 1;
                }
                (left_open, None)
            }
            Err(error) => (true, Some(Box::new(error))),
        }
    }

    /// Makes the joins of a launch in this stream.
    #[inline(always)] // as `launch_here`
    fn join(&self, stream: Stream, joins: Joins<'_>) -> hal::Result<()> {
        let driver = &*self.driver;
        if let Some(mark) = joins.own {
            driver.event_record(mark.event, stream)?;
        }
        for join in joins.others {
            if join.record.is_some() {
                driver.event_record(join.event, self.lane(join.lane).raw())?;
            }
            driver.stream_wait_event(stream, join.event)?;
        }
        Ok(())
    }
}
