//! Real time's last word: a trial that hangs ends the process, with its name.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `body`; aborts the process when it takes longer than `limit`. Nothing gentler helps against a thread that is
/// blocked inside a driver.
pub fn guarded<T>(name: &str, limit: Duration, body: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    let label = name.to_owned();
    let dog = std::thread::spawn(move || {
        if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("conformance: {label} still runs after {} s: it hangs", limit.as_secs());
            std::process::abort();
        }
    });
    let result = body();
    drop(done);
    dog.join().expect("the watchdog only waits");
    result
}
