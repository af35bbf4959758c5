//! The guard: a thread that never calls the driver and watches, in real time, whether the hunt makes progress. It
//! notices when all other threads are stuck inside the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::worker::Field;

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// After a finding, the other threads have this long to end by themselves.
const AFTERMATH: Duration = Duration::from_secs(2);

/// The thread that guards a hunt; dropping it ends the thread.
pub struct Guard {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Watches `field`. After `seconds` it stops the hunt. After `patience` without progress it calls `give_up`,
    /// which ends the process.
    #[expect(clippy::disallowed_methods, reason = "where every other thread is stuck, so is the time of a host")]
    pub fn watch(
        field: &Arc<Field>,
        seconds: f64,
        patience: Duration,
        give_up: impl FnOnce() + Send + 'static,
    ) -> Guard {
        let is_over = Arc::new(AtomicBool::new(false));
        let (field, its_end) = (Arc::clone(field), Arc::clone(&is_over));
        let stop_after = Duration::from_secs_f64(seconds);
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let (mut moved_at, mut progress, mut found_at) = (start, field.tallies.progress(), None);
            while !its_end.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK_EVERY);
                if std::mem::replace(&mut progress, field.tallies.progress()) != progress {
                    moved_at = Instant::now();
                }
                if start.elapsed() >= stop_after {
                    field.stop.store(true, Ordering::SeqCst);
                }
                if field.has_found() {
                    found_at.get_or_insert_with(Instant::now);
                }
                let is_hopeless = found_at.is_some_and(|at| at.elapsed() >= AFTERMATH);
                if is_hopeless || moved_at.elapsed() >= patience {
                    return give_up();
                }
            }
        });
        Guard { is_over, thread: Some(thread) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // The thread looks often, so this join is short. It must end before the field is dropped.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
