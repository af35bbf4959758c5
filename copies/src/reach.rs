//! Which memory a kernel of the layer's context may access. The driver reaches more memory, and decides what it
//! refuses, so anything doubtful is left to the driver.
//!
//! Kernels reach the allocations of their own context. Those of other contexts on the same device are in other address
//! spaces, and those of other devices need enabled access; only copies between devices by kernel may need them. Memory
//! without a context is from a pool, or mapped, and the driver says whether it may be written. A copy past the end of
//! an allocation is refused, whatever lies behind it, unless both parts were mapped side by side. The driver is then
//! asked about each mapping, because nothing else would show a hole between them.

use hal::{Context, Device, Driver, MemoryKind, PointerExtent};

use crate::registered;

/// The pieces of mapped memory that any copy may span, and the bytes of a copy for each further one. PyTorch maps 20
/// MiB at a time. The question about a piece takes less than a hundredth of the time of so many bytes. Nothing is
/// remembered of the answers: pieces come and go unseen.
const PIECES: u64 = 8;
const BYTES_PER_PIECE: u64 = 16 << 20;

/// The context of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(crate) context: Context,
    pub(crate) device: Device,
}

/// Memory that kernels may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) is_on_device: bool,
    /// From the driver's addresses to those of the device.
    pub(crate) shift: u64,
    /// From the address on.
    pub(crate) bytes: u64,
    /// Another piece may go on behind it.
    is_piece: bool,
}

/// A side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// Whether bytes are written there.
    pub(crate) writes: bool,
    /// Whether it may be memory of another device.
    pub(crate) may_be_far: bool,
}

impl Home {
    /// The memory at an address; `None` if no kernel may be given it for this use.
    pub(crate) fn find(&self, driver: &dyn Driver, address: u64, to: Use) -> Option<Found> {
        let PointerExtent { info, bytes, is_piece } = driver.pointer_extent(address).ok()?;
        let seen = info.device_pointer?;
        let is_here = info.device == Some(self.device);
        let is_on_device = match info.kind {
            MemoryKind::Pinned => false,
            MemoryKind::Device if is_here && info.context.is_none_or(|context| context == self.context) => true,
            MemoryKind::Device if !is_here && to.may_be_far => true,
            _ => return None,
        };
        if !is_on_device && to.writes && registered::is_read_only(address) {
            return None;
        }
        Some(Found { is_on_device, shift: seen.0.wrapping_sub(address), bytes, is_piece })
    }

    /// Whether kernels may be given all of a range.
    pub(crate) fn reaches(&self, driver: &dyn Driver, (address, bytes): (u64, u64), to: Use) -> bool {
        let (mut at, mut missing, mut first) = (address, bytes, None);
        for _ in 0..PIECES + bytes / BYTES_PER_PIECE {
            let Some(found) = self.find(driver, at, to) else { return false };
            let goes_on = *first.get_or_insert(found.shift) == found.shift;
            if !goes_on || found.bytes >= missing {
                return goes_on;
            }
            if !found.is_piece || found.bytes == 0 {
                return false;
            }
            at += found.bytes;
            missing -= found.bytes;
        }
        false
    }
}

#[cfg(test)]
mod tests;
