//! A copy on its way, as the monitor sees it.

use std::sync::Arc;

use hal::Nanos;
use semaphores::{Bank, Boost, Layout, Pending, Priority};

use crate::monitor::{Ring, Shared, Ticket};
use crate::trust::Trust;

/// Copies that pass as if they were as urgent as the one that depends on them.
pub(crate) struct Lift {
    pub(crate) bank: Arc<Bank>,
    pub(crate) boosts: Vec<Boost>,
    /// It ends when all of these are done: whatever stands behind them has no claim to it.
    pub(crate) until: Vec<Ticket>,
}

impl Lift {
    fn end(&mut self) {
        self.boosts.drain(..).for_each(|boost| self.bank.unboost(boost));
    }
}

/// A copy with a ticket of its own that has been submitted and has not completed. The copies between such are told by
/// their stream's run ([`crate::run`]).
pub(crate) struct Flight {
    /// Done when it has completed.
    pub(crate) landing: Ticket,
    /// Done when the copy becomes schedulable; `None` when it was at submission.
    pub(crate) ready: Option<Ticket>,
    /// Whose words it holds up.
    pub(crate) bank: Arc<Bank>,
    /// What it raised.
    pub(crate) pending: Option<Pending>,
    /// Whether it raises once it is ready.
    pub(crate) raises: bool,
    /// Whether it was taken to be ready at submission, without anything that proves it.
    pub(crate) trusted: bool,
    /// The level whose word it waits for itself, if it does.
    pub(crate) waits_at: Option<Priority>,
    /// The copies that it depends on.
    pub(crate) lifts: Vec<Lift>,
    /// Its priority.
    pub(crate) priority: Priority,
    /// When it was submitted.
    pub(crate) began: Nanos,
    /// How long it takes on an idle engine.
    pub(crate) expected: Nanos,
    /// Whether copies of its stream are raised at submission.
    pub(crate) trust: Arc<Trust>,
    /// Whether its completion has been accounted for; it stays until its readiness marker has been written too.
    pub(crate) landed: bool,
}

impl Flight {
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a look at it would change something. Reads words only.
    pub(crate) fn has_news(&self, ring: &Ring) -> bool {
        let landed = !self.landed && ring.is_done(self.landing);
        landed || self.ready.is_some_and(|ready| ring.is_done(ready))
    }

    /// Whether nothing of it is outstanding any more.
    pub(crate) fn is_over(&self) -> bool {
        self.landed && self.ready.is_none()
    }

    /// Ends the lifts whose copies have completed.
    pub(crate) fn end_lifts(&mut self, ring: &Ring) {
        self.lifts.retain_mut(|lift| {
            lift.until.retain(|ticket| !ring.is_done(*ticket));
            if lift.until.is_empty() {
                lift.end();
            }
            !lift.until.is_empty()
        });
    }

    /// Raises what has become schedulable: published implies schedulable.
    pub(crate) fn note_readiness(&mut self, ring: &Ring, stood_down: bool) {
        if let Some(ready) = self.ready.filter(|ready| ring.is_done(*ready)) {
            ring.release(ready);
            self.ready = None;
            self.raise(stood_down || ring.is_done(self.landing));
        }
    }

    /// When it is doubted that it was schedulable at submission, if everything pending on its engine takes `expected`.
    pub(crate) fn doubt_at(&self, expected: Nanos, grace: Nanos) -> Nanos {
        if self.trusted && self.pending.is_some() && !self.landed {
            self.began + grace + expected + expected
        } else {
            Nanos::MAX
        }
    }

    /// It has not completed in its time, so it must have been waiting for earlier work of its stream: it holds nobody
    /// back any more, and the next copies of the stream are submitted with care.
    pub(crate) fn doubt(&mut self) {
        self.trust.doubt();
        if let Some(pending) = self.pending.take() {
            self.bank.lower(pending);
        }
    }

    fn raise(&mut self, too_late: bool) {
        if self.raises && self.pending.is_none() && !too_late {
            self.pending = Some(self.bank.raise(self.priority));
        }
    }

    /// Accounts for the completion, once. Says whether it did.
    pub(crate) fn land(&mut self, shared: &Shared, now: Nanos) -> bool {
        if self.landed || !shared.ring.is_done(self.landing) {
            return false;
        }
        self.landed = true;
        self.let_through();
        shared.ring.release(self.landing);
        shared.counters.completed(self.priority, now.since(self.began));
        shared.trace.landed(self.landing, now);
        true
    }

    /// Whether it stands at a word that is up.
    pub(crate) fn is_held(&self) -> bool {
        let Some(level) = self.waits_at.filter(|_| !self.landed) else { return false };
        let mut above = self.bank.priorities().above(level);
        self.bank.gate_word(level) != 0 || above.any(|higher| self.bank.stream_word(higher) != 0)
    }

    /// It was not submitted, or nothing will ever say that it has completed: it holds nobody back. A marker that will
    /// still be written stays watched, because its ticket must not be used again before.
    pub(crate) fn withdraw(mut self, shared: &Shared) {
        self.let_through();
        self.raises = false;
        self.landed = true;
        shared.ring.release(self.landing);
        if self.ready.is_some() {
            shared.watch(self);
        }
    }

    /// Nobody will watch it any more. Its tickets may still be written, so they are not given back.
    pub(crate) fn abandon(mut self) {
        self.let_through();
    }

    fn let_through(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.bank.lower(pending);
        }
        self.lifts.drain(..).for_each(|mut lift| lift.end());
    }
}

#[cfg(test)]
mod tests {
    use semaphores::Priorities;

    use super::*;

    #[test]
    fn a_lift_ends_with_the_copies_that_it_is_for() {
        let driver = crate::soft::driver();
        let (low, middle, high) = (Priority::LOWEST, Priority::new(2).unwrap(), Priority::new(3).unwrap());
        let bank = Arc::new(Bank::new(&driver, Priorities::new(3).unwrap()).unwrap());
        let ring = Ring::new(&driver).unwrap();
        let tickets = [ring.take().unwrap(), ring.take().unwrap()];
        let mut flight = Flight {
            landing: ring.take().unwrap(),
            ready: None,
            bank: Arc::clone(&bank),
            pending: None,
            raises: true,
            trusted: false,
            waits_at: None,
            lifts: vec![Lift { bank: Arc::clone(&bank), boosts: vec![bank.boost(low, high)], until: tickets.to_vec() }],
            priority: high,
            began: Nanos::ZERO,
            expected: Nanos::ZERO,
            trust: Arc::default(),
            landed: false,
        };
        let _middle = bank.raise(middle);
        assert_eq!(bank.gate_word(low), 0, "lifted copies pass what is less urgent than the lift");
        ring.release(tickets[0]);
        flight.end_lifts(&ring);
        assert_eq!(bank.gate_word(low), 0, "one of the two is still on its way");
        ring.release(tickets[1]);
        flight.end_lifts(&ring);
        assert_eq!(bank.gate_word(low), 1, "what stands behind them has no claim to the lift");
    }
}
