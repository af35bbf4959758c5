//! The thread that looks after guarded copies. Unlike the monitor it calls the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hal::{CaptureMode, Context, Driver, Host, HostThread, Result};

use super::Guard;
use crate::persist::persist;

/// The thread; when dropped, it sees to it that no copy needs it any more, and ends.
pub(crate) struct Rescuer {
    guard: Arc<Guard>,
    stop: Arc<AtomicBool>,
    thread: Option<HostThread<()>>,
}

impl Rescuer {
    /// Starts it in that context.
    pub(crate) fn start(driver: &Arc<dyn Driver>, guard: &Arc<Guard>, context: Context) -> Result<Rescuer> {
        let stop = Arc::new(AtomicBool::new(false));
        let (its_guard, its_stop, its_driver) = (Arc::clone(guard), Arc::clone(&stop), Arc::clone(driver));
        let thread = hal::spawn(driver, "overtake-rescuer", move || {
            // Errors mean that the context is gone; every later call will say so too.
            let _ = its_driver.context_set_current(Some(context));
            let _ = its_driver.exchange_capture_mode(CaptureMode::Relaxed);
            persist(|| run(&its_guard, &its_stop, its_driver.host()), || its_guard.give_up());
        })?;
        Ok(Rescuer { guard: Arc::clone(guard), stop, thread: Some(thread) })
    }
}

impl Drop for Rescuer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.guard.bell.wake();
        if let Some(thread) = self.thread.take() {
            thread.join(self.guard.driver.host());
        }
    }
}

fn run(guard: &Guard, stop: &AtomicBool, host: &dyn Host) {
    guard.bell.listen();
    let mut again = None;
    while !stop.load(Ordering::SeqCst) {
        let seen = guard.bell.count();
        again = guard.look(host.now(), again);
        guard.bell.wait(host, seen, again);
    }
    guard.close();
}
