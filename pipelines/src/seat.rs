//! A member of the ring, with its frame's place in the admission.

use stages::{Admission, Admitted, Member};

/// A member of the ring, and the place of the frame that it has in hand.
pub(crate) struct Seat {
    pub member: Member,
    /// It is given back when the frame has ended. In the frame itself it would cost those without an admission.
    pub admitted: Option<Admitted>,
    /// The number of its last place, by which it stands in the line for the next one.
    pub last: u64,
}

impl Seat {
    pub fn new(member: Member, admission: Option<&Admission>) -> Seat {
        Seat { member, admitted: None, last: admission.map_or(0, Admission::given) }
    }
}
