//! The virtual clock's agenda: all coming events, in a total order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::OpKey;

/// Virtual nanoseconds since the model was made.
pub(crate) type Ns = u64;

/// A coming event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// An operation becomes visible to the device.
    Visible(OpKey),
    /// An operation that only takes time is over.
    Elapsed(OpKey),
    /// A step of a memory operation is over.
    Memop(OpKey),
    /// An unsatisfied wait looks again.
    Poll(OpKey),
    /// The wait behind a running copy is looked at before the copy ends.
    Lead(OpKey),
    /// A flow over an engine's link has moved its bytes, if its stamp is still the same.
    Flow { engine: usize, stamp: u64 },
    /// A kernel goes on.
    Kernel(OpKey),
    /// A kernel that waits for memory to change looks again.
    KernelPoll(OpKey),
    /// A delayed engine may start again.
    Engine(usize),
    /// A thread that waits for the driver's staging memory looks whether it is free.
    Wake,
}

impl Due {
    /// Whether it only looks at memory and changes nothing by itself.
    fn is_poll(self) -> bool {
        matches!(self, Due::Poll(_) | Due::KernelPoll(_))
    }
}

#[derive(PartialEq, Eq)]
struct Entry {
    at: Ns,
    sequence: u64,
    due: Due,
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events in order of time, and of entry where the times are equal.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    polls: usize,
}

impl Agenda {
    pub(crate) fn push(&mut self, at: Ns, due: Due) {
        self.sequence += 1;
        self.polls += usize::from(due.is_poll());
        self.heap.push(Reverse(Entry { at, sequence: self.sequence, due }));
    }

    pub(crate) fn pop(&mut self) -> Option<(Ns, Due)> {
        let Reverse(entry) = self.heap.pop()?;
        self.polls -= usize::from(entry.due.is_poll());
        Some((entry.at, entry.due))
    }

    pub(crate) fn next_at(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Whether only looks are left.
    pub(crate) fn only_polls(&self) -> bool {
        self.polls == self.heap.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The time of the last entry.
    pub(crate) fn last_at(&self) -> Ns {
        self.heap.iter().map(|Reverse(entry)| entry.at).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_first_then_order_of_entry() {
        let mut agenda = Agenda::default();
        agenda.push(5, Due::Engine(1));
        agenda.push(3, Due::Engine(2));
        agenda.push(5, Due::Engine(3));
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(3, Due::Engine(2)), (5, Due::Engine(1)), (5, Due::Engine(3))]);
    }
}
