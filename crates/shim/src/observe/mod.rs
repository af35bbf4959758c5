//! Watches the program's copies, so that a report can say whether overtake would help: `OVERTAKE_OBSERVE=only` leaves
//! all copies to the driver, and `also` watches beside the layer's work.
//!
//! | file | content |
//! |---|---|
//! | `streams.rs` | the streams that copy, with their counts |
//! | `directions.rs` | the directions of copies that do not name theirs |
//! | `link.rs` | the bulk in flight on an engine, by estimate |
//! | `waits.rs` | waits of the program, and the urgent copies that they end |
//! | `sites.rs`, `python.rs` | the calls that blocked for long, and where they are in the program |
//!
//! A copy costs two readings of the clock and a dozen atomic additions. It takes no lock and allocates nothing, and the
//! device is given no work.

mod directions;
mod link;
mod python;
mod sites;
mod streams;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use copies::Priority;
use copies::options::Automatic;
use hal::{CaptureStatus, Driver, MemoryKind, Nanos};

use crate::call::Call;
use crate::choice::thread_priority;
use crate::demand::Rank;
use crate::observed::Observed;
use crate::process::Process;
use crate::rules::Decision;
use crate::streams::Anywhere;

use directions::Directions;
use link::Link;
use sites::{Sites, Stall};
use streams::{Before, Pending, Slot, Streams, add};
pub use waits::Waiting;
use waits::Waits;
pub(crate) use waits::{context_awaited, event_awaited, event_recorded, stream_awaited, stream_works};

/// The variable that turns it on.
pub(crate) const VARIABLE: &str = "OVERTAKE_OBSERVE";

/// The number of devices whose engines are told apart.
const DEVICES: usize = 16;

/// Copies of this size and more can give way, and are asked for the kind of their memory.
const LARGE_BYTES: u64 = 1 << 20;

/// One smaller copy in so many is asked for it.
const ASK_EVERY: u64 = 16;

/// A call that blocks for so long is noted with its place in the program.
const STALL: Nanos = Nanos::from_ms(1);

/// The mode: each copy asks.
static MODE: AtomicU8 = AtomicU8::new(Mode::Off as u8);

/// Whether copies are watched.
#[inline]
pub(crate) fn is_on() -> bool {
    MODE.load(Ordering::Relaxed) != Mode::Off as u8
}

/// Whether nothing else is done with them.
pub(crate) fn is_all() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Only as u8
}

/// Whether copies are watched, for hooks of calls that otherwise concern nobody.
#[inline]
#[must_use]
pub fn watches() -> bool {
    is_on()
}

/// What the drop-in does beside watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It does not watch.
    #[default]
    Off,
    /// Nothing else.
    Only,
    /// All else.
    Also,
}

impl Mode {
    /// The mode of a value of the variable.
    pub(crate) fn from_text(text: &str) -> Option<Mode> {
        match text {
            "" | "off" => Some(Mode::Off),
            "only" => Some(Mode::Only),
            "also" => Some(Mode::Also),
            _ => None,
        }
    }
}

/// All that has been seen in this process.
pub(crate) struct Observer {
    mode: Mode,
    streams: Streams,
    directions: Directions,
    links: [[Link; 2]; DEVICES],
    others: AtomicU64,
    /// Whether the driver has been looked for: where it does not open, no copy looks again.
    has_looked: AtomicBool,
    began: AtomicU64,
    ended: AtomicU64,
    waits: Waits,
    sites: Sites,
}

/// A copy whose call is under way.
struct Sight<'a> {
    driver: &'a dyn Driver,
    place: usize,
    slot: &'a Slot,
    engine: usize,
    bytes: u64,
    is_pageable: Option<bool>,
    rank: Option<Rank>,
    in_the_way: Nanos,
    began: Nanos,
}

impl Observer {
    pub(crate) fn new(mode: Mode) -> Option<Observer> {
        MODE.store(mode as u8, Ordering::Relaxed);
        (mode != Mode::Off).then(|| Observer {
            mode,
            streams: Streams::new(),
            directions: Directions::default(),
            links: [const { [const { Link::new() }; 2] }; DEVICES],
            others: AtomicU64::new(0),
            has_looked: AtomicBool::new(false),
            began: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            waits: Waits::default(),
            sites: Sites::default(),
        })
    }

