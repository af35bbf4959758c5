//! Address spaces: one per process, with device allocations at invented addresses and host memory at its own.

use std::collections::BTreeMap;
use std::ops::Bound;

use hal::{Code, Width};

use super::mapped::Pieces;
use super::{ContextKey, Failure, Outcome};
use crate::raw::{Backing, Span};

/// The first of the invented device addresses: no host mapping lies there.
pub(crate) const DEVICE_BASE: u64 = 0x2000_0000_0000;
/// Each device has a terabyte of addresses to itself.
pub(crate) const DEVICE_STRIDE: u64 = 1 << 40;
/// The alignment of CUDA's device allocations.
pub(crate) const DEVICE_ALIGN: u64 = 512;

/// The kind of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionKind {
    /// Device memory.
    Device,
    /// Device memory of a module's global variable.
    Global,
    /// Pinned memory that the driver allocated.
    Pinned,
    /// Pinned memory that the application registered.
    Registered,
    /// The word of an imported semaphore.
    Semaphore,
    /// Addresses that were reserved, and are device memory where a piece is mapped.
    Reserved,
}

/// An allocation or a registration.
pub(crate) struct Region {
    pub(crate) bytes: u64,
    pub(crate) kind: RegionKind,
    /// `None` for reserved addresses, which are of no context.
    pub(crate) context: Option<ContextKey>,
    pub(crate) device: usize,
    pub(crate) buffer_id: u64,
    pub(crate) backing: Backing,
    /// Freed in a stream that has not reached the free yet. New operations may not name the region; submitted ones
    /// still use it.
    pub(crate) going: bool,
    /// It came in the order of a stream, from the pool of its device. Other devices have no access to that, also with
    /// peer access, which a driver call of its own would give (`cuMemPoolSetAccess`).
    pub(crate) is_pooled: bool,
    /// Registered so that the device may only read it.
    pub(crate) is_read_only: bool,
    /// The pieces of reserved addresses.
    pub(crate) pieces: Pieces,
}

impl Region {
    /// A region of an owner: a context, if it is one's, and a device.
    pub(crate) fn new(
        bytes: u64,
        kind: RegionKind,
        (context, device): (Option<ContextKey>, usize),
        buffer_id: u64,
        backing: Backing,
    ) -> Region {
        Region {
            bytes,
            kind,
            context,
            device,
            buffer_id,
            backing,
            going: false,
            is_pooled: false,
            is_read_only: false,
            pieces: Pieces::default(),
        }
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self.kind, RegionKind::Device | RegionKind::Global | RegionKind::Reserved)
    }

    /// Whether there is memory everywhere in a part: in reserved addresses, pieces without a hole.
    fn has_memory(&self, offset: u64, bytes: u64) -> bool {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        inside && (self.kind != RegionKind::Reserved || self.pieces.cover(offset, bytes, |_| true))
    }

    /// Whether a device was given access to all of a part. Other memory than pieces needs no such grant.
    pub(crate) fn grants(&self, offset: u64, bytes: u64, device: usize) -> bool {
        self.kind != RegionKind::Reserved || self.pieces.cover(offset, bytes, |piece| piece.access.contains(&device))
    }

    /// Begin and bytes of the memory around an offset: of reserved addresses the piece.
    pub(crate) fn extent(&self, offset: u64) -> (u64, u64) {
        match self.kind {
            RegionKind::Reserved => self.pieces.holding(offset).map_or((offset, 0), |(at, piece)| (at, piece.bytes)),
            _ => (0, self.bytes),
        }
    }
}

/// The memory that a process can name.
#[derive(Default)]
pub(crate) struct AddressSpace {
    regions: BTreeMap<u64, Region>,
}

impl AddressSpace {
    /// The region that holds an address, and its beginning.
    pub(crate) fn region(&self, address: u64) -> Option<(u64, &Region)> {
        self.reservation(address).filter(|(start, region)| region.has_memory(address - start, 1))
    }

