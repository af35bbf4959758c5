//! The guarded way of a bulk copy: a copy kernel beside the application's stream, which the copy engine replaces where
//! the kernel finds no multiprocessor. `README.md` beside this file tells why and how.

mod book;
mod callers;
mod carrier;
mod handshake;
mod probe;
mod submit;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use channels::attention::Attention;
use channels::retreat::Retreat;
use hal::{Driver, Event, Host, Nanos, Result, Stream};
use semaphores::Words;

use crate::bell::Bell;
use crate::kernel::{CopyKernel, Yield};
use crate::options::GuardOptions;
use crate::pool::Pool;
use crate::records::Records;
use hal::locks::lock;

pub use callers::Blocking;
use callers::{Callers, Inside};
pub(crate) use carrier::Guarded;
use carrier::{Carrier, Notice, Tools};

/// After how many take-overs in a row no more copies are guarded; one a second is forgiven.
const TAKE_OVERS_MAX: u64 = 3;

/// How long somebody who is about to keep the rescuer out waits for a copy to become able to begin. Longer than that
/// its stream is busy with something else, and nothing says that its kernel will not begin after it.
const READY_WITHIN: Nanos = Nanos::from_us(200);

/// How long he then waits for it to begin. With a multiprocessor free that takes some microseconds.
const BEGINS_WITHIN: Nanos = Nanos::from_ms(1);

/// The same for somebody who frees in stream order, and expects to be through at once.
const LET_GO_WITHIN: Nanos = Nanos::from_us(50);

/// How long closing waits for threads whose calls may keep everybody out. One that is still inside then has its call in
/// another context, and waits for nothing of this one: nobody may use a context that goes.
const COME_OUT_WITHIN: Nanos = Nanos::from_ms(20);

/// The take-overs that are not forgiven yet.
#[derive(Default)]
struct Strikes {
    count: u64,
    last: Nanos,
    /// When copies are guarded again after there were too many.
    retreat: Retreat,
    /// Whether the host lets the rescuer look when it wants to.
    attention: Attention,
}

impl Strikes {
    /// One more; how many are unforgiven then.
    fn add(&mut self, now: Nanos) -> u64 {
        (self.count, self.last) = (self.unforgiven(now) + 1, now);
        self.count
    }

    fn unforgiven(&self, now: Nanos) -> u64 {
        self.count.saturating_sub(now.since(self.last).0 / Nanos::from_ms(1_000).0)
    }
}

/// What putting the carriers to the test came to.
enum Trial {
    Passed,
    OneQueue,
    Disobedient,
}

/// All carriers.
pub(crate) struct Guard {
    driver: Arc<dyn Driver>,
    records: Arc<Records>,
    kernel: Arc<CopyKernel>,
    events: Pool<Event>,
    carriers: Vec<Carrier>,
    patience: Nanos,
    strikes: Mutex<Strikes>,
    given_up: AtomicBool,
    retreated: AtomicBool,
    callers: Arc<Callers>,
    bell: Bell,
    // Dropped last: kernels write to these words.
    _words: Arc<Words>,
}

