//! Properties that only a model can show: faults, machines with few queues, and leftovers.

mod bounds;
mod buffers;
mod captures;
mod closing;
mod deadlock;
pub mod faults;
mod flat;
mod guard;
mod heaps;
mod lull;
mod panics;
mod peers;
mod programs;
mod queues;
mod rescue;
mod service;
mod staging;
mod stall;
mod turns;
mod unpinned;

use testkit::fixture::machine::{Held, on};
use testkit::fixture::trial::{named, table};

use crate::failure::Outcome;

pub type OnModel = fn() -> Outcome;

/// The noun and the property, such as `rescue::stands_down`, and the check.
pub const ALL: &[(&str, OnModel)] = table! { named;
    bounds: beyond_host_memory;
    buffers: are_freed are_freed_after_the_copy;
    captures: doubt_is_a_capture;
    closing: lets_bulk_through leaves_nothing on_any_thread;
    deadlock: is_real is_ended_by_the_watchdog;
    faults: opening opening_guarded every_call_guarded in_flight_guarded in_flight;
    flat: memory;
    guard: without_it_that_hangs one_queue_for_kernels closing_leaves_no_stream_waiting enough_is_enough
        copies_make_nothing leaves_nothing every_call_of_a_rescue a_lost_copy_is_an_error;
    heaps: every_call calls_by_phase of_a_dead_context of_a_failed_device;
    lull: is_over_behind_a_slow_submission;
    panics: of_the_rescuer of_the_watcher;
    peers: an_urgent_copy_waits_for_a_chunk an_urgent_copy_passes_a_kernel an_urgent_copy_passes_whole_bulk
        without_the_option_it_waits;
    programs: cameras requests decoding training;
    queues: one_copy_queue one_kernel_queue probed_once several_streams_wait_in_chunks
        chunks_are_shorter_where_streams_take_turns;
    rescue: opens_words_that_stay_up raises_nothing_afterwards stands_down tries_again;
    service: one_launch makes_nothing without_its_kernel leaves_nothing every_call every_call_guarded;
    staging: every_call device_is_lost nothing_can_be_pinned;
    turns: one_stream_keeps_its_rate three_streams_of_short_requests three_streams_go_in_chunks
        one_that_tolerates_none_waits_for_a_turn streams_without_queues_go_in_chunks chains_alternate;
    unpinned: pageable_beside_bulk pinned_beside_bulk;
};
