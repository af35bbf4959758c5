//! Accesses: the bytes that a node uses, and how.

use std::ops::Range;

use crate::devices::{Locations, Use};

/// An object whose uses the graph knows: an array or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl DataId {
    /// The number of the object, for arrays beside the graph. It is used again after [`crate::Graph::forget`].
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// How a node uses data (ST-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    // Those that are shared stand first: one comparison tells them.
    /// It reads. Readers have no order among each other.
    Read,
    /// It adds a part to a sum, or the like, each in memory of its own. Reductions have no order among each other.
    Reduce,
    /// It changes the bytes in a way that bears others that do so at the same time, for instance by atomics. Relaxed
    /// accesses have no order among each other.
    Relaxed,
    /// It writes, and may leave bytes as they are.
    Write,
    /// It reads and writes.
    ReadWrite,
    /// It writes every byte, and the earlier ones do not matter.
    Discard,
}

impl Mode {
    /// The mode of a node that uses the same bytes in both modes (SY-07).
    #[must_use]
    pub fn and(self, other: Mode) -> Mode {
        match (self, other) {
            (one, other) if one == other => one,
            (Mode::Write, Mode::Discard) | (Mode::Discard, Mode::Write) => Mode::Write,
            _ => Mode::ReadWrite,
        }
    }

    /// Whether the bytes are others afterwards.
    #[must_use]
    pub const fn is_write(self) -> bool {
        !matches!(self, Mode::Read)
    }

    /// So many bytes at these places, used in this mode, for a selection of devices.
    #[must_use]
    pub const fn on(self, bytes: u64, at: Locations) -> Use {
        Use { bytes, at, is_needed: self.needs_bytes(), is_changed: self.is_write() }
    }

    /// Whether the bytes that are there before matter.
    #[must_use]
    pub const fn needs_bytes(self) -> bool {
        !matches!(self, Mode::Discard)
    }

    /// Whether nodes that use data in this mode have no order among each other.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        matches!(self, Mode::Read | Mode::Reduce | Mode::Relaxed)
    }

    /// Whether two nodes that use the same bytes in these modes have an order.
    #[inline]
    #[must_use]
    pub fn conflicts(self, other: Mode) -> bool {
        self as u8 != other as u8 || self as u8 > Mode::Relaxed as u8
    }
}

/// One access of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The object.
    pub data: DataId,
    /// The bytes of the object: half open, so that an empty one overlaps nothing. None is every byte.
    pub range: Option<Range<u64>>,
    /// How they are used.
    pub mode: Mode,
}

impl Access {
    /// An access to a whole object.
    #[inline]
    #[must_use]
    pub fn new(data: DataId, mode: Mode) -> Access {
        Access { data, range: None, mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readers_reductions_and_relaxed_uses_have_no_order_each_among_themselves() {
        let all = [Mode::Read, Mode::Reduce, Mode::Relaxed, Mode::Write, Mode::ReadWrite, Mode::Discard];
        for (one, other) in all.into_iter().flat_map(|one| all.map(|other| (one, other))) {
            assert_eq!(one.conflicts(other), one != other || !one.is_shared(), "{one:?}, {other:?}");
        }
    }
}
