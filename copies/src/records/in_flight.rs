//! In-flight copies that have a fence of their own.

use std::sync::{Arc, Mutex};

use hal::Nanos;
use priority::{Direction, Priority};
use semaphores::{Layout, Pending};

use crate::records::ahead::Dependency;
use crate::records::burst::Burst;
use crate::records::fence::{Fence, Fences};
use crate::records::standing::Standing;
use crate::records::traffic::{Traffic, UnderWay};
use hal::locks::lock;

/// The state of the word that a copy raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raise {
    /// The copy raises none.
    Never,
    /// The word goes up when this fence tells that the copy has become schedulable.
    WhenReady(Fence),
    /// The word is up, without proof that the copy was schedulable at submission.
    OnTrust(Pending),
    /// The word is up, and the copy is schedulable.
    Proven(Pending),
    /// The word is down again, or was no longer needed when it could go up.
    Over,
}

impl Raise {
    /// Whether the copy holds others off at some time.
    pub(crate) fn is_urgent(self) -> bool {
        self != Raise::Never
    }

    fn pending(self) -> Option<Pending> {
        match self {
            Raise::OnTrust(pending) | Raise::Proven(pending) => Some(pending),
            Raise::Never | Raise::WhenReady(_) | Raise::Over => None,
        }
    }

    fn marker(self) -> Option<Fence> {
        match self {
            Raise::WhenReady(fence) => Some(fence),
            _ => None,
        }
    }
}

/// A submitted copy with a fence of its own that has not completed. The copies between two such belong to their
/// stream's [`Burst`].
pub(crate) struct InFlight {
    /// Done when the copy has completed.
    pub(crate) landing: Fence,
    /// The engine of its word.
    pub(crate) direction: Direction,
    pub(crate) priority: Priority,
    pub(crate) raise: Raise,
    /// The level at which it waits itself, if it does.
    pub(crate) waits_at: Option<Priority>,
    /// Whether it is bulk that copies above it have to pass: its engine has no lull until it has completed.
    pub(crate) is_bulk: bool,
    /// Its place among the bulk of its engine, if it is bulk.
    pub(crate) under_way: Option<UnderWay>,
    /// The copies that it depends on, which are boosted for it.
    pub(crate) depends_on: Vec<Dependency>,
    /// The time of its submission.
    pub(crate) began: Nanos,
    /// The time that it takes on an idle engine.
    pub(crate) expected: Nanos,
    /// The burst of its stream.
    pub(crate) burst: Arc<Mutex<Burst>>,
    /// Whether its completion has been seen. It stays until its readiness marker is written too.
    pub(crate) landed: bool,
}

impl InFlight {
    /// Whether its word is up.
    pub(crate) fn is_pending(&self) -> bool {
        self.raise.pending().is_some()
    }

    /// Whether a look at it would change anything. Reads words only.
    pub(crate) fn has_news(&self, fences: &Fences) -> bool {
        let landed = !self.landed && fences.is_done(self.landing);
        landed || self.raise.marker().is_some_and(|ready| fences.is_done(ready))
    }

    /// Whether no fence of it is outstanding.
    pub(crate) fn is_over(&self) -> bool {
        self.landed && self.raise.marker().is_none()
    }

    /// Ends the boosts whose copies have completed.
    pub(crate) fn end_boosts(&mut self, standing: &Standing, fences: &Fences) {
        self.depends_on.retain_mut(|dependency| {
            dependency.fences.retain(|fence| !fences.is_done(*fence));
            if dependency.fences.is_empty() {
                dependency.end_boosts(standing);
            }
            !dependency.fences.is_empty()
        });
    }

    /// Raises the word if the copy has become schedulable: a word that is up means schedulable copies.
    pub(crate) fn note_readiness(&mut self, standing: &Standing, fences: &Fences) {
        if let Some(ready) = self.raise.marker().filter(|ready| fences.is_done(*ready)) {
            fences.release(ready);
            let too_late = fences.is_done(self.landing);
            let pending = if too_late { None } else { standing.raise(self.direction, self.priority) };
            self.raise = pending.map_or(Raise::Over, Raise::Proven);
        }
    }

