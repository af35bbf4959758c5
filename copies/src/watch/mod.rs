//! The watcher: one thread that sees copies complete, lowers words, rescues waiting copies, and enforces the bound on
//! starvation.
//!
//! It is given no driver, so it cannot call one: it reads words that streams write, and stores to words that streams
//! read. So it makes progress even while all other threads are stuck in the driver, which is when it is needed.
//! `README.md` in this folder describes its states and races.

mod beat;
mod engine;
mod sleep;

use std::sync::{Arc, Mutex};

use channels::attention::Attention;
use channels::breaker::{Breaker, Limits};
use channels::watchdog::RESCUES;
use hal::{Host, Nanos};
use priority::Direction;

use crate::records::{Burst, Hold, InFlight, Records};
use hal::locks::lock;
use options::Options;

use beat::Beat;
pub(crate) use beat::Call as BeatCall;
use engine::EngineWatch;

/// The time after an urgent copy in which the watcher does not sleep. While it is awake it keeps a processor busy.
const AWAKE: Nanos = Nanos::from_us(3000);

/// The time between its looks while copies are out. A word may stay up too long by as much. Urgent copies do not wake
/// the thread, because only bulk waits for their words meanwhile.
const NAP: Nanos = Nanos::from_us(50);

/// Watches until the bell of `records` ends the thread. Twice a second it makes the call `beat`.
pub(crate) fn watch(records: &Records, host: &dyn Host, options: &Options, beat: Option<BeatCall>) {
    records.bell.listen();
    let (mut watcher, mut beat) = (Watcher::new(records, host, options), Beat::new(beat, host.is_virtual()));
    loop {
        let rung = records.bell.count();
        watcher.take();
        watcher.look();
        if records.bell.has_ended() {
            return watcher.let_go();
        }
        beat.keep(watcher.looked_at);
        watcher.wait_for_news(rung, beat.due());
    }
}

/// The state of the thread.
struct Watcher<'a> {
    records: &'a Records,
    host: &'a dyn Host,
    /// The copies on their way to each engine, by direction.
    engines: [EngineWatch; Direction::COUNT],
    /// Bursts with a hold that is not over, and their holds at the last look.
    bursts: Vec<Arc<Mutex<Burst>>>,
    holds: Vec<[Hold; Direction::COUNT]>,
    looked_at: Nanos,
    /// Whether the host lets the thread look in time.
    attention: Attention,
    /// Open while the layer has stood down, after too many rescues of an engine.
    breaker: Breaker<{ Direction::COUNT }>,
    urgent_at: Nanos,
}

