//! Threads of the layer, which continue after a panic: if no thread lowered words or took copies over, a program would
//! wait forever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hal::{Driver, Host, HostThread, Result};
use os::forks::Process;

/// A thread ends after so many panics: their cause does not pass.
const PANICS_MAX: u32 = 100;

/// A thread of the layer; it ends when this is dropped. In the child of a fork, which does not have the thread,
/// dropping this does nothing.
pub struct Worker {
    driver: Arc<dyn Driver>,
    end: Box<dyn Fn() + Send + Sync>,
    thread: Option<HostThread<()>>,
    process: Process,
}

impl Worker {
    /// Starts a thread that runs `body` in the host's time until `end` makes it return. After a panic, `retreat` makes
    /// the layer need the thread as little as possible, and `body` begins again.
    pub fn start(
        driver: &Arc<dyn Driver>,
        name: &str,
        end: impl Fn() + Send + Sync + 'static,
        mut body: impl FnMut(&dyn Host) + Send + 'static,
        retreat: impl Fn() + Send + 'static,
    ) -> Result<Worker> {
        let its_driver = Arc::clone(driver);
        let thread = hal::spawn(driver, name, move || persist(|| body(its_driver.host()), retreat))?;
        Ok(Worker::of(driver, end, thread))
    }

    /// The same for a body that calls neither the driver nor a user's code: it has a small stack.
    pub fn start_small(
        driver: &Arc<dyn Driver>,
        name: &str,
        end: impl Fn() + Send + Sync + 'static,
        mut body: impl FnMut(&dyn Host) + Send + 'static,
        retreat: impl Fn() + Send + 'static,
    ) -> Result<Worker> {
        let its_driver = Arc::clone(driver);
        let thread = hal::spawn_small(driver, name, move || persist(|| body(its_driver.host()), retreat))?;
        Ok(Worker::of(driver, end, thread))
    }

    fn of(driver: &Arc<dyn Driver>, end: impl Fn() + Send + Sync + 'static, thread: HostThread<()>) -> Worker {
        Worker { driver: Arc::clone(driver), end: Box::new(end), thread: Some(thread), process: Process::this() }
    }

    /// Asks the thread to end. Of several threads all are asked before the first is waited for: to wait for one lets
    /// the time of the others go on.
    pub fn end(&self) {
        (self.end)();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The thread would be waited for in vain, and the rest is the thread's too.
            let end = std::mem::replace(&mut self.end, Box::new(|| ()));
            return std::mem::forget((self.thread.take(), end, Arc::clone(&self.driver)));
        }
        self.end();
        if let Some(thread) = self.thread.take() {
            thread.join(self.driver.host());
        }
    }
}

/// Runs `body` until it returns. After a panic `retreat` runs, and `body` begins again.
fn persist(mut body: impl FnMut(), retreat: impl Fn()) {
    for _ in 0..PANICS_MAX {
        match catch_unwind(AssertUnwindSafe(&mut body)) {
            Ok(()) => return,
            // Dropping the payload of a panic could panic again.
            Err(thrown) => std::mem::forget(thrown),
        }
        if let Err(thrown) = catch_unwind(AssertUnwindSafe(&retreat)) {
            std::mem::forget(thrown);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_body_begins_anew_until_it_returns() {
        let (begun, retreats) = (Cell::new(0), Cell::new(0));
        let body = || {
            begun.set(begun.get() + 1);
            assert!(begun.get() == 3, "not yet");
        };
        persist(body, || {
            retreats.set(retreats.get() + 1);
            panic!("even here")
        });
        assert_eq!((begun.get(), retreats.get()), (3, 2));
    }

    #[test]
    fn a_body_that_always_panics_ends() {
        let begun = Cell::new(0);
        let body = || {
            begun.set(begun.get() + 1);
            panic!("always")
        };
        persist(body, || {});
        assert_eq!(begun.get(), PANICS_MAX);
    }
}
