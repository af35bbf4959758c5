//! The dispatcher as its threads, its tasks and their handles share it.
//!
//! The thread that makes a task ready dispatches it: it takes steps until there is none. Only one thread at a time
//! takes steps; a thread that finds another one at it leaves its tasks to that one. That one sees them: it looks for a
//! further step, and stops dispatching if there is none, without letting go of the lock between.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use copies::copy::{CopyHandle, Lift};
use copies::{Overtake, PriorityStream};
use doors::forks::Process;
use graph::{NodeId, Priority};
use hal::locks::lock;
use hal::{Driver, Nanos, Wait};

use crate::dispatch::bells::Bells;
use crate::dispatch::captures;
use crate::dispatch::held::Held;
use crate::dispatch::inside;
use crate::dispatch::marks::Mark;
use crate::dispatch::rest::is_idle;
use crate::dispatch::state::{Body, Launching, Panic, State, Step, Taken};
use crate::work::fault::Error;
use crate::work::function::{Function, WorkResult};
use crate::work::lane::{Inside, Lane};

/// A thread takes so many steps before it hands over.
const STEPS_MAX: u32 = 256;

/// The parts of a dispatcher that its threads share.
pub(crate) struct Shared {
    pub driver: Arc<dyn Driver>,
    pub overtake: Arc<Overtake>,
    pub lanes: Vec<PriorityStream>,
    /// The lanes whose streams functions of tasks have asked for: they may do anything with them.
    pub lent: Vec<AtomicBool>,
    pub bells: Bells,
    pub state: Mutex<State>,
    /// The process that the threads are in.
    pub process: Process,
}

impl Shared {
    pub fn enter(&self) -> Held<'_> {
        Held::new(&self.bells, lock(&self.state))
    }

    /// The same for a caller that may be in the child of a fork. There another thread may have held the lock, and
    /// never lets it go.
    pub fn enter_here(&self) -> Result<Held<'_>, Error> {
        if self.process.is_this() { Ok(self.enter()) } else { Err(Error::Forked) }
    }

    pub fn lane(&self, lane: u8) -> &PriorityStream {
        &self.lanes[usize::from(lane)]
    }

    /// Runs `body` in the device's context, beside captures of other threads.
    pub fn at_home<T>(&self, body: impl FnOnce() -> T) -> T {
        self.lanes[0].inner().at_home(body)
    }

    /// Takes the steps that can be taken, unless another thread does. The completion thread goes on if there are many:
    /// a thread that submits one task does not have to dispatch those of all others for ever.
    pub fn pump<'s>(self: &'s Arc<Shared>, mut held: Held<'s>) {
        let (mut dead, mut visit) = (Vec::new(), None);
        held.collect();
        if !held.is_dispatching {
            held.is_dispatching = true;
            let _inside = inside::Inside::begin(Arc::as_ptr(self) as usize);
            let mut steps = 0;
            while let Some(step) = held.step() {
                std::mem::swap(&mut dead, &mut held.dead);
                drop(held);
                bury(&mut dead);
                let taken = self.take(step, &mut visit);
                held = self.enter();
                held.report(taken);
                held.collect();
                steps += 1;
                if steps == STEPS_MAX {
                    (held.is_handed_over, held.has_news) = (true, true);
                    break;
                }
            }
            held.is_dispatching = false;
        }
        std::mem::swap(&mut dead, &mut held.dead);
        drop(held);
        // The context before is made current again by a driver call: not under the lock.
        drop(visit);
        bury(&mut dead);
    }

    /// Takes a step. The context is current from the first that needs it until `visit` is dropped.
    fn take<'s>(self: &'s Arc<Shared>, step: Step, visit: &mut Option<contexts::Entered<'s>>) -> Taken {
        match step {
            Step::Light(node, function) => return Taken::Ran(node, run(function)),
            Step::Lift(copies, to) => return Taken::Lifted(lift(&copies, to)),
            _ => {}
        }
        if visit.is_none() {
            match self.overtake.cuda_context().enter() {
                Ok(begun) => *visit = Some(begun),
                Err(error) => return outside(step, error, self),
            }
        }
        match step {
            Step::Launch(launching) => self.launch(launching),
            Step::Record { lane, value, event } => {
                let result = self.driver.event_record(event, self.lane(lane).raw());
                Taken::Recorded { lane, mark: Mark { value, event, recorded: self.driver.host().now() }, result }
            }
            Step::Light(..) | Step::Lift(..) => unreachable!("taken above"),
        }
    }

    fn launch(self: &Arc<Shared>, mut launching: Launching) -> Taken {
        if let Err(error) = self.join(&launching) {
            return Taken::NotJoined { launching, error };
        }
        let Launching { node, lane, turn, priority, .. } = launching;
        let can_begin = Cell::new(launching.can_begin);
        let (driver, stream) = (&self.driver, self.lane(lane));
        let (inside, is_lent): (&dyn Inside, _) = (&**self, &self.lent[usize::from(lane)]);
        let mut entered =
            Lane { inside, driver, stream, node, number: lane, turn, priority, can_begin, copies: Vec::new(), is_lent };
        let work = &mut launching.work;
        let mut outcome = caught(|| work(&mut entered));
        launching.copies = entered.copies;
        let mut lost = None;
        if is_lent.load(Ordering::Relaxed) {
            match captures::end(&**driver, stream.raw()) {
                Ok(false) => {}
                Ok(true) => {
                    self.enter().statistics.captures_ended += 1;
                    outcome = Err(captures::LEFT_OPEN.into());
                }
                Err(error) => (outcome, lost) = (Err(captures::LEFT_OPEN.into()), Some(error)),
            }
        }
        if outcome.is_err() && lost.is_none() {
            // A launch that failed may have left the device dead. Its streams say so.
            lost = hal::beside_captures(&**driver, || is_idle(&**driver, stream.raw())).err();
        }
        // To read the clock costs as much as the rest of this.
        let has_recorded = launching.joins.iter().any(|join| join.record.is_some());
        let at = if has_recorded { self.driver.host().now() } else { Nanos::ZERO };
        Taken::Launched { launching, outcome, lost, at }
    }

    fn join(&self, launching: &Launching) -> hal::Result<()> {
        let stream = self.lane(launching.lane).raw();
        launching.joins.iter().try_for_each(|join| {
            if join.record.is_some() {
                self.driver.event_record(join.event, self.lane(join.lane).raw())?;
            }
            self.driver.stream_wait_event(stream, join.event)
        })
    }

    /// A function waits for the node, or a thread does.
    pub fn want(self: &Arc<Shared>, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.want(node);
        self.pump(held);
        Ok(())
    }

    /// Waits in the host's time until `is_over` holds. The completion thread looks often meanwhile.
    pub fn wait(&self, is_over: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        self.waits(1);
        let end = self.driver.host().wait_until(None, is_over);
        self.waits(-1);
        end
    }

    fn waits(&self, more: i32) {
        let mut held = self.enter();
        held.waiting = held.waiting.saturating_add_signed(more);
        held.has_news |= more > 0;
    }

    /// One task comes after another.
    pub fn order(self: &Arc<Shared>, first: NodeId, then: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.graph.before(first, then)?;
        // A function of the host may wait now for work that has been submitted.
        held.want(first);
        self.pump(held);
        Ok(())
    }

    pub fn release(self: &Arc<Shared>, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.graph.release(node)?;
        self.pump(held);
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The driver and the copy layer have no threads here either: a call could wait for them for ever.
            std::mem::forget((std::mem::take(&mut self.lanes), Arc::clone(&self.overtake)));
        }
    }
}

