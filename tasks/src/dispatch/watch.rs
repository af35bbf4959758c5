//! The watch: the thread that keeps it polls the marks of all lanes, and reports those that the device has reached.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::NodeId;
use hal::{CaptureMode, Host, Nanos};
use threads::Bell;

use crate::dispatch::expectations::LINGER;
use crate::dispatch::marks::{First, Mark, Marks as LaneMarks, furthest};
use crate::dispatch::shared::{Held, Shared};
use crate::work::function::Function;

/// Points that no thread waits for are marked together, when no further one has come for so long.
const FLUSH_AFTER: Nanos = Nanos::from_us(200);
/// The same while further ones come: marks between the copies of a stream of tasks cost it a tenth of its speed.
const FLUSH_LATEST: Nanos = Nanos::from_us(2_000);
/// The shortest and the longest time between two looks.
const LOOK_SPANS: (Nanos, Nanos) = (Nanos::from_us(1), Nanos::from_us(200));
/// The time between two looks where neither a thread nor a function of the host waits for an end: nodes are wanted
/// back, and each look takes the state, and the driver's locks, from the thread that submits.
const LOOK_SPAN_UNAWAITED: Nanos = Nanos::from_us(500);
/// The time between two looks is this part of the time since the thread saw the newest of the marks first: while it
/// does not sleep between two looks, and when it does.
const LOOKS: (u64, u64) = (64, 16);
/// The longest time between two looks while a thread waits. Its processor is free for that.
const LOOK_SPAN_AWAITED: Nanos = Nanos::from_us(5);
/// A report is left to other threads for so long. They look all the time.
const REPORT_SPAN: Nanos = Nanos::from_us(5);
/// The turn is left for so long to the thread that has handed it over. If that waits now, it goes on itself, and the
/// state stays in its processor's cache.
const TURN_SPAN: Nanos = Nanos::from_us(3);
/// Where nothing is pending, and something was this long ago at most, the thread naps: the next frame comes soon, and
/// the thread that submits it need not wake this one, which takes it microseconds.
const NAPS_FOR: Nanos = LINGER;
/// A nap. No thread waits for the end of such work, and its memory is wanted back by then.
const NAP: Nanos = Nanos::from_ms(1);
/// A thread that sleeps for less than this oversleeps by more: it spins.
const SLEEP_MIN: Nanos = Nanos::from_us(100);

/// Points that no mark stands for.
struct Uncovered {
    since: Nanos,
    /// The points of all lanes that had been submitted when this changed last.
    submitted: u64,
    changed: Nanos,
}

impl Uncovered {
    /// The time to mark them.
    fn flush_at(&self) -> Nanos {
        (self.changed + FLUSH_AFTER).min(self.since + FLUSH_LATEST)
    }
}

/// The things that the thread remembers from look to look.
#[derive(Default)]
struct Memory {
    uncovered: Option<Uncovered>,
    /// Until then it naps while nothing is pending.
    naps_until: Option<Nanos>,
}

/// The marks of all lanes that the device may not have come to, by lane, the oldest first.
type Marks = Vec<(u8, Mark)>;

/// The next look.
struct Next {
    /// It is at this time at the latest.
    at: Nanos,
    /// The thread sleeps until then.
    sleeps: bool,
    /// An end is waited for.
    is_awaited: bool,
    /// Another thread may take the report of an end: no function waits for it, and this thread has not the turn.
    may_share: bool,
}

impl Next {
    /// Waits for it, or for news.
    fn wait(&self, host: &dyn Host, bell: &Bell, news: &mut (dyn FnMut() -> bool + Send)) {
        if self.sleeps {
            bell.wait(host, Some(self.at), news);
        } else {
            host.wait_until(Some(self.at), news);
        }
    }
}

/// The end of a look at the state.
enum Look {
    /// These marks are pending.
    At(Marks, Next),
    /// The device is lost, and its nodes have not ended.
    Lost,
    /// Nothing is pending; there is something to look at again at this time, if any.
    Nothing(Option<Nanos>),
}

