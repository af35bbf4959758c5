//! Links of lists whose members are in an array.

/// No member.
pub(crate) const NONE: u32 = u32::MAX;

/// The ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub first: u32,
    pub last: u32,
}

impl Pair {
    pub const EMPTY: Pair = Pair { first: NONE, last: NONE };
}
