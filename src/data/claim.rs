//! Claims: the bytes of arrays that a task uses, without their types.

use std::ops::Range;
use std::sync::Arc;

use graph::{Access, Mode};

use crate::data::record::Record;

/// The bytes of an array that a task uses.
#[derive(Clone)]
pub struct Claim {
    pub(super) record: Arc<Record>,
    pub(super) bytes: Range<u64>,
    pub(super) mode: Mode,
}

impl Claim {
    /// The same as the graph knows it.
    pub(super) fn access(&self) -> Access {
        let is_whole = self.bytes == (0..self.record.bytes);
        Access { data: self.record.data, range: (!is_whole).then(|| self.bytes.clone()), mode: self.mode }
    }

    /// Whether bytes that were never written are an error. A use that only writes may leave them so.
    pub(super) fn needs_contents(&self) -> bool {
        !matches!(self.mode, Mode::Write | Mode::Discard)
    }

    /// Whether two claims of one task would be references to the same bytes, of which one writes.
    pub(super) fn aliases(&self, other: &Claim) -> bool {
        let overlaps = self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end;
        Arc::ptr_eq(&self.record, &other.record) && overlaps && self.mode.conflicts(other.mode)
    }
}