    #[cold]
    fn open<'a>(&self, process: &'a Process) -> Option<&'a Arc<dyn Driver>> {
        if self.has_looked.swap(true, Ordering::Relaxed) {
            return None;
        }
        let opened = process.driver();
        opened.inspect_err(|error| log::warn!("copies are not watched, because no driver opens: {error}")).ok()
    }

    fn link(&self, slot: &Slot, engine: usize) -> &Link {
        let device = usize::try_from(slot.device.load(Ordering::Relaxed)).unwrap_or(0);
        &self.links[device % DEVICES][engine % 2]
    }

    /// The program gives the copies of a stream a priority.
    fn give(&self, which: &Anywhere, priority: Option<Priority>) {
        self.streams.find(which.number()).into_iter().for_each(|(_, slot)| slot.give(priority));
    }

    /// A stream is about to end.
    pub(crate) fn stream_going(&self, which: &Anywhere) {
        self.streams.find(which.number()).into_iter().for_each(|(_, slot)| slot.renew());
    }

    /// All calls of copies so far that were left to the driver, if all are, and the bytes that have crossed a link.
    pub(crate) fn left_alone(&self) -> Option<(u64, u64)> {
        if self.mode != Mode::Only {
            return None;
        }
        let engines = self.streams.engines();
        let copies = engines.iter().map(|engine| engine.copies + engine.captured).sum::<u64>();
        let bytes = engines.iter().map(|engine| engine.bytes).sum();
        Some((copies + self.others.load(Ordering::Relaxed), bytes)).filter(|(copies, _)| *copies > 0)
    }

    /// What was seen so far.
    pub(crate) fn figures(&self) -> Observed {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut seen = Observed {
            only: self.mode == Mode::Only,
            engines: self.streams.engines(),
            other_copies: load(&self.others),
            waits: self.waits.figures(),
            blocked_in_waits_us: load(&self.waits.blocked_ns) / 1_000,
            blocked_by_kernels_us: load(&self.waits.by_kernels_ns) / 1_000,
            span_us: load(&self.ended).saturating_sub(load(&self.began)) / 1_000,
            ..Observed::default()
        };
        self.sites.add_to(&mut seen);
        seen
    }
}

/// A stream that copies for the first time.
fn begin_slot(slot: &Slot, driver: &dyn Driver, call: &Call<'_>) {
    let device = driver.context_device().map_or(0, |device| device.0);
    slot.device.store(device, Ordering::Relaxed);
    if !call.stream.is_default() {
        let least = driver.priority_range().map_or(0, |range| range.least);
        let own = driver.stream_priority(call.stream).unwrap_or(least);
        slot.cuda_priority.store(own.saturating_sub(least).min(0), Ordering::Relaxed);
    }
}

/// The rank that overtake gives a copy, and whether that follows from a priority rather than from demand or size.
fn rank(
    process: &Process,
    call: &Call<'_>,
    slot: &Slot,
    named: Option<Priority>,
    bytes: u64,
    now: Nanos,
) -> (Option<Rank>, bool) {
    let of = |priority: Priority| if priority == Priority::LOWEST { Rank::Bulk } else { Rank::First };
    if let Some(said) = named.or_else(thread_priority).or_else(|| slot.given()) {
        return (Some(of(said)), true);
    }
    let cuda_priority = Some(slot.cuda_priority.load(Ordering::Relaxed)).filter(|own| *own < 0);
    if process.has_rules.load(Ordering::Relaxed)
        && let Some(decision) = process.decide_by_rules(call, bytes, cuda_priority)
    {
        return match decision {
            Decision::At(priority) => (Some(of(priority)), true),
            Decision::Pass => (None, false),
        };
    }
    if cuda_priority.is_some() {
        return (Some(Rank::First), true);
    }
    let options = &process.settings.options;
    let rank = match options.automatic {
        Automatic::Off => None,
        Automatic::Size if bytes >= options.bulk_bytes_min => Some(Rank::Bulk),
        Automatic::Size => Some(Rank::First),
        Automatic::Demand => Some(slot.meter.charge(process.rule, now, bytes)),
    };
    (rank, false)
}

impl Process {
    /// The program gives the copies of a stream a priority. Before its first copy nothing is known of the stream.
    pub(crate) fn observed_priority(&self, stream: hal::Stream, priority: Option<Priority>) {
        let Some(observer) = &self.observer else { return };
        if let Ok(which) = Anywhere::of(stream, || self.current_context()) {
            observer.give(&which, priority);
        }
    }

    /// Watches a call that copies. `make` makes it.
    #[inline(never)] // off in most processes
    pub(crate) fn observed<T>(&self, call: &Call<'_>, named: Option<Priority>, make: impl FnOnce() -> T) -> T {
        let sight = self.observer.as_ref().and_then(|observer| Some((observer, self.sight(observer, call, named)?)));
        let answer = make();
        if let Some((observer, sight)) = sight {
            observer.returned(&sight, call);
        }
        answer
    }

