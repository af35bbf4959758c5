//! Copy strands: strands of copies that follow each other, and that nodes after them do not continue in.
//!
//! A copy in a strand of its own stands behind the kernels of others if its strand is folded onto their lane, and
//! shares the link with all other copies in flight. In a copy strand it waits only for copies of its kind, one at a
//! time, and those after it join it.

use priority::Priority;

use crate::node::{Kind, Slot};

/// The copies that go in one copy_strand: of one way, for one device and of one priority.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CopyStrand {
    device: u8,
    priority: Priority,
    kind: Kind,
}

impl CopyStrand {
    fn of(slot: &Slot) -> CopyStrand {
        CopyStrand { device: slot.device, priority: slot.effective, kind: slot.kind }
    }
}

/// The strands that are copy strands, and their lanes.
#[derive(Default)]
pub(crate) struct CopyStrands {
    strands: Vec<(CopyStrand, u32, u8)>,
}

impl CopyStrands {
    /// The copy strand of a copy, if there is one.
    pub fn find(&self, slot: &Slot) -> Option<u32> {
        let copy_strand = CopyStrand::of(slot);
        self.strands.iter().find(|(known, ..)| *known == copy_strand).map(|(_, strand, _)| *strand)
    }

    /// The strand of the copy is a copy strand from now on.
    pub fn begin(&mut self, slot: &Slot) {
        self.strands.push((CopyStrand::of(slot), slot.strand, slot.lane));
    }

    /// A strand has no copies left. Its lane may have another copy strand.
    pub fn end(&mut self, strand: u32) {
        self.strands.retain(|(_, known, _)| *known != strand);
    }

    /// The place of a lane with so many strands among those that a new strand may go to, in 34 bits: one with a copy
    /// strand is the last, and before it comes one without strands, which is kept. One number is compared faster than
    /// three.
    #[inline]
    pub fn order(&self, lane: u8, strands: u32) -> u64 {
        if self.strands.is_empty() {
            return strands.into();
        }
        let has_copy_strand = self.strands.iter().any(|(.., of)| *of == lane);
        (u64::from(has_copy_strand) << 1 | u64::from(strands == 0)) << 32 | u64::from(strands)
    }

    /// Whether a strand that is none may have a lane without strands. `empty` has a bit for each, and the group so many
    /// from the first on. Where there are copy strands, the last is kept for one.
    pub fn leave(&self, empty: u64, first: u8, count: u8) -> bool {
        self.strands.is_empty() || has_two(empty, first, count)
    }
}

/// Whether the group has two lanes without strands.
pub(crate) fn has_two(empty: u64, first: u8, count: u8) -> bool {
    let of_group = 1_u64.checked_shl(count.into()).map_or(u64::MAX, |behind| behind - 1);
    let empty = empty >> first & of_group;
    empty & empty.wrapping_sub(1) != 0
}
