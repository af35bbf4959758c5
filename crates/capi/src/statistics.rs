//! The structure of `overtake_read_statistics`.

use std::mem::{offset_of, size_of};

use shim::table::Totals;

/// The counts of this process, over all devices. Set struct_size before the call. Fields that the library does not know
/// become 0, and struct_size becomes the number of bytes that it knows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// sizeof(struct overtake_statistics).
    pub struct_size: u32,
    /// 1 after the layer stood down to plain copies, because the watchdog had to let waiting copies go too often.
    pub stood_down: u32,
    /// Copies that bulk copies yielded to.
    pub urgent_copies: u64,
    /// Their bytes.
    pub urgent_bytes: u64,
    /// Bulk copies by copy kernel, which yields to urgent copies.
    pub kernel_copies: u64,
    /// Their bytes.
    pub kernel_bytes: u64,
    /// Copies by copy engine in chunks: bulk, and staged pageable ones.
    pub engine_copies: u64,
    /// Their bytes.
    pub engine_bytes: u64,
    /// Copies that went to the driver unchanged.
    pub passed_on_copies: u64,
    /// Their bytes.
    pub passed_on_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Times when the watchdog let waiting copies go.
    pub rescues: u64,
    /// Driver calls of the layer that failed. The copy went another way.
    pub errors: u64,
}

/// The size of the first released structure: no caller has a smaller one.
pub const STATISTICS_BYTES_MIN: usize = 96;

// This is the table's structure, written again for C. If a field were inserted in one of them, this would not compile.
const _: () = {
    assert!(size_of::<Statistics>() == size_of::<Totals>() && size_of::<Statistics>() >= STATISTICS_BYTES_MIN);
    assert!(offset_of!(Statistics, stood_down) == offset_of!(Totals, stood_down));
    assert!(offset_of!(Statistics, kernel_copies) == offset_of!(Totals, kernel_copies));
    assert!(offset_of!(Statistics, passed_on_copies) == offset_of!(Totals, passed_on_copies));
    assert!(offset_of!(Statistics, errors) == offset_of!(Totals, errors));
};

impl From<Totals> for Statistics {
    fn from(totals: Totals) -> Statistics {
        let struct_size = totals.struct_size;
        let Totals { stood_down, urgent_copies, urgent_bytes, kernel_copies, kernel_bytes, .. } = totals;
        let Totals { engine_copies, engine_bytes, passed_on_copies, passed_on_bytes, .. } = totals;
        let Totals { chunks, rescues, errors, .. } = totals;
        Statistics {
            struct_size,
            stood_down,
            urgent_copies,
            urgent_bytes,
            kernel_copies,
            kernel_bytes,
            engine_copies,
            engine_bytes,
            passed_on_copies,
            passed_on_bytes,
            chunks,
            rescues,
            errors,
        }
    }
}
