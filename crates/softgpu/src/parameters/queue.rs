use serde::{Deserialize, Serialize};

use super::check;

/// Streams and hardware queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueParameters {
    /// Hardware queues for copies to the device (facts 4: 4). A layer counts them by CUDA's variables, and not by this.
    pub h2d: u32,
    /// Hardware queues for copies to the host (facts 4: 4).
    pub d2h: u32,
    /// Hardware queues for copies on the device. Not measured; taken to be as many as the others.
    pub d2d: u32,
    /// Hardware queues for copies to another device. Not measured; taken to be as many as the others.
    pub peer: u32,
    /// Hardware queues for kernels; 0 gives each stream one of its own (facts 4: kernels of 64 streams shared nothing).
    pub compute: u32,
    /// A queue counts as idle this long after its last operation, when a stream looks for one (fits the measured
    /// queue map: the fourth of sixteen copies submitted back to back finds no idle queue).
    pub idle_after_ns: u64,
    /// Operations that a stream holds; the next submission blocks (facts 5: about 1 000).
    pub stream_operations: usize,
    /// Streams that a context has room for at first. Making one more waits for everything in the context (measured:
    /// 35). 0: there is always room.
    pub streams: u32,
    /// The room for more streams after that wait. It stays when streams are destroyed (measured: 43).
    pub streams_more: u32,
    /// From the end of a call until the device sees its operation (fits the 8.1 us of facts 5 together with the host
    /// cost, the engine's set-up and the completion word).
    pub submit_latency_ns: u64,
    /// Device time of an event record or an event wait (facts 5: a hop through a channel adds 0.3 us).
    pub bookkeeping_ns: u64,
    /// From the end of a kernel to the beginning of a copy that is queued behind it, or the other way round. The
    /// queues hand over by a word that the other queue polls, so the time is evenly spread from 0 to twice this
    /// (measured: an empty kernel between two chunks costs bulk 9 us).
    pub crossing_ns: u64,
}

impl Default for QueueParameters {
    fn default() -> QueueParameters {
        QueueParameters {
            h2d: 4,
            d2h: 4,
            d2d: 4,
            peer: 4,
            compute: 0,
            idle_after_ns: 400,
            stream_operations: 1_020,
            streams: 35,
            streams_more: 43,
            submit_latency_ns: 600,
            bookkeeping_ns: 150,
            crossing_ns: 3_100,
        }
    }
}

impl QueueParameters {
    pub(super) fn check(&self) -> Result<(), String> {
        check::counts(&[
            ("queue.h2d", u64::from(self.h2d)),
            ("queue.d2h", u64::from(self.d2h)),
            ("queue.d2d", u64::from(self.d2d)),
            ("queue.peer", u64::from(self.peer)),
            ("queue.stream_operations", self.stream_operations as u64),
        ])
    }
}
