//! The model of overtake's copy kernel: its descriptors, its gate and its speed.
//!
//! It models the library's `copies/src/kernel/copy.cu`. There, warps take granules of the rows in turn, and a block
//! of its own mirrors a word of host memory into the device word that the warps look at. Here, tiles of the rows flow
//! over the link one after the other. Each tile lasts as long as the model looks away from the word, and the tile in
//! flight when the word goes up still lands. Rows narrower than a granule go at the full rate; this was not measured.
//!
//! The kernel of the copy service (`copies/src/service/service.cu`) moves small pieces in the same way, many at a time.
//!
//! A guarded kernel first asks whether it may copy at all. On the GPU, blocks wait for the last of them to arrive.
//! Here all begin at once, because the model gives a launch either all of its multiprocessors or none.

use std::collections::VecDeque;

use crate::kernel::{Direction, Io, KernelSpec, Running, Step};
use crate::model::Ns;
use crate::parameters::{CopyKernelParameters, span_ns};

/// `sizeof(Descriptor)` in `copy.cu`.
const DESCRIPTOR_BYTES: u32 = 64;
/// Descriptors of a launch by value.
const INLINE_DESCRIPTORS: u32 = 8;
/// Descriptors of a launch of the guarded kernel.
const GUARDED_DESCRIPTORS: u32 = 64;
/// `sizeof(Gate)` in `gate.cuh`.
const GATE_BYTES: u32 = 40;
/// `sizeof(Guard)` in `guard.cuh`.
const GUARD_BYTES: u32 = 48;
/// From the beginning of a guarded launch to its verdict: a store and a load over the bus, one after the other.
const HANDSHAKE_NS: Ns = 2_000;
/// Threads of a warp.
const WARP_THREADS: u32 = 32;
/// Blocks of 512 threads that fit a multiprocessor of 2 048.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
/// The size of a tile in a launch that never yields.
const UNGATED_TILE_BYTES: u64 = 1 << 20;

/// Registers the kernels of `copy.ptx`.
pub(crate) fn register(add: &mut dyn FnMut(&str, KernelSpec)) {
    let spec = |table_bytes: u32, place: Place| {
        let start = move || Box::new(CopyKernel { place, launch: None }) as Box<dyn Running>;
        KernelSpec::new(&[table_bytes, 4, GATE_BYTES], start).blocks_per_multiprocessor(BLOCKS_PER_MULTIPROCESSOR)
    };
    let guarded = |table_bytes: u32, place: Place| {
        let start = move || Box::new(Guarded::Beginning(place)) as Box<dyn Running>;
        let sizes = [table_bytes, 4, GATE_BYTES, GUARD_BYTES];
        KernelSpec::new(&sizes, start).blocks_per_multiprocessor(BLOCKS_PER_MULTIPROCESSOR)
    };
    add("overtake_copy_guarded", guarded(GUARDED_DESCRIPTORS * DESCRIPTOR_BYTES, Place::Parameter));
    add("overtake_copy", spec(INLINE_DESCRIPTORS * DESCRIPTOR_BYTES, Place::Parameter));
    add("overtake_copy_table", spec(8, Place::Memory));
    add("overtake_serve_guarded", guarded(8, Place::Pieces).blocks_per_multiprocessor(1));
    add("overtake_serve", spec(8, Place::Pieces).blocks_per_multiprocessor(1));
}

/// The place of the descriptors.
#[derive(Clone, Copy)]
enum Place {
    /// In the first parameter.
    Parameter,
    /// In memory, where the first parameter points.
    Memory,
    /// There as well, in the short form of the copy service: `Piece` in `service.cu`.
    Pieces,
}

/// `Descriptor` in `copy.cu`.
#[derive(Clone, Copy)]
struct Descriptor {
    target: u64,
    source: u64,
    width_bytes: u64,
    rows: u64,
    target_pitch_bytes: u64,
    source_pitch_bytes: u64,
    /// The 4 bytes to fill with, if it is a fill.
    fill: Option<u32>,
}

impl Descriptor {
    /// Reads a descriptor from its eight words in memory.
    fn from_words(words: [u64; 8]) -> Descriptor {
        let [target, source, width_bytes, rows, target_pitch_bytes, source_pitch_bytes, kind, _] = words;
        let fill = (kind as u32 == 1).then_some((kind >> 32) as u32);
        Descriptor { target, source, width_bytes, rows, target_pitch_bytes, source_pitch_bytes, fill }
    }

    /// Reads a piece from its four words in memory.
    fn from_piece([target, source, size, value]: [u64; 4]) -> Descriptor {
        let (width_bytes, kind) = (size & u64::from(u32::MAX), size >> 32);
        Descriptor::from_words([target, source, width_bytes, 1, 0, 0, kind | value << 32, 0])
    }

    fn bytes(&self) -> u64 {
        self.width_bytes.saturating_mul(self.rows)
    }