impl Inside for Shared {
    fn completes(&self, node: NodeId, other: NodeId) -> Result<(), Error> {
        Ok(self.enter().graph.before_at(node, other, graph::Mark::Complete)?)
    }

    fn sync_point(&self, node: NodeId) -> Result<(), Error> {
        let mut held = self.enter();
        let point = held.graph.sync_point(node)?;
        let marks = &mut held.marks[usize::from(point.lane)];
        marks.submitted = point.value;
        let Some(event) = marks.take_event() else { return Ok(()) };
        drop(held);
        let result = self.driver.event_record(event, self.lane(point.lane).raw());
        let mark = Mark { value: point.value, event, recorded: self.driver.host().now() };
        self.enter().report(Taken::Recorded { lane: point.lane, mark, result: result.clone() });
        Ok(result?)
    }
}

/// The step needs the device's context, which cannot be made current.
fn outside(step: Step, error: hal::Error, shared: &Shared) -> Taken {
    let recorded = shared.driver.host().now();
    match step {
        Step::Launch(launching) => Taken::NotJoined { launching, error },
        Step::Record { lane, value, event } => {
            Taken::Recorded { lane, mark: Mark { value, event, recorded }, result: Err(error) }
        }
        Step::Light(node, _) => Taken::Ran(node, Err(Box::new(error))),
        Step::Lift(..) => Taken::Lifted(0),
    }
}

/// Raises submitted copies for a task that waits for them. Returns how many there was a use for.
fn lift(copies: &[CopyHandle], to: Priority) -> u64 {
    copies.iter().filter(|copy| !matches!(copy.lift(to), Ok(Lift::Unchanged) | Err(_))).count() as u64
}

/// Runs a function of the host.
pub(crate) fn run(function: Function) -> WorkResult<()> {
    caught(function)
}

fn caught<T>(function: impl FnOnce() -> WorkResult<T>) -> WorkResult<T> {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|thrown| {
        let text = thrown.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| thrown.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
        // Dropping the payload of a panic could panic again.
        std::mem::forget(thrown);
        Err(Box::new(Panic(text)))
    })
}

/// Drops the bodies of ended nodes, tells of their failures, and wakes their futures. All that runs code of others; its
/// panics must not reach the thread that dispatches.
pub(crate) fn bury(dead: &mut Vec<Body>) {
    if dead.is_empty() {
        return;
    }
    for body in dead.drain(..) {
        let Body { work, outcome, set, .. } = body;
        apart(|| {
            if let Some(Err(error @ Error::Failed(_))) = outcome.get() {
                log::warn!("{error}");
            }
        });
        apart(|| outcome.wake());
        apart(|| drop((work, set)));
    }
}

fn apart(body: impl FnOnce()) {
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(body)) {
        // Dropping the payload of a panic could panic again.
        std::mem::forget(thrown);
    }
}
