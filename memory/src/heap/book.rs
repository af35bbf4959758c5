//! The bookkeeping of a heap: its pages, the blocks in them, and the counts. It makes no driver call; its owner keeps
//! it behind one short lock.

use std::collections::BTreeMap;

use hal::{Code, Result};
use offset_allocator::{Allocation, Allocator};

use crate::heap::options::{UNIT_BYTES, refused};
use crate::heap::source::Memory;
use crate::heap::{Closed, HeapOptions, HeapStatistics, OwnerStatistics, Space};

/// A page of so many blocks is full, even if bytes are left: their places are kept outside the page.
const BLOCKS_MAX: u64 = 1 << 16;

/// Owners that the message of a full heap names.
const LARGEST_OWNERS: usize = 3;

/// A block in the books.
#[derive(Clone, Copy)]
pub(super) struct Place {
    page: usize,
    allocation: Allocation,
    owner: usize,
    bytes: u64,
}

impl Place {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A block that was taken, with its addresses.
pub(super) struct Taken {
    pub(super) place: Place,
    pub(super) start: u64,
    pub(super) device_start: Option<hal::DevicePtr>,
}

/// A request for a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) bytes: u64,
    pub(super) align_bytes: u64,
    pub(super) owner: &'a str,
}

impl Request<'_> {
    /// The bytes that hold such a block wherever they begin at a whole unit.
    fn span_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.align_bytes.saturating_sub(UNIT_BYTES))
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.bytes == 0 {
            return Err(refused("a block has at least one byte"));
        }
        if !self.align_bytes.is_power_of_two() {
            return Err(refused(format!("an alignment is a power of two, and not {}", self.align_bytes)));
        }
        Ok(())
    }
}

struct Page {
    memory: Memory,
    allocator: Allocator,
    blocks: u64,
}

impl Page {
    fn new(memory: Memory) -> Page {
        let units = u32::try_from(memory.bytes / UNIT_BYTES).expect("a page has at most 2^38 bytes");
        // Half as many blocks as units are enough for blocks of two units, and two more nodes are never handed out.
        let nodes = (u64::from(units) / 2).min(BLOCKS_MAX) as u32 + 2;
        Page { memory, allocator: Allocator::with_max_allocs(units, nodes), blocks: 0 }
    }

    fn take(&mut self, request: &Request<'_>) -> Option<(Allocation, u64)> {
        let units = u32::try_from(request.span_bytes().div_ceil(UNIT_BYTES)).ok()?;
        let allocation = self.allocator.allocate(units)?;
        self.blocks += 1;
        let start = self.memory.start + u64::from(allocation.offset) * UNIT_BYTES;
        Some((allocation, start.next_multiple_of(request.align_bytes) - self.memory.start))
    }

    fn largest_bytes(&self) -> u64 {
        u64::from(self.allocator.storage_report().largest_free_region) * UNIT_BYTES
    }
}

pub(super) struct Book {
    space: Space,
    options: HeapOptions,
    /// The index of a page stays the same as long as it has blocks.
    pages: Vec<Option<Page>>,
    /// The page that had room last.
    last: usize,
    /// While it is not 0, pages may come and go: warming up counts as a pause.
    pub(super) pauses: u32,
    is_closed: bool,
    /// Pages that are being made count already.
    reserved_bytes: u64,
    names: BTreeMap<Box<str>, usize>,
    owners: Vec<OwnerStatistics>,
    total: OwnerStatistics,
    pages_made: u64,
    pages_freed: u64,
}

impl Book {
    /// The books of a heap that warms up.
    pub(super) fn new(space: Space, options: HeapOptions) -> Book {
        Book {
            space,
            options,
            pages: Vec::new(),
            last: 0,
            pauses: 1,
            is_closed: false,
            reserved_bytes: 0,
            names: BTreeMap::new(),
            owners: Vec::new(),
            total: owner("all"),
            pages_made: 0,
            pages_freed: 0,
        }
    }

    /// A block, if a page has room for it.
    pub(super) fn take(&mut self, request: &Request<'_>) -> Option<Taken> {
        let last = self.last;
        let others = (0..self.pages.len()).filter(|index| *index != last);
        let found = std::iter::once(last).chain(others).find_map(|index| {
            let page = self.pages.get_mut(index)?.as_mut()?;
            page.take(request).map(|(allocation, offset_bytes)| (index, allocation, offset_bytes))
        });
        let (page, allocation, offset_bytes) = found?;
        self.last = page;
        let owner = self.owner(request.owner);
        for counts in [&mut self.owners[owner], &mut self.total] {
            counts.blocks += 1;
            counts.bytes += request.bytes;
            counts.bytes_max = counts.bytes_max.max(counts.bytes);
        }
        let place = Place { page, allocation, owner, bytes: request.bytes };
        let memory = &self.pages[page].as_ref().expect("it was just found").memory;
        let device_start = memory.device_start.map(|start| start.offset(offset_bytes));
        Some(Taken { place, start: memory.start + offset_bytes, device_start })
    }

    fn owner(&mut self, name: &str) -> usize {
        if let Some(index) = self.names.get(name) {
            return *index;
        }
        self.names.insert(name.into(), self.owners.len());
        self.owners.push(owner(name));
        self.owners.len() - 1
    }

