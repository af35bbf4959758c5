//! The size of a copy kernel.

/// Warps of a block at most; `__launch_bounds__` in `copies/src/kernel/copy.cu`.
pub const BLOCK_WARPS_MAX: u32 = 16;

/// The warps that copy. Latency depends on the number of all warps, whose loads are in flight when the word goes up;
/// the number of blocks is that of the busy multiprocessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Blocks, each on a multiprocessor of its own where there are enough.
    pub blocks: u32,
    /// Warps of a block, up to [`BLOCK_WARPS_MAX`].
    pub warps: u32,
}
