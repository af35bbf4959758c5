//! Progress on standard error, for long operations.

use std::time::{Duration, Instant};

use crate::output;

/// An operation that is shorter than this needs no announcement.
const MOMENT: Duration = Duration::from_secs(2);

/// Announces the steps of an operation once it has taken a while. It reads real time even if the device's time is
/// virtual, because the user at the terminal waits in real time.
pub struct Progress {
    start: Instant,
    is_quiet: bool,
    is_long: bool,
}

impl Progress {
    /// `is_long`: the caller knows beforehand that the operation takes a while.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the time of the person at the terminal")]
    pub fn new(is_quiet: bool, is_long: bool) -> Progress {
        Progress { start: Instant::now(), is_quiet, is_long }
    }

    /// Announces the next step.
    pub fn step(&self, text: &str) {
        if !self.is_quiet && (self.is_long || self.start.elapsed() > MOMENT) {
            output::say(format!("  {text}"));
        }
    }
}
