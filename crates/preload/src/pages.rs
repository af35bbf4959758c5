//! Where a shared object is mapped: this library, or the driver. Cached in one word, so that no thread reads half a
//! range.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE_BITS: u32 = 12;
/// The bits of the word for the number of pages; the others hold the number of the first page.
const SPAN_BITS: u32 = 20;

/// The addresses of one object, in whole pages; 0 until they are known.
pub struct Pages(AtomicU64);

impl Pages {
    pub const fn unknown() -> Pages {
        Pages(AtomicU64::new(0))
    }

    pub fn get(&self) -> Option<Range<usize>> {
        let pages = self.0.load(Ordering::Relaxed);
        (pages != 0).then(|| unpack(pages))
    }

    /// Sets the addresses, unless they are known.
    pub fn settle(&self, range: &Range<usize>) {
        let _ = self.0.compare_exchange(0, pack(range), Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn pack(range: &Range<usize>) -> u64 {
    let (first, last) = (range.start >> PAGE_BITS, range.end.saturating_sub(1) >> PAGE_BITS);
    let span = (last - first + 1).min((1 << SPAN_BITS) - 1);
    (first as u64) << SPAN_BITS | span as u64
}

fn unpack(pages: u64) -> Range<usize> {
    let (first, span) = ((pages >> SPAN_BITS) as usize, (pages & ((1 << SPAN_BITS) - 1)) as usize);
    first << PAGE_BITS..(first + span) << PAGE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_survives_in_one_word() {
        for range in [0x7f12_3456_7000..0x7f12_3999_9000, 0x1000..0x2000, 0xff_ffff_ffff_f000..0x100_0000_0000_0000] {
            assert_eq!(unpack(pack(&range)), range);
        }
        assert_eq!(unpack(pack(&(0x1010..0x3001))), 0x1000..0x4000);
    }

    #[test]
    fn the_first_range_stays() {
        let pages = Pages::unknown();
        assert_eq!(pages.get(), None);
        pages.settle(&(0x1000..0x2000));
        pages.settle(&(0x5000..0x9000));
        assert_eq!(pages.get(), Some(0x1000..0x2000));
    }
}
