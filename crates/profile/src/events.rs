//! Decodes the bytes of a buffer into events.

/// Bytes of an event: `overtake_event` in `overtake_profile.cuh`.
pub(super) const EVENT_BYTES: usize = 32;
/// Bytes before the first event.
pub(super) const HEADER_BYTES: usize = 32;
/// The place of the capacity among them.
pub(super) const CAPACITY_AT: u64 = 4;

/// One block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// The kernel, by the number that [`super::Profiler::register`] gave to it.
    pub kernel: u32,
    /// The block's number in its grid, x first.
    pub block: u32,
    /// The multiprocessor that it ran on.
    pub multiprocessor: u32,
    /// The time at which it began, by the device's global timer.
    pub begin_ns: u64,
    /// The time at which its last thread came to the end.
    pub end_ns: u64,
}

/// The events of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// In the order in which the blocks began to note them.
    pub events: Vec<BlockEvent>,
    /// Events that found no room.
    pub lost: u64,
    /// Blocks that noted no end, or an end before their beginning: their kernel leaves without `overtake_end`.
    pub unfinished: u64,
}

impl Events {
    /// Reads a buffer after its batch. Bytes that no kernel can have written do no harm.
    pub(super) fn of(buffer: &[u8]) -> Events {
        let word = |index: usize| {
            buffer.get(4 * index..4 * index + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
        };
        let (taken, capacity, lost) = (word(0), word(1), word(2));
        let room = buffer.get(HEADER_BYTES..).unwrap_or_default();
        let written = room.chunks_exact(EVENT_BYTES).take(taken.min(capacity) as usize).map(event);
        let (events, unfinished): (Vec<_>, Vec<_>) = written.partition(|event| event.end_ns >= event.begin_ns);
        Events { events, lost: lost.into(), unfinished: unfinished.len() as u64 }
    }
}

fn event(bytes: &[u8]) -> BlockEvent {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("the slice is 4 bytes long"));
    let wide = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    BlockEvent { begin_ns: wide(0), end_ns: wide(8), block: word(16), kernel: word(20), multiprocessor: word(24) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(header: [u32; 8], events: &[BlockEvent]) -> Vec<u8> {
        let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
        for event in events {
            bytes.extend(event.begin_ns.to_le_bytes());
            bytes.extend(event.end_ns.to_le_bytes());
            [event.block, event.kernel, event.multiprocessor, 0]
                .iter()
                .for_each(|word| bytes.extend(word.to_le_bytes()));
        }
        bytes
    }

    fn noted(block: u32, begin_ns: u64, end_ns: u64) -> BlockEvent {
        BlockEvent { kernel: 7, block, multiprocessor: block % 3, begin_ns, end_ns }
    }

    #[test]
    fn a_buffer_has_the_events_that_were_taken_and_no_more() {
        let events = [noted(0, 1 << 40, (1 << 40) + 5), noted(1, 3, 9), noted(2, 4, 10)];
        let read = Events::of(&buffer([2, 3, 0, 0, 0, 0, 0, 0], &events));
        assert_eq!(read, Events { events: events[..2].to_vec(), lost: 0, unfinished: 0 });
    }

    #[test]
    fn events_that_are_missing_are_counted() {
        let read = Events::of(&buffer([9, 2, 6, 0, 0, 0, 0, 0], &[noted(0, 3, 9), noted(1, 3, 0)]));
        assert_eq!(read, Events { events: vec![noted(0, 3, 9)], lost: 6, unfinished: 1 });
    }

    #[test]
    fn a_buffer_that_is_too_short_has_few_events() {
        let whole = buffer([u32::MAX, u32::MAX, u32::MAX, 0, 0, 0, 0, 0], &[noted(0, 1, 2), noted(1, 1, 2)]);
        for bytes in 0..=whole.len() {
            assert_eq!(Events::of(&whole[..bytes]).events.len(), bytes.saturating_sub(HEADER_BYTES) / EVENT_BYTES);
        }
    }
}
