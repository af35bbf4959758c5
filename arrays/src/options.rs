//! Options: the memory of arrays, and the devices of computations.

use graph::NewStream;
use graph::{Bandwidth, Parents, Selection};
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
    /// How the preceding computations influence the device of a computation, and which of them it follows. `None`: they
    /// do not, and it continues in the lane of the first of them that no other one has followed.
    pub parents: Option<Parents>,
    /// Whether a computation that follows no other one may reuse the stream of computations that have ended. Without
    /// `parents` there are no streams.
    pub new_stream: NewStream,
    /// Chooses devices without our corrections: as in GrCUDA, the first of equally good devices is taken, rather than
    /// the one that holds the changed bytes or the least loaded one, and bytes that need not be transferred count.
    pub grcuda_compat: bool,
    /// Measures each device computation, with two events in its lane ([`crate::Arrays::times`]).
    /// [`Selection::MinEndTime`] measures in any case.
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
        let (device, pinned) = (HeapOptions::default(), HeapOptions::default());
        let selection = Selection::MinTransferSize;
        let (parents, bandwidth, new_stream) = (None, None, NewStream::Reuse);
        ArrayOptions {
            device,
            pinned,
            selection,
            threshold: 0.1,
            parents,
            new_stream,
            grcuda_compat: false,
            measures: false,
            is_serial: false,
            bandwidth,
        }
    }
}
