//! A page of a program's memory.

/// The size of the smallest page.
pub(super) const PAGE_BYTES: u64 = 4096;

/// The use of a range of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its bytes are read.
    Read,
    /// It is written.
    Write,
}
