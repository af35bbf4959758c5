//! The launches of a batch, assembled from the events of their blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::events::BlockEvent;

/// One launch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The kernel.
    pub kernel: u32,
    /// The time at which its first block began.
    pub begin_ns: u64,
    /// The time at which its last block ended.
    pub end_ns: u64,
    /// Its blocks that noted an event.
    pub blocks: u64,
}

/// The launches of a batch, by their beginning.
///
/// A block number that comes again begins a new launch. So launches of one kernel that run at the same time cannot be
/// told apart: their blocks make spans of some of each.
#[must_use]
pub fn spans(events: &[BlockEvent]) -> Vec<Span> {
    let mut events = events.to_vec();
    events.sort_by_key(|event| (event.begin_ns, event.end_ns));
    let mut open: BTreeMap<u32, (Span, BTreeSet<u32>)> = BTreeMap::new();
    let mut closed = Vec::new();
    for event in events {
        let BlockEvent { kernel, begin_ns, end_ns, .. } = event;
        let fresh = || (Span { kernel, begin_ns, end_ns, blocks: 0 }, BTreeSet::new());
        let (span, blocks) = open.entry(kernel).or_insert_with(fresh);
        if !blocks.insert(event.block) {
            let (next, mut own) = fresh();
            own.insert(event.block);
            closed.push(std::mem::replace(span, next));
            *blocks = own;
        }
        span.end_ns = span.end_ns.max(end_ns);
        span.blocks += 1;
    }
    closed.extend(open.into_values().map(|(span, _)| span));
    closed.sort_by_key(|span| (span.begin_ns, span.kernel));
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kernel: u32, block: u32, begin_ns: u64, end_ns: u64) -> BlockEvent {
        BlockEvent { kernel, block, multiprocessor: 0, begin_ns, end_ns }
    }

    fn span(kernel: u32, begin_ns: u64, end_ns: u64, blocks: u64) -> Span {
        Span { kernel, begin_ns, end_ns, blocks }
    }

    #[test]
    fn a_launch_lasts_from_its_first_block_to_its_last() {
        let events = [event(1, 1, 12, 20), event(1, 0, 10, 30), event(1, 2, 25, 28)];
        assert_eq!(spans(&events), [span(1, 10, 30, 3)]);
        assert_eq!(spans(&[]), []);
    }

    #[test]
    fn a_block_that_comes_again_is_of_the_next_launch() {
        let events = [event(1, 0, 10, 20), event(1, 1, 11, 21), event(1, 1, 30, 40), event(1, 0, 31, 45)];
        assert_eq!(spans(&events), [span(1, 10, 21, 2), span(1, 30, 45, 2)]);
    }

    #[test]
    fn kernels_are_kept_apart() {
        let events = [event(1, 0, 10, 40), event(2, 0, 12, 20), event(2, 1, 14, 50), event(1, 1, 11, 15)];
        assert_eq!(spans(&events), [span(1, 10, 40, 2), span(2, 12, 50, 2)]);
    }
}