    /// The same, also where no piece is mapped.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, &Region)> {
        let (&start, region) = self.regions.range((Bound::Unbounded, Bound::Included(address))).next_back()?;
        (address - start < region.bytes).then_some((start, region))
    }

    /// The pieces of the addresses that were reserved from here on.
    pub(crate) fn pieces(&mut self, start: u64) -> Option<&mut Pieces> {
        self.regions.get_mut(&start).map(|region| &mut region.pieces)
    }

    /// The region that holds an address, for new operations.
    pub(crate) fn nameable(&self, address: u64) -> Option<(u64, &Region)> {
        self.region(address).filter(|(_, region)| !region.going)
    }

    /// The region that begins here is one of the pool.
    pub(crate) fn pool(&mut self, start: u64) {
        if let Some(region) = self.regions.get_mut(&start) {
            region.is_pooled = true;
        }
    }

    /// The device may only read the region that begins here.
    pub(crate) fn restrict(&mut self, start: u64) {
        if let Some(region) = self.regions.get_mut(&start) {
            region.is_read_only = true;
        }
    }

    /// From now on, new operations may not name the region that begins here.
    pub(crate) fn let_go(&mut self, start: u64) {
        if let Some(region) = self.regions.get_mut(&start) {
            region.going = true;
        }
    }

    /// The memory of a range that lies inside one region.
    pub(crate) fn span(&self, address: u64, bytes: u64) -> Option<(Span<'_>, &Region)> {
        let (start, region) = self.region(address)?;
        let offset = address - start;
        region.has_memory(offset, bytes).then(|| (region.backing.span().part(offset, bytes), region))
    }

    /// A word for a memory operation.
    pub(crate) fn word(&self, address: u64, width: Width) -> Outcome<(Span<'_>, &Region)> {
        if !address.is_multiple_of(width.bytes()) {
            return Err(Failure::new(Code::INVALID_VALUE, format!("address {address:#x} is not aligned to the word")));
        }
        let unknown =
            || Failure::new(Code::INVALID_VALUE, format!("address {address:#x} is not device or pinned memory"));
        self.span(address, width.bytes()).ok_or_else(unknown)
    }

    /// The kind of region that overlaps the range, if there is one.
    pub(crate) fn overlapping(&self, start: u64, bytes: u64) -> Option<RegionKind> {
        let end = start.saturating_add(bytes);
        let (&other, region) = self.regions.range((Bound::Unbounded, Bound::Excluded(end))).next_back()?;
        (other + region.bytes > start).then_some(region.kind)
    }

    /// A free range of device addresses at or after `cursor`, inside the device's own.
    pub(crate) fn device_gap(&self, device: usize, cursor: u64, bytes: u64) -> Option<u64> {
        let base = DEVICE_BASE + device as u64 * DEVICE_STRIDE;
        let gap_from = |mut at: u64| {
            while at.checked_add(bytes)? <= base + DEVICE_STRIDE {
                let last = self.regions.range((Bound::Unbounded, Bound::Excluded(at + bytes))).next_back();
                match last {
                    Some((&start, region)) if start + region.bytes > at => {
                        at = (start + region.bytes).next_multiple_of(DEVICE_ALIGN);
                    }
                    _ => return Some(at),
                }
            }
            None
        };
        gap_from(cursor.max(base)).or_else(|| gap_from(base))
    }

    pub(crate) fn insert(&mut self, start: u64, region: Region) {
        self.regions.insert(start, region);
    }

    /// The region that begins exactly here.
    pub(crate) fn starting(&self, start: u64) -> Option<&Region> {
        self.regions.get(&start)
    }

    pub(crate) fn remove(&mut self, start: u64) -> Option<Region> {
        self.regions.remove(&start)
    }

    /// Removes the regions of a context and returns them.
    pub(crate) fn remove_context(&mut self, context: ContextKey) -> Vec<Region> {
        let starts: Vec<u64> =
            self.regions.iter().filter(|(_, r)| r.context == Some(context)).map(|(&s, _)| s).collect();
        starts.into_iter().filter_map(|start| self.regions.remove(&start)).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.regions.len()
    }
}
