//! One launch of a kernel: its name, its arguments and its shape.

use hal::DevicePtr;

use crate::reference::Rows;

/// Threads of a block that works through a list.
const LIST_THREADS: u32 = 256;
/// Blocks of a launch that works through a list: a few for each multiprocessor.
const LIST_BLOCKS_MAX: u32 = 1_024;
/// Threads of a block that works on a square, in each dimension.
const SQUARE_THREADS: [u32; 2] = [32, 8];

/// A picture, or a matrix of pixels, in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The first byte of the first row.
    pub at: DevicePtr,
    /// The rows.
    pub rows: Rows,
}

/// One launch. The sizes are those of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `sum[i] = left[i] + right[i]`, of 32-bit floats.
    Add { left: DevicePtr, right: DevicePtr, sum: DevicePtr, count: u32 },
    /// Adds all 32-bit integers to one of 64 bits.
    Sum { values: DevicePtr, total: DevicePtr, count: u32 },
    /// The product of two square matrices of 32-bit floats.
    Multiply { left: DevicePtr, right: DevicePtr, product: DevicePtr, side: u32 },
    /// NV12 to RGBA, of one size.
    Colour { source: DevicePtr, source_pitch_bytes: u32, target: Picture },
    /// RGBA to RGBA in another size.
    Scale { source: Picture, target: Picture },
    /// RGBA to RGBA, each pixel with its neighbours.
    Blur { source: DevicePtr, source_pitch_bytes: u32, target: Picture },
}

/// The names of all kernels, in the order of [`Work`].
pub const NAMES: [&str; 6] = ["work_add", "work_sum", "work_multiply", "work_colour", "work_scale", "work_blur"];

impl Work {
    /// The place of its kernel in [`NAMES`].
    #[must_use]
    pub fn index(&self) -> usize {
        match self {
            Work::Add { .. } => 0,
            Work::Sum { .. } => 1,
            Work::Multiply { .. } => 2,
            Work::Colour { .. } => 3,
            Work::Scale { .. } => 4,
            Work::Blur { .. } => 5,
        }
    }

    /// Its arguments in the kernel's order: addresses, and numbers of 32 bits.
    #[must_use]
    pub fn arguments(&self) -> Vec<Argument> {
        use Argument::{Address as A, Number as N};
        match *self {
            Work::Add { left, right, sum, count } => vec![A(left.0), A(right.0), A(sum.0), N(count)],
            Work::Sum { values, total, count } => vec![A(values.0), A(total.0), N(count)],
            Work::Multiply { left, right, product, side } => vec![A(left.0), A(right.0), A(product.0), N(side)],
            Work::Colour { source, source_pitch_bytes, target } | Work::Blur { source, source_pitch_bytes, target } => {
                let Rows { pitch_bytes, width, height } = target.rows;
                vec![A(source.0), N(source_pitch_bytes), A(target.at.0), N(pitch_bytes), N(width), N(height)]
            }
            Work::Scale { source, target } => [source, target]
                .iter()
                .flat_map(|Picture { at, rows }| [A(at.0), N(rows.pitch_bytes), N(rows.width), N(rows.height)])
                .collect(),
        }
    }

    /// Blocks and threads.
    #[must_use]
    pub fn shape(&self) -> ([u32; 3], [u32; 3]) {
        let square = |width: u32, height: u32| {
            let [across, down] = SQUARE_THREADS;
            ([width.div_ceil(across).max(1), height.div_ceil(down).max(1), 1], [across, down, 1])
        };
        match self {
            Work::Add { count, .. } | Work::Sum { count, .. } => {
                ([count.div_ceil(LIST_THREADS).clamp(1, LIST_BLOCKS_MAX), 1, 1], [LIST_THREADS, 1, 1])
            }
            Work::Multiply { side, .. } => square(*side, *side),
            Work::Colour { target, .. } | Work::Scale { target, .. } | Work::Blur { target, .. } => {
                square(target.rows.width, target.rows.height)
            }
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A device address.
    Address(u64),
    /// A number.
    Number(u32),
}
