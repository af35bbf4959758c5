//! A thread that releases the streams of a probe if the probe is stuck.
//!
//! Another thread of the program may make a call that waits for the whole device, such as `cuMemFree`. The driver keeps
//! every other thread out until that call returns, which it cannot while a stream waits for a word of the probe. So the
//! probe's own next call would never return either.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Code, Driver, Error, Host, HostThread, Nanos, Result, Wait};

/// A probe that takes no step for so long, beyond the time that the step may take, is kept out by another thread.
const STANDS_STILL: Nanos = Nanos::from_ms(30);
/// The words are opened again and again until the probe notices: it may be about to close one.
const OPENS_EVERY: Nanos = Nanos::from_ms(1);
/// A probe that is kept out by another thread begins anew so often: that one may be opening a layer too, with some 50
/// calls that wait for the device.
const TURNS_MAX: u32 = 100;
/// A probe that stands still at the same step in so many turns on end does not find out. The step does not wait for
/// another thread then, but for a word of the probe itself: under a tool that has launches wait for their kernels, such
/// as a profiler.
const SAME_STEPS_MAX: u32 = 4;
/// No words of the probe are closed.
const NONE: u64 = u64::MAX;

/// Opens the words of a probe that stands still.
pub(super) struct Opener {
    driver: Arc<dyn Driver>,
    watched: Arc<Watched>,
    thread: Option<HostThread<()>>,
}

struct Watched {
    /// The time at which the probe counts as standing still, or [`NONE`].
    deadline: AtomicU64,
    /// Held while words are opened, so that no word is opened after the deadline has moved.
    opening: Mutex<()>,
    has_opened: AtomicBool,
    has_ended: AtomicBool,
    /// The steps of this turn.
    steps: AtomicU64,
}

impl Opener {
    /// Starts the thread. `open` has to let all streams of the probe go, and may run any number of times until this is
    /// dropped.
    pub(super) fn start(driver: &Arc<dyn Driver>, open: impl Fn() + Send + 'static) -> Result<Opener> {
        let watched = Arc::new(Watched {
            deadline: AtomicU64::new(NONE),
            opening: Mutex::new(()),
            has_opened: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            steps: AtomicU64::new(0),
        });
        let (its, its_driver) = (Arc::clone(&watched), Arc::clone(driver));
        let thread = hal::spawn_small(driver, "overtake-probe", move || its.watch(its_driver.host(), &open))?;
        Ok(Opener { driver: Arc::clone(driver), watched, thread: Some(thread) })
    }

    /// The probe takes a step with words closed, which lasts for `patience` at most. An error means that the words have
    /// been opened, so that the probe has seen nothing.
    pub(super) fn step(&self, patience: Nanos) -> Result<()> {
        let _opening = lock(&self.watched.opening);
        if self.has_opened() {
            return Err(kept_out());
        }
        let deadline = self.driver.host().now() + patience + STANDS_STILL;
        self.watched.deadline.store(deadline.0, Ordering::Release);
        self.watched.steps.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// All words of the probe are open, and its streams may go on. Errors as for [`Opener::step`].
    pub(super) fn rest(&self) -> Result<()> {
        let _opening = lock(&self.watched.opening);
        self.watched.deadline.store(NONE, Ordering::Release);
        if self.has_opened() { Err(kept_out()) } else { Ok(()) }
    }

    /// Runs the probe, and again where another thread kept it out: then it has seen nothing.
    pub(super) fn in_turns<T>(&self, mut probe: impl FnMut() -> Result<T>) -> Result<T> {
        let (mut last, mut same) = (0, 0);
        for _ in 0..TURNS_MAX {
            self.watched.steps.store(0, Ordering::Relaxed);
            self.watched.has_opened.store(false, Ordering::Release);
            let seen = probe();
            if self.rest().is_ok() {
                return seen;
            }
            let step = self.watched.steps.load(Ordering::Relaxed);
            same = if step == last { same + 1 } else { 1 };
            last = step;
            if same == SAME_STEPS_MAX {
                break;
            }
        }
        Err(kept_out())
    }

    /// Whether words have been opened in this turn.
    fn has_opened(&self) -> bool {
        self.watched.has_opened.load(Ordering::Acquire)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.watched.has_ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join(self.driver.host());
        }
    }
}

impl Watched {
    fn watch(&self, host: &dyn Host, open: &dyn Fn()) {
        while !self.has_ended.load(Ordering::Acquire) {
            let deadline = self.deadline.load(Ordering::Acquire);
            let until = (deadline != NONE).then_some(Nanos(deadline));
            let mut has_news =
                || self.has_ended.load(Ordering::Acquire) || self.deadline.load(Ordering::Acquire) != deadline;
            if host.wait_until(until, &mut has_news) != Wait::Met {
                self.open(deadline, open);
                host.sleep(OPENS_EVERY);
            }
        }
    }

    fn open(&self, deadline: u64, open: &dyn Fn()) {
        let _opening = lock(&self.opening);
        if deadline != NONE && self.deadline.load(Ordering::Acquire) == deadline {
            self.has_opened.store(true, Ordering::Release);
            open();
        }
    }
}

fn kept_out() -> Error {
    let text = format!(
        "another thread's call, such as cuMemFree, waited for the device and kept this one out for {STANDS_STILL}, or \
         a tool has launches wait for their kernels; open the layer while no other thread frees memory or makes streams"
    );
    Code::LAUNCH_TIMEOUT.at("overtake probe").because(text)
}