    /// Takes a block back. Returns its page's memory if that goes too.
    pub(super) fn give(&mut self, place: &Place) -> Option<Memory> {
        for counts in [&mut self.owners[place.owner], &mut self.total] {
            counts.blocks -= 1;
            counts.bytes -= place.bytes;
        }
        let page = self.pages[place.page].as_mut().expect("a page with blocks stays");
        page.allocator.free(place.allocation);
        page.blocks -= 1;
        if self.is_closed { self.take_empty(place.page) } else { None }
    }

    /// Room for one more page, which a block of the request fits in: its bytes, counted already.
    pub(super) fn admit(&mut self, request: &Request<'_>, is_free_running: bool) -> Result<u64> {
        let none = |text: String| Code::OUT_OF_MEMORY.at("overtake heap").because(text);
        let page_bytes = self.options.page_bytes_for(request.span_bytes());
        let page_bytes = page_bytes.ok_or_else(|| none(format!("no page holds {} bytes", request.bytes)))?;
        if self.pauses == 0 && !is_free_running {
            let text = format!(
                "the {} heap has no room for {} bytes, and gets no page outside a pause, because that would stop \
                 copies of all threads: reserve more while warming up, or call Heap::pause",
                self.space, request.bytes
            );
            return Err(none(text + &self.fullness()));
        }
        let after = self.reserved_bytes.saturating_add(page_bytes);
        if after > self.options.max_bytes {
            let text = format!(
                "the {} heap has no room for {} bytes, and a page of {page_bytes} more would exceed max_bytes = {}: \
                 raise it, or drop blocks",
                self.space, request.bytes, self.options.max_bytes
            );
            return Err(none(text + &self.fullness()));
        }
        self.reserved_bytes = after;
        Ok(page_bytes)
    }

    /// The bytes of the next page on the way to `bytes` in reserve, counted already. `None` when they are there.
    pub(super) fn admit_reserve(&mut self, bytes: u64, is_free_running: bool) -> Result<Option<u64>> {
        let missing = bytes.saturating_sub(self.reserved_bytes);
        if missing == 0 {
            return Ok(None);
        }
        // The largest power of two that is not too large.
        let bytes = (1 << (u64::BITS - 1 - missing.leading_zeros())).max(self.options.page_bytes);
        self.admit(&Request { bytes, align_bytes: 1, owner: "" }, is_free_running).map(Some)
    }

    /// A page was admitted, and could not be made.
    pub(super) fn cancel(&mut self, page_bytes: u64) {
        self.reserved_bytes -= page_bytes;
    }

    /// A page was admitted, and is there.
    pub(super) fn add(&mut self, memory: Memory) {
        self.pages_made += 1;
        let free = self.pages.iter().position(Option::is_none);
        let index = free.unwrap_or(self.pages.len());
        if free.is_none() {
            self.pages.push(None);
        }
        self.pages[index] = Some(Page::new(memory));
        self.last = index;
    }

    /// An empty page, which is no page of the heap any more, as long as more than `keep_bytes` are reserved.
    pub(super) fn trim(&mut self, keep_bytes: u64) -> Option<Memory> {
        if self.reserved_bytes <= keep_bytes {
            return None;
        }
        (0..self.pages.len()).find_map(|index| self.take_empty(index))
    }

    fn take_empty(&mut self, index: usize) -> Option<Memory> {
        let page = self.pages[index].take_if(|page| page.blocks == 0)?;
        self.reserved_bytes -= page.memory.bytes;
        self.pages_freed += 1;
        Some(page.memory)
    }

    /// Closes the books: the pages that are empty, and the report. Other pages go with their last blocks.
    pub(super) fn close(&mut self) -> (Vec<Memory>, Closed) {
        self.is_closed = true;
        let empty = (0..self.pages.len()).filter_map(|index| self.take_empty(index)).collect();
        let leaks = self.owners().into_iter().filter(|owner| owner.blocks > 0).collect();
        (empty, Closed { space: self.space, leaks, left_bytes: self.reserved_bytes, error: None })
    }

    pub(super) fn statistics(&self) -> HeapStatistics {
        let pages = || self.pages.iter().flatten();
        HeapStatistics {
            space: self.space,
            pages: pages().count() as u64,
            reserved_bytes: self.reserved_bytes,
            max_bytes: self.options.max_bytes,
            blocks: self.total.blocks,
            used_bytes: self.total.bytes,
            used_bytes_max: self.total.bytes_max,
            free_bytes_largest: pages().map(Page::largest_bytes).max().unwrap_or(0),
            pages_made: self.pages_made,
            pages_freed: self.pages_freed,
            owners: self.owners(),
        }
    }

    fn owners(&self) -> Vec<OwnerStatistics> {
        self.names.values().map(|index| self.owners[*index].clone()).collect()
    }

    /// The state of a heap that is full, for messages.
    fn fullness(&self) -> String {
        let mut owners = self.owners();
        owners.sort_by_key(|owner| std::cmp::Reverse(owner.bytes));
        let largest: Vec<_> = owners.iter().take(LARGEST_OWNERS).map(ToString::to_string).collect();
        let (used, reserved) = (self.total.bytes, self.reserved_bytes);
        let largest = if largest.is_empty() { String::new() } else { format!(": {}", largest.join("; ")) };
        format!(". {used} of {reserved} bytes are in use{largest}")
    }
}

fn owner(name: &str) -> OwnerStatistics {
    OwnerStatistics { owner: name.to_owned(), blocks: 0, bytes: 0, bytes_max: 0 }
}

#[cfg(test)]
mod tests;