    /// The link that a tile takes. For invalid addresses it does not matter: moving the bytes finds the error.
    fn direction(&self, io: &Io<'_>) -> Direction {
        let device = |address| {
            let (_, region) = io.space.region(address)?;
            region.is_device().then_some(region.device)
        };
        let target = device(self.target);
        let source = if self.fill.is_some() { target } else { device(self.source) };
        match (target, source) {
            (Some(_), None) => Direction::HostToDevice,
            (None, _) => Direction::DeviceToHost,
            (Some(to), Some(from)) if from == to => Direction::OnDevice,
            (Some(to), Some(from)) => Direction::Peer { from, to },
        }
    }

    /// Moves the bytes `from..to`, counted row after row.
    fn move_bytes(&self, io: &mut Io<'_>, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let (row, x) = (at / self.width_bytes, at % self.width_bytes);
            let bytes = (self.width_bytes - x).min(to - at);
            let target = self.target + row * self.target_pitch_bytes + x;
            match self.fill {
                Some(value) => fill(io, target, value.rotate_right(8 * (x % 4) as u32), bytes),
                None => io.copy(target, self.source + row * self.source_pitch_bytes + x, bytes),
            }
            at += bytes;
        }
    }
}

/// Fills with the 4 bytes of `value`, repeated.
fn fill(io: &mut Io<'_>, target: u64, value: u32, bytes: u64) {
    for (at, byte) in (0..bytes.min(4)).zip(value.to_le_bytes()) {
        io.fill(target + at, byte, 1);
    }
    let mut filled = bytes.min(4);
    while filled < bytes {
        let more = filled.min(bytes - filled);
        io.copy(target + filled, target, more);
        filled += more;
    }
}

/// The word that a launch yields to, as its warps see it.
struct Gate {
    host: u64,
    /// The launch's own word, or 0.
    lift: u64,
    left_ns: Ns,
    /// The values of the word and their times, until they reach the warps.
    mirrored: VecDeque<(Ns, u32)>,
    standing_since: Option<Ns>,
}

impl Gate {
    /// The word of the launch's priority, or of the one that it was lifted to.
    fn word(&self, io: &mut Io<'_>) -> u32 {
        let word = io.load32(self.host);
        let distance = if word != 0 && self.lift != 0 { io.load32(self.lift) } else { 0 };
        if distance != 0 { io.load32(self.host + 4 * u64::from(distance)) } else { word }
    }

    /// Whether the warps stand still now. They do so for `left_ns` in all; then the gate is gone.
    fn holds(&mut self, io: &mut Io<'_>, mirror_ns: Ns) -> bool {
        let now = io.now_ns();
        if let Some(since) = self.standing_since.take() {
            self.left_ns = self.left_ns.saturating_sub(now - since);
        }
        let word = self.word(io);
        self.mirrored.push_back((now, word));
        while self.mirrored.get(1).is_some_and(|(at, _)| at + mirror_ns <= now) {
            self.mirrored.pop_front();
        }
        let seen = self.mirrored.front().is_some_and(|&(at, word)| at + mirror_ns <= now && word != 0);
        if !seen || self.left_ns == 0 {
            return false;
        }
        self.standing_since = Some(now);
        true
    }
}

/// A running launch.
struct Launch {
    descriptors: VecDeque<Descriptor>,
    /// Bytes of the first descriptor that have moved, including the tile in flight.
    moved: u64,
    flowing: u64,
    /// Blocks that move bytes, and warps of each.
    workers: u32,
    warps: u32,
    gate: Option<Gate>,
}

struct CopyKernel {
    place: Place,
    launch: Option<Launch>,
}

impl Running for CopyKernel {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        let place = self.place;
        match &mut self.launch {
            Some(launch) => launch.step(io),
            none => none.insert(Launch::begin(io, place)).first(io),
        }
    }
}

/// The words between a guarded launch and the host: `Guard` in `guard.cuh`.
#[derive(Clone, Copy)]
struct Guard {
    started: u64,
    cancel: u64,
    outcome: u64,
    done: u64,
    number: u32,
}

impl Guard {
    fn of(io: &Io<'_>) -> Guard {
        let field = |index| word(io.parameter_bytes(3), index);
        let [started, cancel, outcome, done, number] = [0, 1, 2, 3, 5].map(field);
        Guard { started, cancel, outcome, done, number: number as u32 }
    }
}

/// A running guarded launch. It reports its start, looks whether it is cancelled, and reports which of the two
/// happened.
enum Guarded {
    Beginning(Place),
    Asking(Place, Guard),
    Copying(Guard, Launch),
}

impl Running for Guarded {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        match self {
            &mut Guarded::Beginning(place) => {
                let guard = Guard::of(io);
                io.store32(guard.started, guard.number);
                *self = Guarded::Asking(place, guard);
                Step::Busy(HANDSHAKE_NS)
            }
            &mut Guarded::Asking(place, guard) => {
                let cancelled = io.load32(guard.cancel).wrapping_sub(guard.number) as i32 >= 0;
                io.store32(guard.outcome, guard.number.wrapping_mul(2).wrapping_add(u32::from(cancelled)));
                if cancelled {
                    return Step::Done;
                }
                let mut launch = Launch::begin(io, place);
                let step = launch.first(io);
                *self = Guarded::Copying(guard, launch);
                step
            }
            Guarded::Copying(guard, launch) => {
                let step = launch.step(io);
                if step == Step::Done {
                    io.store32(guard.done, guard.number);
                }
                step
            }
        }
    }
}

