//! Waits of the program's threads. A wait that ends with an urgent copy as the last work of its stream tells how long
//! that copy took. The device is asked nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::locks::lock;
use hal::{Event, Nanos, Stream};
use hdrhistogram::Histogram;

use super::streams::{Before, Last, Pending, Slot, add};
use super::{Observer, is_on};
use crate::observed::{self, Spans};
use crate::process::{Process, process};
use crate::streams::Anywhere;

/// The number of events whose last record is known.
const EVENTS: usize = 256;

/// The lengths of waits are kept to three digits.
const DIGITS: u8 = 3;

/// All waits so far.
pub(super) struct Waits {
    pub(super) blocked_ns: AtomicU64,
    pub(super) by_kernels_ns: AtomicU64,
    after_own_work: AtomicU64,
    lengths: Mutex<Lengths>,
    events: [Record; EVENTS],
}

/// Those of urgent copies, in nanoseconds.
struct Lengths {
    behind: Histogram<u64>,
    alone: Histogram<u64>,
}

/// The last record of an event.
#[derive(Default)]
struct Record {
    event: AtomicU64,
    place: AtomicU64,
    /// The urgent copy before it, if that was the last work.
    pending: AtomicU64,
    /// The bulk copies of the stream so far.
    bulk: AtomicU64,
    is_behind_work: AtomicU64,
}

impl Default for Waits {
    fn default() -> Waits {
        let histogram = || Histogram::new(DIGITS).expect("three digits are fewer than five");
        Waits {
            blocked_ns: AtomicU64::new(0),
            by_kernels_ns: AtomicU64::new(0),
            after_own_work: AtomicU64::new(0),
            lengths: Mutex::new(Lengths { behind: histogram(), alone: histogram() }),
            events: std::array::from_fn(|_| Record::default()),
        }
    }
}

fn spans(histogram: &Histogram<u64>) -> Spans {
    let count = histogram.len();
    let at = |quantile| (count > 0).then(|| histogram.value_at_quantile(quantile) as f64 / 1e3);
    Spans {
        count,
        sum_us: histogram.mean() * count as f64 / 1e3,
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: histogram.max() as f64 / 1e3,
    }
}

impl Waits {
    pub(super) fn figures(&self) -> observed::Waits {
        let lengths = lock(&self.lengths);
        observed::Waits {
            behind: spans(&lengths.behind),
            alone: spans(&lengths.alone),
            after_own_work: self.after_own_work.load(Ordering::Relaxed),
        }
    }

    /// An urgent copy has ended, as far as the program can tell.
    pub(super) fn ended(&self, before: Before, took: Nanos) {
        let mut lengths = match before {
            Before::OwnWork => return add(&self.after_own_work, 1),
            Before::Bulk | Before::Nothing => lock(&self.lengths),
        };
        let histogram = if before == Before::Bulk { &mut lengths.behind } else { &mut lengths.alone };
        // It grows with its values, and refuses none.
        let _ = histogram.record(took.0.max(1));
    }

    fn record(&self, event: Event) -> &Record {
        let mixed = event.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.events[mixed as usize % EVENTS]
    }
}

/// The thing that a thread waits for.
#[derive(Clone, Copy, Debug)]
enum What {
    Stream(u64),
    Event(Event),
    Context,
}

/// A thread of the program waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    what: What,
    since: Nanos,
}

fn bulk_of(slot: &Slot) -> u64 {
    slot.tallies.iter().map(|tallies| tallies.bulk.load(Ordering::Relaxed)).sum()
}

impl Observer {
    /// All work of a stream is complete, and the program has waited for it.
    pub(super) fn complete(&self, place: usize, slot: &Slot, now: Nanos, waited: Nanos) {
        for engine in [0, 1] {
            self.link(slot, engine).complete(place as u64, now, waited);
        }
        let pending = slot.complete();
        pending.into_iter().for_each(|pending| self.urgent_ended(pending, now));
    }

    fn urgent_ended(&self, pending: Pending, now: Nanos) {
        self.waits.ended(pending.before(), now.since(pending.since()));
    }

    /// Returns whether the last work was no copy.
    fn stream_done(&self, number: u64, now: Nanos, waited: Nanos) -> bool {
        let Some((place, slot)) = self.streams.find(number) else { return true };
        let is_work = slot.last() == Last::Work;
        self.complete(place, slot, now, waited);
        is_work
    }

