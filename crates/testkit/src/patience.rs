//! The end of tests that hang, and of no others: no verdict may depend on the speed or the load of the machine.
#![allow(clippy::disallowed_methods)] // tests wait in the time of the machine, and read its load

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Far more than any step here takes on an idle machine.
pub const HANGS_AFTER: Duration = Duration::from_secs(180);
/// The pause between two looks at the load.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The pause between two looks at the condition.
const PAUSE: Duration = Duration::from_millis(5);

/// A wait that ends when its condition hangs. Time counts by the share of the machine that each thread gets: with
/// four runnable threads for each processor a second counts as a quarter of one.
pub struct Patience {
    left: Duration,
    looked_at: Instant,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::of(HANGS_AFTER)
    }
}

impl Patience {
    /// For operations of a few seconds at most.
    pub fn new() -> Patience {
        Patience::default()
    }

    /// For operations that may take longer.
    pub fn of(limit: Duration) -> Patience {
        Patience { left: limit, looked_at: Instant::now() }
    }

    /// Whether the condition will never hold. Call it again and again.
    pub fn is_over(&mut self) -> bool {
        let passed = self.looked_at.elapsed();
        if passed >= LOOK_EVERY {
            self.looked_at = Instant::now();
            self.left = self.left.saturating_sub(passed.div_f64(threads_per_processor()));
        }
        self.left.is_zero()
    }

    /// Rests between two looks; `false` when no more are worth while.
    pub fn rest(&mut self) -> bool {
        std::thread::sleep(PAUSE);
        !self.is_over()
    }
}

/// Waits until the condition holds. A panic names the condition that does not.
pub fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let mut patience = Patience::new();
    while !condition() {
        assert!(patience.rest(), "{what}: it does not come to that");
    }
}

/// Waits for the end of a program; `None` if it hangs.
pub fn end_of(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    end_within(child, HANGS_AFTER)
}

/// The same with another limit.
pub fn end_within(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let mut patience = Patience::of(limit);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || !patience.rest() {
            return Ok(status);
        }
    }
}

/// The number of runnable threads per processor, at least one; one if the system does not tell.
fn threads_per_processor() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (runnable(&load).unwrap_or(1.0) / processors as f64).max(1.0)
}

/// The fourth figure of `/proc/loadavg`: the number of runnable threads.
fn runnable(load: &str) -> Option<f64> {
    load.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_system_says_how_many_threads_could_run() {
        assert_eq!(super::runnable("6.75 6.58 5.39 9/412 28391\n"), Some(9.0));
        assert_eq!(super::runnable(""), None);
    }

    #[test]
    fn patience_ends_and_not_at_once() {
        assert!(!super::Patience::new().is_over());
        let mut short = super::Patience::of(super::PAUSE);
        while short.rest() {}
    }
}
