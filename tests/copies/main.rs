//! One suite for the copy layer: run on the software GPU, on the software GPU's own `libcuda.so.1`, and on a real GPU.
//!
//! `OVERTAKE_BACKEND` chooses, as for the conformance suite, with the same fixture. `soft` (the
//! default) runs every check on a fresh software GPU in virtual time, adds the trials that only a model can run
//! (faults, inspection, a machine with one queue), and runs itself again as a child on the soft `libcuda.so.1` if
//! that has been built. `cuda` runs the checks on the library that the loader finds.
#![deny(unsafe_code)]

mod bed;
mod checks;
mod doors;
mod lane;
mod model;
mod running;
mod scene;
mod streams;
mod traffic;

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use overtake::Options;
use overtake::options::{Emulation, Transport, UrgentTransport};
use testkit::fixture::{arm, failure, faulty, loader, memory, place, prng, rig, trial, word};
use testkit::patience::Patience;

use arm::Arm;
use checks::{Case, bytes};
use failure::Outcome;
use rig::Rig;
use trial::trial;

/// The limit of the whole suite in a child.
const SUITE_LIMIT: Duration = Duration::from_secs(1800);

fn check_trial(arm: Arm, name: &str, check: impl FnOnce(&Rig) -> Outcome + Send + 'static) -> Trial {
    trial(format!("{}::{name}", arm.name()), Patience::new(), move || rig::run(check, &arm.driver()?))
}

/// Every transport of bulk with every transport of urgent copies, and every emulation.
fn ways() -> Vec<(String, Options)> {
    let transports = Transport::ALL.into_iter().flat_map(|bulk| UrgentTransport::ALL.map(|urgent| (bulk, urgent)));
    let by = |(bulk, urgent): (Transport, UrgentTransport)| {
        let name = format!("bulk_by_{}_urgent_by_{}", bulk.name(), urgent.name());
        (name, bed::transport(bulk).with_profile(|profile| profile.urgent_transport = urgent))
    };
    let emulated = Emulation::ALL.map(|emulation| (emulation.name().to_owned(), bed::emulating(emulation)));
    transports.map(by).chain(emulated).collect()
}

fn byte_trials(arm: Arm) -> Vec<Trial> {
    let trial = |(name, options): (String, Options)| {
        check_trial(arm, &format!("bytes::{name}"), move |rig| bytes::under(rig, options))
    };
    ways().into_iter().map(trial).collect()
}

fn trials(arm: Arm, devices: i32) -> Vec<Trial> {
    // In real time the result of such a check depends on other load on the machine.
    let real_time = arm == Arm::Cuda;
    let case = |case: Case| {
        let is_ignored = (case.model_only && real_time) || case.devices > devices;
        check_trial(arm, case.name, case.check).with_ignored_flag(is_ignored)
    };
    byte_trials(arm).into_iter().chain(checks::all().map(case)).collect()
}

type OnModel = fn() -> Outcome;

