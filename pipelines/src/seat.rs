//! A member of the ring, with its frame's place in the admission.

use stages::{Admitted, Member};

/// A member of the ring, and the place of the frame that it has in hand.
pub(crate) struct Seat {
    pub member: Member,
    /// It is given back when the frame has ended. In the frame itself it would cost those without an admission.
    pub admitted: Option<Admitted>,
}
