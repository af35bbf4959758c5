//! The sized structure of `overtake_read_statistics`.

use std::mem::{offset_of, size_of};

use shim::table::Totals;

/// What the layer has done in this process, all devices together. Set struct_size before the call; fields that the
/// library does not know are set to 0, and struct_size then says how much it knows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// sizeof(struct overtake_statistics).
    pub struct_size: u32,
    /// 1 when the layer has stood down to plain copies, because it had to be rescued too often.
    pub stood_down: u32,
    /// Copies that held others off.
    pub urgent_copies: u64,
    /// Their bytes.
    pub urgent_bytes: u64,
    /// Bulk copies that went by copy kernel, which stands aside for urgent copies.
    pub kernel_copies: u64,
    /// Their bytes.
    pub kernel_bytes: u64,
    /// Bulk copies that went by copy engine, in chunks.
    pub engine_copies: u64,
    /// Their bytes.
    pub engine_bytes: u64,
    /// Copies that were passed on to the driver unchanged.
    pub passed_on_copies: u64,
    /// Their bytes.
    pub passed_on_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Times that the watchdog let waiting copies go.
    pub rescues: u64,
    /// Driver calls of the layer that failed; the copy went another way.
    pub errors: u64,
}

/// The first structure that was ever released had this many bytes: no caller knows less.
pub const STATISTICS_BYTES_MIN: usize = 96;

// The structure is the table's, said again for C; were a field inserted, these would no longer compile.
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
