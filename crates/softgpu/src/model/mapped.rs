//! Addresses that are reserved, and pieces of device memory that are mapped into them (`cuMemMap`).
//!
//! A reservation has memory for all its addresses from the beginning, of which a piece is a part. So a piece keeps its
//! bytes only as long as it is mapped, and is mapped once. What would show that is refused.

use std::collections::{BTreeMap, BTreeSet};

use hal::{Code, DevicePtr};

use super::memory::{Region, RegionKind};
use super::{Caller, Failure, Model, Outcome};
use crate::raw::Backing;

/// Pieces and reservations are multiples of this.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// Memory that can be mapped.
pub(crate) struct Physical {
    bytes: u64,
    device: usize,
    was_mapped: bool,
}

/// A piece that is mapped.
pub(crate) struct Piece {
    pub(crate) bytes: u64,
    /// The devices that were given access.
    pub(crate) access: BTreeSet<usize>,
}

/// The pieces of a reservation, by offset.
#[derive(Default)]
pub(crate) struct Pieces(BTreeMap<u64, Piece>);

impl Pieces {
    /// The piece that holds an offset, and its own.
    pub(crate) fn holding(&self, offset: u64) -> Option<(u64, &Piece)> {
        let (&at, piece) = self.0.range(..=offset).next_back()?;
        (offset - at < piece.bytes).then_some((at, piece))
    }

    /// Whether pieces that `fit` lie side by side all over a part.
    pub(crate) fn cover(&self, offset: u64, bytes: u64, fit: impl Fn(&Piece) -> bool) -> bool {
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            match self.holding(at).filter(|(_, piece)| fit(piece)) {
                Some((start, piece)) => at = start + piece.bytes,
                None => return false,
            }
        }
        true
    }

    /// Whether a part consists of whole pieces.
    fn are_whole(&self, offset: u64, bytes: u64) -> bool {
        let begins = |at| self.0.contains_key(&at) || self.holding(at).is_none();
        begins(offset) && begins(offset + bytes) && self.cover(offset, bytes, |_| true)
    }

    fn is_free(&self, offset: u64, bytes: u64) -> bool {
        self.holding(offset).is_none() && self.0.range(offset..offset + bytes).next().is_none()
    }
}

fn wrong(detail: impl Into<String>) -> Failure {
    Failure::new(Code::INVALID_VALUE, detail)
}

fn whole_granules(bytes: u64) -> Outcome<()> {
    match bytes > 0 && bytes.is_multiple_of(GRANULARITY) {
        true => Ok(()),
        false => Err(wrong(format!("{bytes} bytes are no multiple of {GRANULARITY}"))),
    }
}

impl Model {
    /// Reserves addresses.
    pub(crate) fn reserve(&mut self, caller: Caller, bytes: u64) -> Outcome<DevicePtr> {
        whole_granules(bytes)?;
        let space = &self.processes[caller.process].space;
        let full = || Failure::new(Code::OUT_OF_MEMORY, format!("{bytes} bytes of addresses"));
        // A gap of one granule more has an aligned part that is long enough.
        let gap = space.device_gap(0, 0, bytes + GRANULARITY).ok_or_else(full)?;
        let start = gap.next_multiple_of(GRANULARITY);
        let backing = Backing::zeroed(bytes).ok_or_else(full)?;
        let region = Region::new(bytes, RegionKind::Reserved, (None, 0), self.buffer_id(), backing);
        self.processes[caller.process].space.insert(start, region);
        Ok(DevicePtr(start))
    }

    /// Gives reserved addresses back. No piece is mapped there.
    pub(crate) fn give_back(&mut self, caller: Caller, start: u64, bytes: u64) -> Outcome<()> {
        let space = &mut self.processes[caller.process].space;
        let is_it = |region: &Region| region.kind == RegionKind::Reserved && region.bytes == bytes;
        match space.starting(start).filter(|region| is_it(region)) {
            Some(region) if region.pieces.is_free(0, bytes) => {}
            _ => return Err(wrong(format!("{start:#x}: no reservation of {bytes} bytes without a piece"))),
        }
        space.remove(start);
        Ok(())
    }

