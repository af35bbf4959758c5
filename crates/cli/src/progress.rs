//! Progress on standard error, for what takes longer than a moment.

use std::time::{Duration, Instant};

use crate::output;

/// Shorter than this, nobody wonders what is going on.
const MOMENT: Duration = Duration::from_secs(2);

/// Says what is being done, once it has become clear that it takes a while. Reads real time, also where the device's
/// time is virtual: it is the person at the terminal who waits.
pub struct Progress {
    start: Instant,
    is_quiet: bool,
    is_long: bool,
}

impl Progress {
    /// `is_long`: it is known beforehand that this takes a while.
    #[must_use]
    pub fn new(is_quiet: bool, is_long: bool) -> Progress {
        Progress { start: Instant::now(), is_quiet, is_long }
    }

    /// What comes next.
    pub fn step(&self, text: &str) {
        if !self.is_quiet && (self.is_long || self.start.elapsed() > MOMENT) {
            output::say(format!("  {text}"));
        }
    }
}
