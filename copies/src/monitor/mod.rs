//! The monitor: one thread that watches completions, lowers words, rescues, and keeps the starvation bound.
//!
//! It never calls the driver: it reads words that streams write and stores to words that streams read. So it makes
//! progress while every other thread is stuck inside the driver, which is when it is needed. `README.md` beside this
//! file tells its life.

mod bell;
mod flight;
mod ring;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use channels::attention::Attention;
use channels::retreat::Retreat;
use channels::share::Share;
use channels::watchdog::{Observation, Patience, Verdict, Watchdog};
use hal::{Driver, Error, Host, HostThread, Nanos, Result};
use semaphores::{Bank, Layout, Priority};

use crate::hold::Outlook;
use crate::lock::lock;
use crate::loss::Loss;
use crate::options::Options;
use crate::persist::persist;
use crate::run::{Ride, Run, Tell};
use crate::statistics::Counters;
use crate::trace::Trace;

use bell::{Bell, Vigil};
pub(crate) use flight::{Flight, Lift};
pub(crate) use ring::{Ring, Ticket};

/// Copies on their way to the monitor; only while there is one.
#[derive(Default)]
struct Inbox {
    open: bool,
    flights: Vec<Flight>,
    runs: Vec<Arc<Run>>,
}

/// Why no word is raised: it has gone wrong too often, the layer has left the context, or copies have been lost.
const STOOD_DOWN: u8 = 1;
const LEFT: u8 = 2;
const LOST: u8 = 4;

/// What submitters and the monitor share.
pub(crate) struct Shared {
    pub(crate) ring: Ring,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
    banks: Vec<Arc<Bank>>,
    inbox: Mutex<Inbox>,
    bell: Bell,
    stop: AtomicBool,
    standing: AtomicU8,
    loss: Loss,
}

impl Shared {
    pub(crate) fn new(ring: Ring, counters: Counters, trace: Trace, banks: Vec<Arc<Bank>>) -> Shared {
        Shared {
            ring,
            counters,
            trace,
            banks,
            inbox: Mutex::default(),
            bell: Bell::default(),
            stop: AtomicBool::new(false),
            standing: AtomicU8::new(0),
            loss: Loss::default(),
        }
    }

    /// Hands a copy over to be watched until it has completed.
    pub(crate) fn watch(&self, flight: Flight) {
        let urgent = flight.raises;
        let mut inbox = lock(&self.inbox);
        if !inbox.open {
            // The shim has been closed meanwhile, and nobody would lower for it any more.
            drop(inbox);
            return flight.abandon();
        }
        inbox.flights.push(flight);
        drop(inbox);
        // Whoever is urgent does not wait for a thread to be woken: bulk that may be held up by his word keeps the
        // monitor looking.
        if urgent { self.bell.post() } else { self.bell.ring() }
    }

    /// The call of a copy without a ticket has returned; see [`Run::leave`].
    pub(crate) fn leave(&self, run: &Arc<Run>, ride: &Ride, failed: bool, now: Nanos) {
        match run.leave(ride, failed, now) {
            Tell::Nobody => {}
            Tell::Monitor => self.bell.post(),
            Tell::Newly => self.watch_run(run),
        }
    }

    #[cold]
    fn watch_run(&self, run: &Arc<Run>) {
        let mut inbox = lock(&self.inbox);
        if !inbox.open {
            drop(inbox);
            return run.abandon();
        }
        inbox.runs.push(Arc::clone(run));
        drop(inbox);
        self.bell.post();
    }

    /// Raises no word any more, and opens those that are up.
    pub(crate) fn stand_down(&self) {
        self.stand(STOOD_DOWN);
        self.counters.stood_down();
    }

    /// The same, because the layer ends here.
    pub(crate) fn leave_for_good(&self) {
        self.stand(LEFT);
    }

    /// Copies that have been accepted cannot be made. Every call fails from now on; see [`Shared::loss`].
    pub(crate) fn lose(&self, copies: u64, why: &Error) {
        self.loss.note(copies, why);
        self.stand(LOST);
    }

    /// The error of a context that has lost a copy.
    pub(crate) fn loss(&self) -> Result<()> {
        if self.standing.load(Ordering::SeqCst) & LOST == 0 { Ok(()) } else { self.loss.check() }
    }

