//! The parts of a report about copies that came to no context, and about those that were watched.

use crate::observe::Observer;
use crate::observed::Observed;
use crate::passed::{self, Passed};
use crate::process::{CallCount, Process};
use crate::record::ReasonRecord;

/// The state of a process whose copies are only watched, and the reason of those copies.
pub(super) const OBSERVED: &str = "observed";

/// Copies that came to no context. Those that are only watched are counted where they are seen.
pub(super) fn passed_on(process: &Process) -> Vec<ReasonRecord> {
    let watched = process.observer.as_ref().and_then(Observer::left_alone);
    let watched = watched.map(|(copies, bytes)| (OBSERVED, copies, bytes));
    passed::list()
        .chain(watched)
        .map(|(reason, copies, bytes)| ReasonRecord { reason: reason.into(), copies, bytes })
        .collect()
}

/// What was seen of the copies, if the drop-in watches.
pub(super) fn observed(process: &Process, calls: &[CallCount]) -> Option<Observed> {
    let mut seen = process.observer.as_ref()?.figures();
    let is_launch = |call: &&CallCount| ["cuLaunch", "cuGraphLaunch"].iter().any(|name| call.symbol.starts_with(name));
    seen.launches = calls.iter().filter(is_launch).map(|call| call.intercepted + call.passed_on).sum();
    let of_other_kinds = passed::list().filter(|(reason, _, _)| *reason == Passed::OtherKind.name());
    seen.other_copies += of_other_kinds.map(|(_, copies, _)| copies).sum::<u64>();
    Some(seen)
}
