//! One suite for tasks and their dispatcher: run on the software GPU, and on a real GPU.
//!
//! `OVERTAKE_BACKEND` chooses, as for the conformance suite, with the same fixture. `soft` (the
//! default) runs every check on a fresh software GPU in virtual time, and adds the trials that only a model can run.
//! `cuda` runs the checks on the library that the loader finds.
#![deny(unsafe_code)]

mod bed;
mod checks;
mod log;
mod model;
mod raw;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use testkit::fixture::{arm, failure, faulty, machine, memory, place, prng, rig, trial, word};
use testkit::patience::Patience;

use arm::Arm;
use trial::trial;

fn check_trial(arm: Arm, name: &str, check: rig::Check) -> Trial {
    trial(format!("{}::{name}", arm.name()), Patience::new(), move || rig::run(check, &arm.driver()?))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let arm = match trial::arm_of("tasks") {
        Ok(arm) => arm,
        Err(code) => return code,
    };
    let mut all: Vec<Trial> = checks::ALL.iter().map(|(name, check)| check_trial(arm, name, *check)).collect();
    if arm == Arm::Soft {
        all.extend(model::ALL.iter().map(|(name, check)| trial((*name).to_owned(), Patience::new(), *check)));
    }
    trial::run(arguments, arm, all)
}
