//! Tests that need a process of their own, because a process has one logger, one layer, one environment, and one list
//! of threads.

use std::process::Command;

const ALONE: &str = "OVERTAKE_TEST_ALONE";

/// Whether this process is there for the test of this name alone, which then goes on. In any other one the test has
/// been run in a process of its own, and has passed: it returns.
pub fn is_alone(test: &str) -> bool {
    is_alone_with(test, &[])
}

/// The same in a process that has these variables.
pub fn is_alone_with(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        return true;
    }
    let program = std::env::current_exe().expect("the path of the running test");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(ALONE, test).envs(variables.iter().copied());
    let output = command.output().expect("the test starts again");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains(" 1 passed;"), "{test}: {}\n{said}", output.status);
    false
}
