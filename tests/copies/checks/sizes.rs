//! Sizes, pitches and offsets up to the end of 64 bits. Requests that the driver refuses are refused with the same
//! code, and move nothing.
//!
//! Boxes of such sizes are for the model only. An H100's driver (580) accepts 2^43 + 1 rows of 2 MiB, whose bytes add
//! up to 2 MiB past 64 bits, and other boxes keep its engine busy without end. The layer passes them to the driver
//! unchanged.

use std::cell::Cell;
use std::sync::Arc;

use hal::{Code, Shape, Side, Stream};
use overtake::copy::Request;
use overtake::options::{Transport, UrgentTransport};
use overtake::{Options, Overtake, PriorityStream};
use testkit::fixture::attempt;

use super::guard;
use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const BYTES: u64 = 4 << 20;

/// Numbers at which arithmetic may overflow, and some harmless ones.
const NUMBERS: [u64; 18] = [
    0,
    1,
    3,
    64,
    1 << 16,
    1 << 20,
    (1 << 21) + 1,
    i32::MAX as u64,
    1 << 31,
    1 << 32,
    1 << 43,
    (1 << 43) + 1,
    1 << 44,
    1 << 62,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 63,
    u64::MAX,
];

/// Options under which bulk and urgent copies take every way.
fn ways() -> [Options; 4] {
    let urgent_kernel = bed::small_options().with_profile(|profile| profile.urgent_transport = UrgentTransport::Kernel);
    [guard::options(), bed::transport(Transport::Kernel), bed::transport(Transport::Engine), urgent_kernel]
}

/// A native stream, and one of each urgency.
struct Streams<'a> {
    rig: &'a Rig,
    overtake: Overtake,
    plain: Stream,
    ours: [PriorityStream; 2],
    host: Arc<Pinned>,
    device: Buffer,
}

