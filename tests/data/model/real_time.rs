//! Checks in real time: threads run beside each other.

use crate::checks::threads;
use crate::failure::Outcome;
use crate::model::on_real_time;

/// Where another thread leaves tasks to the one that dispatches.
pub fn functions_submit() -> Outcome {
    on_real_time(threads::submit_in_functions)
}