/// Checks that need the model.
const ON_MODEL: &[(&str, OnModel)] = &[
    ("peers::an_urgent_copy_waits_for_a_chunk", model::peers::an_urgent_copy_waits_for_a_chunk),
    ("peers::an_urgent_copy_passes_a_kernel", model::peers::an_urgent_copy_passes_a_kernel),
    ("peers::an_urgent_copy_passes_whole_bulk", model::peers::an_urgent_copy_passes_whole_bulk),
    ("peers::without_the_option_it_waits", model::peers::without_the_option_it_waits),
    ("rescue::opens_words_that_stay_up", model::rescue::opens_words_that_stay_up),
    ("rescue::raises_nothing_afterwards", model::rescue::raises_nothing_afterwards),
    ("rescue::stands_down", model::rescue::stands_down),
    ("rescue::tries_again", model::rescue::tries_again),
    ("queues::one_copy_queue", model::queues::one_copy_queue),
    ("queues::one_kernel_queue", model::queues::one_kernel_queue),
    ("queues::probed_once", model::queues::probed_once),
    ("queues::several_streams_wait_in_chunks", model::queues::several_streams_wait_in_chunks),
    ("queues::chunks_are_shorter_where_streams_take_turns", model::queues::chunks_are_shorter_where_streams_take_turns),
    ("deadlock::is_real", model::deadlock::is_real),
    ("deadlock::is_ended_by_the_watchdog", model::deadlock::is_ended_by_the_watchdog),
    ("bounds::beyond_host_memory", model::bounds::beyond_host_memory),
    ("buffers::are_freed", model::buffers::are_freed),
    ("heaps::every_call", model::heaps::every_call),
    ("heaps::calls_by_phase", model::heaps::calls_by_phase),
    ("heaps::of_a_dead_context", model::heaps::of_a_dead_context),
    ("heaps::of_a_failed_device", model::heaps::of_a_failed_device),
    ("buffers::are_freed_after_the_copy", model::buffers::are_freed_after_the_copy),
    ("captures::doubt_is_a_capture", model::captures::doubt_is_a_capture),
    ("closing::lets_bulk_through", model::closing::lets_bulk_through),
    ("closing::leaves_nothing", model::closing::leaves_nothing),
    ("closing::on_any_thread", model::closing::on_any_thread),
    (model::flat::NAME, model::flat::memory),
    ("guard::without_it_that_hangs", model::guard::without_it_that_hangs),
    ("guard::one_queue_for_kernels", model::guard::one_queue_for_kernels),
    ("guard::closing_leaves_no_stream_waiting", model::guard::closing_leaves_no_stream_waiting),
    ("guard::enough_is_enough", model::guard::enough_is_enough),
    ("guard::copies_make_nothing", model::guard::copies_make_nothing),
    ("guard::leaves_nothing", model::guard::leaves_nothing),
    ("lull::is_over_behind_a_slow_submission", model::lull::is_over_behind_a_slow_submission),
    ("service::one_launch", model::service::one_launch),
    ("service::makes_nothing", model::service::makes_nothing),
    ("service::without_its_kernel", model::service::without_its_kernel),
    ("service::leaves_nothing", model::service::leaves_nothing),
    ("staging::every_call", model::staging::every_call),
    ("staging::device_is_lost", model::staging::device_is_lost),
    ("staging::nothing_can_be_pinned", model::staging::nothing_can_be_pinned),
    ("programs::cameras", model::programs::cameras),
    ("programs::requests", model::programs::requests),
    ("programs::decoding", model::programs::decoding),
    ("programs::training", model::programs::training),
    ("turns::one_stream_keeps_its_rate", model::turns::one_stream_keeps_its_rate),
    ("turns::three_streams_of_short_requests", model::turns::three_streams_of_short_requests),
    ("turns::three_streams_go_in_chunks", model::turns::three_streams_go_in_chunks),
    ("turns::one_that_tolerates_none_waits_for_a_turn", model::turns::one_that_tolerates_none_waits_for_a_turn),
    ("turns::streams_without_queues_go_in_chunks", model::turns::streams_without_queues_go_in_chunks),
    ("turns::chains_alternate", model::turns::chains_alternate),
    ("unpinned::pageable_beside_bulk", model::unpinned::pageable_beside_bulk),
    ("unpinned::pinned_beside_bulk", model::unpinned::pinned_beside_bulk),
    ("faults::every_call_of_the_service", model::service::every_call),
    ("faults::every_call_of_the_service_guarded", model::service::every_call_guarded),
    ("panics::of_the_rescuer", model::panics::of_the_rescuer),
    ("panics::of_the_watcher", model::panics::of_the_watcher),
    ("faults::opening", model::faults::opening),
    ("faults::opening_guarded", model::faults::opening_guarded),
    ("faults::every_call_guarded", model::faults::every_call_guarded),
    ("faults::every_call_of_a_rescue", model::guard::every_call_of_a_rescue),
    ("guard::a_lost_copy_is_an_error", model::guard::a_lost_copy_is_an_error),
    ("faults::in_flight_guarded", model::faults::in_flight_guarded),
    ("faults::in_flight", model::faults::in_flight),
];

/// The trials that only the soft arm has.
fn soft_trials() -> Vec<Trial> {
    let ignored = loader::library().is_none() && !loader::is_required();
    let through = trial("through_the_loader".to_owned(), Patience::of(SUITE_LIMIT), loader::through_the_loader);
    let mut trials = vec![through.with_ignored_flag(ignored)];
    trials.extend(ON_MODEL.iter().map(|(name, check)| trial((*name).to_owned(), Patience::new(), *check)));
    let of_faults = [
        "bulk_by_auto_urgent_by_engine",
        "bulk_by_auto_urgent_by_kernel",
        "bulk_by_engine_urgent_by_engine",
        "bracket",
        "atomics",
    ];
    let ways: Vec<(String, Options)> =
        ways().into_iter().filter(|(name, _)| of_faults.contains(&name.as_str())).collect();
    assert_eq!(ways.len(), of_faults.len(), "each of them is a way");
    trials.extend(ways.into_iter().map(|(name, options)| {
        let check = move || model::faults::every_call(&options);
        trial(format!("faults::every_call_of_{name}"), Patience::new(), check)
    }));
    trials
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let arm = match trial::arm_of("copies") {
        Ok(arm) => arm,
        Err(code) => return code,
    };
    // A list is made without the driver.
    let devices = if arguments.list { i32::MAX } else { arm.devices() };
    let mut all = trials(arm, devices);
    if arm == Arm::Soft {
        all.extend(soft_trials());
    }
    trial::run(arguments, arm, all)
}
