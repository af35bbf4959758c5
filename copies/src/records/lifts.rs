//! The copies on their way that wait at a word, and the lifts of some of them.
//!
//! A copy is found by its ticket. It is here from before its submission until the watcher has seen it complete, and its
//! lift ends with it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use semaphores::{Bank, Boost};
use terms::{Direction, Priority};

use crate::records::ticket::Ticket;
use hal::locks::lock;

/// The effect of [`crate::copy::CopyHandle::lift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lift {
    /// None: the copy has completed, waits at no word, or passes as one of that priority already.
    Unchanged,
    /// All copies that wait at the same word pass as ones of that priority, until this one has completed.
    Level,
}

/// The copies on their way, by ticket.
#[derive(Debug, Default)]
pub(crate) struct Lifts {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// The number of copies so far.
    begun: u64,
    waiting: BTreeMap<Ticket, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// Copies that were submitted later have higher ones.
    number: u64,
    direction: Direction,
    /// The priority that it passes as, without the boosts of others.
    passes_as: Priority,
    level: Priority,
    boosts: Vec<Boost>,
}

impl Waiting {
    fn lift(&mut self, bank: &Bank, to: Priority) -> Lift {
        if self.passes_as >= to {
            return Lift::Unchanged;
        }
        self.passes_as = to;
        self.boosts.push(bank.boost(self.level, to));
        Lift::Level
    }
}

impl Lifts {
    /// A copy with that ticket is about to be submitted, and will wait at the word of `level`.
    pub(super) fn begin(&self, ticket: Ticket, direction: Direction, level: Priority) {
        let mut book = lock(&self.book);
        book.begun += 1;
        let waiting = Waiting { number: book.begun, direction, passes_as: level, level, boosts: Vec::new() };
        book.waiting.insert(ticket, waiting);
    }

    /// Lifts a copy, and those among `ahead` that were submitted before it, because it cannot pass them. Returns the
    /// effect on the copy itself.
    pub(super) fn lift<'a>(
        &self,
        bank: impl Fn(Direction) -> &'a Bank,
        ticket: Ticket,
        ahead: &[Ticket],
        to: Priority,
    ) -> Lift {
        let mut book = lock(&self.book);
        let Some(number) = book.waiting.get(&ticket).map(|own| own.number) else { return Lift::Unchanged };
        let mut lift = |ticket: &Ticket| {
            let waiting = book.waiting.get_mut(ticket).filter(|waiting| waiting.number <= number);
            waiting.map_or(Lift::Unchanged, |waiting| waiting.lift(bank(waiting.direction), to))
        };
        let effect = lift(&ticket);
        for before in ahead {
            lift(before);
        }
        effect
    }

    /// The copy is over, and its lift with it.
    pub(super) fn end<'a>(&self, bank: impl Fn(Direction) -> &'a Bank, ticket: Ticket) {
        let ended = lock(&self.book).waiting.remove(&ticket);
        if let Some(Waiting { direction, boosts, .. }) = ended {
            boosts.into_iter().for_each(|boost| bank(direction).unboost(boost));
        }
    }
}

#[cfg(test)]
mod tests {
    use terms::Priorities;

    use super::*;
    use crate::records::Records;

    fn at(priority: u8) -> Priority {
        Priority::new(priority).unwrap()
    }

    /// Records in which urgent copies are pending on both engines.
    fn records() -> Records {
        let records = crate::soft::records(&crate::soft::driver(), Priorities::new(4).unwrap());
        for bank in records.standing.banks() {
            bank.raise(at(3));
        }
        records
    }

    /// A copy that is about to wait.
    fn waiting(records: &Records, direction: Direction, level: u8) -> Ticket {
        let ticket = records.tickets.take().unwrap();
        records.standing.begin_to_wait(ticket, direction, at(level));
        ticket
    }

    /// The words of levels 1 and 2 on both engines.
    fn words(records: &Records) -> [[u32; 2]; 2] {
        [0, 1].map(|engine| [1, 2].map(|level| records.standing.banks()[engine].gate_word(at(level))))
    }

    #[test]
    fn a_lift_is_for_the_copy_and_those_before_it() {
        let (records, to_device, to_host) = (records(), Direction::HostToDevice, Direction::DeviceToHost);
        let [before, own] = [1, 2].map(|level| waiting(&records, to_device, level));
        let later = waiting(&records, to_host, 1);
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
        assert_eq!(records.standing.lift(own, &[before, own, later], at(3)), Lift::Level);
        assert_eq!(words(&records), [[0, 0], [1, 1]], "the later copy is as it was");
        records.standing.end_wait(own);
        assert_eq!(words(&records), [[0, 1], [1, 1]], "the copy before it is still under way");
        records.standing.end_wait(before);
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
        assert_eq!(records.standing.lift(own, &[later], at(3)), Lift::Unchanged, "it is over, and lifts no other");
        assert_eq!(words(&records), [[1, 1], [1, 1]]);
    }

    #[test]
    fn a_higher_lift_adds_to_a_lower_one_and_both_end() {
        let records = records();
        let own = waiting(&records, Direction::HostToDevice, 1);
        let lift = |to| records.standing.lift(own, &[], at(to));
        assert_eq!([lift(1), lift(2)], [Lift::Unchanged, Lift::Level]);
        assert_eq!(words(&records)[0], [1, 1], "more urgent copies still hold it");
        assert_eq!([lift(3), lift(2), lift(3)], [Lift::Level, Lift::Unchanged, Lift::Unchanged]);
        assert_eq!(words(&records)[0], [0, 1]);
        records.standing.end_wait(own);
        assert_eq!(words(&records)[0], [1, 1]);
    }
}
