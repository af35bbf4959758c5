//! Threads that wait for tasks: they poll the device themselves for a moment, and the mailboxes all the time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use graph::NodeId;
use hal::{Host, Nanos, Wait};

use crate::dispatch::marks::{First, furthest};
use crate::dispatch::shared::{Held, Shared};
use crate::dispatch::state::State;
use crate::work::fault::Error;

/// A thread that begins to wait looks at the marks for so long, and so long again behind each look that has found an
/// end. For work that is complete by then it has no need of the thread on watch, which takes longer to wake.
const LOOK_HERE_SPAN: Nanos = Nanos::from_us(5);
/// So long at most: ends may be those of others.
const LOOK_HERE_LATEST: Nanos = Nanos::from_us(100);
/// The time between two such looks.
const LOOK_SPAN: Nanos = Nanos::from_us(1);
/// The entries of the mailboxes are left for so long to the thread that has taken the last steps: it has their nodes in
/// its cache. To bring those to another processor costs twice as much as to report their ends.
const OTHERS_SPAN: Nanos = Nanos::from_us(2);

/// The entries of the mailboxes that a thread has come across.
#[derive(Default)]
struct News {
    /// None while there are none.
    since: Option<Nanos>,
}

impl Shared {
    /// Waits for a node, in the host's time, until `is_over` holds or the deadline has passed.
    pub fn wait_for(
        self: &Arc<Shared>,
        node: NodeId,
        deadline: Option<Nanos>,
        is_over: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<Wait, Error> {
        if self.leave_want(node) {
            return Ok(self.wait(deadline, is_over));
        }
        Ok(self.wait_behind(self.enter_here()?, |state| state.want_quietly(node), deadline, is_over))
    }

    /// The same for all work that has been submitted.
    pub fn wait_for_all<'s>(
        self: &'s Arc<Shared>,
        held: Held<'s>,
        deadline: Option<Nanos>,
        is_over: &mut (dyn FnMut() -> bool + Send),
    ) -> Wait {
        self.wait_behind(held, |state| state.flush = true, deadline, is_over)
    }

    /// The time of the host so long from now.
    pub fn deadline(&self, span: Duration) -> Nanos {
        self.driver.host().now() + Nanos::from(span)
    }

    /// Has the points marked that `asks` asks for, and waits. The calling thread looks at the marks itself first, and
    /// most often there is no need of another one. So the thread on watch is told only of those that are left: to wake
    /// it takes longer than such a wait.
    fn wait_behind<'s>(
        self: &'s Arc<Shared>,
        mut held: Held<'s>,
        asks: impl FnOnce(&mut State),
        deadline: Option<Nanos>,
        is_over: &mut (dyn FnMut() -> bool + Send),
    ) -> Wait {
        // Another thread, a function or a future counts on the thread on watch.
        let has_others = self.is_waited_for() || held.is_awaited();
        asks(&mut held);
        if has_others || self.driver.host().is_virtual() {
            held.sleepers.count_on_watch();
            self.pump(held);
            return self.wait(deadline, is_over);
        }
        held.sleepers.waiter_looks(true);
        self.pump(held);
        self.enter().sleepers.waiter_looks(false);
        let end = self.wait(deadline, is_over);
        self.tell_of_marks();
        end
    }

    /// Leaves marks that a thread has recorded and not seen the end of to the thread on watch.
    fn tell_of_marks(&self) {
        let mut held = self.enter();
        if held.has_pending_marks() {
            held.sleepers.leave_news();
        }
    }

    /// Whether a thread waits for work of the tasks.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits in the host's time until `is_over` holds or the deadline has passed. The thread on watch looks often
    /// meanwhile.
    fn wait(self: &Arc<Shared>, deadline: Option<Nanos>, is_over: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        let host = self.driver.host();
        // In virtual time to wake a thread takes no time.
        if host.is_virtual() {
            return self.awaited(|host| host.wait_until(deadline, is_over));
        }
        let mut news = News::default();
        if self.look_here(host, is_over, &mut news) {
            return Wait::Met;
        }
        self.awaited(|host| {
            host.wait_until(deadline, &mut || {
                // This thread has nothing else to do.
                self.look_at_mailboxes(&mut news);
                is_over()
            })
        })
    }

    /// Runs a wait for work of the tasks. The thread on watch looks often meanwhile.
    pub fn awaited<T>(&self, wait: impl FnOnce(&dyn Host) -> T) -> T {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.enter().sleepers.has_news = true;
        let end = wait(self.driver.host());
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        end
    }

    /// Takes the entries of the mailboxes, if no other thread does. The thread that has taken the last steps goes
    /// first.
    fn look_at_mailboxes(self: &Arc<Shared>, news: &mut News) {
        if !self.mailboxes.has_news() || self.mailboxes.is_attended() {
            news.since = None;
            return;
        }
        if !self.steps_by.is_this() {
            let now = self.driver.host().now();
            if now.since(*news.since.get_or_insert(now)) < OTHERS_SPAN {
                return;
            }
        }
        // Threads that wait for the lock meanwhile would sleep, and would be woken one by one.
        self.try_look_in();
    }

    /// Looks at the marks for a moment. Returns whether the wait is over.
    fn look_here(
        self: &Arc<Shared>,
        host: &dyn Host,
        is_over: &mut (dyn FnMut() -> bool + Send),
        news: &mut News,
    ) -> bool {
        let mut start = host.now();
        let (mut next, latest) = (start, start + LOOK_HERE_LATEST);
        loop {
            if is_over() {
                return true;
            }
            self.look_at_mailboxes(news);
            let now = host.now();
            if now.since(start) >= LOOK_HERE_SPAN || now >= latest {
                return is_over();
            }
            if now >= next {
                next = now + LOOK_SPAN;
                if self.take_handed_over(is_over) | self.look_at_marks() {
                    start = host.now();
                }
            }
            host.pause();
        }
    }

    /// Takes the steps that are left for the thread on watch, if that has not come for them, until the wait is over.
    /// Returns whether there were some.
    fn take_handed_over(self: &Arc<Shared>, is_over: &mut (dyn FnMut() -> bool + Send)) -> bool {
        // Without a lock: the thread that has the turn would lose the state to each look.
        if !self.is_handed_over.load(Ordering::Relaxed) {
            return false;
        }
        let mut held = self.enter();
        let is_own = held.turn.resume();
        if is_own {
            self.visit(held, &mut || !is_over());
        }
        is_own
    }

    /// Reports the marks that the device has come to, unless another thread has the turn, which has the state at hand,
    /// or a function may become ready, which the thread on watch would run at once. It tells of errors, too. Returns
    /// whether there were some.
    fn look_at_marks(self: &Arc<Shared>) -> bool {
        if self.mailboxes.is_attended() {
            return false;
        }
        // Another thread that has it now may be about to do this.
        let Some(held) = Held::try_new(&self.bells, &self.state) else { return false };
        if held.turn.is_taken() || held.functions > 0 || held.losing.is_some() {
            return false;
        }
        let marks = held.pending_marks();
        drop(held);
        let reached = self
            .at_home(|| furthest(&marks, First::Newest, |event| self.driver.event_query(event)))
            .unwrap_or_default();
        // Asked after the marks, as by the thread on watch, which fails the tasks of lost copies.
        if reached.is_empty() || self.has_lost_copies() {
            return false;
        }
        let mut held = self.enter();
        for (lane, mark) in reached {
            held.reach(lane, mark);
        }
        self.pump(held);
        true
    }
}

#[cfg(all(test, loom))]
mod models;
