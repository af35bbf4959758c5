//! Threads that wait by parking until they are woken: a lost wake is a thread that never goes on.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use overtake_stages::{Waited, Waiting, Watch};

/// Longer than any scenario takes, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The machine's time, and the sleep of the calling thread.
pub struct Parking(Instant);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Parking {
    pub fn new() -> Parking {
        Parking(Instant::now())
    }

    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

impl Waiting for Parking {
    fn until(&self, deadline_ns: Option<u64>, is_over: Watch<'_>) -> Waited {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            if is_over(Some(&waker)) {
                return Waited::Met;
            }
            match deadline_ns.map(|deadline| deadline.saturating_sub(self.now_ns())) {
                None => std::thread::park(),
                Some(0) => return Waited::Deadline,
                Some(left) => std::thread::park_timeout(Duration::from_nanos(left)),
            }
        }
    }
}

/// Runs a scenario, which fails if it hangs.
pub fn ends<T: Send + 'static>(scenario: impl FnOnce() -> T + Send + 'static) -> T {
    let (say, said) = channel();
    let thread = std::thread::spawn(move || {
        let result = scenario();
        let _ = say.send(());
        result
    });
    assert_ne!(said.recv_timeout(PATIENCE), Err(RecvTimeoutError::Timeout), "a thread waits for ever");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