    /// The copy before its call. `None` if it is none that engines make one behind the other.
    fn sight<'a>(&'a self, observer: &'a Observer, call: &Call<'_>, named: Option<Priority>) -> Option<Sight<'a>> {
        let driver = &**self.driver.get().or_else(|| observer.open(self))?;
        let which = Anywhere::of(call.stream, || self.current_context()).ok();
        let Some((engine, which)) = observer.directions.engine_of(driver, call).zip(which) else {
            add(&observer.others, 1);
            return None;
        };
        let (place, slot) = observer.streams.slot(which.number(), |slot| begin_slot(slot, driver, call));
        let (tallies, bytes) = (&slot.tallies[engine], call.bytes());
        if self.captures.is_any() && driver.stream_capture_status(call.stream) == Ok(CaptureStatus::Active) {
            add(&tallies.captured, 1);
            return None;
        }
        let is_asked = bytes >= LARGE_BYTES || tallies.copies.load(Ordering::Relaxed) % ASK_EVERY == 0;
        let is_pageable = is_asked.then(|| is_pageable(driver, call, engine)).flatten();
        let began = driver.host().now();
        let (rank, by_priority) = rank(self, call, slot, named, bytes, began);
        let in_the_way = match rank {
            Some(Rank::First) => observer.link(slot, engine).in_the_way(place as u64, began),
            _ => Nanos::ZERO,
        };
        if by_priority && rank == Some(Rank::First) {
            add(&tallies.urgent_by_priority, 1);
        }
        if observer.began.load(Ordering::Relaxed) == 0 {
            observer.began.store(began.0, Ordering::Relaxed);
        }
        Some(Sight { driver, place, slot, engine, bytes, is_pageable, rank, in_the_way, began })
    }
}

/// Whether the memory on the host's side is not pinned.
fn is_pageable(driver: &dyn Driver, call: &Call<'_>, engine: usize) -> Option<bool> {
    let [target, source] = call.requests.first()?.addresses();
    let host = if engine == 0 { source } else { target };
    driver.pointer_kind(host).ok().map(|info| info.kind == MemoryKind::Pageable)
}

impl Observer {
    /// The call of a copy has returned.
    fn returned(&self, sight: &Sight<'_>, call: &Call<'_>) {
        let now = sight.driver.host().now();
        let blocked = now.since(sight.began);
        self.count(sight, blocked);
        // Another thread may write an earlier time last, by the length of a call.
        self.ended.store(now.0, Ordering::Relaxed);
        let is_blocking = call.native.is_blocking();
        match sight.rank {
            Some(Rank::First) => self.urgent(sight),
            Some(Rank::Bulk) => self.bulk(sight, is_blocking, blocked),
            None => sight.slot.bulk(),
        }
        if is_blocking {
            // The program has waited for it in the call.
            self.complete(sight.place, sight.slot, now, blocked);
        }
        if blocked >= STALL {
            self.sites.note(&Stall {
                blocked,
                bytes: sight.bytes,
                is_pageable: sight.is_pageable,
                is_blocking,
                is_behind: sight.in_the_way > Nanos::ZERO,
            });
        }
    }

    fn count(&self, sight: &Sight<'_>, blocked: Nanos) {
        let tallies = &sight.slot.tallies[sight.engine];
        add(&tallies.copies, 1);
        add(&tallies.bytes, sight.bytes);
        add(&tallies.blocked_ns, blocked.0);
        if blocked.0 > tallies.blocked_max_ns.load(Ordering::Relaxed) {
            tallies.blocked_max_ns.fetch_max(blocked.0, Ordering::Relaxed);
        }
        match sight.is_pageable {
            Some(true) if sight.bytes >= LARGE_BYTES => {
                add(&tallies.large_pageable, 1);
                add(&tallies.large_pageable_bytes, sight.bytes);
                add(&tallies.large_pageable_blocked_ns, blocked.0);
            }
            Some(is_pageable) if sight.bytes < LARGE_BYTES => {
                add(&tallies.small_asked, 1);
                add(&tallies.small_pageable, u64::from(is_pageable));
            }
            _ => {}
        }
    }

    fn urgent(&self, sight: &Sight<'_>) {
        let tallies = &sight.slot.tallies[sight.engine];
        add(&tallies.urgent, 1);
        let before = match sight.in_the_way {
            _ if sight.slot.is_busy() => Before::OwnWork,
            Nanos::ZERO => Before::Nothing,
            _ => Before::Bulk,
        };
        if sight.in_the_way > Nanos::ZERO {
            add(&tallies.behind, 1);
            add(&tallies.behind_ns, sight.in_the_way.0);
        }
        sight.slot.urgent(Pending::new(sight.began, before));
    }

    fn bulk(&self, sight: &Sight<'_>, is_blocking: bool, blocked: Nanos) {
        let tallies = &sight.slot.tallies[sight.engine];
        add(&tallies.bulk, 1);
        add(&tallies.bulk_bytes, sight.bytes);
        if sight.bytes >= LARGE_BYTES {
            add(&tallies.bulk_large_bytes, sight.bytes);
        }
        let link = self.link(sight.slot, sight.engine);
        link.bulk(sight.place as u64, sight.began, sight.bytes);
        if is_blocking || sight.is_pageable == Some(true) {
            link.called(sight.bytes, blocked);
        }
        sight.slot.bulk();
    }
}
