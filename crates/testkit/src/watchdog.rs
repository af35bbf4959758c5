//! A limit in real time: a trial that hangs ends the process, with its name.
#![allow(clippy::disallowed_methods)] // a thread of the test program's own, beside the device's time

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::patience::Patience;

/// The pause between two looks at the trial.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs `body`. Aborts the process when it exhausts this patience, because a thread that is blocked inside a driver
/// cannot be ended in any other way.
pub fn guarded<T>(name: &str, mut patience: Patience, body: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    let label = name.to_owned();
    let dog = std::thread::spawn(move || {
        while waiting.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            if patience.is_over() {
                // Not `eprintln!`: the harness of the standard library keeps that until the test has ended.
                let said = format!("{label} has not ended in many times the time that it needs: it hangs\n");
                let _closed = std::io::stderr().write_all(said.as_bytes());
                std::process::abort();
            }
        }
    });
    let result = body();
    drop(done);
    dog.join().expect("the watchdog only waits");
    result
}
