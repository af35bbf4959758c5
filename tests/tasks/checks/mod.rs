//! All checks, one file per noun.

mod admissions;
mod batches;
pub mod beside;
mod bridges;
mod cameras;
mod cancels;
mod captures;
mod chains;
mod children;
mod closing;
mod creation;
mod devices;
mod failures;
mod fixed;
mod frames;
mod live;
mod members;
mod order;
mod physx;
mod pipelines;
mod random;
mod ranks;
mod retries;
mod rooms;
mod sets;
pub mod spans;
mod templates;
pub mod threads;

use testkit::fixture::trial::{named, table};

use crate::rig::Check;

/// The noun and the property, such as `chains::bytes`, and the check.
pub const ALL: &[(&str, Check)] = table! { named;
    admissions: a_frame_waits_and_may_be_replaced a_place_is_free_when_the_work_has_ended none_is_lost
        the_urgent_goes_first not_among_members;
    beside: a_task_behind_a_failure_is_not_run a_task_behind_an_ended_failure_is_not_run tasks_are_left_in_order
        the_urgent_of_them_go_first threads_have_chains;
    bridges: keep_the_order pass_failures_on join_in_one_dispatcher;
    batches: keep_the_order go_on_in_rounds end_behind_a_launch_that_is_not_the_last end_when_an_urgent_task_comes
        end_at_a_sync_point end_behind_a_task_that_is_waited_for;
    cameras: fail_alone of_few_and_many_stages;
    cancels: before_the_start behind_the_start of_named_tasks;
    captures: left_open ended beside;
    chains: bytes many turns;
    children: of_a_fork exit_in_the_middle;
    closing: in_the_middle beside_submitters by_its_own_task by_a_task_of_another;
    creation: none_after_warm_up;
    devices: replays_on_each one_that_is_not_there the_order_holds_across_them;
    failures: of_a_launch of_a_function of_another_of_its_name panics arguments closed_before;
    fixed: are_launched_as_one at_two_priorities make_nothing_after_warm_up go_by_calls_if_they_must
        go_by_calls_with_copies are_captured_at_the_second_time fail_as_others_do beside_other_threads
        restrict_no_other_thread dropped_under_way of_two_dispatchers;
    frames: keep_the_order failures turns leave_urgent_tasks_between are_expected are_expected_by_a_pipeline
        of_others_have_a_task_for_each_step;
    live: of_a_known_rate late_after_a_period replays_of_frames;
    members: partitioned unified handed_over released_by_all failures refused futures;
    order: through_the_host completes after_launch after_the_launch_of_a_failure more_launches_than_room
        foreign held_and_released inherited cycles ended ended_in_physx waits_end_with_their_time;
    physx: turns phases fork join sync_points;
    pipelines: bytes handed_over handed_over_and_passed timeouts ends a_task_fails one_fails_beside_another
        one_is_cancelled_beside_another panics futures given_up;
    random: bytes failures failures_of_each cancels;
    ranks: decide are_told_depth of_templates policies_may_use_the_dispatcher need_a_policy;
    retries: until_it_succeeds until_the_budget_is_spent of_one_turn never;
    rooms: are_waited_for in_vain not_inside none_to_come of_closed behind_many of_replays;
    sets: start_and_stop named never_submitted named_behind_a_failure named_and_stopped
        started_beside_one_that_has_ended groups an_empty_group_ends_its_joins first_failure;
    spans: keep_the_order come_after_others failures failures_of_their_name turns leave_urgent_tasks_between
        have_sync_points count_as_one;
    templates: arguments priorities failures refused turns;
    threads: ends_beside_a_long_function functions_may_wait submitting_ends submit_beside_each_other
        submit_from_everywhere;
};
