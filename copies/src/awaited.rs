//! Threads that wait for a stream: the unfinished copies ahead of them in it are raised.

use priority::Priority;

use crate::records::{Fence, Lift};
use crate::stream::PriorityStream;

/// The copies of a stream that are on their way to a point in it, and that are below a priority.
#[doc(hidden)] // for crates/shim
#[derive(Clone, Debug)]
pub struct Awaited {
    fences: Vec<Fence>,
}

impl PriorityStream {
    /// The copies below `to` that stand ahead of the next work of the stream; `None` if there are none. It calls no
    /// driver, and without such copies it is one load.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn ahead_below(&self, to: Priority) -> Option<Awaited> {
        let state = self.state();
        let below = state.ahead.below(to, &state.inner.records.fences);
        let fences: Vec<Fence> = below.into_iter().flat_map(|known| known.fences).collect();
        (!fences.is_empty()).then_some(Awaited { fences })
    }

    /// A thread waits for these copies: those that are still on their way pass as ones of `to` until they have
    /// completed. Returns whether that lifted any. It calls no driver.
    #[doc(hidden)] // for crates/shim
    pub fn lift_awaited(&self, awaited: &Awaited, to: Priority) -> bool {
        let records = &self.state().inner.records;
        let lifted = |fence: &&Fence| {
            !records.fences.is_done(**fence) && records.standing.lifts.lift(**fence, &[], to) != Lift::Unchanged
        };
        let count = awaited.fences.iter().filter(lifted).count();
        records.counters.boosts.add(count as u64);
        count > 0
    }
}
