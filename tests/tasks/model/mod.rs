//! Trials that need the model: they judge spans of virtual time, count objects, or have calls fail.

mod faults;
mod fixed;
mod kept;
mod loggers;
mod lost;
mod marks;
mod pipelines;
mod real_time;
mod retried;
mod scenario;
mod urgency;
mod wakers;

use testkit::fixture::trial::{named, table};

use crate::failure::{Failure, Outcome};
use crate::machine;
use crate::rig::Rig;
use softgpu::Clock;

pub type OnModel = fn() -> Outcome;

/// Checks that need the model.
pub const ALL: &[(&str, OnModel)] = table! { named;
    faults: opening every_call every_last_call;
    fixed: branches_run_side_by_side replays_run_side_by_side kernels_have_the_priority_of_their_lanes
        graphs_end_with_their_owners every_call every_last_call;
    kept: a_handle_keeps_no_stream;
    loggers: may_panic may_submit;
    lost: a_lost_copy_fails_its_task a_lost_copy_of_a_replay_fails_its_step;
    marks: a_late_join_has_points_marked_early early_marks_come_before_joins early_marks_end
        few_at_the_end_of_a_template none_in_a_stream some_in_a_long_stream;
    pipelines: block_keeps_every_frame sleepers_are_woken the_newest_is_dropped the_oldest_is_dropped
        only_the_latest_is_kept the_overdue_is_dropped a_deadline_raises an_admission_drops_evenly no_work_too_early
        a_wait_without_end_is_told every_call_fails;
    real_time: threads_submit_at_once waits_end ends_are_seen_for_others_beside_a_thread_that_waits
        waits_for_complete_work_wake_no_thread ends_are_seen_behind_naps ends_are_seen_beside_a_long_function;
    retried: every_call not_on_a_dead_device;
    urgency: a_submitted_copy_is_lifted a_submitted_copy_of_a_replay_is_lifted overtakes_bulk
        a_copy_behind_unseen_work a_copy_that_waits_holds_nothing_off bulk_alone_goes_natively;
    wakers: may_panic;
};

/// Runs a check on a fresh software GPU, in real time.
fn on_real_time(check: impl FnOnce(&Rig) -> Outcome) -> Outcome {
    machine::on(|builder| builder.clock(Clock::FreeRunning), |_, rig| check(rig))
}

/// Runs a check on a fresh software GPU.
fn on<T>(check: impl FnOnce(&Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    machine::on(|builder| builder, |_, rig| check(rig))
}