    /// The time from which it is doubted that the copy was schedulable at submission, if all pending copies on its
    /// engine take `expected`.
    pub(crate) fn doubt_at(&self, expected: Nanos, grace: Nanos) -> Nanos {
        if matches!(self.raise, Raise::OnTrust(_)) && !self.landed {
            self.began + grace + expected + expected
        } else {
            Nanos::MAX
        }
    }

    /// The copy has not completed in its time, so it must have waited for earlier work of its stream. It holds no other
    /// copy back any more, and the next copies of the stream are submitted with care.
    pub(crate) fn doubt(&mut self, standing: &Standing) {
        lock(&self.burst).doubt(standing, self.landing);
        self.lower(standing);
    }

    fn lower(&mut self, standing: &Standing) {
        if let Some(pending) = self.raise.pending() {
            standing.bank(self.direction).lower(pending);
            self.raise = Raise::Over;
        }
    }

    /// Ends the copy once it has completed. Returns whether it has just done so.
    pub(crate) fn land(&mut self, standing: &Standing, fences: &Fences, traffic: &Traffic) -> bool {
        if self.landed || !fences.is_done(self.landing) {
            return false;
        }
        self.landed = true;
        self.let_through(standing, traffic);
        fences.release(self.landing);
        true
    }

    /// Whether the copy waits at a raised word.
    pub(crate) fn is_held(&self, standing: &Standing) -> bool {
        let Some(level) = self.waits_at.filter(|_| !self.landed) else { return false };
        let bank = standing.bank(self.direction);
        let mut above = bank.priorities().above(level);
        // A lifted copy waits at the word of another level.
        let waits = |level| bank.gate_word(level) != 0;
        let is_held = waits(level) && standing.lifts.passes_as(self.landing).is_none_or(waits);
        is_held || above.any(|higher| bank.stream_word(higher) != 0)
    }

    /// Gives up a copy that was not submitted, or whose completion no stream will write: it holds no other copy back.
    /// Returns whether a marker is still to be written.
    pub(super) fn withdraw(&mut self, standing: &Standing, fences: &Fences, traffic: &Traffic) -> bool {
        self.let_through(standing, traffic);
        self.landed = true;
        fences.release(self.landing);
        self.raise.marker().is_some()
    }

    /// Gives up a copy that no thread watches any more. Its fences may still be written, so they are not given back.
    pub(super) fn abandon(mut self, standing: &Standing, traffic: &Traffic) {
        self.let_through(standing, traffic);
    }

    fn let_through(&mut self, standing: &Standing, traffic: &Traffic) {
        self.lower(standing);
        if self.waits_at.is_some() {
            standing.lifts.end(self.landing);
        }
        if let Some(copy) = self.under_way.take() {
            traffic.end(copy);
        }
        self.depends_on.drain(..).for_each(|mut dependency| dependency.end_boosts(standing));
    }
}

#[cfg(test)]
mod tests {
    use priority::Priorities;

    use super::*;
    use crate::records::Records;

    const DIRECTION: Direction = Direction::HostToDevice;

    fn records() -> Records {
        crate::soft::records(&crate::soft::driver(), Priorities::new(3).unwrap())
    }

    fn fence(records: &Records) -> Fence {
        records.fences.take().unwrap()
    }

    fn boosted(records: &Records, fences: Vec<Fence>, to: Priority) -> Vec<Dependency> {
        let boosts = vec![records.standing.bank(DIRECTION).boost(at(1), to)];
        vec![Dependency { priority: at(1), direction: DIRECTION, fences, boosts }]
    }

    /// An urgent copy, with the word up.
    fn flight(records: &Records) -> InFlight {
        InFlight {
            landing: fence(records),
            direction: DIRECTION,
            priority: at(3),
            raise: Raise::OnTrust(records.standing.raise(DIRECTION, at(3)).unwrap()),
            waits_at: None,
            is_bulk: false,
            under_way: None,
            depends_on: Vec::new(),
            began: Nanos::ZERO,
            expected: Nanos::ZERO,
            burst: Arc::new(Mutex::new(Burst::new(1))),
            landed: false,
        }
    }

    /// An urgent copy that raises when a marker tells that it is schedulable.
    fn careful(records: &Records) -> (InFlight, Fence) {
        let (mut flight, ready) = (flight(records), fence(records));
        flight.lower(&records.standing);
        flight.raise = Raise::WhenReady(ready);
        (flight, ready)
    }