/// Keeps the watch until the dispatcher is closed, or until there is a function and another thread may take the watch
/// over: then it returns that function.
pub(crate) fn watch(shared: &Arc<Shared>, host: &dyn Host, bell: &Bell) -> Option<(NodeId, Function)> {
    let post = Post::begin(shared);
    let mut memory = Memory::default();
    while !bell.has_ended() {
        let (seen, now) = (bell.count(), host.now());
        let mut news = || bell.count() != seen;
        leave_turn(shared, host);
        match look(shared, now, &mut memory) {
            Look::Lost => shared.end_lost(host),
            Look::Nothing(again) => bell.wait(host, again, &mut news),
            Look::At(marks, next) => match ask(shared, &marks, host, next.may_share) {
                Answer::Ready(function) => {
                    drop(post);
                    return Some(function);
                }
                // There may be more that a thread waits for.
                Answer::Reached if next.is_awaited => {}
                Answer::Nothing | Answer::Reached => next.wait(host, bell, &mut news),
            },
        }
    }
    None
}

/// Leaves a turn that was handed over to the thread that had it, for a moment.
fn leave_turn(shared: &Shared, host: &dyn Host) {
    let is_left = || shared.is_handed_over.load(Ordering::Relaxed) && !shared.steps_by.is_this();
    if host.is_virtual() || !is_left() {
        return;
    }
    let until = host.now() + TURN_SPAN;
    while is_left() && host.now() < until {
        host.pause();
    }
}

/// Leaves the watch for a function that has become ready, if another thread can keep it.
fn leave(shared: &Shared, held: &mut Held<'_>) -> Option<(NodeId, Function)> {
    if !held.sleepers.may_leave_watch(shared.bells.len()) {
        return None;
    }
    let next = held.host_step()?;
    held.sleepers.leave_watch();
    held.sleepers.runs();
    Some(next)
}

/// The state of a thread that keeps the watch. Functions find the thread as it was before.
struct Post<'s> {
    shared: &'s Shared,
    mode: hal::Result<CaptureMode>,
    _entered: hal::Result<contexts::Entered<'s>>,
}

impl Post<'_> {
    fn begin(shared: &Arc<Shared>) -> Post<'_> {
        // The thread asks about events, which captures of the program would prohibit.
        let mode = shared.driver.exchange_capture_mode(CaptureMode::Relaxed);
        let entered = shared.layer().cuda_context().enter();
        if let Err(error) = &entered {
            shared.enter().lose_device(error.clone());
        }
        Post { shared, mode, _entered: entered }
    }
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        if let Ok(mode) = self.mode {
            let _ = self.shared.driver.exchange_capture_mode(mode);
        }
    }
}

/// Looks at the state. The thread is rung for news from then on.
fn look(shared: &Arc<Shared>, now: Nanos, memory: &mut Memory) -> Look {
    let Memory { uncovered, naps_until } = memory;
    let mut held = shared.enter();
    held.expectations.look(now);
    if held.turn.resume() {
        shared.visit(held, &mut || false);
        held = shared.enter();
    }
    *uncovered = still_uncovered(&held.marks, uncovered.take(), now);
    if uncovered.as_ref().is_some_and(|uncovered| now >= uncovered.flush_at()) {
        *uncovered = None;
        held.flush = true;
        shared.pump(held);
        held = shared.enter();
    }
    if held.losing.is_some() {
        return Look::Lost;
    }
    let is_handed_over = held.turn.is_handed_over();
    let may_share = !is_handed_over && held.functions == 0;
    held.see_marks(now);
    if held.functions > 0 && !shared.driver.host().is_virtual() {
        held.sleepers.expects_function();
    }
    let marks: Marks = held.pending_marks();
    let flush_at = uncovered.as_ref().map(Uncovered::flush_at);
    let is_waited_for = shared.is_waited_for();
    let is_pending = !marks.is_empty() || flush_at.is_some();
    if is_pending {
        *naps_until = Some(now + NAPS_FOR);
    }
    // In virtual time to wake a thread takes no time.
    let may_nap = !(shared.driver.host().is_virtual() || is_pending || is_waited_for || held.is_awaited());
    let naps = may_nap && naps_until.is_some_and(|until| now < until);
    held.sleepers.watcher_sleeps(is_handed_over, is_pending, naps);
    let oldest_of_lanes = marks.chunk_by(|(one, _), (other, _)| one == other).filter_map(|of_lane| of_lane[0].1.seen);
    let Some(newest) = oldest_of_lanes.max() else {
        let linger_until = held.expectations.is_lingering().then(|| now + LINGER);
        return Look::Nothing(if naps { Some(now + NAP) } else { flush_at.or(linger_until) });
    };
    let span = look_span(now.since(newest), is_waited_for);
    let is_awaited = is_waited_for || held.is_awaited();
    let again = now + if is_awaited { span } else { LOOK_SPAN_UNAWAITED };
    let at = flush_at.map_or(again, |flush_at| flush_at.min(again));
    Look::At(marks, Next { at, sleeps: span.min(at.since(now)) >= SLEEP_MIN, is_awaited, may_share })
}

