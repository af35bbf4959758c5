//! A copy on its way, as the monitor sees it.

use std::sync::Arc;

use hal::Nanos;
use semaphores::{Bank, Boost, Pending, Priority};

use crate::monitor::{Ring, Shared, Ticket};

/// A copy that has been submitted and has not completed.
pub(crate) struct Flight {
    /// Done when the copy has completed.
    pub(crate) ticket: Ticket,
    /// Done when the copy becomes schedulable; `None` when it was at submission.
    pub(crate) ready: Option<Ticket>,
    /// Whose words it holds up.
    pub(crate) bank: Arc<Bank>,
    /// What it raised.
    pub(crate) pending: Option<Pending>,
    /// Whether it raises once it is ready.
    pub(crate) raises: bool,
    /// What it boosted: the levels of copies that it depends on.
    pub(crate) boosts: Vec<(Arc<Bank>, Boost)>,
    /// Its priority.
    pub(crate) priority: Priority,
    /// When it was submitted.
    pub(crate) began: Nanos,
    /// How long it takes on an idle engine.
    pub(crate) expected: Nanos,
    /// Whether its completion has been accounted for; it stays until its readiness marker has been written too.
    pub(crate) landed: bool,
}

impl Flight {
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a look at it would change something. Reads words only.
    pub(crate) fn has_news(&self, ring: &Ring) -> bool {
        (!self.landed && ring.is_done(self.ticket)) || self.ready.is_some_and(|ready| ring.is_done(ready))
    }

    /// Whether nothing of it is outstanding any more.
    pub(crate) fn is_over(&self) -> bool {
        self.landed && self.ready.is_none()
    }

    /// Raises, now that what came before the copy in its stream has completed: published implies schedulable.
    pub(crate) fn note_readiness(&mut self, ring: &Ring, stood_down: bool) {
        let Some(ready) = self.ready.filter(|ready| ring.is_done(*ready)) else { return };
        ring.release(ready);
        self.ready = None;
        if self.raises && !stood_down && !ring.is_done(self.ticket) {
            self.pending = Some(self.bank.raise(self.priority));
        }
    }

    /// Accounts for the completion, once. Says whether it did.
    pub(crate) fn land(&mut self, shared: &Shared, now: Nanos) -> bool {
        if self.landed || !shared.ring.is_done(self.ticket) {
            return false;
        }
        self.landed = true;
        self.let_through();
        shared.ring.release(self.ticket);
        shared.counters.completed(self.priority, now.since(self.began));
        true
    }

    /// Nobody will watch it any more; its tickets may still be written, so they are not reused.
    pub(crate) fn abandon(mut self, ring: &Ring) {
        self.let_through();
        let tickets = [(!self.landed).then_some(self.ticket), self.ready];
        tickets.into_iter().flatten().for_each(|ticket| ring.forget(ticket));
    }

    fn let_through(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.bank.lower(pending);
        }
        for (bank, boost) in self.boosts.drain(..) {
            bank.unboost(boost);
        }
    }
}
