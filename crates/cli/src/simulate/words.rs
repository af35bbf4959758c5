//! The semaphores of one engine, in the memory of the machine.

use std::sync::atomic::{AtomicU32, Ordering};

use hal::{DevicePtr, Nanos};
use priority::{Priorities, Priority};
use semaphores::{Counts, EmulationKind, Layout, Publish};

/// Words by level, published by the ledger.
pub struct Gates(Vec<AtomicU32>);

impl Publish for Gates {
    fn publish(&self, level: Priority, word: u32) {
        self.0[level.index()].store(word, Ordering::Relaxed);
    }
}

/// The values of a semaphore, each with the time from which it had them.
pub type History = Vec<(Nanos, u32)>;

/// The semaphores of one engine: the words of every emulation, and their histories.
pub struct Words {
    kind: Option<EmulationKind>,
    priorities: Priorities,
    counts: Counts<Gates>,
    /// Words that streams write, by priority - 1.
    written: Vec<u32>,
    /// Words that kernels add to, by priority - 1.
    added: Vec<u32>,
    /// By priority - 1.
    histories: Vec<History>,
}

/// The kinds of word, in the upper half of an address; the priority is the lower half.
const GATE: u64 = 1 << 8;
const WRITTEN: u64 = 2 << 8;
const ADDED: u64 = 3 << 8;
const PRIORITY_MASK: u64 = 0xff;

impl Layout for Words {
    fn priorities(&self) -> Priorities {
        self.priorities
    }

    fn gate_address(&self, level: Priority) -> DevicePtr {
        DevicePtr(GATE | u64::from(level.get()))
    }

    fn stream_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(WRITTEN | u64::from(priority.get()))
    }

    fn device_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(ADDED | u64::from(priority.get()))
    }
}

impl Words {
    /// All words read 0.
    pub fn new(kind: Option<EmulationKind>, priorities: Priorities) -> Words {
        let count = usize::from(priorities.count());
        let gates = Gates((0..count).map(|_| AtomicU32::new(0)).collect());
        Words {
            kind,
            priorities,
            counts: Counts::new(priorities, gates),
            written: vec![0; count],
            added: vec![0; count],
            histories: vec![vec![(Nanos::ZERO, 0)]; count],
        }
    }

    /// The ledger of the mode `hold`. Callers that change it must call [`Words::note`] afterwards.
    pub fn counts(&self) -> &Counts<Gates> {
        &self.counts
    }

    /// The priority of the word at `address`.
    pub fn priority_at(address: DevicePtr) -> Priority {
        let number = u8::try_from(address.0 & PRIORITY_MASK).expect("masked to eight bits");
        Priority::new(number).expect("addresses are made from priorities")
    }

    /// Whether the ledger publishes the word at `address`.
    pub fn is_gate(address: DevicePtr) -> bool {
        address.0 & !PRIORITY_MASK == GATE
    }

    /// The value of the word at `address`.
    pub fn read(&self, address: DevicePtr) -> u32 {
        let at = Words::priority_at(address).index();
        match address.0 & !PRIORITY_MASK {
            GATE => self.counts.words().0[at].load(Ordering::Relaxed),
            WRITTEN => self.written[at],
            _ => self.added[at],
        }
    }

    /// A channel's write.
    pub fn write(&mut self, address: DevicePtr, value: u32, now: Nanos) {
        self.written[Words::priority_at(address).index()] = value;
        self.note(now);
    }

    /// A kernel's addition.
    pub fn add(&mut self, address: DevicePtr, value: i32, now: Nanos) {
        let word = &mut self.added[Words::priority_at(address).index()];
        *word = word.wrapping_add_signed(value);
        self.note(now);
    }

    fn value(&self, priority: Priority) -> u32 {
        match self.kind {
            None => 0,
            Some(EmulationKind::Hold) => self.counts.pending_at(priority),
            Some(EmulationKind::Bracket) => self.written[priority.index()],
            Some(EmulationKind::Atomics) => self.added[priority.index()],
        }
    }

    /// Records the semaphores that have changed.
    pub fn note(&mut self, now: Nanos) {
        for priority in self.priorities.above(Priority::LOWEST) {
            let value = self.value(priority);
            let history = &mut self.histories[priority.index()];
            if history.last().is_none_or(|last| last.1 != value) {
                history.push((now, value));
            }
        }
    }

    /// The histories of all semaphores, the lowest priority first. Without semaphores there are none.
    pub fn into_histories(self) -> Vec<(Priority, History)> {
        let Words { kind, priorities, histories, .. } = self;
        let named = priorities.iter().zip(histories).skip(1);
        named.filter(|_| kind.is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_where_the_layout_says() {
        let mut words = Words::new(Some(EmulationKind::Bracket), Priorities::new(3).unwrap());
        let three = Priority::new(3).unwrap();
        let (gate, written, added) =
            (words.gate_address(three), words.stream_address(three), words.device_address(three));
        words.write(written, 1, Nanos(5));
        words.add(added, 2, Nanos(6));
        assert_eq!([gate, written, added].map(|address| words.read(address)), [0, 1, 2]);
        assert!(Words::is_gate(gate) && !Words::is_gate(written));
        let pending = words.counts().raise(three);
        assert_eq!(words.read(words.gate_address(Priority::LOWEST)), 1);
        words.counts().lower(pending);
        words.write(written, 0, Nanos(7));
        let histories = words.into_histories();
        assert_eq!(histories[1], (three, vec![(Nanos(0), 0), (Nanos(5), 1), (Nanos(7), 0)]));
        assert_eq!(histories[0].1, [(Nanos(0), 0)]);
    }
}
