//! Workers: threads that take slots, check the bytes that have arrived, and start the next journey.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hal::locks::lock;
use hal::{Context, Driver, EventFlags, Nanos, Result};
use overtake::PriorityStream;

use super::chance::Chance;
use super::journey::Journey;
use super::kernel::Spin;
use super::slot::{PROVEN, Settled, Slot};
use super::tally::{Kind, Tallies};

/// The reason for ending a hunt early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A journey does not complete.
    Hung(String),
    /// A byte is wrong.
    WrongBytes(String),
    Failed(String),
}

/// The state that all threads of a hunt share.
pub struct Field {
    pub driver: Arc<dyn Driver>,
    /// The device's context.
    pub context: Context,
    /// The slots that no thread holds.
    pub slots: Mutex<Vec<Slot>>,
    /// The kernel between copies.
    pub spin: Spin,
    pub tallies: Tallies,
    /// The first finding, if there is one.
    pub finding: Mutex<Option<Finding>>,
    /// Set when no new journeys begin.
    pub stop: AtomicBool,
    /// The end of the hunt, in the device's time.
    pub end: Nanos,
    /// The most time for a journey; `None` if deadlocks are proven instead.
    pub patience: Option<Nanos>,
    pub levels: u64,
}

/// One journey in this many uses two slots.
const TOGETHER_ONE_IN: u64 = 6;

impl Field {
    /// Notes the first finding and stops all threads.
    pub fn found(&self, finding: Finding) {
        lock(&self.finding).get_or_insert(finding);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Whether anything was found.
    #[must_use]
    pub fn has_found(&self) -> bool {
        lock(&self.finding).is_some()
    }

    /// Whether to begin new journeys.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    fn take(&self, chance: &mut Chance) -> Option<Slot> {
        let mut slots = lock(&self.slots);
        let at = chance.below(slots.len() as u64) as usize;
        (!slots.is_empty()).then(|| slots.swap_remove(at))
    }

    fn put(&self, slot: Slot) {
        lock(&self.slots).push(slot);
    }

    /// Waits for a slot and checks its bytes. `false` when the hunt is over.
    pub fn settle(&self, slot: &mut Slot) -> bool {
        let deadline = self.patience.map(|patience| self.driver.host().now() + patience);
        match slot.settle(deadline) {
            Settled::Right(bytes) => {
                self.tallies.settle(bytes);
                return true;
            }
            Settled::Wrong(what) => self.found(Finding::WrongBytes(what)),
            Settled::Late => {
                let patience = self.patience.unwrap_or(Nanos::MAX);
                self.found(Finding::Hung(format!("a journey did not end within {:.0} s", patience.as_secs())));
            }
            Settled::Stuck => self.found(Finding::Hung(PROVEN.to_owned())),
        }
        false
    }

    /// Makes `later` wait for `earlier`, either through overtake or by a plain event.
    fn order(&self, is_told: bool, later: &PriorityStream, earlier: &PriorityStream) -> Result<()> {
        if is_told {
            self.tallies.count(Kind::Wait, 0);
            return later.wait_for(earlier);
        }
        self.tallies.count(Kind::Event, 0);
        let event = self.driver.event_create(EventFlags::DISABLE_TIMING)?;
        let ordered = self
            .driver
            .event_record(event, earlier.raw())
            .and_then(|()| self.driver.stream_wait_event(later.raw(), event));
        ordered.and(self.driver.event_destroy(event))
    }

    /// The loop of a worker.
    pub fn work(&self, mut chance: Chance) {
        if let Err(error) = self.driver.context_set_current(Some(self.context)) {
            return self.found(Finding::Failed(error.to_string()));
        }
        while self.goes_on() && self.driver.host().now() < self.end {
            let Some(mut slot) = self.take(&mut chance) else {
                self.driver.host().sleep(Nanos::from_us(20));
                continue;
            };
            let result = if self.settle(&mut slot) { self.send(&mut slot, &mut chance) } else { Ok(()) };
            self.put(slot);
            if let Err(error) = result {
                // In virtual time, a call that would block for ever returns an error instead. That is a hang and not
                // a failure.
                let text = error.to_string();
                let is_hang = text.contains("deadlock") || text.contains("never drain");
                return self.found(if is_hang { Finding::Hung(text) } else { Finding::Failed(text) });
            }
        }
    }

    fn send(&self, slot: &mut Slot, chance: &mut Chance) -> Result<()> {
        let other = if chance.one_in(TOGETHER_ONE_IN) { self.take(chance) } else { None };
        let Some(mut other) = other else {
            let journey = Journey::chosen(chance, slot.bytes(), self.levels);
            return slot.depart(&journey, &|stream, span_ns| self.spin.launch(stream, span_ns), &self.tallies);
        };
        let journey = Journey::chosen(chance, slot.bytes().min(other.bytes()), self.levels);
        let is_told = chance.one_in(2);
        let sent = if self.settle(&mut other) {
            let order = |later: &PriorityStream, earlier: &PriorityStream| self.order(is_told, later, earlier);
            slot.depart_with(&mut other, &journey, &order, &self.tallies)
        } else {
            Ok(())
        };
        self.put(other);
        sent
    }
}
