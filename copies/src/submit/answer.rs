//! Answers the questions of a decision, from the streams' state or from the driver.

use hal::Nanos;
use priority::Direction;

use crate::decide::{Budget, Company, Question, cost};
use crate::native::Native;
use crate::placement::Placement;
use crate::reach::Use;
use crate::records::Room;
use crate::submit::asked::{Asked, Placed};
use crate::submit::batch::combine;
use crate::submit::place::place;

impl Asked<'_> {
    /// The priorities on the copy's engine, or on all engines if `direction` is unknown or left to the driver; see
    /// [`crate::decide::Known::company`].
    #[inline]
    pub(super) fn company(&self, direction: Option<Direction>) -> Company {
        let with = |direction| self.stream.met(direction, self.priority).unwrap_or((self.priority, self.priority));
        // Copies that are left to the driver are reserved nowhere. They meet the others of their program all the same.
        let Some(direction) = direction.filter(|direction| self.inner().options.manages(*direction)) else {
            let all = self.inner().managed().map(with);
            return all.fold((self.priority, self.priority), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        };
        with(direction)
    }

    /// The room that the copy finds on an engine.
    pub(super) fn room(&self, direction: Direction) -> Room {
        self.inner().records.traffic(direction).room(self.priority, self.stream.stream)
    }

    /// How long those above the copy may wait, in that room.
    #[inline(never)] // most copies find that none is stated
    pub(super) fn budget(&self, direction: Direction, room: Room) -> Budget {
        let (inner, engine) = (self.inner(), self.inner().engine(direction));
        if room.stated == Nanos::ZERO {
            return Budget::default();
        }
        // No word goes behind copies of the legacy stream, and one handle means the per-thread streams of all threads.
        let is_counted = !self.stream.stream.is_default();
        Budget {
            stated: room.stated,
            is_calm: false,
            cost: if is_counted { cost(self.cargo.bytes(), &inner.options) } else { Nanos::MAX },
            others: room.others,
            channels: engine.channels_made(self.priority),
            urgent_streams: room.urgent_streams,
            queues: inner.options.guard.queues().into(),
        }
    }

    /// Whether other streams already count on the copy, on one of the engines that it may use, or never do.
    #[inline]
    pub(super) fn is_settled(&self, direction: Option<Direction>) -> bool {
        let on = |direction| self.stream.is_settled(direction, self.priority);
        direction.map_or_else(|| self.inner().managed().any(on), on)
    }
}

impl Placed<'_> {
    pub(super) fn answer(&mut self, question: Question) {
        match question {
            Question::Company => self.meet(),
            Question::Placement => {
                self.place();
                if self.known.company.is_some() {
                    // These questions come next.
                    self.look_ahead();
                    self.look_for_captures();
                }
            }
            Question::Dependencies => self.look_ahead(),
            Question::Capture => self.look_for_captures(),
            Question::Together => {
                let inner = self.asked.inner();
                let combined = combine(&*inner.driver, &inner.home, self.asked.cargo.requests());
                self.known.is_together = Some(combined.is_some());
                let (placement, pieces) = combined.unwrap_or((Placement::UNKNOWN, Vec::new()));
                (self.known.placement, self.pieces) = (Some(placement), pieces);
            }
            Question::Bounds => self.known.is_within = Some(self.lies_within()),
            Question::Budget => {
                self.known.budget = Some(self.known_direction().map(|way| self.budget(way)).unwrap_or_default());
            }
        }
    }

    /// Finds the company of the copy. From then on other streams count on the copy, if its engine is known. If it has
    /// to give way to others, their lull is over.
    fn meet(&mut self) {
        if self.known.placement.is_none() && !self.asked.is_settled(self.known_direction()) {
            self.place();
        }
        let (direction, inner) = (self.known_direction(), self.asked.inner());
        let company = self.asked.company(direction);
        if self.asked.priority < company.1 && !self.ends_lull_late() {
            match direction {
                Some(direction) if inner.options.manages(direction) => inner.records.traffic(direction).end_lull(),
                Some(_) => {}
                None => inner.managed().for_each(|engine| inner.records.traffic(engine).end_lull()),
            }
        }
        self.known.company = Some(company);
    }

    /// Asks for the places of the bytes, of a batch for those of the first copy. Announces the copy on its engine.
    fn place(&mut self) {
        let asked = &self.asked;
        let placement = place(&*asked.inner().driver, asked.cargo.first()).unwrap_or(Placement::UNKNOWN);
        let (direction, priority) = (placement.direction, asked.priority);
        if placement.meets_engine(&asked.inner().options, asked.cargo) && !asked.stream.is_settled(direction, priority)
        {
            asked.stream.announce(direction, priority);
        }
        self.known.placement = Some(placement);
        if self.known.direction.is_none() {
            // So far the company is that of all engines.
            self.known.company = None;
        }
    }

    fn look_ahead(&mut self) {
        let asked = &self.asked;
        self.below = asked.stream.ahead.below(asked.priority, &asked.inner().records.fences);
        self.known.depends = Some(!self.below.is_empty());
    }

    fn look_for_captures(&mut self) {
        let is_excluded = self.asked.native.is_some_and(Native::no_captures);
        let is_captured = !is_excluded && self.asked.inner().is_capturing(self.asked.stream.stream);
        self.known.is_captured = Some(is_captured);
    }

    fn budget(&self, direction: Direction) -> Budget {
        Budget { is_calm: self.is_calm(direction), ..self.asked.budget(direction, self.asked.room(direction)) }
    }

    /// Whether no urgent copy of another stream has gone for a while on the copy's engine. For the legacy stream there
    /// is no calm: no word gives others their turn behind its copies.
    fn is_calm(&self, direction: Direction) -> bool {
        let (inner, stream) = (self.asked.inner(), self.asked.stream.stream);
        let calm = inner.options.profile.calm;
        if calm.bytes_max.is_none() || stream.is_legacy() || inner.engine(direction).bank.is_raised() {
            return false;
        }
        inner.records.traffic(direction).is_calm(stream, calm.after, inner.driver.host().now())
    }

    /// Whether a kernel reaches all of both sides. A batch of which it does not has no placement ([`combine`]).
    fn lies_within(&self) -> bool {
        let [request] = self.asked.cargo.requests() else { return true };
        let (inner, [target, source]) = (self.asked.inner(), request.shape.flattened().extents());
        let may_be_far = self.known_direction() == Some(Direction::Peer);
        let reaches = |range, writes| inner.home.reaches(&*inner.driver, range, Use { writes, may_be_far });
        reaches(target, true) && reaches(source, false)
    }
}
