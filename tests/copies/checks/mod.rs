//! All checks, one file per noun.

mod across;
mod batches;
pub mod bounds;
mod buffers;
pub mod bytes;
mod calm;
mod captures;
mod company;
mod contexts;
mod counters;
mod expected;
pub mod guard;
mod heaps;
mod inversion;
mod lift;
mod lifted;
mod lull;
mod order;
mod passing;
mod peers;
mod requests;
mod rides;
mod service;
mod sizes;
pub mod staging;
mod streams;
mod turns;
mod whole;
mod words;

use testkit::fixture::trial::table;

use crate::rig::Check;

/// A check with its name and its needs.
#[derive(Clone, Copy)]
pub struct Case {
    /// The noun and the property, such as `order::three_priorities`.
    pub name: &'static str,
    pub check: Check,
    /// Whether it runs only on the model in virtual time: it watches events within fractions of a millisecond, or
    /// makes requests that a real driver carries out for any length of time. `--ignored lifted` runs that group on a
    /// real GPU: it judges by medians, but not on a model in real time, which shares its processor.
    pub model_only: bool,
    /// The number of devices that it needs.
    pub devices: i32,
}

const fn plain(name: &'static str, check: Check) -> Case {
    Case { name, check, model_only: false, devices: 1 }
}

const fn model_only(name: &'static str, check: Check) -> Case {
    Case { model_only: true, ..plain(name, check) }
}

const fn of_two_devices(name: &'static str, check: Check) -> Case {
    Case { devices: 2, ..plain(name, check) }
}

const PLAIN: &[Case] = table! { plain;
    bounds: beyond_device_memory a_batch_beyond_device_memory;
    buffers: both_ways dropped forgotten refused;
    bytes: eight_priorities many_threads;
    batches: of_any_size of_small_copies urgent_beside_a_full_device again_beside_a_full_device behind_work
        leave_beside_a_full_device;
    calm: ends_with_an_urgent_copy not_of_the_legacy_stream;
    captures: modes_are_kept;
    company: not_the_other_engine not_its_own_stream opens_beside_frees;
    contexts: guards_nest each_thread_enters given_back_by_kind layer_in_its_own;
    across: contexts_of_one_device;
    expected: two_owners by_direction quiet_streams unknown_priorities;
    counters: launches take_overs fences channel_operations bytes;
    guard: bytes ends_as_natively ends_behind_several ends_both_ways blocking freeing left_alone
        a_carrier_for_each default_streams ends_with_every_queue_behind_it closes_with_every_queue_behind_it
        ends_when_the_queues_are_free;
    lull: ends_with_bulk is_an_option;
    heaps: blocks_keep_their_bytes spaces no_call_after_warm_up growth_after_warm_up
        memory_goes_back many_threads;
    passing: pageable capture beside_a_capture reasons;
    peers: on_device another_context;
    requests: priority_of_its_own unknown_priorities batches unordered streams_and_handles default_streams statistics;
    rides: not_for_nothing not_unannounced supposed_in_vain;
    service: descriptors sets thousand mixed flushes refusals capture in_flight guarded rescued foreign;
    sizes: lines batches;
    staging: bytes first_copies one_slot one_thread not_asked_for rectangles source_is_read_after_earlier_work
        download_waits order among_others capture refused cold_sources blocking_copies_land sources_are_reused
        slots_are_reused;
    streams: cuda_priorities announcements_end;
    turns: while_all_tolerate beside_other_bulk not_of_default_streams where_copies_may_be_staged
        without_channels chunks_follow_the_tolerance bytes;
    whole: lasts_until_bulk_has_ended ends_as_natively has_no_more_kernels_than_carriers is_not_what_is_staged;
};

const MODEL_ONLY: &[Case] = table! { model_only;
    words: up_while_pending doubt_and_care down_while_not_ready up_when_it_becomes_ready
        readiness_of_streams_is_independent up_where_readiness_is_stated down_where_unreadiness_is_stated;
    requests: fences_serve_several;
    calm: is_a_short_wait;
    lull: is_no_calm leaves_its_own_calm;
    guard: behind_a_copy_that_is_made;
    sizes: directed random;
    service: bulk_yields urgent_overtakes;
    staging: urgent_holds_off waits_for_a_slot;
    rides: not_another_way not_behind_bulk not_blocking;
    streams: waiting_ends_a_run;
    turns: hold_urgent_words_up waits_of_urgent_copies waits_behind_chunks;
    whole: is_passed_by_a_kernel;
    inversion: bulk_by_kernel bulk_by_engine chain_by_kernel chain_by_engine small_urgent_copy;
    lift: by_kernel by_engine guarded its_own_stream_too not_for_nothing awaited;
    lifted: by_kernel guarded chain;
    order: three_priorities starvation_bound;
    passing: streams_release_each_other;
};

const OF_TWO_DEVICES: &[Case] = table! { of_two_devices;
    across: two_devices;
    peers: between_devices not_the_host another_device;
};

pub fn all() -> impl Iterator<Item = Case> {
    PLAIN.iter().chain(MODEL_ONLY).chain(OF_TWO_DEVICES).copied()
}
