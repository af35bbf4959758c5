//! Visits: a thread takes the turn, and steps until there are none left ([`take_steps`]), or until it has done its
//! share.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use contexts::CudaContext;
use copies::copy::{CopyHandle, Lift};
use graph::Priority;
use hal::{Host, Nanos};

use crate::dispatch::body::bury;
use crate::dispatch::inside;
use crate::dispatch::kit::{Kit, Launching, Step};
use crate::dispatch::marks::{Joins, Mark};
use crate::dispatch::shared::{Held, Shared};
use crate::dispatch::turn::{STEPS_MAX, take_steps};
use crate::work::caught::caught;
use crate::work::failed::Failed;
use crate::work::function::Function;
use crate::work::lane::Site;
use crate::work::levels;

mod launches;

/// The device of a thread that has not entered any.
const NO_DEVICE: u8 = u8::MAX;

/// A thread takes at most this many portions of [`STEPS_MAX`] steps, and none after this time.
const PARTS_MAX: u32 = 8;
const SHARE_SPAN: Nanos = Nanos::from_us(50);

impl Shared {
    /// Takes the steps that can be taken, unless another thread does.
    #[inline]
    pub fn pump<'s>(self: &'s Arc<Shared>, mut held: Held<'s>) {
        levels::may_step();
        held.collect();
        if !held.may_have_step() || !held.turn.begin() {
            return let_go(&mut held);
        }
        self.visit(held, &mut || false)
    }

    /// As [`Shared::pump`], on the thread that has the turn. It keeps that while `goes_on` holds and there are steps.
    pub fn visit<'s>(self: &'s Arc<Shared>, mut held: Held<'s>, goes_on: &mut dyn FnMut() -> bool) {
        // Dropped last: what it holds may wait for tasks.
        let _refused = held.dead.take_refused();
        let _inside = inside::Inside::begin(Arc::as_ptr(self) as usize);
        let mut visit = Visit::new(self);
        self.take_steps(&mut held, &mut visit, goes_on);
        self.leave(&mut held, &mut visit);
        // The context before is made current again by a driver call: not under the lock.
        drop(visit);
    }

    /// Lets go of the lock, behind the turn. Other threads may have left tasks until then, and go on.
    #[inline(always)] // as `Held::let_go`
    fn leave<'s>(self: &'s Arc<Shared>, held: &mut Held<'s>, visit: &mut Visit<'s>) {
        loop {
            // By another thread, or by the one on watch.
            let is_attended = held.turn.is_taken();
            let_go(held);
            if is_attended || !self.mailboxes.has_late_news() {
                return;
            }
            self.look_again(held, visit);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_again<'s>(self: &'s Arc<Shared>, held: &mut Held<'s>, visit: &mut Visit<'s>) {
        held.take_again();
        held.look_in();
        visit.left = (visit.left - 1).max(1);
        if held.turn.begin() {
            self.take_steps(held, visit, &mut || false);
        }
    }

    /// As [`Shared::pump`], beginning with a launch at hand, behind the joins that the graph has told. No thread has
    /// the turn, and there is no other step.
    #[inline(always)] // in one place, where most of the launch is known
    pub fn pump_from<'s>(self: &'s Arc<Shared>, held: &mut Held<'s>, launching: Launching, own: Option<Mark>) {
        // Its work is its node's again behind the launch: there is none to drop.
        let launching = &mut *ManuallyDrop::new(launching);
        held.turn.begin();
        self.steps_by.note();
        let mut kit = held.kit.take().unwrap_or_else(Kit::boxed);
        let _inside = inside::Inside::begin(Arc::as_ptr(self) as usize);
        let (mut visit, visits) = (Visit::new(self), held.visits());
        let Kit { joins, copies, .. } = &mut *kit;
        // Nothing has changed that a thread waits for.
        held.pause();
        let is_done = self.launch_here(held, launching, Joins { own, others: joins }, copies, &mut visit);
        held.collect();
        // It has none: this is that one.
        std::mem::forget(held.kit.replace(kit));
        // There was no other step. If no other thread has taken the lock since, there is none behind a launch that is
        // done.
        let is_alone = is_done && visits == held.visits() && !held.mailboxes.has_news();
        if !is_alone && held.may_have_step() {
            self.take_other_steps(held, &mut visit);
        } else {
            held.turn.end()
        }
        held.sleepers.tell_of_points();
        self.leave(held, &mut visit);
    }

    /// Takes the steps behind a launch. Most often there are none, so the compiler lays the way without them out as the
    /// usual one.
    #[cold]
    #[inline(never)]
    fn take_other_steps<'s>(self: &'s Arc<Shared>, held: &mut Held<'s>, visit: &mut Visit<'s>) {
        self.take_steps(held, visit, &mut || false);
    }

    #[inline(never)]
    fn take_steps<'s>(
        self: &'s Arc<Shared>,
        held: &mut Held<'s>,
        visit: &mut Visit<'s>,
        goes_on: &mut dyn FnMut() -> bool,
    ) {
        self.steps_by.note();
        let mut kit = held.kit.take().unwrap_or_else(Kit::boxed);
        let (mut left, mut share) = (visit.left, Share::default());
        let host = self.driver.host();
        let is_long = Cell::new(false);
        let goes_on = &mut || {
            let has_more = share.goes_on(host);
            is_long.set(!has_more);
            has_more || goes_on()
        };
        take_steps(held, &mut *kit, &mut left, goes_on, |held, kit| {
            if is_long.replace(false) {
                held.sleepers.tell_of_points();
            }
            let visits = held.visits();
            let_go(held);
            if self.state.knocks() != visit.answered {
                self.state.step_aside(&mut visit.answered);
            }
            let mut taken = 1;
            let Kit { launching, ahead, other, own_mark, joins, copies } = kit;
            let joins = Joins { own: *own_mark, others: joins };
            if other.is_some() {
                self.take(held, other, visit);
            } else if ahead.count > 0 {
                taken = self.launch_batch(held, (launching, ahead), copies, visit, visits);
            } else if joins.is_empty() {
                self.launch_here(held, launching, Joins::NONE, copies, visit);
            } else {
                self.launch_behind(held, launching, joins, copies, visit);
            }
            held.collect();
            taken
        });
        held.sleepers.tell_of_points();
        held.kit = Some(kit);
        visit.left = left;
    }

    /// Takes a step that is no launch, and the lock again to report it.
    #[inline(never)]
    fn take<'s>(self: &'s Arc<Shared>, held: &mut Held<'s>, step: &mut Option<Step>, visit: &mut Visit<'s>) {
        match step.take() {
            Some(Step::Light(node, function)) => {
                let outcome = run(function);
                held.take_again();
                held.ran(node, outcome);
            }
            Some(Step::Lift(copies, to)) => {
                let lifts = lift(&copies, to);
                held.take_again();
                held.statistics.lifts += lifts;
            }
            Some(Step::Record { lane, value, event }) => {
                let recorded =
                    visit.begin(self, lane).and_then(|()| self.driver.event_record(event, self.lane(lane).raw()));
                let mark = Mark::new(value, event);
                held.take_again();
                held.recorded(lane, mark, recorded);
            }
            None => held.take_again(),
        }
    }
}

