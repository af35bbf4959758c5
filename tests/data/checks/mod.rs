//! All checks, one file per noun.

mod adopted;
mod cancelled;
mod cancels;
mod checked;
mod devices;
mod end;
pub mod end_beside;
mod end_programs;
mod failures;
mod full;
mod given_up;
mod guards;
pub mod late;
mod moments;
mod oracle;
mod processes;
mod random;
mod ranks;
mod reductions;
mod refusals;
mod relaxed;
mod replays;
mod retries;
mod room;
mod scenarios;
mod sections;
pub mod serial;
mod several;
mod shared;
pub mod storms;
pub mod threads;
mod times;
mod tokens;
mod transfers;
mod views;
mod workspaces;

use testkit::fixture::trial::{named, table};

use crate::rig::Check;

/// The noun and the property, such as `transfers::made_once`, and the check.
pub const ALL: &[(&str, Check)] = table! { named;
    adopted: is_used_where_it_lies has_its_results_at_the_end is_never_moved_out
        has_the_results_beside_a_failure;
    cancels: from_the_last_on of_readers of_a_reader_before_a_writer of_writers of_the_writer_of_a_part
        beside_their_start;
    checked: stay_inside types_that_do_not_fit uses_that_no_check_sees release_is_refused_beside_a_description;
    devices: bytes_cross_once two_readers_share_a_transfer through_the_host by_the_bytes by_turns
        by_a_threshold of_templates counts_once pinned;
    end: all_has_ended held_ones_fail a_guard_stays an_access_fails_beside_a_guard adopted_memory_has_its_results
        adopted_memory_has_its_results_beside_an_access is_told_of_an_open_access in_a_function
        a_held_join_of_the_program_fails is_told_behind_a_lost_array is_told_of_a_lost_array_of_the_host
        is_told_behind_one_without_memory waits_for_room not_in_a_function of_closed each_of_many_is_told
        beside_a_section_that_is_lost;
    end_beside: is_told_of_what_an_access_would_hide brings_what_came_for_no_access is_told_of_what_does_not_come
        of_many waits_for_other_threads is_told_of_a_section_at_home is_told_of_reductions_behind_an_access
        leaves_those_behind_an_access combines_what_no_access_keeps combines_what_can_be
        waits_once_for_what_does_not_end runs_nothing_without_contents thaws_what_it_leaves leaves_what_was_written;
    end_programs: bring_all_that_can_come;
    failures: of_a_computation unwritten aliased repeated beside_the_host beside_two_of_the_host
        behind_work_of_its_lane;
    full: is_waited_for is_waited_for_in_vain not_inside ends_a_section_at_once;
    given_up: change_nothing change_nothing_in_a_section;
    late: leave_the_array_as_it_was take_nothing_from_readers fail_those_alone_that_need_them or_in_time;
    guards: hold_writers_back hold_readers_back wait_for_no_more readers_beside_each_other of_parts
        fresh_memory_is_zero frozen;
    processes: end_at_any_time;
    random: values values_when_full values_when_two_are_full;
    ranks: are_told_bytes_and_times of_transfers;
    reductions: without_an_order on_two_devices of_two_operators identities one_that_fails
        refused twice_in_one adopted;
    refusals: closed full foreign unwritten after_a_failure in_a_circle in_a_section of_errors
        behind_transfers;
    relaxed: without_an_order on_two_devices one_that_fails;
    retries: elsewhere_by_a_link elsewhere_by_the_host elsewhere_with_tokens nowhere of_kernels never_elsewhere;
    room: a_quarter the_oldest none in_use on_the_second valid_elsewhere while_the_host_waits
        an_access_is_refused behind_its_own_access behind_the_access_of_another
        as_long_as_the_caller_says of_idle_arrays_without_a_wait;
    scenarios: leaf_limit blocked_commands enqueue_with_depends_on wait_after_cleanup mismatched_contexts;
    sections: are_one_computation see_arrays_frozen stack fail_as_one fail_in_their_order fail_with_their_entry
        are_cancelled_as_one are_cancelled_as_one_by_any_name take_nothing_later span_devices give_their_priority;
    serial: each_has_ended waits_for_no_later_call waits_for_nothing_held waits_behind_transfers waits_in_no_function;
    several: values_on_two values_on_four values_without_links values_where_chosen;
    shared: values;
    storms: values closes;
    threads: submit_in_functions;
    times: by_kernel_and_size of_generated_names;
    tokens: order_computations pass_failures_on are_written_behind_failures have_guards on_two_devices refused;
    transfers: made_once of_parts not_needed written_in_part on_demand by_host_tasks released;
    views: are_the_same_bytes of_views released_without_views;
    workspaces: of_each_lane goes_behind_the_last_work foreign;
};
