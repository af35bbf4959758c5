//! Shapes of copies beyond one dimension.

use crate::DevicePtr;

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host memory (`CU_MEMORYTYPE_HOST`), by address: a copy may be planned on one thread and submitted on another.
    Host(u64),
    /// Device memory (`CU_MEMORYTYPE_DEVICE`).
    Device(DevicePtr),
    /// Whatever the address turns out to be (`CU_MEMORYTYPE_UNIFIED`).
    Unified(DevicePtr),
}

/// One side of a 2D copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Where the plane starts.
    pub base: Endpoint,
    /// Bytes from one row to the next; 0 means tightly packed: a row begins where the one before ends, offset included.
    pub pitch_bytes: u64,
    /// Offset of the rectangle inside the plane, in bytes.
    pub x_bytes: u64,
    /// Offset of the rectangle inside the plane, in rows.
    pub y: u64,
}

/// A 2D copy (`CUDA_MEMCPY2D`). Arrays are not part of the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy2d {
    /// Where from.
    pub source: Plane,
    /// Where to.
    pub target: Plane,
    /// Width of the rectangle in bytes.
    pub width_bytes: u64,
    /// Height of the rectangle in rows.
    pub height: u64,
}

/// One side of a 3D copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Where the volume starts.
    pub base: Endpoint,
    /// Bytes from one row to the next; 0 means tightly packed: a row begins where the one before ends, offset included.
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
    /// Where from.
    pub source: Volume,
    /// Where to.
    pub target: Volume,
    /// Width of the box in bytes.
    pub width_bytes: u64,
    /// Height of the box in rows.
    pub height: u64,
    /// Depth of the box in slices.
    pub depth: u64,
}
