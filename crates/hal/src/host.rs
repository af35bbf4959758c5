//! Host time and host threads, which must agree with the device's model of time.
//!
//! With a real GPU, time is the operating system's monotonic clock. With the stepped software GPU it is virtual: each
//! host thread has its own clock, which moves when the thread pays for a call, sleeps or waits. The thread that is
//! furthest behind runs next. Programs with several host threads are therefore deterministic, but the software GPU
//! has to know the threads: start them with [`spawn`], and wrap blocking operations outside the seam (a channel, a
//! real join) in [`Host::outside`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use os::threads;

use crate::{Code, Driver, Error, Nanos, Result};

/// The end of a [`Host::wait_until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The condition holds.
    Met,
    /// The deadline passed first.
    Deadline,
    /// The condition can never hold: a model of the device has proven that no thread and no device work can run any
    /// more. A real device never answers this.
    Stuck,
}

/// A thread that its parent has announced and that has not begun to run.
#[derive(Debug)]
pub struct ThreadToken(pub u64);

/// Time and threads of the host.
pub trait Host: Send + Sync {
    /// The calling thread's time.
    fn now(&self) -> Nanos;

    /// Sleeps on the calling thread.
    fn sleep(&self, span: Nanos);

    /// A spin-loop hint. A little time passes, so that the polled state can change.
    fn pause(&self);

    /// Waits until `condition` holds or `deadline` has passed. The condition is evaluated any number of times, also by
    /// other threads in the middle of their own calls. It may read memory and atomics, but must not call the driver or
    /// the host, and must not take a lock that any thread holds during such a call. Where time is not virtual, the
    /// calling thread alone evaluates it, without a lock of the host's, and it may do all that the thread may.
    fn wait_until(&self, deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait;

    /// The calling thread has copied so many bytes from memory to memory. Where time is virtual, they take a while.
    fn copied(&self, bytes: u64) {
        let _takes_its_time = bytes;
    }

    /// Announces a thread that the caller is about to start. Its clock begins at the caller's time.
    fn announce(&self, name: &str) -> ThreadToken;

    /// Takes back the announcement of a thread that will not run, so that time does not wait for it.
    fn retract(&self, token: ThreadToken);

    /// The announced thread calls this first.
    fn enter(&self, token: ThreadToken);

    /// A thread calls this last; afterwards it may not use the host.
    fn leave(&self);

    /// Runs `block`, which waits for something other than the device (a channel, a join, standard input). The time of
    /// other threads goes on meanwhile.
    fn outside(&self, block: &mut dyn FnMut());

    /// Whether time is virtual. Programs that print progress or adapt to real time may need to know.
    fn is_virtual(&self) -> bool;
}

/// A host thread that its device knows about. Dropping it without a join detaches the thread.
#[derive(Debug)]
pub struct HostThread<T> {
    done: Arc<AtomicBool>,
    handle: std::thread::JoinHandle<T>,
}

/// Leaves the host even when the thread's body panics. Otherwise virtual time would wait for a dead thread.
struct LeaveOnDrop<'a> {
    host: &'a dyn Host,
    done: &'a AtomicBool,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.host.leave();
    }
}

/// Starts a thread that takes part in the time of `driver`'s host, and inherits nothing from the calling one
/// ([`os::threads`]). On an error the operating system has no thread to give, and `body` has been dropped without
/// running.
pub fn spawn<T: Send + 'static>(
    driver: &Arc<dyn Driver>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<HostThread<T>> {
    spawn_with_stack(driver, name, threads::STACK_BYTES, body)
}

/// The same for a thread that runs code of these crates alone: it has a small stack.
pub fn spawn_small<T: Send + 'static>(
    driver: &Arc<dyn Driver>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<HostThread<T>> {
    spawn_with_stack(driver, name, threads::SMALL_STACK_BYTES, body)
}

fn spawn_with_stack<T: Send + 'static>(
    driver: &Arc<dyn Driver>,
    name: &str,
    stack_bytes: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<HostThread<T>> {
    let token = driver.host().announce(name);
    let number = token.0;
    let done = Arc::new(AtomicBool::new(false));
    let (child_done, child_driver) = (Arc::clone(&done), Arc::clone(driver));
    let started = threads::start(name, stack_bytes, move || {
        let host = child_driver.host();
        host.enter(token);
        let _leave = LeaveOnDrop { host, done: &child_done };
        body()
    });
    let handle = started.map_err(|error| {
        driver.host().retract(ThreadToken(number));
        refused(name, &error)
    })?;
    Ok(HostThread { done, handle })
}

fn refused(name: &str, error: &std::io::Error) -> Error {
    let text = format!(
        "the operating system gives no thread for {name} ({error}): the limit on threads (ulimit -u, pids.max of the \
         container) is reached, or memory for its stack is"
    );
    Code::OPERATING_SYSTEM.at("thread start").because(text)
}

impl<T> HostThread<T> {
    /// Whether the thread's body has returned or panicked.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Waits for the thread in the host's time and returns its result. A panic of the thread continues in the caller.
    pub fn join(self, host: &dyn Host) -> T {
        let (mut handle, mut result) = (Some(self.handle), None);
        let mut join = || result = handle.take().map(std::thread::JoinHandle::join);
        // A thread that is done has left the host. Time stands still until it has ended, so that runs repeat.
        match host.wait_until(None, &mut || self.done.load(Ordering::Acquire)) {
            Wait::Met => join(),
            _ => host.outside(&mut join),
        }
        match result.expect("it is joined once") {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
