//! A copy on its way, as the monitor sees it.

use std::sync::Arc;

use hal::Nanos;
use semaphores::{Bank, Boost, Layout, Pending, Priority};

use crate::monitor::{Ring, Shared, Ticket};
use crate::trust::Trust;

/// How it is known that a copy has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// Its own ticket is done.
    OnTicket(Ticket),
    /// So long after the ticket of a copy before it.
    After(Ticket, Nanos),
    /// At this time: the ticket of the copy before it is done.
    At(Ticket, Nanos),
}

impl Landing {
    pub(crate) fn ticket(self) -> Ticket {
        match self {
            Landing::OnTicket(ticket) | Landing::After(ticket, _) | Landing::At(ticket, _) => ticket,
        }
    }
}

/// A copy that has been submitted and has not completed.
pub(crate) struct Flight {
    /// How it is known that it has completed.
    pub(crate) landing: Landing,
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
    /// What it boosted: the levels of copies that it depends on.
    pub(crate) boosts: Vec<(Arc<Bank>, Boost)>,
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
        let landed = match self.landing {
            _ if self.landed => false,
            Landing::OnTicket(ticket) | Landing::After(ticket, _) => ring.is_done(ticket),
            Landing::At(..) => false,
        };
        landed || self.ready.is_some_and(|ready| ring.is_done(ready))
    }

    /// When it must be looked at even if no word changes.
    pub(crate) fn deadline(&self) -> Nanos {
        match self.landing {
            Landing::At(_, time) if !self.landed => time,
            _ => Nanos::MAX,
        }
    }

    /// Whether nothing of it is outstanding any more.
    pub(crate) fn is_over(&self) -> bool {
        self.landed && self.ready.is_none()
    }

    /// Raises what has become schedulable: published implies schedulable.
    pub(crate) fn note_readiness(&mut self, ring: &Ring, stood_down: bool, now: Nanos) {
        if let Some(ready) = self.ready.filter(|ready| ring.is_done(*ready)) {
            ring.release(ready);
            self.ready = None;
            self.raise(stood_down || ring.is_done(self.landing.ticket()));
        }
        if let Landing::After(ticket, tail) = self.landing
            && ring.is_done(ticket)
        {
            // The copy before it has completed, so it is running now.
            self.landing = Landing::At(ticket, now + tail);
            self.raise(stood_down);
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
        let complete = match self.landing {
            _ if self.landed => false,
            Landing::OnTicket(ticket) => shared.ring.is_done(ticket),
            Landing::After(..) => false,
            Landing::At(_, time) => now >= time,
        };
        if !complete {
            return false;
        }
        self.landed = true;
        self.let_through();
        if let Landing::OnTicket(ticket) = self.landing {
            shared.ring.release(ticket);
            shared.counters.completed(self.priority, now.since(self.began));
        }
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
        if let Landing::OnTicket(ticket) = self.landing {
            shared.ring.release(ticket);
        }
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
        for (bank, boost) in self.boosts.drain(..) {
            bank.unboost(boost);
        }
    }
}