/// The points that no mark stands for, if there are any.
fn still_uncovered(marks: &[LaneMarks], before: Option<Uncovered>, now: Nanos) -> Option<Uncovered> {
    if !marks.iter().any(|marks| marks.is_uncovered()) {
        return None;
    }
    let submitted = marks.iter().map(|marks| marks.submitted).sum();
    match before {
        Some(before) if before.submitted == submitted => Some(before),
        Some(before) => Some(Uncovered { submitted, changed: now, ..before }),
        None => Some(Uncovered { since: now, submitted, changed: now }),
    }
}

/// The time between two looks at a mark that was seen first so long ago.
fn look_span(pending: Nanos, is_waited_for: bool) -> Nanos {
    let asleep = Nanos(pending.0 / LOOKS.1);
    // A thread that does not sleep between two looks has its processor anyway.
    let span = if asleep < SLEEP_MIN { Nanos(pending.0 / LOOKS.0) } else { asleep };
    span.clamp(LOOK_SPANS.0, if is_waited_for { LOOK_SPAN_AWAITED } else { LOOK_SPANS.1 })
}

/// The answer of the device about marks.
enum Answer {
    /// It has come to none.
    Nothing,
    /// It has come to one, or has failed.
    Reached,
    /// So this function is ready, and the watch has been left for it.
    Ready((NodeId, Function)),
}

/// Asks about these marks.
fn ask(shared: &Arc<Shared>, marks: &[(u8, Mark)], host: &dyn Host, may_share: bool) -> Answer {
    let reached = match furthest(marks, First::Oldest, |event| shared.driver.event_query(event)) {
        Ok(reached) => reached,
        Err(error) => {
            let mut held = shared.enter();
            held.lose_device(error);
            shared.pump(held);
            return Answer::Reached;
        }
    };
    if reached.is_empty() {
        return Answer::Nothing;
    }
    // Asked after the marks: work behind a lost copy goes on when the layer knows of the loss.
    let is_any_copy_lost = shared.has_lost_copies();
    // A function that becomes ready is run by this thread, at once.
    if !is_any_copy_lost && may_share && report(shared, &reached, host) {
        return Answer::Reached;
    }
    let mut held = shared.enter();
    if is_any_copy_lost {
        held.fail_lost();
    }
    for (lane, mark) in reached {
        held.reach(lane, mark);
    }
    if held.may_have_step() {
        // Others are rung for the functions meanwhile.
        shared.pump(held);
        held = shared.enter();
    }
    // In the same hold of the lock: no other thread is rung for the function first, which takes microseconds.
    let next = leave(shared, &mut held);
    shared.pump(held);
    next.map_or(Answer::Reached, Answer::Ready)
}

/// Leaves the marks that the device has come to for the thread that submits or waits: it has the state at hand, and
/// most often the tasks are its own. Returns whether one has taken them, and then the state is as if this thread had.
fn report(shared: &Arc<Shared>, reached: &[(u8, Mark)], host: &dyn Host) -> bool {
    if host.is_virtual() || shared.steps_by.is_this() || !(shared.mailboxes.is_attended() || shared.is_waited_for()) {
        return false;
    }
    let (index, mut mailbox) = shared.mailboxes.inner();
    for &(lane, mark) in reached {
        mailbox.mail.reached(lane, mark);
    }
    drop(mailbox);
    shared.mailboxes.post(index);
    let until = host.now() + REPORT_SPAN;
    while shared.mailboxes.has_news_of(index) && host.now() < until {
        host.pause();
    }
    if shared.mailboxes.has_news_of(index) {
        shared.look_in();
    }
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn looks_are_rarest_where_no_thread_waits() {
        let us = Nanos::from_us;
        for is_waited_for in [false, true] {
            assert_eq!(look_span(Nanos::ZERO, is_waited_for), us(1));
            assert_eq!(look_span(us(128), is_waited_for), us(2));
        }
        assert_eq!([true, false].map(|is_waited_for| look_span(us(1_024), is_waited_for)), [us(5), us(16)]);
        assert_eq!([true, false].map(|is_waited_for| look_span(us(100_000), is_waited_for)), [us(5), us(200)]);
    }
}
