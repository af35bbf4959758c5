//! One suite for the copy layer: run on the software GPU, on the software GPU's own `libcuda.so.1`, and on a real GPU.
//!
//! `OVERTAKE_BACKEND` chooses, as for the conformance suite, with the same fixture. `soft` (the
//! default) runs every check on a fresh software GPU in virtual time, adds the trials that only a model can run
//! (faults, inspection, a machine with one queue), and runs itself again as a child on the soft `libcuda.so.1` if
//! that has been built. `cuda` runs the checks on the library that the loader finds.
#![deny(unsafe_code)]

mod bed;
mod checks;
mod lane;
mod model;
mod raw;
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

/// The trials that only the soft arm has.
fn soft_trials() -> Vec<Trial> {
    let ignored = loader::library().is_none() && !loader::is_required();
    let through = trial("through_the_loader".to_owned(), Patience::of(SUITE_LIMIT), loader::through_the_loader);
    let mut trials = vec![through.with_ignored_flag(ignored)];
    trials.extend(model::ALL.iter().map(|(name, check)| trial((*name).to_owned(), Patience::new(), *check)));
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
