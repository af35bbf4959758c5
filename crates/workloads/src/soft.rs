//! The kernels of the software GPU: the reference, and the time that a GPU needs.

use softgpu::{Builder, Io, KernelSpec};

use crate::reference::{self, Rows};
use crate::work::NAMES;
use crate::{profiled, streamed};

/// Nanoseconds that a launch takes beside its work and the start of any kernel. With that a kernel behind another one
/// takes 2.2 us more than its work: the sums of the computations of `bench graph` fit so, which were 4 us a launch too
/// long before (HITS 841 us in place of 596 to 624, IMG 336 of 229, BS 224 of 179). The rates were measured on an H100
/// (driver 580) by the test `times`, which compares all with the device that it runs on.
const START_NS: u64 = 200;

/// Sizes of the parameters of each kernel.
const PARAMETERS: [&[u32]; NAMES.len()] =
    [&[8, 8, 8, 4], &[8, 8, 4], &[8, 8, 8, 4], &[8, 4, 8, 4, 4, 4], &[8, 4, 4, 4, 8, 4, 4, 4], &[8, 4, 8, 4, 4, 4]];

/// The act of a kernel.
type Act = fn(&mut Io<'_>);

/// A software GPU that knows the kernels.
pub fn register(builder: Builder) -> Builder {
    register_acts(builder, [add, sum, multiply, colour, scale, blur])
}

/// The same, of kernels that take their time and write nothing.
pub fn register_timing(builder: Builder) -> Builder {
    register_acts(builder, [|_| {}; NAMES.len()])
}

fn register_acts(builder: Builder, acts: [Act; NAMES.len()]) -> Builder {
    let builder = streamed::register(profiled::register(builder));
    let costs: [fn(&mut Io<'_>) -> u64; NAMES.len()] = [
        |io| at_rate(u64::from(number(io, 3)) * 12, ADD_GBPS),
        |io| at_rate(u64::from(number(io, 2)) * 4, SUM_GBPS),
        |io| at_rate(u64::from(number(io, 3)).pow(3), MULTIPLY_STEPS_PER_NS),
        |io| at_rate(u64::from(number(io, 4)) * u64::from(number(io, 5)), COLOUR_PIXELS_PER_NS),
        |io| at_rate(u64::from(number(io, 6)) * u64::from(number(io, 7)), SCALE_PIXELS_PER_NS),
        |io| at_rate(u64::from(number(io, 4)) * u64::from(number(io, 5)), BLUR_PIXELS_PER_NS),
    ];
    let kernels = NAMES.into_iter().zip(PARAMETERS).zip(acts.into_iter().zip(costs));
    kernels.fold(builder, |builder, ((name, parameters), (act, cost))| {
        builder.kernel(name, KernelSpec::once(parameters, cost, act))
    })
}

/// Bytes in a nanosecond.
const ADD_GBPS: f64 = 3_400.0;
const SUM_GBPS: f64 = 1_950.0;
/// Steps of a matrix product in a nanosecond.
const MULTIPLY_STEPS_PER_NS: f64 = 2_250.0;
/// Pixels in a nanosecond.
const COLOUR_PIXELS_PER_NS: f64 = 370.0;
const SCALE_PIXELS_PER_NS: f64 = 140.0;
const BLUR_PIXELS_PER_NS: f64 = 120.0;

fn at_rate(count: u64, per_ns: f64) -> u64 {
    START_NS + (count as f64 / per_ns) as u64
}

fn number(io: &Io<'_>, index: usize) -> u32 {
    io.parameter(index) as u32
}

/// The picture that begins with this parameter, as target of a kernel that changes no size.
fn rows(io: &Io<'_>, first: usize) -> Rows {
    Rows { pitch_bytes: number(io, first), width: number(io, first + 1), height: number(io, first + 2) }
}

fn floats(io: &mut Io<'_>, address: u64, count: usize) -> Vec<f32> {
    let bytes = io.read(address, 4 * count as u64);
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn write_floats(io: &mut Io<'_>, address: u64, floats: &[f32]) {
    let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    io.write(address, &bytes);
}

fn add(io: &mut Io<'_>) {
    let count = number(io, 3) as usize;
    let (left, right) = (floats(io, io.parameter(0), count), floats(io, io.parameter(1), count));
    let mut sum = vec![0.0; count];
    reference::add(&left, &right, &mut sum);
    write_floats(io, io.parameter(2), &sum);
}

fn sum(io: &mut Io<'_>) {
    let bytes = io.read(io.parameter(0), 4 * u64::from(number(io, 2)));
    let values: Vec<u32> = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let total = io.parameter(1);
    let before = io.load64(total);
    io.store64(total, before.wrapping_add(reference::sum(&values)));
}

fn multiply(io: &mut Io<'_>) {
    let side = number(io, 3);
    let count = side as usize * side as usize;
    let (left, right) = (floats(io, io.parameter(0), count), floats(io, io.parameter(1), count));
    let mut product = vec![0.0; count];
    reference::multiply(&left, &right, &mut product, side);
    write_floats(io, io.parameter(2), &product);
}

fn colour(io: &mut Io<'_>) {
    let (source_pitch_bytes, rows) = (number(io, 1), rows(io, 3));
    let source = io.read(io.parameter(0), Rows { pitch_bytes: source_pitch_bytes, ..rows }.nv12_bytes());
    paint(io, io.parameter(2), rows, |target| reference::colour(&source, source_pitch_bytes, target, rows));
}

fn scale(io: &mut Io<'_>) {
    let (from, to) = (rows(io, 1), rows(io, 5));
    let source = io.read(io.parameter(0), from.rgba_bytes());
    paint(io, io.parameter(4), to, |target| reference::scale(&source, from, target, to));
}

fn blur(io: &mut Io<'_>) {
    let (source_pitch_bytes, rows) = (number(io, 1), rows(io, 3));
    let source = io.read(io.parameter(0), Rows { pitch_bytes: source_pitch_bytes, ..rows }.rgba_bytes());
    paint(io, io.parameter(2), rows, |target| reference::blur(&source, source_pitch_bytes, target, rows));
}

/// Writes the pixels of a picture, and leaves the bytes between its rows as they are.
fn paint(io: &mut Io<'_>, at: u64, rows: Rows, draw: impl FnOnce(&mut [u8])) {
    let mut target = io.read(at, rows.rgba_bytes());
    draw(&mut target);
    io.write(at, &target);
}
