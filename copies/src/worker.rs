//! Threads of the layer. They outlive a panic: a program whose words no thread lowers, or whose copies no thread takes
//! over, would wait for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hal::{Driver, Host, HostThread, Result};

/// After so many panics a thread ends: what makes it panic does not pass.
const PANICS_MAX: u32 = 100;

/// A thread of the layer; it ends when this is dropped.
pub(crate) struct Worker {
    driver: Arc<dyn Driver>,
    end: Box<dyn Fn() + Send + Sync>,
    thread: Option<HostThread<()>>,
}

impl Worker {
    /// Starts a thread that runs `body` in the host's time, until `end` makes that return. After a panic, `retreat`
    /// makes the layer ask as little as it can of the thread, and `body` begins anew.
    pub(crate) fn start(
        driver: &Arc<dyn Driver>,
        name: &str,
        end: impl Fn() + Send + Sync + 'static,
        mut body: impl FnMut(&dyn Host) + Send + 'static,
        retreat: impl Fn() + Send + 'static,
    ) -> Result<Worker> {
        let its_driver = Arc::clone(driver);
        let thread = hal::spawn(driver, name, move || persist(|| body(its_driver.host()), retreat))?;
        Ok(Worker { driver: Arc::clone(driver), end: Box::new(end), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        (self.end)();
        if let Some(thread) = self.thread.take() {
            thread.join(self.driver.host());
        }
    }
}

/// Runs `body` until it returns; after each panic `retreat` makes the layer ask as little as it can of the thread, and
/// `body` begins anew.
fn persist(mut body: impl FnMut(), retreat: impl Fn()) {
    for _ in 0..PANICS_MAX {
        match catch_unwind(AssertUnwindSafe(&mut body)) {
            Ok(()) => return,
            // Dropping what was thrown could throw again.
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
    fn what_always_panics_ends() {
        let begun = Cell::new(0);
        let body = || {
            begun.set(begun.get() + 1);
            panic!("always")
        };
        persist(body, || {});
        assert_eq!(begun.get(), PANICS_MAX);
    }
}
