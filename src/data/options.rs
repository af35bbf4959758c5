//! The sizes of the memory of arrays.

use crate::heap::HeapOptions;

/// The memory that arrays have.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrayOptions {
    /// Memory of the device. Where `max_bytes` is reached, arrays that have not been used for long leave the device.
    pub device: HeapOptions,
    /// Pinned memory of the host. It is given back when all arrays have gone.
    pub pinned: HeapOptions,
}
