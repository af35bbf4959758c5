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
use libtest_mimic::{Arguments, Failed, Trial};
use testkit::patience;

use arm::Arm;
use failure::{Failure, Outcome};
use patience::Patience;
use rig::Rig;

fn trial(name: String, body: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    let label = name.clone();
    Trial::test(name, move || {
        watchdog::guarded(&label, Patience::new(), body).map_err(|failure| Failed::from(failure.to_string()))
    })
}

/// A driver that knows the kernels of the suite.
fn driver(arm: Arm) -> Result<Arc<dyn Driver>, Failure> {
    match arm {
        Arm::Soft => Ok(Arc::new(workloads::register(softgpu::SoftGpu::builder().devices(4)).build())),
        Arm::Cuda => arm.driver(),
    }
}

fn check_trial(arm: Arm, name: &str, check: checks::Check) -> Trial {
    trial(format!("{}::{name}", arm.name()), move || {
        let rig = Rig::new(&driver(arm)?)?;
        let outcome = check(&rig);
        outcome.and(rig.finish())
    })
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let arm = match Arm::from_environment() {
        Ok(arm) => arm,
        Err(text) => {
            eprintln!("data: {text}");
            return ExitCode::from(2);
        }
    };
    let mut all: Vec<Trial> = checks::ALL.iter().map(|(name, check)| check_trial(arm, name, *check)).collect();
    match arm {
        Arm::Soft => all.extend(model::ALL.iter().map(|(name, check)| trial((*name).to_owned(), *check))),
        // The trials share one driver, and each would hold back copies of the others.
        Arm::Cuda => arguments.test_threads = Some(1),
    }
    libtest_mimic::run(&arguments, all).exit_code()
}