    /// How many copies it has lost.
    pub(crate) fn lost(&self) -> u64 {
        self.loss.copies()
    }

    /// Words are raised again.
    fn resume(&self) {
        self.standing.fetch_and(!STOOD_DOWN, Ordering::SeqCst);
        self.counters.resumed();
    }

    fn stand(&self, why: u8) {
        self.standing.fetch_or(why, Ordering::SeqCst);
        self.banks.iter().for_each(|bank| {
            bank.open_all();
        });
    }

    /// Whether no word is raised any more, for whatever reason.
    pub(crate) fn is_passive(&self) -> bool {
        self.standing.load(Ordering::SeqCst) != 0
    }

    /// Whether that is because it has gone wrong.
    pub(crate) fn has_stood_down(&self) -> bool {
        self.standing.load(Ordering::SeqCst) & STOOD_DOWN != 0
    }
}

/// The monitor thread; ends when dropped.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    driver: Arc<dyn Driver>,
    thread: Option<HostThread<()>>,
}

impl Monitor {
    pub(crate) fn start(driver: &Arc<dyn Driver>, shared: &Arc<Shared>, options: &Options) -> Result<Monitor> {
        let (for_thread, thread_driver, options) = (Arc::clone(shared), Arc::clone(driver), options.clone());
        let thread = hal::spawn(driver, "overtake-monitor", move || {
            for_thread.bell.listen();
            let watch = || Watch::new(&for_thread, thread_driver.host(), &options).run();
            // What it had out is lost, and with it when to lower for it.
            persist(watch, || for_thread.stand_down());
        })?;
        // Not before: what is handed over has to be seen to.
        lock(&shared.inbox).open = true;
        Ok(Monitor { shared: Arc::clone(shared), driver: Arc::clone(driver), thread: Some(thread) })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.bell.ring();
        if let Some(thread) = self.thread.take() {
            thread.join(self.driver.host());
        }
    }
}

/// What the monitor knows of one engine.
struct Engine {
    /// Its place in every list of engines.
    index: usize,
    bank: Arc<Bank>,
    watchdog: Watchdog,
    /// The same for words at which nobody stands: opened quietly, and only after a long time. What raised them will
    /// never complete.
    stale: Watchdog,
    shares: Vec<(Priority, Share, bool)>,
    completed: u64,
}

/// A run with something to be seen about it, and what, as of the last look: for each engine, in the order of the banks.
struct Watched {
    run: Arc<Run>,
    outlooks: [Outlook; 2],
}

impl Watched {
    fn has_news(&self, ring: &Ring) -> bool {
        self.outlooks.iter().any(|outlook| outlook.ticket.is_some_and(|ticket| ring.is_done(ticket)))
    }

    fn deadline(&self) -> Nanos {
        let [to_device, to_host] = &self.outlooks;
        to_device.deadline.min(to_host.deadline)
    }
}

/// What is on its way.
#[derive(Default)]
struct Out {
    flights: Vec<Flight>,
    runs: Vec<Watched>,
}

/// The monitor's own state.
struct Watch<'a> {
    shared: &'a Shared,
    host: &'a dyn Host,
    guarded: bool,
    engines: Vec<Engine>,
    /// Whether the host lets it look when it wants to.
    attention: Attention,
    /// When words are raised again after it has gone wrong too often.
    retreat: Retreat,
    out: Out,
    urgent_at: Nanos,
    /// For how long after an urgent copy it does not sleep.
    awake: Nanos,
    /// How long it sleeps between looks while copies are out.
    nap: Nanos,
    /// How long an urgent copy may take beyond what the engine needs for all that is pending, before it is doubted:
    /// what bulk may keep the engine, twice, and a host's hiccup.
    grace: Nanos,
}

