//! All checks, one file per noun.

use testkit::fixture::trial::table;

use crate::rig::Check;

mod boxes;
mod capture;
mod contexts;
mod copies;
mod defaults;
mod devices;
mod errors;
mod events;
mod external;
mod graphs;
mod kernels;
mod memops;
mod memsets;
mod order;
mod ordered_memory;
mod pageable;
mod peers;
mod pointers;
mod priorities;

/// A check with its name and its needs.
#[derive(Clone, Copy)]
pub struct Case {
    /// The noun and the property, such as `events::elapsed`.
    pub name: &'static str,
    pub check: Check,
    /// The number of devices that it needs.
    pub devices: i32,
    /// Whether it tries a case that CUDA leaves undefined. Only a model in the same process can be asked that.
    pub model_only: bool,
    /// Whether it needs descriptors that only the software GPU takes, in this process or behind the loader.
    pub foreign: bool,
}

const fn plain(name: &'static str, check: Check) -> Case {
    Case { name, check, devices: 1, model_only: false, foreign: false }
}

const fn of_two_devices(name: &'static str, check: Check) -> Case {
    Case { devices: 2, ..plain(name, check) }
}

const fn model_only(name: &'static str, check: Check) -> Case {
    Case { model_only: true, ..plain(name, check) }
}

const fn foreign(name: &'static str, check: Check) -> Case {
    Case { foreign: true, ..plain(name, check) }
}

/// The checks that every driver with one device must pass.
const PLAIN: &[Case] = table! { plain;
    boxes: random_rectangles random_boxes tightly_packed in_stream_order empty_boxes;
    capture: status captured_work_does_not_run earlier_work_runs fork_and_join unjoined_fork synchronize_is_refused
        query_is_refused captured_event isolation begin_and_end_in_pairs ending_on_another_thread
        legacy_stream_beside_a_capture legacy_status_beside_a_capture unsafe_calls other_threads bad_arguments
        event_after_its_capture;
    contexts: current_per_thread none_current primary_is_one own_becomes_current destroyed_is_not_current
        destroyed_under_a_thread ownership events_between_contexts streams_of_another_context threads_with_streams
        memory_accounting;
    copies: host_to_device registered_to_device device_to_host inside_the_device default_kind
        default_kind_inside_the_host mapped_memory_by_device_pointer synchronous zero_bytes both_directions
        no_peer_of_itself;
    defaults: legacy_waits_for_blocking blocking_waits_for_legacy legacy_orders_blocking_streams non_blocking_is_free
        two_names_of_legacy synchronous_copy_waits_for_blocking per_thread_streams per_thread_blocks_with_legacy
        queries;
    devices: description attributes current_device host_time host_waits_for_the_device;
    errors: allocation_sizes frees registrations registered_is_not_allocated copies_of_freed_memory
        copies_past_the_end null_host_memory shapes null_handles flags devices errors_name_their_call;
    events: wait_orders_streams random_relay fork_and_join never_recorded query_and_synchronize
        later_work_is_not_captured wait_is_captured_at_the_call record_again destroyed_event_keeps_its_waiters
        wait_in_the_same_stream elapsed elapsed_refusals default_stream_events;
    external: refusals;
    graphs: all_kinds_run launches_keep_their_stream_in_order fork_and_join a_wait_holds_its_graph
        a_graph_follows_itself destroyed_under_way refusals;
    kernels: atomic_add store spin concurrent stream_order unknown_function bad_images bad_launches shapes load_twice
        globals unknown_global parameters;
    memops: waits_on_host_memory waits_on_device_memory geq_is_cyclic width_of_waits width_of_writes batch long_batch
        batch_limits write_publishes_copies wait_holds_its_own_stream streams_signal_each_other
        thread_and_stream_take_turns refusals;
    memsets: bytes words rectangles mapped_memory edges;
    order: random_program copy_then_memset streams_are_independent query synchronize synchronize_context
        synchronize_waits_for_its_own_stream_only destroyed_stream_finishes more_operations_than_fit
        two_threads_feed_one_stream properties;
    ordered_memory: allocation_and_free_in_a_stream free_comes_after_the_work_before_it refusals;
    pageable: source_is_consumed source_is_consumed_behind_a_gate target_is_complete download_waits_for_its_stream
        order_with_pinned pinned_does_not_block;
    pointers: device_memory pinned_memory pageable_memory nowhere forgotten buffer_ids allocations_are_disjoint
        extents;
    priorities: range inside_the_range clamped default_streams both_ends_work;
};

const OF_TWO_DEVICES: &[Case] = table! { of_two_devices;
    copies: peer;
    peers: by_address events_order_devices access_for_kernels;
    contexts: last_release;
};

const MODEL_ONLY: &[Case] = table! { model_only;
    errors: stale_handles;
};

const FOREIGN: &[Case] = table! { foreign;
    external: memory_is_shared memory_refusals timeline_orders_both binary_is_taken;
};

pub fn all() -> impl Iterator<Item = Case> {
    [PLAIN, OF_TWO_DEVICES, MODEL_ONLY, FOREIGN].into_iter().flatten().copied()
}

/// Those with one of these names.
pub fn named(names: &[&str]) -> Vec<Case> {
    let found: Vec<Case> = all().filter(|case| names.contains(&case.name)).collect();
    assert_eq!(found.len(), names.len(), "a check of that name does not exist: {names:?}");
    found
}