    fn context_done(&self, now: Nanos, waited: Nanos) -> bool {
        let mut is_work = false;
        for (place, slot) in self.streams.all() {
            is_work |= slot.last() == Last::Work;
            self.complete(place, slot, now, waited);
        }
        is_work
    }

    fn event_done(&self, event: Event, now: Nanos, waited: Nanos) -> bool {
        let record = self.waits.record(event);
        if record.event.load(Ordering::Acquire) != event.0 {
            return true;
        }
        let place = record.place.load(Ordering::Relaxed) as usize;
        let (slot, pending) = (self.streams.at(place), Pending(record.pending.load(Ordering::Relaxed)));
        if pending.0 != 0 {
            if slot.complete_to(pending) {
                self.urgent_ended(pending, now);
            }
            return false;
        }
        if record.bulk.load(Ordering::Relaxed) == bulk_of(slot) {
            for engine in [0, 1] {
                self.link(slot, engine).complete(place as u64, now, waited);
            }
        }
        record.is_behind_work.load(Ordering::Relaxed) != 0
    }
}

/// The observer with the state of the process, if it watches.
fn observer() -> Option<(&'static Process, &'static Observer)> {
    if !is_on() {
        return None;
    }
    let process = process()?;
    Some((process, process.observer.as_ref()?))
}

fn begin(what: impl FnOnce(&Process) -> Option<What>) -> Option<Waiting> {
    let (process, _) = observer()?;
    // Without a copy so far no driver is open, and no wait tells anything.
    let since = process.driver.get()?.host().now();
    Some(Waiting { what: what(process)?, since })
}

fn number_of(process: &Process, stream: Stream) -> Option<u64> {
    Anywhere::of(stream, || process.current_context()).ok().map(|which| which.number())
}

/// The calling thread is about to wait for a stream.
pub(crate) fn stream_awaited(stream: Stream) -> Option<Waiting> {
    begin(|process| number_of(process, stream).map(What::Stream))
}

/// The calling thread is about to wait for its context.
pub(crate) fn context_awaited() -> Option<Waiting> {
    begin(|_| Some(What::Context))
}

/// The calling thread is about to wait for an event.
pub(crate) fn event_awaited(event: Event) -> Option<Waiting> {
    begin(|_| Some(What::Event(event)))
}

/// An event is about to be recorded in a stream.
pub(crate) fn event_recorded(event: Event, stream: Stream) {
    let Some((process, observer)) = observer() else { return };
    let record = observer.waits.record(event);
    let known = number_of(process, stream).and_then(|number| observer.streams.find(number));
    let Some((place, slot)) = known else {
        let _none = record.event.compare_exchange(event.0, 0, Ordering::Relaxed, Ordering::Relaxed);
        return;
    };
    record.event.store(0, Ordering::Relaxed);
    record.place.store(place as u64, Ordering::Relaxed);
    record.pending.store(slot.pending().0, Ordering::Relaxed);
    record.bulk.store(bulk_of(slot), Ordering::Relaxed);
    record.is_behind_work.store(u64::from(slot.last() == Last::Work), Ordering::Relaxed);
    record.event.store(event.0, Ordering::Release);
}

/// Work that is no copy is about to enter a stream.
#[inline]
pub(crate) fn stream_works(stream: Stream) {
    let Some((process, observer)) = observer() else { return };
    let known = number_of(process, stream).and_then(|number| observer.streams.find(number));
    known.into_iter().for_each(|(_, slot)| slot.work());
}

impl Waiting {
    /// The wait has ended well.
    pub fn ended(self) {
        let Some((process, observer)) = observer() else { return };
        let Some(driver) = process.driver.get() else { return };
        let now = driver.host().now();
        let waited = now.since(self.since);
        let is_for_work = match self.what {
            What::Stream(number) => observer.stream_done(number, now, waited),
            What::Event(event) => observer.event_done(event, now, waited),
            What::Context => observer.context_done(now, waited),
        };
        add(&observer.waits.blocked_ns, waited.0);
        add(&observer.waits.by_kernels_ns, if is_for_work { waited.0 } else { 0 });
    }
}
