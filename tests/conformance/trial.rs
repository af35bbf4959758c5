//! The trials of a suite: each under the watchdog, and by themselves where they share one driver.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::arm::Arm;
use crate::failure::Outcome;
use crate::patience::Patience;
use crate::watchdog;

/// A trial that ends the process when it exhausts this patience.
pub fn trial(name: String, patience: Patience, body: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    let label = name.clone();
    Trial::test(name, move || {
        watchdog::guarded(&label, patience, body).map_err(|failure| Failed::from(failure.to_string()))
    })
}

/// The arm of the environment. Without one the suite ends with a message.
pub fn arm_of(suite: &str) -> Result<Arm, ExitCode> {
    Arm::from_environment().map_err(|text| {
        eprintln!("{suite}: {text}");
        ExitCode::from(2)
    })
}

/// Runs the trials.
pub fn run(mut arguments: Arguments, arm: Arm, trials: Vec<Trial>) -> ExitCode {
    if arm == Arm::Cuda {
        // They share one driver: a copy, a stream or a queue that one trial holds would delay another trial.
        arguments.test_threads = Some(1);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
