//! The times of every copy, for a picture; recorded only with the option `trace`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::{Nanos, Stream};
use priority::{Direction, Priority};

use crate::decide::Plan;
use crate::records::fence::Fence;
use hal::locks::lock;

/// Copies that are kept; later ones are only counted.
const COPIES_MAX: usize = 1 << 20;

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedCopy {
    /// The time of the call, in the host's time.
    pub began: Nanos,
    /// The time at which the call returned.
    pub returned: Nanos,
    /// The time at which its completion was seen; `None` for a copy without a fence.
    pub landed: Option<Nanos>,
    /// Its stream.
    pub stream: Stream,
    /// Its priority.
    pub priority: Priority,
    /// The engine that it needs, where that is known.
    pub direction: Option<Direction>,
    /// The number of bytes.
    pub bytes: u64,
    /// The way that it went.
    pub plan: Plan,
}

#[derive(Default)]
pub(crate) struct Trace {
    is_on: bool,
    copies: Mutex<Vec<(TracedCopy, Option<Fence>)>>,
    landings: Mutex<HashMap<Fence, Nanos>>,
    left_out: AtomicU64,
}

impl Trace {
    pub(crate) fn new(is_on: bool) -> Trace {
        Trace { is_on, ..Trace::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A copy's call has returned.
    pub(crate) fn submitted(&self, copy: TracedCopy, fence: Option<Fence>) {
        let mut copies = lock(&self.copies);
        if copies.len() < COPIES_MAX {
            copies.push((copy, fence));
        } else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A fence has been seen to be done, perhaps before the call of its copy has returned.
    pub(crate) fn landed(&self, fence: Fence, now: Nanos) {
        if self.is_on {
            lock(&self.landings).insert(fence, now);
        }
    }

    /// All copies in the order in which their calls returned, and the number of copies that found no room.
    pub(crate) fn copies(&self) -> (Vec<TracedCopy>, u64) {
        let (copies, landings) = (lock(&self.copies), lock(&self.landings));
        let landed = |fence: &Option<Fence>| fence.and_then(|fence| landings.get(&fence).copied());
        let whole = |(copy, fence): &(TracedCopy, Option<Fence>)| TracedCopy { landed: landed(fence), ..*copy };
        (copies.iter().map(whole).collect(), self.left_out.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_may_be_seen_before_its_copy_and_after_it() {
        let at = |us| Nanos::from_us(us);
        for is_on in [true, false] {
            let trace = Trace::new(is_on);
            let [early, late, never] = [0, 1, 2].map(Fence::of);
            trace.landed(early, at(3));
            for fence in [Some(early), Some(late), Some(never), None] {
                trace.submitted(copy(), fence);
            }
            trace.landed(late, at(4));
            let (copies, left_out) = trace.copies();
            let landed: Vec<Option<Nanos>> = copies.iter().map(|copy| copy.landed).collect();
            let seen = if is_on { [Some(at(3)), Some(at(4)), None, None] } else { [None; 4] };
            assert_eq!((&landed[..], left_out), (&seen[..], 0));
        }
    }

    fn copy() -> TracedCopy {
        TracedCopy {
            began: Nanos::ZERO,
            returned: Nanos::from_us(2),
            landed: None,
            stream: Stream::LEGACY,
            priority: Priority::LOWEST,
            direction: Some(Direction::HostToDevice),
            bytes: 64 << 10,
            plan: Plan::Kernel { raises: false },
        }
    }
}
