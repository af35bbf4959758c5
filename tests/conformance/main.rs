//! One suite for every driver: written once against [`hal::Driver`], run on the software GPU, on the software GPU's own
//! `libcuda.so.1`, and on a real GPU.
//!
//! `OVERTAKE_BACKEND=soft` (the default) runs every check on a fresh software GPU in virtual time, then proves with
//! planted bugs that the checks can fail, then runs itself again as a child on the soft `libcuda.so.1` if that has been
//! built. `OVERTAKE_BACKEND=cuda` runs the checks on the library that the loader finds. The binary needs nothing beside
//! it, so that it can be carried to a machine with a GPU.
//!
//! Checks return failures instead of panicking, wait in the host's time with a deadline, and free everything they
//! made. A limit in real time, far longer than any check needs, ends a check that hangs.
#![deny(unsafe_code)]

mod checks;
mod planted;

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use testkit::fixture::{arm, failure, loader, memory, place, prng, rig, trial};
use testkit::patience::Patience;

use arm::Arm;
use checks::Case;
use trial::trial;

/// The limit of the whole suite in a child.
const SUITE_LIMIT: Duration = Duration::from_secs(1800);

fn check_trial(arm: Arm, case: Case, devices: i32) -> Trial {
    let run = move || rig::run(case.check, &arm.driver()?);
    let ignored =
        case.devices > devices || (case.model_only && arm != Arm::Soft) || (case.foreign && !arm.takes_foreign());
    trial(format!("{}::{}", arm.name(), case.name), Patience::new(), run).with_ignored_flag(ignored)
}

/// The trials that only the soft arm has: the planted bugs, and the whole suite through the loader.
fn soft_trials() -> Vec<Trial> {
    let bugs = softgpu::Planted::ALL;
    let mut trials: Vec<Trial> = bugs
        .into_iter()
        .map(|bug| trial(format!("planted::{bug:?}"), Patience::new(), move || planted::is_found(bug)))
        .collect();
    let ignored = loader::library().is_none() && !loader::is_required();
    let name = "through_the_loader".to_owned();
    trials.push(trial(name, Patience::of(SUITE_LIMIT), loader::through_the_loader).with_ignored_flag(ignored));
    trials
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let arm = match trial::arm_of("conformance") {
        Ok(arm) => arm,
        Err(code) => return code,
    };
    let devices = if arguments.list { i32::MAX } else { arm.devices() };
    let mut trials: Vec<Trial> = checks::all().map(|case| check_trial(arm, case, devices)).collect();
    if arm == Arm::Soft {
        trials.extend(soft_trials());
    }
    trial::run(arguments, arm, trials)
}
