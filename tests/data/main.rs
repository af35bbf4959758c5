//! One suite for arrays and computations: run on the software GPU, and on a real GPU.
//!
//! `OVERTAKE_BACKEND` chooses, as for the conformance suite, with the same fixture. `soft` (the default) runs
//! every check on a fresh software GPU in virtual time, and adds the trials that only a model can run. `cuda` runs the
//! checks on the library that the loader finds. The kernels are those of `crates/workloads`.
#![deny(unsafe_code)]

mod bed;
mod checks;
mod model;
mod raw;

use std::process::ExitCode;
use std::sync::Arc;

use hal::Driver;
use libtest_mimic::{Arguments, Trial};
use testkit::fixture::{arm, failure, faulty, machine, memory, place, prng, rig, trial};
use testkit::patience::Patience;

use arm::Arm;
use failure::Failure;
use trial::trial;

/// A driver that knows the kernels of the suite.
fn driver(arm: Arm) -> Result<Arc<dyn Driver>, Failure> {
    match arm {
        Arm::Soft => Ok(Arc::new(workloads::register(softgpu::SoftGpu::builder().devices(4)).build())),
        Arm::Cuda => arm.driver(),
    }
}

fn check_trial(arm: Arm, name: &str, check: rig::Check) -> Trial {
    trial(format!("{}::{name}", arm.name()), Patience::new(), move || rig::run(check, &driver(arm)?))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let arm = match trial::arm_of("data") {
        Ok(arm) => arm,
        Err(code) => return code,
    };
    let mut all: Vec<Trial> = checks::ALL.iter().map(|(name, check)| check_trial(arm, name, *check)).collect();
    if arm == Arm::Soft {
        all.extend(model::ALL.iter().map(|(name, check)| trial((*name).to_owned(), Patience::new(), *check)));
    }
    trial::run(arguments, arm, all)
}
