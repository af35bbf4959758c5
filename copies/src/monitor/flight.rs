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
    use crate::statistics::Counters;
    use crate::trace::Trace;

    /// An engine's words, and tickets.
    struct Bed {
        shared: Shared,
        bank: Arc<Bank>,
    }

    impl Bed {
        fn new() -> Bed {
            let driver = crate::soft::driver();
            let priorities = Priorities::new(3).unwrap();
            let bank = Arc::new(Bank::new(&driver, priorities).unwrap());
            let (counters, trace) = (Counters::new(priorities), Trace::default());
            let shared = Shared::new(Ring::new(&driver).unwrap(), counters, trace, vec![Arc::clone(&bank)]);
            Bed { shared, bank }
        }

        fn ticket(&self) -> Ticket {
            self.shared.ring.take().unwrap()
        }

        /// An urgent copy, with the word up.
        fn flight(&self) -> Flight {
            Flight {
                landing: self.ticket(),
                ready: None,
                bank: Arc::clone(&self.bank),
                pending: Some(self.bank.raise(at(3))),
                raises: true,
                trusted: true,
                waits_at: None,
                lifts: Vec::new(),
                priority: at(3),
                began: Nanos::ZERO,
                expected: Nanos::ZERO,
                trust: Arc::default(),
                landed: false,
            }
        }

        /// The same for one that raises when a marker says that it is schedulable.
        fn careful(&self) -> Flight {
            let flight = self.flight();
            self.bank.lower(flight.pending.unwrap());
            Flight { ready: Some(self.ticket()), pending: None, trusted: false, ..flight }
        }

        fn is_up(&self) -> bool {
            self.bank.gate_word(at(1)) != 0
        }
    }

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    #[test]
    fn a_lift_ends_with_the_copies_that_it_is_for() {
        let bed = Bed::new();
        let (bank, ring) = (&bed.bank, &bed.shared.ring);
        let tickets = [bed.ticket(), bed.ticket()];
        let boosts = vec![bank.boost(at(1), at(3))];
        let lifts = vec![Lift { bank: Arc::clone(bank), boosts, until: tickets.to_vec() }];
        let mut flight = Flight { lifts, ..bed.careful() };
        let _middle = bank.raise(at(2));
        assert_eq!(bank.gate_word(at(1)), 0, "lifted copies pass what is less urgent than the lift");
        ring.release(tickets[0]);
        flight.end_lifts(ring);
        assert_eq!(bank.gate_word(at(1)), 0, "one of the two is still on its way");
        ring.release(tickets[1]);
        flight.end_lifts(ring);
        assert_eq!(bank.gate_word(at(1)), 1, "what stands behind them has no claim to the lift");
    }

    #[test]
    fn a_copy_that_was_not_submitted_holds_and_lifts_nobody() {
        let bed = Bed::new();
        let boosts = vec![bed.bank.boost(at(1), at(2))];
        let lifts = vec![Lift { bank: Arc::clone(&bed.bank), boosts, until: vec![bed.ticket()] }];
        let flight = Flight { lifts, ..bed.flight() };
        assert!(bed.is_up());
        flight.withdraw(&bed.shared);
        assert!(!bed.is_up(), "it holds nobody back");
        assert_eq!(bed.shared.ring.outstanding(), 1, "its ticket is free again");
        let _middle = bed.bank.raise(at(2));
        assert!(bed.is_up(), "the lift has ended");
    }

    #[test]
    fn a_copy_that_nobody_watches_any_more_holds_nobody() {
        let bed = Bed::new();
        bed.flight().abandon();
        assert!(!bed.is_up());
        assert_eq!(bed.shared.ring.outstanding(), 1, "its ticket may still be written");
    }

    #[test]
    fn what_becomes_schedulable_raises_unless_words_are_of_no_use_any_more() {
        let bed = Bed::new();
        for stood_down in [false, true] {
            let mut flight = bed.careful();
            flight.note_readiness(&bed.shared.ring, stood_down);
            assert!(!bed.is_up(), "it is not schedulable");
            bed.shared.ring.complete(flight.ready.unwrap());
            flight.note_readiness(&bed.shared.ring, stood_down);
            assert_eq!(bed.is_up(), !stood_down);
            flight.abandon();
            assert!(!bed.is_up());
        }
    }

    #[test]
    fn what_has_completed_when_it_is_seen_to_be_schedulable_raises_no_more() {
        let bed = Bed::new();
        let mut flight = bed.careful();
        [flight.ready.unwrap(), flight.landing].into_iter().for_each(|ticket| bed.shared.ring.complete(ticket));
        flight.note_readiness(&bed.shared.ring, false);
        assert!(!bed.is_up());
    }
}