    fn is_up(records: &Records) -> bool {
        records.standing.bank(DIRECTION).gate_word(at(1)) != 0
    }

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    #[test]
    fn a_boost_ends_with_the_copies_that_it_is_for() {
        let records = records();
        let (bank, fences) = (records.standing.bank(DIRECTION), [fence(&records), fence(&records)]);
        let mut flight = InFlight { depends_on: boosted(&records, fences.to_vec(), at(3)), ..careful(&records).0 };
        let _middle = bank.raise(at(2));
        assert_eq!(bank.gate_word(at(1)), 0, "boosted copies pass copies that are less urgent than the boost");
        records.fences.release(fences[0]);
        flight.end_boosts(&records.standing, &records.fences);
        assert_eq!(bank.gate_word(at(1)), 0, "one of the two is still on its way");
        records.fences.release(fences[1]);
        flight.end_boosts(&records.standing, &records.fences);
        assert_eq!(bank.gate_word(at(1)), 1, "the copies behind them have no claim to the boost");
    }

    #[test]
    fn a_copy_that_was_not_submitted_holds_off_and_boosts_no_other() {
        let records = records();
        let behind = fence(&records);
        let flight = InFlight { depends_on: boosted(&records, vec![behind], at(2)), ..flight(&records) };
        assert!(is_up(&records));
        records.withdraw(flight);
        assert!(!is_up(&records), "it holds no copy back");
        assert_eq!(records.fences.outstanding(), 1, "its fence is free again");
        let _middle = records.standing.raise(DIRECTION, at(2));
        assert!(is_up(&records), "the boost has ended");
    }

    #[test]
    fn a_copy_that_no_thread_watches_any_more_holds_none_off() {
        let records = records();
        records.abandon(flight(&records));
        assert!(!is_up(&records));
        assert_eq!(records.fences.outstanding(), 1, "its fence may still be written");
    }

    #[test]
    fn a_copy_that_becomes_schedulable_raises_unless_the_layer_has_stood_down() {
        let records = records();
        let Records { standing, fences, .. } = &records;
        for stood_down in [false, true] {
            let (mut flight, ready) = careful(&records);
            flight.note_readiness(standing, fences);
            assert!(!is_up(&records), "it is not schedulable");
            if stood_down {
                records.stand_down();
            }
            fences.complete(ready);
            flight.note_readiness(standing, fences);
            assert_eq!(is_up(&records), !stood_down);
            records.abandon(flight);
            assert!(!is_up(&records));
        }
    }

    #[test]
    fn a_copy_that_has_completed_when_it_is_seen_to_be_schedulable_raises_no_more() {
        let records = records();
        let (mut flight, ready) = careful(&records);
        [ready, flight.landing].into_iter().for_each(|fence| records.fences.complete(fence));
        flight.note_readiness(&records.standing, &records.fences);
        assert!(!is_up(&records));
    }

    #[test]
    fn a_lifted_copy_waits_at_the_word_of_its_new_level() {
        let records = records();
        let standing = &records.standing;
        let flight = InFlight { waits_at: Some(at(1)), ..careful(&records).0 };
        assert!(standing.lifts.begin(flight.landing, DIRECTION, at(1), true).is_some());
        let middle = standing.raise(DIRECTION, at(2)).unwrap();
        assert!(flight.is_held(standing));
        standing.lifts.lift(flight.landing, &[], at(2));
        assert!(!flight.is_held(standing), "it passes the copy of the middle");
        let urgent = standing.raise(DIRECTION, at(3)).unwrap();
        assert!(flight.is_held(standing));
        [middle, urgent].into_iter().for_each(|pending| standing.bank(DIRECTION).lower(pending));
        assert!(!flight.is_held(standing));
    }

    #[test]
    fn a_copy_that_is_late_is_lowered_and_its_stream_doubted() {
        let records = records();
        let mut flight = flight(&records);
        assert_eq!(flight.doubt_at(Nanos(10), Nanos(1)), Nanos(21));
        flight.doubt(&records.standing);
        assert!(!is_up(&records) && !flight.is_pending());
        assert_eq!(flight.doubt_at(Nanos(10), Nanos(1)), Nanos::MAX, "once is enough");
        assert!(lock(&flight.burst).take_care(), "the next copy is submitted with care");
    }
}
