//! Stream memory operations, as `info` shows them.

use std::collections::BTreeMap;

use channels::probe::{MemOpSupport, Support};
use hal::{WaitCondition, Width};
use serde::Serialize;

/// The result for each operation: `works`, or the mistake.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct MemOps(BTreeMap<String, String>);

/// The result for an operation that works.
const WORKS: &str = "works";

impl From<&MemOpSupport> for MemOps {
    fn from(support: &MemOpSupport) -> MemOps {
        let mut all = BTreeMap::new();
        let mut add = |name: String, support: &Support| {
            let outcome = match support {
                Support::Works => WORKS.to_owned(),
                Support::Refused(error) => format!("refused: {error}"),
                Support::Wrong(what) => format!("wrong: {what}"),
            };
            all.insert(name, outcome);
        };
        add("write32".to_owned(), &support.write32);
        add("write64".to_owned(), &support.write64);
        add("batch".to_owned(), &support.batch);
        for wait in &support.waits {
            add(wait_name(wait.condition, wait.width), &wait.support);
        }
        MemOps(all)
    }
}

/// Such as `wait32-eq`.
fn wait_name(condition: WaitCondition, width: Width) -> String {
    let condition = match condition {
        WaitCondition::Eq => "eq",
        WaitCondition::Geq => "geq",
        WaitCondition::And => "and",
        WaitCondition::Nor => "nor",
    };
    format!("wait{}-{condition}", 8 * width.bytes())
}

impl MemOps {
    /// The names of the operations that work.
    pub fn working(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, outcome)| *outcome == WORKS).map(|(name, _)| name.as_str())
    }

    /// The other operations, with their mistakes.
    pub fn failing(&self) -> impl Iterator<Item = (&str, &str)> {
        let failing = self.0.iter().filter(|(_, outcome)| *outcome != WORKS);
        failing.map(|(name, outcome)| (name.as_str(), outcome.as_str()))
    }

    /// Whether this operation works.
    pub fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|outcome| outcome == WORKS)
    }

    /// Makes a report from names and results.
    #[cfg(test)]
    pub fn of(all: &[(&str, &str)]) -> MemOps {
        MemOps(all.iter().map(|(name, outcome)| ((*name).to_owned(), (*outcome).to_owned())).collect())
    }
}
