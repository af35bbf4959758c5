//! Guarded bulk copies: a copy kernel runs in a helper stream, and the copy engine replaces it if it finds no free
//! multiprocessor. `README.md` in this folder explains the protocol.

mod book;
mod callers;
mod carrier;
mod load;
mod opener;
mod probe;
mod prospect;
mod rescue;
mod scout;
mod submit;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use channels::attention::Attention;
use channels::breaker::{Breaker, Limits};
use hal::{Code, DevicePtr, Driver, Event, Host, Nanos, Result, Stream};
use semaphores::Words;
use threads::Bell;

use crate::findings::Findings;
use crate::kernel::{CopyKernel, Yield};
use crate::pool::Pool;
use crate::records::Records;
use hal::locks::lock;
use options::GuardOptions;

use crate::kernel::handshake::{self, Line};
pub use callers::Blocking;
use callers::{Callers, Inside};
use carrier::Carrier;
pub(crate) use carrier::Guarded;
pub(crate) use load::Load;
use probe::Gate;
use scout::Scout;

/// The take-overs that are borne.
const STRIKES: Limits = Limits { failures_max: 4, forgive_every: Nanos::from_ms(1_000) };

/// Closing waits this long for threads whose calls may keep all others out. A thread that is inside longer has its call
/// in another context, and waits for no work of this one: no thread may use a context during its destruction.
const COME_OUT_WITHIN: Nanos = Nanos::from_ms(20);

/// The reason why copies are not guarded where there are no carriers.
const ONE_QUEUE: &str = "bulk copies go by copy engine, unprioritised: all copies of a direction share one hardware \
                         queue, where a copy behind a bulk copy would keep out the rescue of the bulk copy. Set \
                         CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 before the program starts.";
const STANDS_STILL: &str = "the driver kept the test of a copy kernel waiting. A tool that has each launch wait for \
    its kernel does that, such as a profiler, and so does another thread that frees memory or makes streams.";

pub(crate) struct Guard {
    driver: Arc<dyn Driver>,
    records: Arc<Records>,
    kernel: Arc<CopyKernel>,
    events: Arc<Pool<Event>>,
    carriers: Vec<Carrier>,
    patience: Nanos,
    /// The take-overs that are not forgiven yet, and whether the host lets the rescuer look in time. A program that
    /// causes many runs better without guarded copies.
    strikes: Mutex<(Breaker<1>, Attention)>,
    given_up: AtomicBool,
    retreated: AtomicBool,
    /// The context is gone, and all copies with it.
    abandoned: AtomicBool,
    callers: Arc<Callers>,
    bell: Bell,
    /// A word of device memory that is always 0.
    spare: DevicePtr,
    // Dropped last: kernels write to these words.
    _words: Arc<Words>,
}

impl Guard {
    /// Makes the carriers in the current context. `None` if work that waits in one of their streams holds up all
    /// kernels: then no bulk copy may go by kernel.
    pub(crate) fn new(
        driver: &Arc<dyn Driver>,
        findings: &Findings,
        records: &Arc<Records>,
        kernel: &Arc<CopyKernel>,
        options: GuardOptions,
        yields: Yield,
        counters_from: u32,
    ) -> Result<Option<Guard>> {
        let count = u64::from(options.carriers());
        if count == 0 {
            log::warn!("{ONE_QUEUE}");
            return Ok(None);
        }
        let spare = count * handshake::WORDS;
        let gate = spare + 1;
        let words = Arc::new(Words::new(driver, gate + 1)?);
        let mut guard = Guard {
            driver: Arc::clone(driver),
            records: Arc::clone(records),
            kernel: Arc::clone(kernel),
            events: Arc::default(),
            carriers: Vec::new(),
            patience: options.patience,
            strikes: Mutex::new((Breaker::new(STRIKES, driver.host().now()), Attention::default())),
            given_up: AtomicBool::new(false),
            retreated: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            callers: Arc::default(),
            bell: Bell::default(),
            spare: words.device_address(spare),
            _words: Arc::clone(&words),
        };
        guard.events.provide(&**driver)?;
        let scout = Arc::new(Scout::new(driver)?);
        for index in 0..count {
            let Guard { events, callers, .. } = &guard;
            let made = Carrier::new(driver, records, kernel, events, callers, &scout, Line::new(&words, index))?;
            guard.carriers.push(made);
        }
        if let Some(complaint) = guard.try_out(findings, yields, &Gate::new(&words, gate))? {
            log::warn!("bulk copies go by copy engine, unprioritised: {complaint}");
            return Ok(None);
        }
        guard.carriers.iter().for_each(|carrier| carrier.skip_to(counters_from));
        Ok(Some(guard))
    }

