//! A slot: one stream with a priority and its own memory, whose bytes are checked after every journey.
//!
//! Only one thread uses a slot at a time. Between [`Slot::depart`] and the moment when its word shows that everything
//! has completed, no thread touches its memory; `settle` enforces that.
#![allow(unsafe_code)] // raw memory that copies write and the host then reads

use std::sync::Arc;

use hal::{DevicePtr, Driver, HostAllocFlags, MemOp, Nanos, Result, Shape, Side, Wait};
use overtake::copy::Request;
use overtake::{Priority, PriorityStream, Words};

use super::journey::{Journey, Layout, Leg, SLACK_BYTES, device_room};
use super::tally::{Kind, Tallies};

/// The result of waiting for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Everything has completed, and this many bytes are right.
    Right(u64),
    /// The first byte that is wrong.
    Wrong(String),
    /// It did not complete in time.
    Late,
    /// It can never complete: this has been proven.
    Stuck,
}

/// The text about a proven deadlock when the driver cannot be asked.
pub const PROVEN: &str = "a deadlock was proven";

/// The direction of one leg of a journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Across,
    Down,
}

/// The journey that is on its way.
#[derive(Clone, Copy, Debug)]
struct Expected {
    pattern: u64,
    bytes: u64,
    offset: u64,
    is_pageable: bool,
}

/// A stream and its memory.
pub struct Slot {
    /// The stream. It outlives everything submitted to it.
    pub stream: PriorityStream,
    driver: Arc<dyn Driver>,
    words: Arc<Words>,
    number: u64,
    bytes: u64,
    source: *mut u8,
    sink: *mut u8,
    front: DevicePtr,
    back: DevicePtr,
    pageable: Vec<u8>,
    round: u32,
    expected: Option<Expected>,
    in_flight: bool,
}

// SAFETY: the pointers are to pinned memory that the slot alone owns; only the thread that holds the slot uses
// them.
unsafe impl Send for Slot {}

impl Slot {
    /// A slot for journeys of at most `bytes`. The `number`th word counts its completions.
    pub fn new(
        stream: PriorityStream,
        driver: &Arc<dyn Driver>,
        words: &Arc<Words>,
        number: u64,
        bytes: u64,
    ) -> Result<Slot> {
        let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
        let mut slot = Slot {
            stream,
            driver: Arc::clone(driver),
            words: Arc::clone(words),
            number,
            bytes,
            source: std::ptr::null_mut(),
            sink: std::ptr::null_mut(),
            front: DevicePtr::NULL,
            back: DevicePtr::NULL,
            pageable: Vec::new(),
            round: 0,
            expected: None,
            in_flight: false,
        };
        // Later errors drop the slot, which frees everything made so far.
        slot.source = driver.host_alloc(bytes + SLACK_BYTES, flags)?;
        slot.sink = driver.host_alloc(bytes + SLACK_BYTES, flags)?;
        slot.front = driver.mem_alloc(device_room(bytes))?;
        slot.back = driver.mem_alloc(device_room(bytes))?;
        Ok(slot)
    }

    /// The most bytes in a journey.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Submits a journey, and behind it a write of its number to the slot's word.
    pub fn depart(
        &mut self,
        journey: &Journey,
        spin: &dyn Fn(&PriorityStream, u64) -> Result<()>,
        tallies: &Tallies,
    ) -> Result<()> {
        let pattern = self.load(journey)?;
        self.leg(Way::Up, journey, tallies)?;
        if let Some(span_ns) = journey.spin_ns {
            spin(&self.stream, span_ns)?;
            tallies.count(Kind::Kernel, 0);
        }
        if journey.crosses {
            self.leg(Way::Across, journey, tallies)?;
        }
        self.leg(Way::Down, journey, tallies)?;
        self.expect(journey, pattern);
        self.seal()
    }

    /// A journey over two slots: up in `other`, from its memory to this one's, and down in both. `order` makes one
    /// stream wait for the other.
    pub fn depart_with(
        &mut self,
        other: &mut Slot,
        journey: &Journey,
        order: &dyn Fn(&PriorityStream, &PriorityStream) -> Result<()>,
        tallies: &Tallies,
    ) -> Result<()> {
        let whole = Journey { crosses: false, up: Leg::Whole, down: Leg::Whole, ..*journey };
        let pattern = other.load(&whole)?;
        self.begin();
        other.leg(Way::Up, &whole, tallies)?;
        order(&self.stream, &other.stream)?;
        let request = self.request(
            Way::Across,
            &whole,
            other.front.offset(whole.offsets.1).0,
            self.back.offset(whole.offsets.1).0,
        );
        // SAFETY: both sides are device memory of slots that are in flight from here on, so neither is freed or used
        // again before its word says so: this slot's follows the copy in its stream, and the other's stream waits for
        // it below.
        unsafe { self.stream.memcpy_async(&request)? };
        tallies.count(Kind::D2d, whole.bytes);
        self.leg(Way::Down, &Journey { crosses: true, ..whole }, tallies)?;
        other.leg(Way::Down, &whole, tallies)?;
        order(&other.stream, &self.stream)?;
        self.expect(&whole, pattern);
        other.expect(&whole, pattern);
        self.seal()?;
        other.seal()
    }

