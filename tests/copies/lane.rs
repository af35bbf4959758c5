//! A lane: one priority stream with its own memory, and the contents of that memory if copies keep their order.
//!
//! Copies of a lane overlap each other at random. A byte that moves too early, too late or to the wrong place is
//! detected at the end, on every way of the copies.

use std::sync::Arc;

use hal::{Driver, Function};
use overtake::{Overtake, Priority, PriorityStream};

use crate::failure::{Failure, Outcome, same_bytes};
use crate::memory::Pinned;
use crate::place::{Block, Buffer, Extent, Side};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

/// The direction of a copy of a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToDevice,
    ToHost,
    OnDevice,
}

/// A stream, its memory and its expected contents.
pub struct Lane {
    pub stream: PriorityStream,
    host: Arc<Pinned>,
    device: Buffer,
    bytes: u64,
    expected_host: Vec<u8>,
    expected_device: Vec<u8>,
    highest: u8,
    prng: Prng,
}

/// The priority of that number.
pub fn level(number: u8) -> Priority {
    Priority::new(number).expect("priorities of the suite are not 0")
}

impl Lane {
    /// A lane of that priority with `bytes` on either side.
    pub fn new(rig: &Rig, overtake: &Overtake, priority: u8, bytes: u64, seed: u64) -> Result<Lane, Failure> {
        let mut prng = Prng::new(seed);
        let (expected_host, expected_device) = (prng.bytes(bytes), prng.bytes(bytes));
        let (host, device) = (rig.pinned_of(&expected_host)?, rig.buffer_of(&expected_device)?);
        let stream = overtake.adopt(rig.stream()?, level(priority))?;
        let highest = overtake.priorities().count();
        Ok(Lane { stream, host, device, bytes, expected_host, expected_device, highest, prng })
    }

    fn size(&mut self, limit: u64) -> u64 {
        let magnitude = self.prng.below(u64::from(limit.ilog2()) + 1);
        self.prng.between(1, (1 << magnitude).min(limit))
    }

    /// An offset with room for `bytes`; every other one is a multiple of 64, so that both sides are aligned alike.
    fn offset(&mut self, room: u64, aligned: bool) -> u64 {
        let offset = self.prng.below(room + 1);
        if aligned { offset / 64 * 64 } else { offset }
    }

    fn way(&mut self) -> Way {
        self.prng.pick(&[Way::ToDevice, Way::ToDevice, Way::ToDevice, Way::ToHost, Way::ToHost, Way::OnDevice])
    }

    /// Submits one random copy.
    pub fn copy(&mut self) -> Outcome {
        let priority = match self.prng.below(4) {
            0 => Some(level(self.prng.between(1, u64::from(self.highest)) as u8)),
            _ => None,
        };
        match (self.way(), self.prng.below(3)) {
            (Way::OnDevice, _) => self.on_device(priority),
            (way, 0) => self.boxed(way, priority),
            (way, _) => self.linear(way, priority),
        }
    }

    /// Submits one random copy, with a kernel before it now and then.
    pub fn copy_behind_kernels(&mut self, driver: &dyn Driver, spin: Function) -> Outcome {
        if self.prng.below(4) == 0 {
            let span_ns = self.prng.between(1_000, 80_000);
            raw::spin(driver, spin, span_ns, self.stream.raw())?;
        }
        self.copy()
    }

    /// Submits a copy of most of the memory in each direction: large enough to wait for words.
    pub fn bulk(&mut self) -> Outcome {
        let bytes = self.bytes / 4 * 3;
        for way in [Way::ToDevice, Way::ToHost] {
            self.linear_at(way, None, true, (0, 64), bytes)?;
        }
        Ok(())
    }

    fn linear(&mut self, way: Way, priority: Option<Priority>) -> Outcome {
        let (bytes, aligned) = (self.size(self.bytes), self.prng.below(2) == 0);
        let room = self.bytes - bytes;
        let (to, from) = (self.offset(room, aligned), self.offset(room, aligned));
        let named = self.prng.below(2) == 0;
        self.linear_at(way, priority, named, (to, from), bytes)
    }

