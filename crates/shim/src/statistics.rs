//! The structure of `overtake_read_statistics` of the C library, which the table of functions shares.

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
