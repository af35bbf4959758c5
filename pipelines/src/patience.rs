//! Waits for stages in the host's time.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use hal::{Host, Nanos, Wait};
use stages::{Waited, Waiting, Watch};

/// A thread looks again and again for so long before it sleeps: to wake it takes as long.
const LOOKS_SPAN: Nanos = Nanos::from_us(50);

/// The calling thread, in the time of its host.
pub(crate) struct InHost<'h>(pub &'h dyn Host);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
}

impl InHost<'_> {
    #[expect(clippy::disallowed_methods, reason = "a host with real time: the thread that arrives wakes this one")]
    fn sleep(&self, deadline: Option<Nanos>, is_over: Watch<'_>) -> Waited {
        let waker = WAKER.with(Waker::clone);
        loop {
            if is_over(Some(&waker)) {
                return Waited::Met;
            }
            match deadline.map(|deadline| deadline.since(self.0.now())) {
                None => std::thread::park(),
                Some(Nanos::ZERO) => return Waited::Deadline,
                Some(left) => std::thread::park_timeout(Duration::from_nanos(left.0)),
            }
        }
    }
}

impl Waiting for InHost<'_> {
    fn until(&self, deadline_ns: Option<u64>, is_over: Watch<'_>) -> Waited {
        let deadline = deadline_ns.map(Nanos);
        let looks_end = (!self.0.is_virtual()).then(|| self.0.now() + LOOKS_SPAN);
        let first_end = [deadline, looks_end].into_iter().flatten().min();
        match self.0.wait_until(first_end, &mut || is_over(None)) {
            Wait::Met => Waited::Met,
            Wait::Stuck => Waited::Stuck,
            Wait::Deadline if first_end == deadline => Waited::Deadline,
            Wait::Deadline => self.sleep(deadline, is_over),
        }
    }
}