    fn begin(&mut self) {
        assert!(!self.in_flight, "a slot departs only after it has settled");
        self.in_flight = true;
        self.round = self.round.wrapping_add(1).max(1);
    }

    /// Begins a journey: fills the source with a pattern that no journey had before.
    fn load(&mut self, journey: &Journey) -> Result<u64> {
        let on_device = journey.layout.device_bytes().max(journey.bytes) + journey.offsets.1;
        let fits =
            journey.bytes <= self.bytes && journey.offsets.0 < SLACK_BYTES && on_device <= device_room(self.bytes);
        assert!(fits, "{journey:?} in a slot of {} bytes", self.bytes);
        self.begin();
        let pattern = measure::urgent::scatter(self.number << 32 | u64::from(self.round));
        let offset = journey.offsets.0 as usize;
        if journey.up == Leg::Pageable || journey.down == Leg::Pageable {
            self.pageable.resize(self.bytes as usize + SLACK_BYTES as usize, 0);
        }
        if journey.up == Leg::Pageable {
            fill(&mut self.pageable[offset..offset + journey.bytes as usize], pattern);
        } else {
            // SAFETY: the source has `bytes + SLACK_BYTES`, offsets are below the slack, and no copy reads it: the slot
            // had settled before it began.
            let source = unsafe { std::slice::from_raw_parts_mut(self.source.add(offset), journey.bytes as usize) };
            fill(source, pattern);
        }
        Ok(pattern)
    }

    fn expect(&mut self, journey: &Journey, pattern: u64) {
        let is_pageable = journey.down == Leg::Pageable;
        self.expected = Some(Expected { pattern, bytes: journey.bytes, offset: journey.offsets.0, is_pageable });
    }

    /// Submits the write that shows that everything so far has completed.
    fn seal(&self) -> Result<()> {
        self.driver.mem_op(self.stream.raw(), MemOp::write32(self.words.host_address(self.number), self.round))
    }

    fn leg(&mut self, way: Way, journey: &Journey, tallies: &Tallies) -> Result<()> {
        let (host, device) = journey.offsets;
        let on_host = |pinned: *mut u8, pageable: &mut Vec<u8>, leg: Leg| match leg {
            Leg::Pageable => pageable.as_mut_ptr() as u64 + host,
            _ => pinned as u64 + host,
        };
        let (source, target, leg) = match way {
            Way::Up => (on_host(self.source, &mut self.pageable, journey.up), self.front.offset(device).0, journey.up),
            Way::Across => (self.front.offset(device).0, self.back.offset(device).0, Leg::Whole),
            Way::Down => {
                let from = if journey.crosses { self.back } else { self.front };
                (from.offset(device).0, on_host(self.sink, &mut self.pageable, journey.down), journey.down)
            }
        };
        tallies.count(kind(way, journey.layout, leg), journey.bytes);
        if let Leg::Batch(pieces) = leg {
            let piece = journey.bytes.div_ceil(pieces);
            let starts = (0..journey.bytes).step_by(piece as usize);
            let part = |at: u64| run(way, source + at, target + at, piece.min(journey.bytes - at));
            let requests: Vec<Request> = starts.map(|at| self.prioritised(part(at), journey)).collect();
            // SAFETY: as below, piece by piece.
            return unsafe { self.stream.memcpy_batch_async(&requests).map(drop) };
        }
        let request = self.request(way, journey, source, target);
        // SAFETY: both sides have room for the journey (`new` and `device_room`); the slot is in flight, so until its
        // word shows that this copy has completed, no thread fills, reads or frees them. A pageable source is read,
        // and a pageable target written, before the call returns; the vector is not touched before `settle`.
        unsafe { self.stream.memcpy_async(&request).map(drop) }
    }

    fn prioritised(&self, request: Request, journey: &Journey) -> Request {
        let level = journey.level.and_then(|level| Priority::new(level as u8 + 1));
        level.map_or(request, |priority| request.at(priority))
    }

    fn request(&self, way: Way, journey: &Journey, source: u64, target: u64) -> Request {
        let request = match journey.layout {
            Layout::Run => run(way, source, target, journey.bytes),
            Layout::Rows { width, rows, gap } => cuboid(way, [source, target], [width, rows, 1], gap),
            Layout::Slices { width, rows, depth, gap } => cuboid(way, [source, target], [width, rows, depth], gap),
        };
        self.prioritised(request, journey)
    }

