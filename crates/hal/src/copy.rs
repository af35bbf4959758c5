//! Shapes of copies beyond one dimension.

use crate::DevicePtr;

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host memory (`CU_MEMORYTYPE_HOST`), by address: a copy may be planned on one thread and submitted on another.
    Host(u64),
    /// Device memory (`CU_MEMORYTYPE_DEVICE`).
    Device(DevicePtr),
    /// An address whose kind the driver finds out by itself (`CU_MEMORYTYPE_UNIFIED`).
    Unified(DevicePtr),
}

/// One side of a 2D copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// The first byte of the plane, not of the rectangle.
    pub base: Endpoint,
    /// Bytes from one row to the next. 0 means tightly packed: each row begins where the row before it ends, with the
    /// offset.
    pub pitch_bytes: u64,
    /// Offset of the rectangle inside the plane, in bytes.
    pub x_bytes: u64,
    /// Offset of the rectangle inside the plane, in rows.
    pub y: u64,
}

/// A 2D copy (`CUDA_MEMCPY2D`). Arrays are not part of the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy2d {
    /// The side that is read.
    pub source: Plane,
    /// The side that is written.
    pub target: Plane,
    /// Width of the rectangle in bytes.
    pub width_bytes: u64,
    /// Height of the rectangle in rows.
    pub height: u64,
}

/// One side of a 3D copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The first byte of the volume, not of the box.
    pub base: Endpoint,
    /// Bytes from one row to the next. 0 means tightly packed: each row begins where the row before it ends, with the
    /// offset.
    pub pitch_bytes: u64,
    /// Rows from one slice to the next; 0 means tightly packed, as for the pitch.
    pub slice_rows: u64,
    /// Offset of the box inside the volume, in bytes.
    pub x_bytes: u64,
    /// Offset of the box inside the volume, in rows.
    pub y: u64,
    /// Offset of the box inside the volume, in slices.
    pub z: u64,
}

/// A 3D copy (`CUDA_MEMCPY3D`). Arrays are not part of the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy3d {
    /// The side that is read.
    pub source: Volume,
    /// The side that is written.
    pub target: Volume,
    /// Width of the box in bytes.
    pub width_bytes: u64,
    /// Height of the box in rows.
    pub height: u64,
    /// Depth of the box in slices.
    pub depth: u64,
}
