//! The last failures, by the numbers that the graph knows them by.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;

use graph::Cause;

use crate::work::fault::{FAULTS_KEPT, Fault, Reason};

/// The last failures.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: VecDeque<Arc<Fault>>,
    /// The number of the newest.
    last: u32,
}

impl Faults {
    /// Keeps a failure, and returns its number.
    pub fn keep(&mut self, fault: Fault) -> Cause {
        if self.kept.len() == FAULTS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Arc::new(fault));
        // Numbers begin at 1. After 2^32 failures they begin again, long after the first was forgotten.
        let next = NonZeroU32::new(self.last.wrapping_add(1)).unwrap_or(NonZeroU32::MIN);
        self.last = next.get();
        Cause(next)
    }

    /// The failure with this number.
    pub fn get(&self, cause: Cause) -> Arc<Fault> {
        let age = self.last.wrapping_sub(cause.0.get()) as usize;
        let kept = self.kept.len().checked_sub(age + 1).and_then(|index| self.kept.get(index));
        kept.map_or_else(|| Arc::new(Fault { task: "(earlier)".to_owned(), reason: Reason::Forgotten }), Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failures_are_kept_and_no_more() {
        let mut faults = Faults::default();
        let causes: Vec<Cause> = (0..FAULTS_KEPT + 1)
            .map(|number| faults.keep(Fault { task: number.to_string(), reason: Reason::Closed }))
            .collect();
        assert!(matches!(faults.get(causes[0]).reason, Reason::Forgotten));
        assert_eq!(faults.get(causes[1]).task, "1");
        assert_eq!(faults.get(causes[FAULTS_KEPT]).task, FAULTS_KEPT.to_string());
    }
}