    /// Whether its word shows that everything has completed. Reads memory only.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.in_flight || self.words.load(self.number) == self.round
    }

    /// Waits until everything has completed, and checks every byte.
    pub fn settle(&mut self, deadline: Option<Nanos>) -> Settled {
        if !self.in_flight {
            return Settled::Right(0);
        }
        let (words, number, round) = (&self.words, self.number, self.round);
        match self.driver.host().wait_until(deadline, &mut || words.load(number) == round) {
            Wait::Met => {}
            Wait::Deadline => return Settled::Late,
            Wait::Stuck => return Settled::Stuck,
        }
        self.in_flight = false;
        let Some(expected) = self.expected.take() else { return Settled::Right(0) };
        let (offset, bytes) = (expected.offset as usize, expected.bytes as usize);
        let arrived: &[u8] = if expected.is_pageable {
            &self.pageable[offset..offset + bytes]
        } else {
            // SAFETY: the sink has `bytes + SLACK_BYTES`, and every copy into it has completed: the word was written
            // behind them.
            unsafe { std::slice::from_raw_parts(self.sink.add(offset), bytes) }
        };
        match first_wrong(arrived, expected.pattern) {
            None => Settled::Right(expected.bytes),
            Some(at) => Settled::Wrong(format!(
                "byte {at} of {bytes} in round {} of stream {} (priority {}) is {:#04x}",
                self.round,
                self.number,
                self.stream.priority(),
                arrived[at]
            )),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.in_flight {
            // Copies may still arrive, so their memory is leaked.
            std::mem::take(&mut self.pageable).leak();
            return;
        }
        for device in [self.front, self.back].into_iter().filter(|device| *device != DevicePtr::NULL) {
            // An error means that the context is gone, and its memory with it.
            let _ = self.driver.mem_free(device);
        }
        for host in [self.source, self.sink].into_iter().filter(|host| !host.is_null()) {
            // SAFETY: it came from host_alloc, nothing is in flight, and slices of it do not outlive the methods that
            // make them.
            let _ = unsafe { self.driver.host_free(host) };
        }
    }
}

fn run(way: Way, source: u64, target: u64, bytes: u64) -> Request {
    match way {
        Way::Up => Request::htod(DevicePtr(target), source as *const u8, bytes),
        Way::Down => Request::dtoh(target as *mut u8, DevicePtr(source), bytes),
        Way::Across => Request::linear(DevicePtr(target), DevicePtr(source), bytes),
    }
}

/// Rows and slices lie apart in the device's memory, and follow each other in the host's.
fn cuboid(way: Way, [source, target]: [u64; 2], [width, rows, depth]: [u64; 3], gap: u64) -> Request {
    let host = |address| Side::host(address).pitched(width, width * rows);
    let device = |address| Side::device(DevicePtr(address)).pitched(width + gap, (width + gap) * (rows + 1));
    let (source, target) = match way {
        Way::Up => (host(source), device(target)),
        Way::Across => (device(source), device(target)),
        Way::Down => (device(source), host(target)),
    };
    let shape = Shape { target, source, width_bytes: width, rows, depth };
    Request::shaped(&shape).expect("a journey has room")
}

fn kind(way: Way, layout: Layout, leg: Leg) -> Kind {
    match (leg, layout, way) {
        (Leg::Batch(_), ..) => Kind::Batch,
        (Leg::Pageable, ..) => Kind::Pageable,
        (_, Layout::Rows { .. }, _) => Kind::Rows,
        (_, Layout::Slices { .. }, _) => Kind::Slices,
        (_, _, Way::Up) => Kind::H2d,
        (_, _, Way::Across) => Kind::D2d,
        (_, _, Way::Down) => Kind::D2h,
    }
}

/// Advances a pattern from word to word; odd, so that it repeats only after 2^64 words.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

fn fill(bytes: &mut [u8], pattern: u64) {
    let mut word = pattern;
    let mut words = bytes.chunks_exact_mut(8);
    for chunk in &mut words {
        chunk.copy_from_slice(&word.to_le_bytes());
        word = word.wrapping_add(STRIDE);
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
}

/// The index of the first byte that differs from the pattern.
fn first_wrong(bytes: &[u8], pattern: u64) -> Option<usize> {
    let mut word = pattern;
    for (index, chunk) in bytes.chunks(8).enumerate() {
        let expected = word.to_le_bytes();
        if *chunk != expected[..chunk.len()] {
            let at = chunk.iter().zip(expected).position(|(byte, expected)| *byte != expected);
            return Some(index * 8 + at.unwrap_or(0));
        }
        word = word.wrapping_add(STRIDE);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_wherever_it_is() {
        let mut bytes = vec![0_u8; 1003];
        fill(&mut bytes, 42);
        assert_eq!(first_wrong(&bytes, 42), None);
        for at in [0, 7, 8, 500, 999, 1000, 1002] {
            bytes[at] ^= 0x10;
            assert_eq!(first_wrong(&bytes, 42), Some(at));
            bytes[at] ^= 0x10;
        }
        assert!(first_wrong(&bytes, 43).is_some(), "another round's bytes are wrong");
    }
}
