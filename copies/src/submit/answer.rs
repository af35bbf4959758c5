//! Answers to the questions of a decision, from what the streams know of each other, and from the driver.

use terms::Direction;

use crate::decide::{Company, Question};
use crate::native::Native;
use crate::placement::Placement;
use crate::submit::asked::{Asked, Placed};
use crate::submit::batch::combine;
use crate::submit::place::{is_allocated, place};

impl Asked<'_> {
    /// The priorities that the copy meets on its engine, or on both where `direction` is not known; see
    /// [`crate::decide::Known::company`].
    #[inline]
    pub(super) fn company(&self, direction: Option<Direction>) -> Company {
        let with = |direction| self.stream.bounds_with(direction, self.priority);
        let Some(direction) = direction else {
            let (to_device, to_host) = (with(Direction::HostToDevice), with(Direction::DeviceToHost));
            return (to_device.0.min(to_host.0), to_device.1.max(to_host.1));
        };
        with(direction)
    }

    /// Whether copies of others reckon with it already, on one of the engines that it may come to.
    #[inline]
    pub(super) fn is_announced(&self, direction: Option<Direction>) -> bool {
        let on = |direction| self.stream.is_announced(direction, self.priority);
        direction.map_or_else(|| on(Direction::HostToDevice) || on(Direction::DeviceToHost), on)
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
                let combined = combine(&*self.asked.inner().driver, self.asked.cargo.requests());
                self.known.is_together = Some(combined.is_some());
                let (placement, pieces) = combined.unwrap_or((Placement::UNKNOWN, Vec::new()));
                (self.known.placement, self.pieces) = (Some(placement), pieces);
            }
            Question::Bounds => self.known.is_within = Some(self.lies_within()),
        }
    }

    /// Looks at the company of the copy. Others have to reckon with the copy from then on, which they can only if its
    /// engine is known.
    fn meet(&mut self) {
        if self.known.placement.is_none() && !self.asked.is_announced(self.known_direction()) {
            self.place();
        }
        self.known.company = Some(self.asked.company(self.known_direction()));
    }

    /// Asks where the bytes are, of a batch where the first copy's are, and announces the copy on the engine that it
    /// will meet.
    fn place(&mut self) {
        let asked = &self.asked;
        let placement = place(&*asked.inner().driver, asked.cargo.first()).unwrap_or(Placement::UNKNOWN);
        let (direction, priority) = (placement.direction, asked.priority);
        if placement.meets_engine(asked.cargo) && !asked.stream.is_announced(direction, priority) {
            asked.stream.announce(direction, priority);
        }
        self.known.placement = Some(placement);
        if self.known.direction.is_none() {
            // It has met the other engine's copies so far.
            self.known.company = None;
        }
    }

    fn look_ahead(&mut self) {
        let asked = &self.asked;
        self.below = asked.stream.ahead.below(asked.priority, &asked.inner().records.tickets);
        self.known.depends = Some(!self.below.is_empty());
    }

    fn look_for_captures(&mut self) {
        let is_excluded = self.asked.native.is_some_and(Native::no_captures);
        let is_captured = !is_excluded && self.asked.inner().is_capturing(self.asked.stream.stream);
        self.known.is_captured = Some(is_captured);
    }

    /// Whether both sides lie within their allocations. A batch that does not has no placement ([`combine`]).
    fn lies_within(&self) -> bool {
        let [request] = self.asked.cargo.requests() else { return true };
        let (driver, shape) = (&*self.asked.inner().driver, request.shape.flattened());
        shape.extents().into_iter().all(|(address, bytes)| is_allocated(driver, address, bytes))
    }
}
