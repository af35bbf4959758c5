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

use crate::failure::{Failure, Outcome};
use crate::machine;
use crate::rig::Rig;
use softgpu::Clock;

pub type OnModel = fn() -> Outcome;

/// Checks that need the model.
pub const ALL: &[(&str, OnModel)] = &[
    ("faults::opening", faults::opening),
    ("faults::every_call", faults::every_call),
    ("faults::every_last_call", faults::every_last_call),
    ("fixed::branches_run_side_by_side", fixed::branches_run_side_by_side),
    ("fixed::replays_run_side_by_side", fixed::replays_run_side_by_side),
    ("fixed::kernels_have_the_priority_of_their_lanes", fixed::kernels_have_the_priority_of_their_lanes),
    ("fixed::graphs_end_with_their_owners", fixed::graphs_end_with_their_owners),
    ("fixed::every_call", fixed::every_call),
    ("fixed::every_last_call", fixed::every_last_call),
    ("kept::a_handle_keeps_no_stream", kept::a_handle_keeps_no_stream),
    ("loggers::may_panic", loggers::may_panic),
    ("loggers::may_submit", loggers::may_submit),
    ("lost::a_lost_copy_fails_its_task", lost::a_lost_copy_fails_its_task),
    ("lost::a_lost_copy_of_a_replay_fails_its_step", lost::a_lost_copy_of_a_replay_fails_its_step),
    ("marks::a_late_join_has_points_marked_early", marks::a_late_join_has_points_marked_early),
    ("marks::early_marks_come_before_joins", marks::early_marks_come_before_joins),
    ("marks::early_marks_end", marks::early_marks_end),
    ("marks::few_at_the_end_of_a_template", marks::few_at_the_end_of_a_template),
    ("marks::none_in_a_stream", marks::none_in_a_stream),
    ("marks::some_in_a_long_stream", marks::some_in_a_long_stream),
    ("pipelines::block_keeps_every_frame", pipelines::block_keeps_every_frame),
    ("pipelines::sleepers_are_woken", pipelines::sleepers_are_woken),
    ("pipelines::the_newest_is_dropped", pipelines::the_newest_is_dropped),
    ("pipelines::the_oldest_is_dropped", pipelines::the_oldest_is_dropped),
    ("pipelines::only_the_latest_is_kept", pipelines::only_the_latest_is_kept),
    ("pipelines::the_overdue_is_dropped", pipelines::the_overdue_is_dropped),
    ("pipelines::a_deadline_raises", pipelines::a_deadline_raises),
    ("pipelines::an_admission_drops_evenly", pipelines::an_admission_drops_evenly),
    ("pipelines::no_work_too_early", pipelines::no_work_too_early),
    ("pipelines::a_wait_without_end_is_told", pipelines::a_wait_without_end_is_told),
    ("pipelines::every_call_fails", pipelines::every_call_fails),
    ("real_time::threads_submit_at_once", real_time::threads_submit_at_once),
    ("real_time::waits_end", real_time::waits_end),
    (
        "real_time::ends_are_seen_for_others_beside_a_thread_that_waits",
        real_time::ends_are_seen_for_others_beside_a_thread_that_waits,
    ),
    ("real_time::waits_for_complete_work_wake_no_thread", real_time::waits_for_complete_work_wake_no_thread),
    ("real_time::ends_are_seen_behind_naps", real_time::ends_are_seen_behind_naps),
    ("real_time::ends_are_seen_beside_a_long_function", real_time::ends_are_seen_beside_a_long_function),
    ("retried::every_call", retried::every_call),
    ("retried::not_on_a_dead_device", retried::not_on_a_dead_device),
    ("urgency::a_submitted_copy_is_lifted", urgency::a_submitted_copy_is_lifted),
    ("urgency::a_submitted_copy_of_a_replay_is_lifted", urgency::a_submitted_copy_of_a_replay_is_lifted),
    ("urgency::overtakes_bulk", urgency::overtakes_bulk),
    ("urgency::a_copy_behind_unseen_work", urgency::a_copy_behind_unseen_work),
    ("urgency::a_copy_that_waits_holds_nothing_off", urgency::a_copy_that_waits_holds_nothing_off),
    ("urgency::bulk_alone_goes_natively", urgency::bulk_alone_goes_natively),
    ("wakers::may_panic", wakers::may_panic),
];

/// Runs a check on a fresh software GPU, in real time.
fn on_real_time(check: impl FnOnce(&Rig) -> Outcome) -> Outcome {
    machine::on(|builder| builder.clock(Clock::FreeRunning), |_, rig| check(rig))
}

/// Runs a check on a fresh software GPU.
fn on<T>(check: impl FnOnce(&Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    machine::on(|builder| builder, |_, rig| check(rig))
}
