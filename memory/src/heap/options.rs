//! Memory spaces, and the sizes of a heap.

use std::fmt;

use hal::{Code, Error, Result};

/// The least alignment and granularity of a block, as that of CUDA's own allocations.
pub(super) const UNIT_BYTES: u64 = 256;

/// The largest page.
const PAGE_BYTES_MAX: u64 = 1 << 38;

/// The kind of memory that a heap hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of the device.
    Device,
    /// Page-locked memory of the host, which the device reaches at full speed.
    Pinned,
    /// The same, write-combined: fast for the device to read, slow for the host to read.
    WriteCombined,
    /// Ordinary memory of the host, which the device does not reach.
    Host,
}

impl Space {
    /// All four.
    pub const ALL: [Space; 4] = [Space::Device, Space::Pinned, Space::WriteCombined, Space::Host];

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Space::Device => "device",
            Space::Pinned => "pinned",
            Space::WriteCombined => "write-combined",
            Space::Host => "host",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sizes of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// The least allocation that the heap asks the driver for: a power of two, at least 4 KiB.
    pub page_bytes: u64,
    /// The memory that it has from the beginning on.
    pub reserve_bytes: u64,
    /// The memory that it has at most.
    pub max_bytes: u64,
}

impl Default for HeapOptions {
    fn default() -> HeapOptions {
        HeapOptions { page_bytes: 2 << 20, reserve_bytes: 0, max_bytes: u64::MAX }
    }
}

impl HeapOptions {
    pub(super) fn check(&self) -> Result<()> {
        let HeapOptions { page_bytes, reserve_bytes, max_bytes } = *self;
        if !page_bytes.is_power_of_two() || !(4096..=PAGE_BYTES_MAX).contains(&page_bytes) {
            return Err(refused(format!("page_bytes is a power of two from 4096 to 2^38, and not {page_bytes}")));
        }
        if reserve_bytes > max_bytes {
            return Err(refused(format!("reserve_bytes ({reserve_bytes}) is more than max_bytes ({max_bytes})")));
        }
        Ok(())
    }

    /// The size of the page that a block of so many bytes needs. It is 2^n times `page_bytes`, because a sub-allocator
    /// finds a block as large as the page in a power of two only.
    pub(super) fn page_bytes_for(&self, bytes: u64) -> Option<u64> {
        let page_bytes = bytes.checked_next_power_of_two()?.max(self.page_bytes);
        (page_bytes <= PAGE_BYTES_MAX).then_some(page_bytes)
    }
}

/// An argument that makes no sense.
pub(super) fn refused(detail: impl Into<String>) -> Error {
    Code::INVALID_VALUE.at("overtake heap").because(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_powers_of_two_times_the_least_one() {
        let options = HeapOptions { page_bytes: 1 << 20, ..HeapOptions::default() };
        let sizes = [1, 1 << 20, (1 << 20) + 1, 3 << 20].map(|bytes| options.page_bytes_for(bytes));
        assert_eq!(sizes, [1 << 20, 1 << 20, 2 << 20, 4 << 20].map(Some));
        assert_eq!([1 << 39, u64::MAX].map(|bytes| options.page_bytes_for(bytes)), [None, None]);
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused_by_name() {
        let plain = HeapOptions::default();
        for (options, name) in [
            (HeapOptions { page_bytes: 3 << 20, ..plain }, "page_bytes"),
            (HeapOptions { page_bytes: 2048, ..plain }, "page_bytes"),
            (HeapOptions { page_bytes: 1 << 39, ..plain }, "page_bytes"),
            (HeapOptions { reserve_bytes: 2, max_bytes: 1, ..plain }, "reserve_bytes"),
        ] {
            assert!(options.check().unwrap_err().to_string().contains(name), "{options:?}");
        }
        plain.check().unwrap();
    }
}
