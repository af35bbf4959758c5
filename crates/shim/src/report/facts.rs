//! The figures of a report that its verdict is about.

use std::collections::BTreeMap;

use crate::observed::Observed;
use crate::record::{DeviceRecord, LatencyRecord};
use crate::verdict::{Facts, Measured};

/// The figures for the verdict.
pub(super) fn facts(parts: &[DeviceRecord], observed: Option<Observed>) -> Facts {
    let sum = |of: fn(&DeviceRecord) -> u64| parts.iter().map(of).sum();
    let passed_on = parts.iter().flat_map(|part| &part.passed_on);
    let mut by_reason = BTreeMap::<&str, u64>::new();
    passed_on.for_each(|passed| *by_reason.entry(&passed.reason).or_default() += passed.copies);
    Facts {
        observed,
        urgent_copies: sum(|part| part.copies.urgent.copies),
        bulk_copies: sum(|part| part.copies.kernel.copies + part.copies.engine.copies),
        passed_on: by_reason.into_iter().map(|(reason, copies)| (reason.to_owned(), copies)).collect(),
        most_urgent: most_urgent(parts),
        guard_rescues: sum(|part| part.guard_rescues),
        first_launches: sum(|part| part.first_launches),
        rescues: sum(|part| part.rescues),
        lost: sum(|part| part.lost),
        stand_downs: sum(|part| part.stand_downs),
        resumptions: sum(|part| part.resumptions),
    }
}

/// The latencies of the most urgent priority, from one context: percentiles of several contexts do not add up.
fn most_urgent(parts: &[DeviceRecord]) -> Option<Measured> {
    let all = || parts.iter().flat_map(|part| &part.latencies).filter(|latency| latency.count > 0);
    let priority = all().map(|latency| latency.priority).max()?;
    let of_priority: Vec<&LatencyRecord> = all().filter(|latency| latency.priority == priority).collect();
    let only = |of: fn(&LatencyRecord) -> Option<f64>| {
        of_priority.first().filter(|_| of_priority.len() == 1).and_then(|one| of(one))
    };
    Some(Measured {
        priority,
        count: of_priority.iter().map(|latency| latency.count).sum(),
        p50_us: only(|latency| latency.p50_us),
        p99_us: only(|latency| latency.p99_us),
        max_us: of_priority.iter().map(|latency| latency.max_us).fold(0.0, f64::max),
    })
}