impl Guard {
    /// Makes the carriers in the current context. `None` where whatever waits in one of their streams holds up all
    /// kernels: then no bulk copy may go by kernel.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        records: &Arc<Records>,
        kernel: &Arc<CopyKernel>,
        options: GuardOptions,
        yields: Yield,
        counters_from: u32,
    ) -> Result<Option<Guard>> {
        let count = u64::from(options.streams_max.min(options.copy_queues.saturating_sub(1)));
        if count == 0 {
            log::warn!(
                "bulk copies go by copy engine, unprioritised: all copies of a direction share one hardware queue, and \
                 what stands there behind a bulk copy would keep a rescue of that copy out. Set \
                 CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 before the program starts."
            );
            return Ok(None);
        }
        let words = Arc::new(Words::new(driver, count * handshake::WORDS)?);
        let mut guard = Guard {
            driver: Arc::clone(driver),
            records: Arc::clone(records),
            kernel: Arc::clone(kernel),
            events: Pool::default(),
            carriers: Vec::new(),
            patience: options.patience,
            strikes: Mutex::default(),
            given_up: AtomicBool::new(false),
            retreated: AtomicBool::new(false),
            callers: Arc::default(),
            bell: Bell::default(),
            _words: Arc::clone(&words),
        };
        guard.events.provide(&**driver)?;
        for index in 0..count {
            guard.carriers.push(Carrier::new(driver, &words, index)?);
        }
        let complaint = match guard.try_out(yields)? {
            Trial::Passed => {
                guard.carriers.iter_mut().for_each(|carrier| carrier.skip_to(counters_from));
                return Ok(Some(guard));
            }
            Trial::OneQueue => {
                "all kernels share one hardware queue, so a copy kernel that waits for its turn would hold up every \
                 other kernel. Unset CUDA_DEVICE_MAX_CONNECTIONS, or set it to 8 or more; guard_streams_max above 2 \
                 asks for more."
            }
            Trial::Disobedient => "a copy kernel that was told not to copy did not say that it obeyed.",
        };
        log::warn!("bulk copies go by copy engine, unprioritised: {complaint}");
        Ok(None)
    }

    /// Puts the carriers to the test.
    fn try_out(&self, yields: Yield) -> Result<Trial> {
        for carrier in &self.carriers {
            if !carrier.try_out(&self.kernel, yields)? {
                return Ok(Trial::Disobedient);
            }
        }
        let passes = probe::kernels_pass_waits(&self.driver, &self.carriers, &self.kernel)?;
        Ok(if passes { Trial::Passed } else { Trial::OneQueue })
    }

    /// Whether copies may go this way.
    pub(crate) fn is_trusted(&self) -> bool {
        !self.given_up.load(Ordering::Relaxed) && !self.retreated.load(Ordering::Relaxed)
    }

    /// No copy goes this way any more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// The stream of that handle has gone.
    pub(crate) fn forget(&self, stream: Stream) {
        self.carriers.iter().for_each(|carrier| carrier.forget(stream));
    }

    /// Whether no copy is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.carriers.iter().all(|carrier| carrier.is_idle(&self.tools()))
    }

    /// Whether nothing is left in the carriers' streams.
    pub(crate) fn is_drained(&self) -> bool {
        self.carriers.iter().all(Carrier::is_drained)
    }

    /// Sees to the copies that touch memory which is about to be freed in stream order: the copy engine does not take
    /// them afterwards. Calls the driver.
    pub(crate) fn let_go_of(&self, memory: Range<u64>) {
        self.notify(Nanos::ZERO, LET_GO_WITHIN, Some(memory));
    }

    /// Gives copies that have not begun so much time, and sees to it that none of them is known to need the rescuer.
    fn notify(&self, ready_within: Nanos, begins_within: Nanos, memory: Option<Range<u64>>) {
        let host = self.driver.host();
        let since = host.now();
        let suspects = lock(&self.strikes).unforgiven(since) > 0;
        let notice = Notice { since, ready_within, begins_within, memory, suspects };
        for carrier in &self.carriers {
            while !carrier.stand_back(&notice, &self.tools()) {
                host.sleep(Nanos::from_us(5));
            }
        }
    }

    /// For a call that may wait inside the driver and keep everybody out: while what is returned lives no copy is
    /// guarded and nothing is taken over. `with` runs what calls the driver.
    pub(crate) fn blocking(&self, with: impl FnOnce(&dyn Fn())) -> Blocking {
        let mut blocking = Blocking::come(&self.callers);
        if !self.is_idle() {
            with(&|| self.notify(READY_WITHIN, BEGINS_WITHIN, None));
            blocking.enter(&self.callers, self.driver.host());
        }
        blocking
    }

    /// For a copy that the driver makes itself, which may wait there too: while what is returned lives nothing is taken
    /// over.
    pub(crate) fn inside(&self) -> Inside<'_> {
        Inside::enter(&self.callers, self.driver.host())
    }

    /// The same, kept by a caller that keeps nothing else of the layer.
    pub(crate) fn inside_owned(&self) -> Blocking {
        let mut inside = Blocking::default();
        inside.enter(&self.callers, self.driver.host());
        inside
    }

    fn tools(&self) -> Tools<'_> {
        Tools { events: &self.events, records: &self.records, kernel: &self.kernel, callers: &self.callers }
    }

    /// Looks after what is under way until [`Guard::end`], and sees to it that no copy needs that any more.
    pub(crate) fn look_after(&self, host: &dyn Host) {
        self.bell.listen();
        let mut again = None;
        while !self.bell.has_ended() {
            let seen = self.bell.count();
            again = self.look(host.now(), again);
            self.bell.wait(host, again, &mut || self.bell.count() != seen);
        }
        self.close();
    }

    /// The thread that looks after the copies shall end.
    pub(crate) fn end(&self) {
        self.bell.end();
    }

    /// Looks at all carriers; the rescuer had wanted to `at` that time, if at any. When to look again, if nobody rings
    /// before.
    fn look(&self, now: Nanos, at: Option<Nanos>) -> Option<Nanos> {
        let mut again = self.retry(now, at);
        for carrier in &self.carriers {
            let looked = carrier.look(now, self.patience, &self.tools());
            if looked.taken_over {
                self.strike(now);
            }
            again = [again, looked.again].into_iter().flatten().min();
        }
        again
    }

    /// Guards copies again when it is time to. When that is, if it is not yet.
    fn retry(&self, now: Nanos, wanted: Option<Nanos>) -> Option<Nanos> {
        let mut strikes = lock(&self.strikes);
        strikes.attention.look(now, wanted.unwrap_or(now));
        let (ends, until) = (strikes.retreat.end_if_over(now), strikes.retreat.until());
        drop(strikes);
        if ends {
            self.retreated.store(false, Ordering::Relaxed);
            self.records.counters.resumed();
            log::warn!("bulk copies go by kernel again, after a pause: see the message before about why it was made");
        }
        until
    }

    /// One more take-over. A program that keeps its multiprocessors that busy is better off without copy kernels, for a
    /// while. On a starved host it counts for nothing.
    fn strike(&self, now: Nanos) {
        let mut strikes = lock(&self.strikes);
        if strikes.attention.is_starved(now) {
            return;
        }
        let count = strikes.add(now);
        if count <= TAKE_OVERS_MAX || self.retreated.swap(true, Ordering::Relaxed) {
            return;
        }
        let pause = strikes.retreat.begin(now);
        drop(strikes);
        self.records.counters.stood_down();
        log::warn!(
            "bulk copies go by copy engine for {:.0} s, unprioritised: {count} times in a row the program's kernels \
             left no multiprocessor to a copy kernel for {}.",
            pause.as_secs(),
            self.patience
        );
    }

    /// Takes no copies any more, and sees to it that those under way do not need anybody.
    fn close(&self) {
        let host = self.driver.host();
        let patience = host.now() + COME_OUT_WITHIN;
        // What is not settled decides itself within microseconds, unless the driver refuses: that ends too.
        while !self.carriers.iter().all(|carrier| carrier.close(host.now() >= patience, &self.tools())) {
            host.sleep(Nanos::from_us(20));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        for carrier in &mut self.carriers {
            carrier.end(&self.events);
        }
        self.events.clear(&*self.driver);
    }
}