impl<'a> Watcher<'a> {
    fn new(records: &'a Records, host: &'a dyn Host, options: &Options) -> Watcher<'a> {
        let now = host.now();
        Direction::ALL.into_iter().for_each(|direction| records.traffic(direction).is_urgent(now));
        Watcher {
            records,
            host,
            engines: Direction::ALL.map(|direction| {
                let bank = &records.standing.banks()[direction.index()];
                EngineWatch::new(direction, bank, options, now)
            }),
            bursts: Vec::new(),
            holds: Vec::new(),
            looked_at: now,
            attention: Attention::default(),
            breaker: Breaker::new(Limits { failures_max: options.profile.rescues_max, ..RESCUES }, now),
            urgent_at: Nanos::ZERO,
        }
    }

    /// Takes the copies and bursts that were handed over.
    fn take(&mut self) {
        let engines = &mut self.engines;
        let flight = |flight: InFlight| engines[flight.direction.index()].flights.push(flight);
        self.records.hand_out(flight, &mut self.bursts);
    }

    fn is_raised(&self) -> bool {
        self.engines.iter().any(|engine| engine.bank.is_raised())
    }

    fn flights(&self) -> impl Iterator<Item = &InFlight> {
        self.engines.iter().flat_map(|engine| &engine.flights)
    }

    /// The time from the last look until the copies without fences are complete, by engine.
    fn expected_in_bursts(&self) -> [Nanos; Direction::COUNT] {
        Direction::ALL.map(|direction| {
            let holds = self.holds.iter().map(|holds| holds[direction.index()].expected(self.looked_at));
            holds.fold(Nanos::ZERO, |sum, expected| sum + expected)
        })
    }

    /// Sleeps until a fence is done, the bell rings, a word goes up, a decision is due, or the given time has come.
    fn wait_for_news(&mut self, rung: u64, at_latest: Nanos) {
        let in_bursts = self.expected_in_bursts();
        let decisions = self.engines.iter().map(|engine| engine.deadline(in_bursts));
        let holds = self.holds.iter().flatten().map(|hold| hold.deadline(self.looked_at));
        let deadline = decisions.chain(holds).chain(self.breaker.open_until()).fold(at_latest, Nanos::min);
        let (raised, fences) = (self.is_raised(), &self.records.fences);
        let mut news = || {
            self.records.bell.count() != rung
                || self.flights().any(|flight| flight.has_news(fences))
                || self.holds.iter().flatten().any(|hold| hold.has_news(fences))
                || (!raised && self.is_raised())
                || Direction::ALL.into_iter().any(|direction| self.records.traffic(direction).has_passed())
        };
        let is_watching = !self.bursts.is_empty() || self.flights().next().is_some();
        let nap = if is_watching { NAP } else { sleep::NAP_IDLE };
        let awake_until = self.urgent_at + AWAKE;
        let nap_at = |now| if now < awake_until { Nanos::ZERO } else { nap };
        let mut attention = self.attention;
        sleep::sleep(&self.records.bell, self.host, deadline, nap_at, &mut news, &mut attention);
        self.attention = attention;
    }

    /// Ends completed copies, then decides.
    fn look(&mut self) {
        let now = self.host.now();
        self.looked_at = now;
        for engine in self.engines.iter().filter(|engine| engine.is_urgent()) {
            self.records.traffic(engine.direction).is_urgent(now);
            self.urgent_at = now;
        }
        Direction::ALL.into_iter().for_each(|direction| self.records.traffic(direction).note_passed(now));
        self.note_readiness(now);
        self.note_completions(now);
        let in_bursts = self.expected_in_bursts();
        self.engines.iter_mut().for_each(|engine| engine.doubt(&self.records.standing, in_bursts, now));
        if self.breaker.close_if_over(now) {
            self.records.resume();
            log::warn!("copies have priorities again, after the pause that an earlier message explains");
        }
        for engine in 0..self.engines.len() {
            self.engines[engine].keep_lull(self.records, now);
            self.engines[engine].keep_share(now);
            self.rescue(engine, now);
        }
    }

    /// Raises for all copies that have become schedulable. It comes before any word is lowered, so that between two
    /// copies of a burst the word never reads 0.
    fn note_readiness(&mut self, now: Nanos) {
        let Records { standing, fences, .. } = self.records;
        for flight in self.engines.iter_mut().flat_map(|engine| &mut engine.flights) {
            flight.end_boosts(standing, fences);
            flight.note_readiness(standing, fences);
        }
        self.bursts.iter().for_each(|burst| lock(burst).note_readiness(standing, fences, now));
    }

    fn note_completions(&mut self, now: Nanos) {
        let (records, engines, holds) = (self.records, &mut self.engines, &mut self.holds);
        engines.iter_mut().for_each(|engine| engine.land(records, now));
        holds.clear();
        self.bursts.retain(|burst| {
            let left = lock(burst).settle(&records.standing, now, |engine| engines[engine].completed += 1);
            holds.extend(left);
            left.is_some()
        });
    }

    fn rescue(&mut self, engine: usize, now: Nanos) {
        let in_bursts = self.expected_in_bursts();
        let watch = &mut self.engines[engine];
        if !watch.rescue(&self.records.standing, in_bursts, now) {
            return;
        }
        let rescues = watch.rescues();
        // A rescue on a starved host tells nothing of the device.
        let pause = if self.attention.is_starved(now) { None } else { self.breaker.fail(engine, now) };
        match pause {
            None => log::debug!("no copy made progress while bulk waited, so bulk goes on ({rescues} such rescues)"),
            Some(pause) => {
                self.records.stand_down();
                log::warn!(
                    "stood down to plain copies, without priorities, for {:.0} s after {rescues} rescues: no copy made \
                     progress while bulk waited, most likely because bulk and the urgent copy share a hardware queue. \
                     CUDA_DEVICE_MAX_COPY_CONNECTIONS=8 gives more queues.",
                    pause.as_secs()
                );
            }
        }
        self.records.counters.rescues.add(1);
    }

    /// The layer is closing: opens all words and gives up all copies.
    fn let_go(&mut self) {
        let records = self.records;
        records.standing.open_all();
        let (flights, bursts) = records.close();
        let known = self.engines.iter_mut().flat_map(|engine| engine.flights.drain(..));
        known.chain(flights).for_each(|flight| records.abandon(flight));
        self.bursts.drain(..).chain(bursts).for_each(|burst| lock(&burst).abandon(&records.standing));
    }
}
