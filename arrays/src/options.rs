//! Options: the memory of arrays, and the devices of computations.

use graph::{Bandwidth, Selection};
use overtake_memory::heap::HeapOptions;

/// The memory of arrays, and how devices are chosen.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// Memory of each device. When `max_bytes` is reached, the least recently used arrays are evicted.
    pub device: HeapOptions,
    /// Pinned host memory. It is returned to the driver when all arrays are gone.
    pub pinned: HeapOptions,
    /// How the device of a computation is chosen, if there are several and none is named.
    pub selection: Selection,
    /// Selections by bytes and by times prefer a device that holds more than this fraction of the bytes, from 0 to 1; a
    /// tenth by default, as in GrCUDA.
    pub threshold: f64,
    /// Measures each device computation, with two events in its lane ([`crate::Arrays::times`]).
    pub measures: bool,
    /// Submissions return when the computation has ended, as with GrCUDA's serial policy. This helps with debugging:
    /// the call that hangs is the one that fails. The handle has the outcome as usual. Computations that cannot end
    /// without a later call (held, or after something held, in a stopped set, in an open group) are not waited for, nor
    /// those that a task's function submits. If all workers run functions that wait for the submitting thread, a host
    /// function waits forever: use one more worker.
    pub is_serial: bool,
    /// The bandwidths between memories: bytes come from the nearest memory, and some selections need them.
    pub bandwidth: Option<Bandwidth>,
}

impl Default for ArrayOptions {
    fn default() -> ArrayOptions {
        ArrayOptions {
            device: HeapOptions::default(),
            pinned: HeapOptions::default(),
            selection: Selection::MinTransferSize,
            threshold: 0.1,
            measures: false,
            is_serial: false,
            bandwidth: None,
        }
    }
}
