//! The counters of a heap, and the report when it is closed.

use std::fmt;

use hal::Error;

use crate::heap::Space;

/// The memory of one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerStatistics {
    /// The name that it gave.
    pub owner: String,
    /// Blocks that it has.
    pub blocks: u64,
    /// Their bytes, as asked for.
    pub bytes: u64,
    /// The most bytes at any time.
    pub bytes_max: u64,
}

/// The memory of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapStatistics {
    /// The kind of its memory.
    pub space: Space,
    /// Allocations of the driver that it has.
    pub pages: u64,
    /// Their bytes.
    pub reserved_bytes: u64,
    /// The limit of those.
    pub max_bytes: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Their bytes, as asked for.
    pub used_bytes: u64,
    /// The most bytes in use at any time.
    pub used_bytes_max: u64,
    /// A block of this size finds room without another page. A sub-allocator keeps free memory in bins, so a little
    /// more may be free in one piece.
    pub free_bytes_largest: u64,
    /// Pages that were made, and those that were given back.
    pub pages_made: u64,
    /// See above.
    pub pages_freed: u64,
    /// By owner, in the order of their names.
    pub owners: Vec<OwnerStatistics>,
}

/// The end of a heap.
#[derive(Clone, Debug)]
#[must_use = "it names the blocks that are still in use"]
pub struct Closed {
    /// The kind of its memory.
    pub space: Space,
    /// The owners that still have blocks. Their pages stay until those blocks are dropped.
    pub leaks: Vec<OwnerStatistics>,
    /// The bytes of those pages.
    pub left_bytes: u64,
    /// The last error, if pages could not be given back.
    pub error: Option<Error>,
}

impl Closed {
    /// Whether everything has been given back.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.leaks.is_empty() && self.error.is_none()
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Closed { space, leaks, left_bytes, error } = self;
        write!(f, "the {space} heap is closed")?;
        if !leaks.is_empty() {
            let leaks: Vec<_> = leaks.iter().map(ToString::to_string).collect();
            let leaks = leaks.join("; ");
            write!(f, " while blocks are in use, and keeps {left_bytes} bytes until they go: {leaks}")?;
            write!(f, ". Drop blocks before the heap")?;
        }
        match error {
            Some(error) => write!(f, "; not all of its pages could be given back: {error}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OwnerStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnerStatistics { owner, blocks, bytes, .. } = self;
        write!(f, "{owner} has {blocks} blocks of {bytes} bytes together")
    }
}