    /// Tests the carriers. Returns their fault, if there is one.
    fn try_out(&self, findings: &Findings, yields: Yield, gate: &Gate) -> Result<Option<&'static str>> {
        for carrier in &self.carriers {
            if !carrier.try_out(yields)? {
                return Ok(Some("a copy kernel that was told not to copy did not say that it obeyed."));
            }
        }
        let probe = || probe::kernels_pass_waits(&self.driver, &self.carriers, &self.kernel, gate);
        let passes = match findings.kernels_pass(self.carriers.len(), probe) {
            Err(error) if error.code() == Code::LAUNCH_TIMEOUT => return Ok(Some(STANDS_STILL)),
            found => found?,
        };
        Ok((!passes).then_some(
            "all kernels share one hardware queue, so a copy kernel that waits for its turn would hold up every other \
             kernel. Unset CUDA_DEVICE_MAX_CONNECTIONS, or set it to 8 or more; guard_streams_max above 2 asks for \
             more.",
        ))
    }

    /// Whether copies may go this way.
    pub(crate) fn is_trusted(&self) -> bool {
        !self.given_up.load(Ordering::Relaxed) && !self.retreated.load(Ordering::Relaxed)
    }

    /// Lets no copy go this way any more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// The program has destroyed the stream of this handle.
    pub(crate) fn forget(&self, stream: Stream) {
        self.carriers.iter().for_each(|carrier| carrier.forget(stream));
    }

    /// Whether no copy is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.carriers.iter().all(Carrier::is_idle)
    }

    /// Whether the carriers' streams have no work left.
    pub(crate) fn is_drained(&self) -> bool {
        self.carriers.iter().all(Carrier::is_drained)
    }

    /// Finishes the copies that touch memory which will be freed in stream order: the copy engine refuses them
    /// afterwards. Calls the driver.
    pub(crate) fn let_go_of(&self, memory: Range<u64>) {
        self.stand_back(Some(&memory));
    }

    /// Gives copies that have not begun a little time, and has those taken over that are known to need the rescuer: all
    /// of them, or those that touch `memory`.
    fn stand_back(&self, memory: Option<&Range<u64>>) {
        let host = self.driver.host();
        let since = host.now();
        let suspects = lock(&self.strikes).0.unforgiven(0, since) > 0;
        for carrier in &self.carriers {
            while !carrier.stand_back(since, memory, suspects) {
                host.sleep(Nanos::from_us(5));
            }
        }
    }

    /// For a call that may wait inside the driver and keep all other threads out. While the returned value lives, no
    /// copy is guarded and no carrier is taken over. `with` runs the part that calls the driver.
    pub(crate) fn blocking(&self, with: impl FnOnce(&dyn Fn())) -> Blocking {
        let mut blocking = Blocking::come(&self.callers);
        if !self.is_idle() {
            with(&|| self.stand_back(None));
            blocking.enter(&self.callers, self.driver.host());
        }
        blocking
    }

    /// For a copy that the driver makes itself, which may wait there too. While the returned value lives, no carrier is
    /// taken over.
    #[inline(always)] // each copy that goes at once asks
    pub(crate) fn inside(&self) -> Inside<'_> {
        Inside::enter(&self.callers, || self.driver.host())
    }

    /// The same, for a caller that keeps no other part of the layer.
    pub(crate) fn inside_owned(&self) -> Blocking {
        let mut inside = Blocking::default();
        inside.enter(&self.callers, self.driver.host());
        inside
    }

    /// The rescuer: looks after copies under way until [`Guard::end`], and leaves none that needs a thread.
    pub(crate) fn look_after(&self, host: &dyn Host) {
        self.bell.listen();
        let mut again = None;
        while !self.bell.has_ended() {
            let seen = self.bell.count();
            again = self.look(host.now(), again);
            self.bell.wait(host, again, &mut || self.bell.count() != seen);
        }
        if !self.abandoned.load(Ordering::SeqCst) {
            self.close();
        }
    }

    /// The context has ended before the rescuer: it finishes no copy, and calls the driver no more.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
    }

    /// Asks the rescuer to end.
    pub(crate) fn end(&self) {
        self.bell.end();
    }

    /// Looks at all carriers. `at` is the time at which the rescuer wanted to look, if there was one. Returns the time
    /// of the next look, unless the bell rings before.
    fn look(&self, now: Nanos, at: Option<Nanos>) -> Option<Nanos> {
        let mut again = self.resume_in_time(now, at.unwrap_or(now));
        for carrier in &self.carriers {
            if carrier.take_over_if_overdue(now, self.patience) {
                log::debug!(
                    "a copy kernel found no multiprocessor for {}, so the copy engine replaces it",
                    self.patience
                );
                self.strike(now);
            }
            again = [again, carrier.look(now, self.patience)].into_iter().flatten().min();
        }
        again
    }

    /// Lets copies be guarded again when the pause is over. Returns the end of the pause, if it is not over.
    fn resume_in_time(&self, now: Nanos, wanted: Nanos) -> Option<Nanos> {
        let mut strikes = lock(&self.strikes);
        let (breaker, attention) = &mut *strikes;
        attention.look(now, wanted);
        let (ends, until) = (breaker.close_if_over(now), breaker.open_until());
        drop(strikes);
        if ends {
            self.retreated.store(false, Ordering::Relaxed);
            self.records.counters.resumptions.add(1);
            log::warn!("bulk copies go by kernel again, after the pause that an earlier message explains");
        }
        until
    }

    /// Counts a take-over. A program that causes many, because its kernels keep the multiprocessors, runs better
    /// without copy kernels for a while.
    fn strike(&self, now: Nanos) {
        let mut strikes = lock(&self.strikes);
        let (breaker, attention) = &mut *strikes;
        // On a starved host it tells nothing of the program.
        let pause = if attention.is_starved(now) { None } else { breaker.fail(0, now) };
        drop(strikes);
        let Some(pause) = pause else { return };
        self.retreated.store(true, Ordering::Relaxed);
        self.records.counters.stand_downs.add(1);
        log::warn!(
            "bulk copies go by copy engine for {:.0} s, unprioritised: {} times in a row the program's kernels \
             left no multiprocessor to a copy kernel for {}.",
            pause.as_secs(),
            STRIKES.failures_max,
            self.patience
        );
    }

    /// Takes no copies any more, and leaves none under way that needs a thread.
    fn close(&self) {
        let host = self.driver.host();
        let patience = host.now() + COME_OUT_WITHIN;
        // Cancelled copies find their maker within microseconds, unless the driver refuses: that ends too.
        while !self.carriers.iter().all(|carrier| carrier.close(host.now() >= patience)) {
            host.sleep(Nanos::from_us(20));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.carriers.iter_mut().for_each(Carrier::end);
        self.events.clear(&*self.driver);
    }
}