impl<'a> Watch<'a> {
    fn new(shared: &'a Shared, host: &'a dyn Host, options: &Options) -> Watch<'a> {
        let now = host.now();
        let engine = |(index, bank): (usize, &Arc<Bank>)| Engine {
            index,
            bank: Arc::clone(bank),
            watchdog: Watchdog::new(options.patience, now),
            stale: Watchdog::new(patience_with_the_stale(options.patience), now),
            shares: waiters(bank).map(|level| (level, Share::new(options.share, now), false)).collect(),
            completed: 0,
        };
        let engines = shared.banks.iter().enumerate().map(engine).collect();
        let grace = Nanos::from_us(25) + options.blocking_max + options.blocking_max;
        Watch {
            grace,
            shared,
            host,
            guarded: options.watchdog,
            engines,
            attention: Attention::default(),
            retreat: Retreat::default(),
            out: Out::default(),
            urgent_at: Nanos::ZERO,
            awake: options.monitor_awake,
            nap: options.monitor_nap,
        }
    }

    fn run(&mut self) {
        loop {
            let rung = self.shared.bell.count();
            self.take();
            self.look();
            if self.shared.stop.load(Ordering::SeqCst) {
                return self.let_go();
            }
            self.wait_for_news(rung);
        }
    }

    /// Takes over what is new.
    fn take(&mut self) {
        let mut inbox = lock(&self.shared.inbox);
        self.out.flights.append(&mut inbox.flights);
        let fresh = inbox.runs.drain(..).map(|run| Watched { run, outlooks: [Outlook::NOTHING; 2] });
        self.out.runs.extend(fresh);
    }

    fn is_raised(&self) -> bool {
        self.engines.iter().any(|engine| engine.bank.is_raised())
    }

    /// Sleeps until a ticket is done, something is new, a word has gone up unseen or a decision is due.
    fn wait_for_news(&mut self, rung: u64) {
        let decisions = self.engines.iter().map(|engine| engine.deadline(&self.out, self.guarded));
        let doubts = self.engines.iter().map(|engine| engine.first_doubt(&self.out, self.grace));
        let others = self.out.runs.iter().map(Watched::deadline).chain(self.retreat.until());
        let deadline = decisions.chain(doubts).chain(others).min();
        let raised = self.is_raised();
        let ring = &self.shared.ring;
        let alarm = || {
            self.out.flights.iter().any(|flight| flight.has_news(ring))
                || self.out.runs.iter().any(|run| run.has_news(ring))
                || (!raised && self.is_raised())
        };
        let vigil = Vigil {
            alarm: &alarm,
            deadline: deadline.unwrap_or(Nanos::MAX),
            watching: !self.out.flights.is_empty() || !self.out.runs.is_empty(),
            awake_until: self.urgent_at + self.awake,
            nap: self.nap,
        };
        let mut attention = self.attention;
        self.shared.bell.wait(self.host, rung, &vigil, &mut attention);
        self.attention = attention;
    }

    /// Takes note of what completed, then decides.
    fn look(&mut self) {
        let now = self.host.now();
        if self.out.flights.iter().any(|flight| flight.raises) || self.is_raised() {
            self.urgent_at = now;
        }
        let (shared, engines, out) = (self.shared, &mut self.engines, &mut self.out);
        // All raises before all lowers: between two copies of a run the word never reads 0.
        for flight in &mut out.flights {
            flight.end_lifts(&shared.ring);
            flight.note_readiness(&shared.ring, shared.is_passive());
        }
        out.runs.iter().for_each(|watched| watched.run.note_readiness(shared, now));
        for flight in &mut out.flights {
            if flight.land(shared, now)
                && let Some(engine) = engines.iter_mut().find(|engine| Arc::ptr_eq(&engine.bank, &flight.bank))
            {
                engine.completed += 1;
            }
        }
        out.flights.retain(|flight| !flight.is_over());
        out.runs.retain_mut(|watched| {
            let outlooks = watched.run.settle(now, |index| engines[index].completed += 1);
            outlooks.inspect(|outlooks| watched.outlooks = *outlooks).is_some()
        });
        self.doubt(now);
        if self.retreat.end_if_over(now) {
            self.shared.resume();
            log::warn!("copies are prioritised again, after a pause: see the message before about why it was made");
        }
        for index in 0..self.engines.len() {
            self.engines[index].keep_share(now);
            if self.guarded {
                self.watch(index, now);
            }
        }
    }

    fn watch(&mut self, index: usize, now: Nanos) {
        let engine = &mut self.engines[index];
        match engine.watch(now, self.attention.is_starved(now), &self.out) {
            Verdict::Fine => return,
            Verdict::Rescue => {
                engine.bank.open_all();
            }
            Verdict::StandDown => {
                self.shared.stand_down();
                let (rescues, pause) = (engine.watchdog.rescues(), self.retreat.begin(now));
                log::warn!(
                    "stood down to plain copies for {:.0} s, after {rescues} rescues: copies waited on a hardware \
                     queue that their releaser shares. `overtake info` shows the queues; \
                     CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 gives more.",
                    pause.as_secs()
                );
            }
        }
        self.shared.counters.rescued();
    }

    /// Lowers what was raised for copies that were not schedulable after all.
    fn doubt(&mut self, now: Nanos) {
        for engine in &self.engines {
            let expected = engine.expected(&self.out);
            let late = |flight: &&mut Flight| {
                Arc::ptr_eq(&flight.bank, &engine.bank) && flight.doubt_at(expected, self.grace) <= now
            };
            for flight in self.out.flights.iter_mut().filter(late) {
                flight.doubt();
                self.out.runs.iter().for_each(|watched| watched.run.doubt(flight.landing));
            }
        }
    }

    /// The shim is closing: whatever is still out is let through.
    fn let_go(&mut self) {
        self.engines.iter().for_each(|engine| {
            engine.bank.open_all();
        });
        lock(&self.shared.inbox).open = false;
        self.take();
        self.out.flights.drain(..).for_each(Flight::abandon);
        self.out.runs.drain(..).for_each(|watched| watched.run.abandon());
    }
}

