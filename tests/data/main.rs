//! One suite for arrays and computations: run on the software GPU, and on a real GPU.
//!
//! `OVERTAKE_BACKEND` chooses, as for the conformance suite, whose rig this suite shares. `soft` (the default) runs
//! every check on a fresh software GPU in virtual time, and adds the trials that only a model can run. `cuda` runs the
//! checks on the library that the loader finds. The kernels are those of `crates/workloads`.
#![deny(unsafe_code)]

// Shared with the other suites; no suite needs all of it.
#[allow(dead_code)]
#[path = "../conformance/arm.rs"]
mod arm;
#[allow(dead_code)]
#[path = "../conformance/failure.rs"]
mod failure;
#[allow(dead_code)]
#[path = "../copies/model/faulty.rs"]
mod faulty;
#[path = "../copies/model/machine.rs"]
mod machine;
#[allow(dead_code)]
#[path = "../conformance/memory.rs"]
mod memory;
#[allow(dead_code)]
#[path = "../conformance/place.rs"]
mod place;
#[allow(dead_code)]
#[path = "../conformance/prng.rs"]
mod prng;
#[allow(dead_code)]
#[path = "../conformance/rig.rs"]
mod rig;
#[path = "../conformance/trial.rs"]
mod trial;
#[path = "../conformance/watchdog.rs"]
mod watchdog;
#[allow(dead_code)]
#[path = "../conformance/word.rs"]
mod word;

mod bed;
mod checks;
mod doors;
mod model;

use std::process::ExitCode;
use std::sync::Arc;

use hal::Driver;
use libtest_mimic::{Arguments, Trial};
use testkit::patience;

use arm::Arm;
use failure::Failure;
use patience::Patience;
use trial::trial;

/// A driver that knows the kernels of the suite.
fn driver(arm: Arm) -> Result<Arc<dyn Driver>, Failure> {
    match arm {
        Arm::Soft => Ok(Arc::new(workloads::register(softgpu::SoftGpu::builder().devices(4)).build())),
        Arm::Cuda => arm.driver(),
    }
}

fn check_trial(arm: Arm, name: &str, check: checks::Check) -> Trial {
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
