//! Options: the memory of arrays, and the devices of computations.

use graph::plan::NewStream;
use graph::{Bandwidth, Parents, Selection};

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
    /// The selections by bytes and by times prefer a device that has more than this part of the bytes, from 0 to 1; a
    /// tenth as in GrCUDA.
    pub threshold: f64,
    /// How the computations before one have a say in its device, and which of them it goes on behind. None: they have
    /// no say, and it goes on in the lane of the first of them that no other has gone on behind.
    pub parents: Option<Parents>,
    /// Whether a computation that goes on behind no other may have the stream of those that have ended. Without parents
    /// there are no streams.
    pub new_stream: NewStream,
    /// Devices are chosen without our corrections: of those that are equally good the first is taken, as GrCUDA does,
    /// and not the one with the bytes that are changed or the least loaded, and bytes that need not come count.
    pub grcuda_compat: bool,
    /// The time of each computation of the device is measured, by two events of its lane
    /// ([`crate::data::Arrays::times`]). [`Selection::MinEndTime`] measures without this.
    pub measures: bool,
    /// A submission of a computation returns when the computation has ended, as GrCUDA's serial policy has it: for
    /// programs under a debugger, where the call that stands still is the one that fails. Its outcome is in its handle
    /// as ever. Not waited for are those that cannot end without a later call (held, or behind something that is, in a
    /// stopped set, in an open group), and those that the function of a task submits. Where all workers run functions
    /// that wait for the thread that submits, a function of the host waits for ever: have one worker more.
    pub is_serial: bool,
    /// The bandwidths between memories: bytes come from the nearest one, and some selections ask for them.
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
