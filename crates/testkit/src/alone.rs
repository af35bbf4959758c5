//! Tests that need a process of their own, because a process has one logger, one layer, one environment, and one list
//! of threads.

use std::io::{Read as _, Seek as _};
use std::process::{Command, ExitStatus};

use crate::patience;

const ALONE: &str = "OVERTAKE_TEST_ALONE";

/// Whether this process is there for the test of this name alone, which then goes on. In any other one the test has
/// been run in a process of its own, and has passed: it returns.
pub fn is_alone(test: &str) -> bool {
    is_alone_with(test, &[])
}

/// The same in a process that has these variables.
pub fn is_alone_with(test: &str, variables: &[(&str, &str)]) -> bool {
    if is_here(test) {
        return true;
    }
    let (status, said) = again(test, variables);
    assert!(status.is_some_and(|status| status.success()) && said.contains(" 1 passed;"), "{test}: {status:?}\n{said}");
    false
}

/// Whether this process is there for the test of this name alone.
pub fn is_here(test: &str) -> bool {
    std::env::var(ALONE).is_ok_and(|name| name == test)
}

/// Runs the test of this name in a process of its own that has these variables. Returns its end, or none if it hangs,
/// and what it has said.
pub fn again(test: &str, variables: &[(&str, &str)]) -> (Option<ExitStatus>, String) {
    let program = std::env::current_exe().expect("the path of the running test");
    // A pipe that nobody reads would stop one that says much.
    let mut said = tempfile::tempfile().expect("a file for what it says");
    let output = || said.try_clone().expect("a second descriptor");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(ALONE, test).envs(variables.iter().copied());
    let mut child = command.stdout(output()).stderr(output()).spawn().expect("the test starts again");
    let status = patience::end_of(&mut child).expect("it is a child of this process");
    if status.is_none() {
        let _ended = child.kill().and_then(|()| child.wait());
    }
    let mut text = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut text)).expect("the file is ours");
    (status, String::from_utf8_lossy(&text).into_owned())
}
