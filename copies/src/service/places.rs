//! The allocations that the copies of a batch touch. Most copies are in allocations of earlier ones, and asking the
//! driver costs more than such a copy.

use std::ops::Range;

use hal::Driver;
use priority::Direction;

use super::entry::{Content, Entry, SERVED_BYTES_MAX};
use crate::reach::{Home, Use};
use crate::request::Request;

/// The number of allocations that are known at once.
const KNOWN_MAX: usize = 8;

/// Memory that one launch may read or write.
#[derive(Clone, Debug)]
struct Known {
    memory: Range<u64>,
    is_on_device: bool,
    /// Whether it may be written, as far as somebody has asked.
    writes: bool,
    /// From the driver's addresses to those of the device.
    shift: u64,
}

/// The allocations that the driver has been asked about since the last flush: memory may be freed between two batches.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: Vec<Known>,
    next: usize,
}

/// The way of an entry's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) direction: Direction,
    pub(crate) target_shift: u64,
    pub(crate) source_shift: u64,
}

impl Places {
    /// A copy as an entry of a batch, with its way. `None` if it does not share a launch.
    pub(crate) fn entry(&mut self, driver: &dyn Driver, home: &Home, request: &Request) -> Option<(Entry, Way)> {
        let (shape, bytes) = (request.shape, request.bytes());
        let (target, source) = (shape.target.address, shape.source.address);
        let is_small = bytes <= SERVED_BYTES_MAX && shape.is_linear();
        let way = is_small.then(|| self.of_copy(driver, home, target, source, bytes)).flatten()?;
        Some((Entry { target, content: Content::Of(source), bytes, direction: way.direction }, way))
    }

    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.next = 0;
    }

    /// The way of a copy, if a kernel of this context can make it and it lies within its allocations.
    fn of_copy(&mut self, driver: &dyn Driver, home: &Home, target: u64, source: u64, bytes: u64) -> Option<Way> {
        let (target_on_device, target_shift) = self.find(driver, home, target, bytes, true)?;
        let (source_on_device, source_shift) = self.find(driver, home, source, bytes, false)?;
        let direction = match (target_on_device, source_on_device) {
            (true, false) => Direction::HostToDevice,
            (false, true) => Direction::DeviceToHost,
            (true, true) => Direction::DeviceToDevice,
            // The driver copies between host memory in its own way.
            (false, false) => return None,
        };
        Some(Way { direction, target_shift, source_shift })
    }

    /// The way of a set.
    pub(crate) fn of_set(&mut self, driver: &dyn Driver, home: &Home, target: u64, bytes: u64) -> Option<Way> {
        let (is_on_device, target_shift) = self.find(driver, home, target, bytes, true)?;
        let direction = if is_on_device { Direction::DeviceToDevice } else { Direction::DeviceToHost };
        Some(Way { direction, target_shift, source_shift: 0 })
    }

    /// Whether the memory is the device's, and the distance to the device's address for it.
    fn find(
        &mut self,
        driver: &dyn Driver,
        home: &Home,
        address: u64,
        bytes: u64,
        writes: bool,
    ) -> Option<(bool, u64)> {
        let is_fit = |known: &Known| known.writes || !writes;
        let is_inside = |known: &Known| known.memory.contains(&address) && bytes <= known.memory.end - address;
        let holds = |known: &Known| is_fit(known) && is_inside(known);
        if let Some(known) = self.known.iter().find(|known| holds(known)) {
            return Some((known.is_on_device, known.shift));
        }
        let known = ask(driver, home, address, writes)?;
        let found = holds(&known).then_some((known.is_on_device, known.shift));
        match self.known.get_mut(self.next) {
            Some(oldest) => *oldest = known,
            None => self.known.push(known),
        }
        self.next = (self.next + 1) % KNOWN_MAX;
        found
    }
}

fn ask(driver: &dyn Driver, home: &Home, address: u64, writes: bool) -> Option<Known> {
    let found = home.find(driver, address, Use { writes, may_be_far: false })?;
    let memory = address..address.checked_add(found.bytes)?;
    Some(Known { memory, is_on_device: found.is_on_device, writes, shift: found.shift })
}