    /// Makes memory that can be mapped.
    pub(crate) fn physical_create(&mut self, device: hal::Device, bytes: u64) -> Outcome<u64> {
        whole_granules(bytes)?;
        let device = self.device(device)?;
        let handle = self.buffer_id();
        self.physical.insert(handle, Physical { bytes, device, was_mapped: false });
        Ok(handle)
    }

    /// Lets go of memory. Where it is mapped it stays.
    pub(crate) fn physical_release(&mut self, handle: u64) -> Outcome<()> {
        self.physical.remove(&handle).map(drop).ok_or_else(|| wrong("no such memory"))
    }

    /// Maps all of a memory.
    pub(crate) fn map(&mut self, caller: Caller, address: u64, bytes: u64, handle: u64) -> Outcome<()> {
        whole_granules(bytes)?;
        let memory = self.physical.get_mut(&handle).ok_or_else(|| wrong("no such memory"))?;
        if memory.bytes != bytes || memory.was_mapped || memory.device != 0 {
            let detail = "only whole memory of the first device is mapped here, and once";
            return Err(Failure::new(Code::NOT_SUPPORTED, detail));
        }
        let (start, _) = self.reserved(caller, address, bytes)?;
        let pieces = self.processes[caller.process].space.pieces(start).expect("the reservation was just found");
        if !pieces.is_free(address - start, bytes) {
            return Err(wrong("another piece is mapped there"));
        }
        pieces.0.insert(address - start, Piece { bytes, access: BTreeSet::new() });
        self.physical.get_mut(&handle).expect("it was just found").was_mapped = true;
        Ok(())
    }

    /// Unmaps whole pieces.
    pub(crate) fn unmap(&mut self, caller: Caller, address: u64, bytes: u64) -> Outcome<()> {
        let pieces = self.whole_pieces(caller, address, bytes)?;
        pieces.1.0.retain(|at, _| !(pieces.0..pieces.0 + bytes).contains(at));
        Ok(())
    }

    /// Gives a device access to whole pieces, or takes it back.
    pub(crate) fn set_access(
        &mut self,
        caller: Caller,
        (address, bytes): (u64, u64),
        device: hal::Device,
        has_access: bool,
    ) -> Outcome<()> {
        let device = self.device(device)?;
        let (offset, pieces) = self.whole_pieces(caller, address, bytes)?;
        for piece in pieces.0.range_mut(offset..offset + bytes).map(|(_, piece)| piece) {
            match has_access {
                true => piece.access.insert(device),
                false => piece.access.remove(&device),
            };
        }
        Ok(())
    }

    /// Whether the device of the caller's context was given access to the piece at an address; `None` for other memory.
    pub(crate) fn access(&self, caller: Caller, address: u64) -> Option<bool> {
        let (start, region) = self.processes[caller.process].space.region(address)?;
        let device = self.contexts.get(caller.context?)?.device;
        (region.kind == RegionKind::Reserved).then(|| region.grants(address - start, 1, device))
    }

    fn reserved(&self, caller: Caller, address: u64, bytes: u64) -> Outcome<(u64, &Region)> {
        let found = self.processes[caller.process].space.reservation(address);
        let found = found.filter(|(_, region)| region.kind == RegionKind::Reserved);
        let fits = |start: u64, region: &Region| bytes <= region.bytes - (address - start);
        found.filter(|(start, region)| fits(*start, region)).ok_or_else(|| wrong("not inside a reservation"))
    }

    /// The pieces of a reservation of which some, as a whole, are a range; and the range's offset.
    fn whole_pieces(&mut self, caller: Caller, address: u64, bytes: u64) -> Outcome<(u64, &mut Pieces)> {
        let (start, region) = self.reserved(caller, address, bytes)?;
        if bytes == 0 || !region.pieces.are_whole(address - start, bytes) {
            return Err(wrong("no whole pieces"));
        }
        let pieces = self.processes[caller.process].space.pieces(start).expect("the reservation was just found");
        Ok((address - start, pieces))
    }
}
