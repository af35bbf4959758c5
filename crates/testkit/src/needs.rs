//! Programs that some tests need beside the Rust toolchain and gcc. If one is missing, the test is left out and its
//! result names it.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};

/// A trial that needs these programs.
pub fn trial(
    name: &str,
    programs: &'static [&'static str],
    body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match programs.iter().find(|program| !is_there(program)) {
        Some(missing) => Ok(Completion::ignored_with(format!("there is no {missing}"))),
        None => body().map(|()| Completion::Completed),
    })
}

/// Trials of functions that panic where something is wrong. Their names begin with that of the subject.
pub fn checks<const N: usize>(subject: &str, checks: [(&str, fn()); N]) -> Vec<Trial> {
    let trial = |(name, check): (&str, fn())| {
        Trial::test(format!("{subject}::{name}"), move || {
            check();
            Ok(())
        })
    };
    checks.map(trial).into()
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