    fn linear_at(
        &mut self,
        way: Way,
        priority: Option<Priority>,
        named: bool,
        (to, from): (u64, u64),
        bytes: u64,
    ) -> Outcome {
        let (host, device) = match named {
            true => (Side::Host(&self.host), Side::Device(self.device)),
            false => (Side::UnifiedHost(&self.host), Side::UnifiedDevice(self.device)),
        };
        let (range_to, range_from) = (to as usize..(to + bytes) as usize, from as usize..(from + bytes) as usize);
        if way == Way::ToDevice {
            raw::linear(&self.stream, (device, to), (host, from), bytes, priority)?;
            self.expected_device[range_to].copy_from_slice(&self.expected_host[range_from]);
        } else {
            raw::linear(&self.stream, (host, to), (device, from), bytes, priority)?;
            self.expected_host[range_to].copy_from_slice(&self.expected_device[range_from]);
        }
        Ok(())
    }

    /// From the lower half to the upper half: a copy must not overlap itself.
    fn on_device(&mut self, priority: Option<Priority>) -> Outcome {
        let half = self.bytes / 2;
        let bytes = self.size(half);
        let (to, from) = (half + self.prng.below(half - bytes + 1), self.prng.below(half - bytes + 1));
        let side = Side::UnifiedDevice(self.device);
        raw::linear(&self.stream, (side, to), (side, from), bytes, priority)?;
        self.expected_device.copy_within(from as usize..(from + bytes) as usize, to as usize);
        Ok(())
    }

    fn boxed(&mut self, way: Way, priority: Option<Priority>) -> Outcome {
        let depth = self.prng.pick(&[1, 1, 2, 3]);
        let width_bytes = self.size(self.bytes / (8 * depth));
        let height = self.size((self.bytes / (2 * depth * width_bytes)).clamp(1, 300));
        let extent = Extent { width_bytes, height, depth };
        let aligned = self.prng.below(2) == 0;
        let (target, source) = (self.block(extent, aligned), self.block(extent, aligned));
        let (host, device) = (Side::Host(&self.host), Side::Device(self.device));
        let (target_side, source_side) = if way == Way::ToDevice { (device, host) } else { (host, device) };
        let with = |side, block: Layout| Block {
            side,
            pitch_bytes: block.pitch_bytes,
            slice_rows: block.slice_rows,
            x_bytes: block.x_bytes,
            y: block.y,
            z: 0,
        };
        let (target, source) = (with(target_side, target), with(source_side, source));
        raw::boxed(&self.stream, target, source, extent, priority)?;
        let (into, out_of) = match way {
            Way::ToDevice => (&mut self.expected_device, &self.expected_host),
            _ => (&mut self.expected_host, &self.expected_device),
        };
        for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            let (to, from) = (target.row(extent, y, z) as usize, source.row(extent, y, z) as usize);
            into[to..to + width_bytes as usize].copy_from_slice(&out_of[from..from + width_bytes as usize]);
        }
        Ok(())
    }

    /// A place for the box in the lane's memory, with gaps between rows and slices as far as there is room.
    fn block(&mut self, extent: Extent, aligned: bool) -> Layout {
        let Extent { width_bytes, height, depth } = extent;
        let (mut x_bytes, mut pitch_bytes) =
            (self.prng.below(9), width_bytes + 9 + self.prng.below(width_bytes / 4 + 1));
        if aligned {
            (x_bytes, pitch_bytes) = (x_bytes / 4 * 16, (pitch_bytes + 32).next_multiple_of(16));
        }
        let (y, slice_rows) = (self.prng.below(2), height + 1 + self.prng.below(2));
        let layout = Layout { pitch_bytes, slice_rows, x_bytes, y };
        if (depth - 1) * slice_rows * pitch_bytes + (y + height) * pitch_bytes + x_bytes <= self.bytes {
            return layout;
        }
        Layout { pitch_bytes: width_bytes, slice_rows: height, x_bytes: 0, y: 0 }
    }

    /// Compares the contents with the expected ones. Everything submitted must have completed.
    pub fn verify(&self, rig: &Rig) -> Outcome {
        let name = format!("the lane of priority {}", self.stream.priority());
        same_bytes(&format!("host memory of {name}"), &self.host.read_all(), &self.expected_host)?;
        let device = rig.download(self.device, self.stream.raw())?;
        same_bytes(&format!("device memory of {name}"), &device, &self.expected_device)
    }
}

/// The place of a box.
#[derive(Clone, Copy)]
struct Layout {
    pitch_bytes: u64,
    slice_rows: u64,
    x_bytes: u64,
    y: u64,
}