impl<'a> Streams<'a> {
    fn new(rig: &'a Rig, options: Options) -> Result<Streams<'a>, Failure> {
        let overtake = bed::open(rig, options)?;
        let ours = [overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?];
        let (host, device) = (rig.pinned_of(&vec![1; BYTES as usize])?, rig.buffer_of(&vec![2; BYTES as usize])?);
        Ok(Streams { rig, plain: rig.stream()?, ours, host, device, overtake })
    }

    /// A box with these pitches of rows and slices, towards the device or back.
    fn copy(&self, device: [u64; 2], host: [u64; 2], extent: [u64; 3], to_device: bool) -> Shape {
        let device = Side::device(self.device.base).pitched(device[0], device[1]);
        let host = Side::host(self.host.address()).pitched(host[0], host[1]);
        let (target, source) = if to_device { (device, host) } else { (host, device) };
        let [width_bytes, rows, depth] = extent;
        Shape { target, source, width_bytes, rows, depth }
    }

    /// Checks that the driver's answer is the same with and without the layer. Returns it.
    fn compare(&self, shape: &Shape) -> Result<Option<Code>, Failure> {
        let natively = attempt::copy_shape(self.rig.driver(), shape, self.plain);
        let code = natively.err().map(|error| error.code());
        for ours in &self.ours {
            let here = raw::attempt(ours, shape).err().map(|error| error.code());
            same(&format!("{shape:?} at priority {}", ours.priority()), &here, &code)?;
        }
        Ok(code)
    }

    fn end(&self) -> Outcome {
        self.ours.iter().try_for_each(PriorityStream::synchronize)?;
        self.rig.settle(self.plain)?;
        bed::at_rest(self.rig, &self.overtake)
    }
}

/// The pitches of rows that are so far apart, and slices of so many rows; 0 for those that follow each other.
fn pitches(pitch_bytes: u64, slice_rows: u64, [width_bytes, rows, _]: [u64; 3]) -> [u64; 2] {
    let pitch = if pitch_bytes == 0 { width_bytes } else { pitch_bytes };
    [pitch, pitch.saturating_mul(if slice_rows == 0 { rows } else { slice_rows })]
}

/// Products and sums that wrap to a small number past 64 bits.
pub fn directed(rig: &Rig) -> Outcome {
    const MIB: u64 = 1 << 20;
    for options in ways() {
        let streams = Streams::new(rig, options)?;
        let cases = [
            ((2 * MIB, 0), [2 * MIB, (1 << 43) + 1, 1]),
            ((MIB, 0), [MIB, (1 << 44) + 1, 1]),
            ((MIB, 0), [MIB, 1 << 44, 1]),
            ((MIB, 1 << 22), [MIB, 1 << 22, (1 << 22) + 1]),
            ((1 << 63, 0), [MIB, 3, 1]),
            ((MIB, 1 << 44), [MIB, 2, 3]),
        ];
        for (((pitch, rows), extent), to_device) in cases.into_iter().flat_map(|case| [(case, true), (case, false)]) {
            let both = pitches(pitch, rows, extent);
            let code = streams.compare(&streams.copy(both, both, extent, to_device))?;
            ensure!(code.is_some(), "the driver takes {both:?}, {extent:?}");
        }
        streams.end()?;
        same_bytes("the host's side", &streams.host.read_all(), &vec![1; BYTES as usize])?;
        let device = rig.download(streams.device, streams.plain)?;
        same_bytes("the device's side", &device, &vec![2; BYTES as usize])?;
    }
    Ok(())
}

/// Boxes of random numbers, half of them harmless. A box that leaves the host's buffer leaves the device's too.
pub fn random(rig: &Rig) -> Outcome {
    for (options, seed) in ways().into_iter().zip(90..) {
        let (streams, mut prng) = (Streams::new(rig, options)?, Prng::new(seed));
        let mut taken = 0;
        for _ in 0..400 {
            let wild = prng.below(2) == 0;
            let mut number = |harmless: &[u64]| {
                let wild = wild && prng.below(3) == 0;
                prng.pick(if wild { &NUMBERS } else { harmless })
            };
            let extent = [number(&[1, 64, 4096, 65536]), number(&[1, 2, 13]), number(&[1, 1, 2])];
            let device = pitches(number(&[0, 4096, 65536, 65600]), number(&[0, 13, 16]), extent);
            let host = if prng.below(2) == 0 { pitches(0, 0, extent) } else { device };
            let to_device = prng.below(2) == 0;
            let code = streams.compare(&streams.copy(device, host, extent, to_device))?;
            taken += u32::from(code.is_none());
        }
        ensure!((40..360).contains(&taken), "the driver takes {taken} of 400");
        streams.end()?;
    }
    Ok(())
}

/// Linear copies of every length. One that the driver refuses holds no other copy back.
pub fn lines(rig: &Rig) -> Outcome {
    for options in ways() {
        let streams = Streams::new(rig, options)?;
        for (bytes, to_device) in NUMBERS.into_iter().flat_map(|bytes| [(bytes, true), (bytes, false)]) {
            let (driver, host, device) = (rig.driver(), streams.host.address(), streams.device.base);
            let natively = match to_device {
                true => attempt::htod(driver, device, host, bytes, streams.plain),
                false => attempt::dtoh(driver, host, device, bytes, streams.plain),
            };
            let code = natively.err().map(|error| error.code());
            for ours in &streams.ours {
                let here = raw::attempt_line(ours, streams.device, &streams.host, bytes, to_device);
                same(&format!("{bytes:#x} bytes"), &here.err().map(|error| error.code()), &code)?;
            }
        }
        streams.end()?;
    }
    Ok(())
}

/// Batches whose sum is small past 64 bits go to the driver, which decides.
pub fn batches(rig: &Rig) -> Outcome {
    for options in ways() {
        let streams = Streams::new(rig, options)?;
        let (device, host) = (streams.device.base, streams.host.address() as *const u8);
        for sizes in [[1 << 63, 1 << 63], [u64::MAX, 65537], [65536, u64::MAX]] {
            let requests = sizes.map(|bytes| Request::htod(device, host, bytes));
            for ours in &streams.ours {
                let asked = Cell::new(0);
                let refusal = || {
                    asked.set(asked.get() + 1);
                    Err(Code::INVALID_VALUE.at("the driver"))
                };
                let code = raw::attempt_batch(ours, &requests, &refusal).err().map(|error| error.code());
                same(&format!("{sizes:?}"), &(code, asked.get()), &(Some(Code::INVALID_VALUE), 1))?;
            }
        }
        streams.end()?;
        let device = rig.download(streams.device, streams.plain)?;
        same_bytes("the device's side", &device, &vec![2; BYTES as usize])?;
    }
    Ok(())
}
