//! The memory of arrays, and the devices of computations.

use graph::{Bandwidth, Selection};

use crate::heap::HeapOptions;

/// The memory that arrays have, and how devices are chosen.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// Memory of each device. Where `max_bytes` is reached, arrays that have not been used for long leave the device.
    pub device: HeapOptions,
    /// Pinned memory of the host. It is given back when all arrays have gone.
    pub pinned: HeapOptions,
    /// How the device of a computation is chosen, where there are several and none is named.
    pub selection: Selection,
    /// The bandwidths between memories: bytes come from the nearest one, and some selections ask for them.
    pub bandwidth: Option<Bandwidth>,
}

impl Default for ArrayOptions {
    fn default() -> ArrayOptions {
        let (device, pinned) = (HeapOptions::default(), HeapOptions::default());
        ArrayOptions { device, pinned, selection: Selection::MinTransferSize, bandwidth: None }
    }
}
