//! Log messages about the ways of copies, at the level debug.

use crate::decide::Plan;

/// Tells the way of a copy, the `nth` that went it, if the level is debug. Only the first, second, fourth, eighth and
/// so on are told, so that a million copies have twenty lines.
#[inline(always)]
pub(super) fn went(plan: Plan, nth: impl Fn() -> u64, bytes: u64) {
    // No more than this in the way of a copy that goes at once.
    if log::max_level() >= log::LevelFilter::Debug {
        tell(plan, nth(), bytes);
    }
}

#[cold]
fn tell(plan: Plan, nth: u64, bytes: u64) {
    if nth.is_power_of_two() {
        log::debug!("copy {nth} of those that go {}: {bytes} bytes", way(plan));
    }
}

fn way(plan: Plan) -> String {
    match plan {
        Plan::Native(reason) => format!("to the driver as they are (reason: {})", reason.name()),
        Plan::Urgent | Plan::UrgentKernel => "ahead, as urgent ones".to_owned(),
        Plan::Kernel { .. } => "by copy kernel, behind urgent ones".to_owned(),
        Plan::Staged { .. } => "through pinned slots, as pageable ones".to_owned(),
        Plan::Engine { .. } => "by copy engine in chunks, behind urgent ones".to_owned(),
    }
}
