//! Brackets: the command sequence of one copy on a channel.
//!
//! Pure: from the addresses of the words, the emulation, a priority and the number of chunks it computes the steps to
//! submit. In [`EmulationKind::Bracket`](semaphores::EmulationKind::Bracket) mode the sequence is literally the
//! patent's (PC-03): acquire every higher semaphore in ascending order, inc unless lowest, copy, dec unless lowest.

use priority::Priority;
use semaphores::{Emulation, Layout, Step};

/// The steps that submit `chunks` chunks of one copy at `priority`.
///
/// The acquire stands before every chunk, because an urgent copy may overtake at every chunk. Inc and dec stand
/// around the whole copy, because it stays pending until its last chunk has executed.
#[must_use]
pub fn bracket(words: &dyn Layout, emulation: &dyn Emulation, priority: Priority, chunks: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for chunk in 0..chunks {
        emulation.acquire(words, priority, &mut steps);
        if chunk == 0 {
            emulation.inc(words, priority, &mut steps);
        }
        steps.push(Step::Copy(chunk));
    }
    if chunks > 0 {
        emulation.dec(words, priority, &mut steps);
    }
    steps
}

#[cfg(test)]
mod tests {
    use hal::DevicePtr;
    use priority::Priorities;
    use semaphores::{EmulationKind, emulation};

    use super::*;

    struct Words(Priorities);

    impl Layout for Words {
        fn priorities(&self) -> Priorities {
            self.0
        }
        fn gate_address(&self, level: Priority) -> DevicePtr {
            DevicePtr(100 + u64::from(level.get()))
        }
        fn stream_address(&self, priority: Priority) -> DevicePtr {
            DevicePtr(200 + u64::from(priority.get()))
        }
        fn device_address(&self, priority: Priority) -> DevicePtr {
            DevicePtr(300 + u64::from(priority.get()))
        }
    }

    fn steps(kind: EmulationKind, priority: u8, chunks: usize) -> Vec<Step> {
        let words = Words(Priorities::new(3).unwrap());
        bracket(&words, emulation(kind), Priority::new(priority).unwrap(), chunks)
    }

    /// PC-03, word by word.
    #[test]
    fn the_patents_sequences() {
        use Step::{Copy, Wait, Write};
        let word = |priority: u64| DevicePtr(200 + priority);
        assert_eq!(
            steps(EmulationKind::Bracket, 1, 1),
            [Wait(word(2)), Wait(word(3)), Copy(0)],
            "the lowest acquires and copies"
        );
        assert_eq!(steps(EmulationKind::Bracket, 2, 1), [Wait(word(3)), Write(word(2), 1), Copy(0), Write(word(2), 0)]);
        assert_eq!(
            steps(EmulationKind::Bracket, 3, 1),
            [Write(word(3), 1), Copy(0), Write(word(3), 0)],
            "the highest never waits"
        );
    }

    #[test]
    fn hold_waits_once_per_chunk_at_any_number_of_priorities() {
        use Step::{Copy, Wait};
        let gate = DevicePtr(101);
        assert_eq!(steps(EmulationKind::Hold, 1, 2), [Wait(gate), Copy(0), Wait(gate), Copy(1)]);
        assert_eq!(steps(EmulationKind::Hold, 3, 1), [Copy(0)]);
    }

    #[test]
    fn a_copy_in_chunks_stays_pending_until_its_last() {
        use Step::{Add, Copy, Wait};
        let (own, above) = (DevicePtr(302), DevicePtr(303));
        let expected = [Wait(above), Add(own, 1), Copy(0), Wait(above), Copy(1), Add(own, -1)];
        assert_eq!(steps(EmulationKind::Atomics, 2, 2), expected);
        assert!(steps(EmulationKind::Atomics, 2, 0).is_empty());
    }
}
