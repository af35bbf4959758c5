//! The end of what hangs, and of nothing else: no verdict may depend on how fast the machine is or what else it does.
//! Included by `#[path]` wherever tests wait for something.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Far more than anything here takes on a machine that does nothing else.
pub const HANGS_AFTER: Duration = Duration::from_secs(180);
/// Between two looks at what else the machine does.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two looks at what is waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// A wait that ends when what is waited for hangs. Time counts by the share of the machine that each thread gets: with
/// four runnable threads for each processor a second counts as a quarter of one.
pub struct Patience {
    left: Duration,
    looked_at: Instant,
}

impl Patience {
    /// For what takes seconds at most.
    pub fn new() -> Patience {
        Patience::of(HANGS_AFTER)
    }

    /// For what may take longer.
    pub fn of(limit: Duration) -> Patience {
        Patience { left: limit, looked_at: Instant::now() }
    }

    /// Whether what is waited for will never come. Ask again and again.
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

/// Waits until the condition holds; a panic names what has not happened.
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

/// The same for what hangs if it takes longer than this.
pub fn end_within(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let mut patience = Patience::of(limit);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || !patience.rest() {
            return Ok(status);
        }
    }
}

/// How many threads each processor has to run, one at least; one where the system does not say.
fn threads_per_processor() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (runnable(&load).unwrap_or(1.0) / processors as f64).max(1.0)
}

/// The fourth figure of `/proc/loadavg`: threads that run or could, of all.
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