/// The part of the steps that a thread takes before it hands over.
#[derive(Default)]
struct Share {
    /// The time when the first part of [`STEPS_MAX`] steps had been taken, and how many parts have been.
    since: Option<Nanos>,
    parts: u32,
}

impl Share {
    /// Whether the thread takes another part of the steps: they take so little that to hand over would cost as much.
    #[inline(never)]
    fn goes_on(&mut self, host: &dyn Host) -> bool {
        if host.is_virtual() {
            return false;
        }
        let now = host.now();
        self.parts += 1;
        self.parts < PARTS_MAX && now.since(*self.since.get_or_insert(now)) < SHARE_SPAN
    }
}

/// The context of a device is current: from the first step that needs it until one needs another, or this is dropped.
pub(crate) struct Visit<'s> {
    /// The device is that whose context is current, or [`NO_DEVICE`].
    site: Site<'s>,
    /// The steps that the thread may still take.
    left: u32,
    /// The knocks for which it has stepped aside.
    answered: u64,
    /// Another one was current before.
    entered: Option<contexts::Entered<'s>>,
}

impl<'s> Visit<'s> {
    fn new(shared: &'s Shared) -> Visit<'s> {
        let Shared { driver, lent, of_a_group, .. } = shared;
        let site = Site { inside: shared, driver, lent, device: NO_DEVICE, of_a_group: *of_a_group };
        Visit { site, left: STEPS_MAX, answered: shared.state.knocks(), entered: None }
    }

    #[inline(always)] // as `launch_here`
    pub fn begin(&mut self, shared: &'s Shared, lane: u8) -> hal::Result<()> {
        let device = shared.device_of(lane);
        if device == self.site.device { Ok(()) } else { self.change(shared, device) }
    }

    #[inline(always)] // as `launch_here`
    fn change(&mut self, shared: &'s Shared, device: u8) -> hal::Result<()> {
        self.site.device = device;
        let context = shared.layers[usize::from(device)].cuda_context();
        if self.entered.is_none() && context.is_entered() { Ok(()) } else { self.enter(context) }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, context: &'s CudaContext) -> hal::Result<()> {
        // The one before is current again first, for the next guard to bring back.
        self.entered = None;
        let entered = context.enter();
        if entered.is_err() {
            self.site.device = NO_DEVICE;
        }
        self.entered = Some(entered?);
        Ok(())
    }
}

/// Lets go of the lock, and buries the nodes that have ended.
#[inline(always)] // as `Held::let_go`
fn let_go(held: &mut Held<'_>) {
    if held.dead.is_empty() { held.let_go() } else { let_go_and_bury(held) }
}

#[inline(never)]
fn let_go_and_bury(held: &mut Held<'_>) {
    let dead = std::mem::take(&mut held.dead);
    held.let_go();
    bury(dead);
}

/// Raises submitted copies for a task that waits for them. Returns how many there was a use for.
fn lift(copies: &[CopyHandle], to: Priority) -> u64 {
    copies.iter().filter(|copy| !matches!(copy.lift(to), Ok(Lift::Unchanged) | Err(_))).count() as u64
}

/// Runs a function of the host.
pub(crate) fn run(function: Function) -> Result<(), Box<Failed>> {
    caught(function).map_err(Failed::of)
}