impl Launch {
    fn begin(io: &mut Io<'_>, place: Place) -> Launch {
        let count = io.parameter(1);
        let in_memory = |at: u64, io: &mut Io<'_>| io.load64(io.parameter(0) + at * 8);
        let descriptors = (0..count).map(|index| match place {
            Place::Parameter => {
                let field = |field| word(io.parameter_bytes(0), index * 8 + field as u64);
                Descriptor::from_words(std::array::from_fn(field))
            }
            Place::Memory => {
                Descriptor::from_words(std::array::from_fn(|field| in_memory(index * 8 + field as u64, io)))
            }
            Place::Pieces => {
                Descriptor::from_piece(std::array::from_fn(|field| in_memory(index * 4 + field as u64, io)))
            }
        });
        let descriptors = descriptors.filter(|descriptor| descriptor.bytes() > 0).collect();
        let [host, left_ns, lift] = [0, 3, 4].map(|index| word(io.parameter_bytes(2), index));
        let gate = (host != 0).then(|| Gate { host, lift, left_ns, mirrored: VecDeque::new(), standing_since: None });
        // The last block of a gated launch mirrors the word.
        let workers = io.blocks() as u32 - u32::from(gate.is_some());
        let warps = (io.block_threads() as u32).div_ceil(WARP_THREADS);
        Launch { descriptors, moved: 0, flowing: 0, workers, warps, gate }
    }

    /// Mirrors the word, if there is one, while the first bytes come over the bus.
    fn first(&mut self, io: &mut Io<'_>) -> Step {
        let constants = &io.constants.copy_kernel;
        let gated_ns = if self.gate.is_some() { constants.gated_ns } else { 0 };
        let direction = self.descriptors.front().map(|descriptor| descriptor.direction(io));
        let read_ns = if direction == Some(Direction::HostToDevice) { constants.h2d_latency_ns } else { 0 };
        match gated_ns + read_ns {
            0 => self.step(io),
            span => Step::Busy(span),
        }
    }

    fn step(&mut self, io: &mut Io<'_>) -> Step {
        self.land(io);
        let constants = io.constants.copy_kernel.clone();
        if self.descriptors.is_empty() || self.workers == 0 {
            return Step::Done;
        }
        if let Some(gate) = &mut self.gate {
            let stood = gate.standing_since.is_some();
            let stands = gate.holds(io, constants.mirror_ns);
            let left_ns = gate.left_ns;
            if stands {
                if !stood {
                    self.drain(io, &constants);
                }
                return Step::Busy(constants.look_ns.min(left_ns));
            }
            if left_ns == 0 {
                self.gate = None;
            }
        }
        self.next_tile(io, &constants)
    }

    /// The tile in flight has arrived.
    fn land(&mut self, io: &mut Io<'_>) {
        let Some(descriptor) = self.descriptors.front().copied() else { return };
        descriptor.move_bytes(io, self.moved, self.flowing);
        self.moved = self.flowing;
        if self.moved == descriptor.bytes() {
            self.descriptors.pop_front();
            (self.moved, self.flowing) = (0, 0);
        }
    }

    /// The warps have stopped, and the bytes that they asked for or sent are still in flight.
    fn drain(&self, io: &mut Io<'_>, constants: &CopyKernelParameters) {
        if let Some(descriptor) = self.descriptors.front().filter(|_| self.moved > 0) {
            let direction = descriptor.direction(io);
            let span = match direction {
                Direction::Peer { .. } => io.constants.peer.kernel_drain_ns,
                _ => constants.drain_ns(direction, self.workers * self.warps),
            };
            *io.drains = Some((direction, span));
        }
    }

    fn next_tile(&mut self, io: &Io<'_>, constants: &CopyKernelParameters) -> Step {
        let Some(descriptor) = self.descriptors.front() else { return Step::Done };
        let direction = descriptor.direction(io);
        let limit_gbps = match direction {
            Direction::Peer { from, .. } => {
                io.constants.peer.kernel_gbps(from == io.reach.device, self.workers * self.warps)
            }
            _ => constants.gbps(direction, self.workers, self.warps),
        };
        let tile_bytes = match self.gate {
            Some(_) if limit_gbps.is_finite() => (limit_gbps * constants.look_ns as f64) as u64,
            _ => UNGATED_TILE_BYTES,
        };
        let bytes = tile_bytes.max(1).min(descriptor.bytes() - self.moved);
        self.flowing = self.moved + bytes;
        match descriptor.fill {
            Some(_) => Step::Busy(span_ns(bytes, constants.fill_gbps)),
            None => Step::Flow { direction, bytes, limit_gbps },
        }
    }
}

/// The `index`th 8 bytes of a parameter.
fn word(bytes: &[u8], index: u64) -> u64 {
    let at = index as usize * 8;
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice is 8 bytes long"))
}
