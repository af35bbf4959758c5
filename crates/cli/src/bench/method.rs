//! A way to move urgent bytes past bulk bytes.

use channels::probe::Rig;
use hal::{MemOp, Result, Stream};

/// The lane of the rig that urgent copies use.
pub const URGENT_LANE: usize = 0;
/// The lane of the rig that bulk requests use.
pub const BULK_LANE: usize = 1;

/// The word that counts completed urgent copies.
const URGENT_WORD: usize = 1;
/// The word that counts completed bulk requests.
const BULK_WORD: usize = 2;

/// One way to submit urgent copies and bulk requests. Both end in a write to a word in host memory, which says how many
/// of them are complete.
pub trait Method: Send + Sync {
    /// Where it submits.
    fn rig(&self) -> &Rig;
    /// Submits an urgent copy, and behind it the write of `sequence` to the word of urgent copies.
    fn submit_urgent(&self, sequence: u32) -> Result<()>;
    /// Submits a bulk request, and behind it the write of `request` to the word of bulk requests.
    fn submit_bulk(&self, request: u32) -> Result<()>;
    /// Bytes of an urgent copy.
    fn urgent_bytes(&self) -> u64;
    /// Bytes of a bulk request.
    fn bulk_bytes(&self) -> u64;
    /// The streams it submits to: idle when everything has completed.
    fn streams(&self) -> Vec<Stream>;

    /// How many urgent copies are complete, as the device has last written it.
    fn urgent_done(&self) -> u32 {
        self.rig().word(URGENT_WORD).load(std::sync::atomic::Ordering::Acquire)
    }

    /// How many bulk requests are complete.
    fn bulk_done(&self) -> u32 {
        self.rig().word(BULK_WORD).load(std::sync::atomic::Ordering::Acquire)
    }

    /// The operation that counts an urgent copy.
    fn count_urgent(&self, sequence: u32) -> MemOp {
        MemOp::write32(self.rig().word_address(URGENT_WORD), sequence)
    }

    /// The operation that counts a bulk request.
    fn count_bulk(&self, request: u32) -> MemOp {
        MemOp::write32(self.rig().word_address(BULK_WORD), request)
    }

    /// Sets both counts to 0. Only while nothing is outstanding.
    fn reset(&self) {
        self.rig().word(URGENT_WORD).store(0, std::sync::atomic::Ordering::Release);
        self.rig().word(BULK_WORD).store(0, std::sync::atomic::Ordering::Release);
    }
}