impl Engine {
    /// How long the copies that hold others off here will take yet.
    fn expected(&self, out: &Out) -> Nanos {
        let ours = out.flights.iter().filter(|flight| Arc::ptr_eq(&flight.bank, &self.bank) && flight.is_pending());
        let flights = ours.fold(Nanos::ZERO, |sum, flight| sum + flight.expected);
        out.runs.iter().fold(flights, |sum, watched| sum + watched.outlooks[self.index].expected)
    }

    fn first_doubt(&self, out: &Out, grace: Nanos) -> Nanos {
        let expected = self.expected(out);
        let ours = out.flights.iter().filter(|flight| Arc::ptr_eq(&flight.bank, &self.bank));
        ours.map(|flight| flight.doubt_at(expected, grace)).min().unwrap_or(Nanos::MAX)
    }

    fn deadline(&self, out: &Out, guarded: bool) -> Nanos {
        if !self.bank.is_raised() && !self.shares.iter().any(|(_, _, exempt)| *exempt) {
            return Nanos::MAX;
        }
        let shares = self.shares.iter().map(|(_, share, _)| share.deadline());
        let rescue = if guarded { self.watchdog.deadline(self.expected(out)) } else { Nanos::MAX };
        shares.fold(rescue, Nanos::min)
    }

    fn keep_share(&mut self, now: Nanos) {
        for (level, share, was_exempt) in &mut self.shares {
            // The word and not the count: the monitor looks all the time, and the ledger's lock belongs to submitters.
            let exempt = share.step(now, self.bank.gate_word(*level) != 0);
            if exempt != *was_exempt {
                *was_exempt = exempt;
                self.bank.set_exempt(*level, exempt);
            }
        }
    }

    /// A word that is up is no trouble as long as nobody stands at it: an urgent copy may well take long for other
    /// reasons.
    fn watch(&mut self, now: Nanos, starved: bool, out: &Out) -> Verdict {
        let (raised, expected, completed) = (self.bank.is_raised(), self.expected(out), self.completed);
        let seen = Observation { now, raised, completed, expected, starved };
        if self.stale.step(seen) != Verdict::Fine {
            self.bank.open_all();
        }
        let is_held = |flight: &Flight| Arc::ptr_eq(&flight.bank, &self.bank) && flight.is_held();
        let raised = out.flights.iter().any(is_held);
        self.watchdog.step(Observation { raised, ..seen })
    }
}

/// Words at which nobody stands do no harm until somebody comes.
fn patience_with_the_stale(patience: Patience) -> Patience {
    Patience { rescue_after: Nanos(patience.rescue_after.0.saturating_mul(20)), rescues_max: u32::MAX }
}

/// The priorities that may have to wait for somebody.
fn waiters(bank: &Bank) -> impl Iterator<Item = Priority> + use<> {
    let priorities = bank.priorities();
    priorities.iter().filter(move |priority| *priority < priorities.highest())
}
