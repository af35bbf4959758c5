//! The most recent failures, by the numbers under which the graph knows them.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;

use graph::{Cause, NodeId};

use crate::work::fault::{FAULTS_KEPT, Fault, Reason};

/// The last failures, and the last tasks that were cancelled: however many those are, the failures are kept.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    failed: Last,
    cancelled: Last,
}

/// The bit of the numbers of tasks that were cancelled.
const CANCELLED: u32 = 1 << 31;
/// The numbers of each kind begin again behind so many, long after the first was forgotten.
const NUMBERS: u32 = CANCELLED - 1;

/// The node whose failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A part of one, or one that is no longer known.
    Unknown,
    Node(NodeId),
    /// One without work, which was given up: nothing is lost by it.
    GivenUp(NodeId),
}

/// The last of one kind.
#[derive(Debug, Default)]
struct Last {
    kept: VecDeque<(Origin, Arc<Fault>)>,
    /// The number of the newest: from 1 up.
    newest: u32,
}

impl Last {
    fn keep(&mut self, of: Origin, fault: Fault) -> NonZeroU32 {
        if self.kept.len() == FAULTS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((of, Arc::new(fault)));
        let next = NonZeroU32::MIN.saturating_add(self.newest % NUMBERS);
        self.newest = next.get();
        next
    }

    fn get(&self, number: u32) -> Option<(Origin, Arc<Fault>)> {
        let age = (self.newest + NUMBERS - number) % NUMBERS;
        let index = self.kept.len().checked_sub(age as usize + 1)?;
        self.kept.get(index).cloned()
    }
}

impl Faults {
    /// Keeps a failure, and returns its number.
    pub fn keep(&mut self, of: Origin, fault: Fault) -> Cause {
        match fault.reason {
            Reason::Cancelled => Cause(self.cancelled.keep(of, fault) | CANCELLED),
            _ => Cause(self.failed.keep(of, fault)),
        }
    }

    /// The failure with this number.
    pub fn get(&self, cause: Cause) -> (Origin, Arc<Fault>) {
        let number = cause.0.get();
        let (last, reason) = match number & CANCELLED {
            0 => (&self.failed, Reason::Forgotten),
            _ => (&self.cancelled, Reason::Cancelled),
        };
        let earlier = || (Origin::Unknown, Arc::new(Fault { task: "(earlier)".to_owned(), reason }));
        last.get(number & !CANCELLED).unwrap_or_else(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failures_are_kept_and_no_more() {
        let mut faults = Faults::default();
        let causes: Vec<Cause> = (0..FAULTS_KEPT + 1)
            .map(|number| faults.keep(Origin::Unknown, Fault { task: number.to_string(), reason: Reason::Closed }))
            .collect();
        assert!(matches!(faults.get(causes[0]).1.reason, Reason::Forgotten));
        assert_eq!(faults.get(causes[1]).1.task, "1");
        assert_eq!(faults.get(causes[FAULTS_KEPT]).1.task, FAULTS_KEPT.to_string());
    }
    #[test]
    fn many_that_were_cancelled_put_no_failure_out() {
        let mut faults = Faults::default();
        let cancelled = |number: usize| Fault { task: number.to_string(), reason: Reason::Cancelled };
        let (first, failed) = (
            faults.keep(Origin::Unknown, cancelled(0)),
            faults.keep(Origin::Unknown, Fault { task: "F".to_owned(), reason: Reason::Closed }),
        );
        let causes: Vec<Cause> =
            (1..=FAULTS_KEPT).map(|number| faults.keep(Origin::Unknown, cancelled(number))).collect();
        assert_eq!((faults.get(failed).1.task.as_str(), faults.get(causes[0]).1.task.as_str()), ("F", "1"));
        let (_, earlier) = faults.get(first);
        assert!(matches!(earlier.reason, Reason::Cancelled) && earlier.task == "(earlier)", "{earlier:?}");
    }

    #[test]
    fn numbers_begin_again() {
        let mut faults = Faults::default();
        faults.failed.newest = NUMBERS - 1;
        let causes = ["a", "b"]
            .map(|task| faults.keep(Origin::Unknown, Fault { task: task.to_owned(), reason: Reason::Closed }));
        assert_eq!(causes.map(|cause| cause.0.get()), [NUMBERS, 1]);
        assert_eq!(causes.map(|cause| faults.get(cause).1.task.clone()), ["a", "b"]);
    }
}
