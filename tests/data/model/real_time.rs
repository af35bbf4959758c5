//! Checks in real time: threads run beside each other.

use crate::checks::{late, serial, threads};
use crate::failure::Outcome;
use crate::model::on_real_time;

/// Where another thread leaves tasks to the one that dispatches.
pub fn functions_submit() -> Outcome {
    on_real_time(threads::submit_in_functions)
}

/// Where a submission that waits for what it may not stands still; virtual time would say so.
pub fn serial_submissions() -> Outcome {
    on_real_time(|rig| {
        serial::waits_for_no_later_call(rig)?;
        serial::waits_for_nothing_held(rig)
    })
}

/// Where the time of an access is over while its elements come.
pub fn late_accesses() -> Outcome {
    on_real_time(|rig| {
        late::fail_those_alone_that_need_them(rig)?;
        late::or_in_time(rig)
    })
}
