//! Starts a program that has just been linked.
#![allow(clippy::disallowed_methods)] // tests are no guests

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the program. A child of another trial, forked while the linker wrote, may still hold the binary open for
/// writing for a moment. The kernel refuses to execute it until that child has executed something itself.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(PAUSE),
            started => return started,
        }
    }
    command.spawn()
}
