//! What the copy layer knows of one stream.

use std::sync::{Arc, Mutex, OnceLock};

use hal::primitive::{AtomicBool, AtomicU64, Ordering};
use hal::{Nanos, Stream};
use priority::{Direction, Priority};
use threads::stream_lock::{Exclusive, Place, Within};

use crate::decide::Company;
use crate::inner::Inner;
use crate::records::{Ahead, Burst, Reservation, Traffic};

/// An urgent copy in a calm waits for one run of a stream: at the rate of a link, 80 us and its last copy.
pub(crate) const CALM_RUN_BYTES: u64 = 4 << 20;

/// The bulk behind the last one that is seen to end takes 300 us at the rate of a link, so no lull begins before it has
/// ended.
pub(crate) const SEEN_RUN_BYTES: u64 = 16 << 20;

/// The priorities with which other streams count on copies of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Announces {
    /// This one as long as the stream is open, and each that a request names, from that request on.
    Own(Priority),
    /// Each that a request names, from that request on. A request that names none is bulk.
    Requested,
    /// None: its owner holds expectations in place of that. A request that names no priority has this one.
    Nothing(Priority),
}

/// A stream in the copy layer. Handles of its copies keep it: they may ask it after its owner is dropped.
pub(crate) struct StreamState {
    pub(crate) stream: Stream,
    pub(crate) priority: Priority,
    pub(crate) burst: Arc<Mutex<Burst>>,
    /// Its shadow, once the stream has needed one and one was free.
    pub(crate) shadow: OnceLock<Stream>,
    /// Its place in the lock over streams, once that was asked for.
    place: OnceLock<Place>,
    pub(crate) ahead: Ahead,
    /// The priorities that need no announcement. They are reserved already, or the stream announces nothing.
    settled: Bits,
    /// Those that are reserved for this stream. A stream with a priority of its own has that for all engines from
    /// the start; requests add others.
    announced: Bits,
    /// Whether the engine has made a copy in it since the last guarded one.
    is_on_engine: AtomicBool,
    /// The bytes of its native bulk since the last of it with a word behind it.
    run: AtomicU64,
    owned: bool,
    is_quiet: bool,
    // Dropped last: the burst's words go back to the context that this field keeps.
    pub(crate) inner: Arc<Inner>,
}

impl StreamState {
    /// A stream of the layer's own is destroyed with the last handle.
    pub(crate) fn new(inner: &Arc<Inner>, stream: Stream, announces: Announces, owned: bool) -> StreamState {
        let (priority, settled) = match announces {
            Announces::Own(priority) => (priority, 0),
            Announces::Requested => (Priority::LOWEST, 0),
            Announces::Nothing(priority) => (priority, u64::MAX),
        };
        let state = StreamState {
            inner: Arc::clone(inner),
            stream,
            priority,
            burst: Arc::new(Mutex::new(Burst::new(inner.options.profile.fence_every))),
            shadow: OnceLock::new(),
            place: OnceLock::new(),
            ahead: Ahead::default(),
            settled: [settled, settled].map(AtomicU64::new),
            announced: Bits::default(),
            is_on_engine: AtomicBool::new(false),
            run: AtomicU64::new(0),
            owned,
            is_quiet: matches!(announces, Announces::Nothing(_)),
        };
        match announces {
            Announces::Own(priority) => {
                inner.managed().for_each(|direction| state.announce(direction, priority));
            }
            Announces::Requested => {}
            Announces::Nothing(priority) => {
                inner.managed().for_each(|direction| state.traffic(direction).open_quiet(priority));
            }
        }
        state
    }

    /// Whether other streams already count on copies of `priority` in this one, or never do.
    pub(crate) fn is_settled(&self, direction: Direction, priority: Priority) -> bool {
        word(&self.settled, direction).load(Ordering::Relaxed) & announcement(direction, priority) != 0
    }

    /// The company that a copy of `priority` in this stream meets on that engine; `None` if it meets none but its own.
    #[inline(always)] // as `Traffic::met`
    pub(crate) fn met(&self, direction: Direction, priority: Priority) -> Option<Company> {
        self.traffic(direction).met(priority, self.own(direction), self.stream)
    }

    #[inline(always)]
    fn traffic(&self, direction: Direction) -> &Traffic {
        self.inner.records.traffic(direction)
    }

    /// The priorities on an engine that are reserved for this stream.
    #[inline(always)]
    fn own(&self, direction: Direction) -> u32 {
        (word(&self.announced, direction).load(Ordering::Relaxed) >> half(direction)) as u32
    }

    /// Announces the priority of a request. From now on, and while the stream is open, other streams on that engine
    /// count on more such copies.
    pub(crate) fn announce(&self, direction: Direction, priority: Priority) {
        let bit = announcement(direction, priority);
        self.traffic(direction).announce(reservation(priority), word(&self.announced, direction), bit);
        word(&self.settled, direction).fetch_or(bit, Ordering::SeqCst);
    }

    /// The engine makes a copy in it.
    #[inline(always)]
    pub(crate) fn note_engine(&self) {
        self.is_on_engine.store(true, Ordering::Relaxed);
    }

    /// Whether the engine has made a copy in it since this was last asked.
    pub(crate) fn was_on_engine(&self) -> bool {
        self.is_on_engine.load(Ordering::Relaxed) && self.is_on_engine.swap(false, Ordering::Relaxed)
    }

    fn place(&self) -> Place {
        self.place.get().copied().unwrap_or_else(|| self.find_place())
    }

    #[cold]
    fn find_place(&self) -> Place {
        let (inner, context) = (&*self.inner, self.inner.context.raw());
        match Place::of(&*inner.driver, context, self.stream) {
            Ok(Some(place)) => *self.place.get_or_init(|| place),
            Ok(None) => Place::capturing(context, self.stream),
            Err(_) => {
                inner.records.counters.failed();
                Place::blocking(context, self.stream)
            }
        }
    }

    /// Makes a copy of the driver's own by one call, but not in the middle of a copy of another thread. The lock comes
    /// first: a thread that waits for it is not inside the driver.
    #[inline(always)] // as above
    pub(crate) fn natively<T>(&self, native: impl FnOnce() -> T) -> T {
        let inner = &*self.inner;
        let within = Within::of(inner.context.raw(), self.place.get());
        let _shared = inner.stream_lock.share(self.stream, within, || (self.place(), inner.driver.host()));
        inner.natively(native)
    }

    /// Keeps other threads out of the stream, for a copy of several calls. `None` if the copy has to go by one call.
    pub(crate) fn exclude_others(&self) -> Option<Exclusive<'_>> {
        self.inner.stream_lock.exclude(self.place(), self.inner.driver.host())
    }

    /// Counts a copy of native bulk. Whether so many bytes have gone without a word behind them that this copy needs
    /// one. A word behind each copy would cost those of 1 MiB a fifteenth of their speed.
    pub(crate) fn ends_run(&self, bytes: u64, run_bytes_max: u64) -> bool {
        let ends = self.run.fetch_add(bytes, Ordering::Relaxed) + bytes >= run_bytes_max;
        if ends {
            self.run.store(0, Ordering::Relaxed);
        }
        ends
    }

    /// The time at which a copy begins, if the option `trace` is on.
    #[inline(always)]
    pub(crate) fn began(&self) -> Option<Nanos> {
        self.inner.records.trace.is_on().then(|| self.inner.driver.host().now())
    }

    pub(crate) fn close(&self) {
        // The handle of the per-thread stream also means other threads' streams, and no thread comes back.
        if let Some(guard) = self.inner.guard.as_ref().filter(|_| self.stream != Stream::PER_THREAD) {
            guard.forget(self.stream);
        }
        if self.is_quiet {
            self.inner.managed().for_each(|direction| self.traffic(direction).close_quiet(self.priority));
        }
        for direction in Direction::ALL {
            let announced = word(&self.announced, direction).load(Ordering::SeqCst);
            let priorities = self.inner.options.priorities.iter();
            priorities
                .filter(|priority| announced & announcement(direction, *priority) != 0)
                .for_each(|priority| self.traffic(direction).release(reservation(priority)));
        }
    }
}

/// That of an open stream, which states no wait.
fn reservation(priority: Priority) -> Reservation {
    Reservation { priority, wait: Nanos::ZERO }
}

/// The bit for copies of `priority` on an engine.
fn announcement(direction: Direction, priority: Priority) -> u64 {
    1 << (priority.index() + half(direction))
}

/// One bit for each priority on each engine, in halves of words: H2D and D2H in the first word, the others in the
/// second.
type Bits = [AtomicU64; 2];

#[inline(always)]
fn word(bits: &Bits, direction: Direction) -> &AtomicU64 {
    &bits[direction.index() / 2]
}

/// The lowest bit of an engine's half.
#[inline(always)]
fn half(direction: Direction) -> usize {
    direction.index() % 2 * 32
}

impl Drop for StreamState {
    fn drop(&mut self) {
        if self.inner.is_of_parent() {
            return std::mem::forget(Arc::clone(&self.inner));
        }
        // Work that was given to the shadow still happens.
        self.shadow.take().into_iter().for_each(|shadow| self.inner.shadows.give(shadow));
        if self.owned {
            // A thread that does not know the context may drop the last handle. Work in the stream still completes; an
            // error means that the context is gone.
            let _ = self.inner.context.visit(|| self.inner.driver.stream_destroy(self.stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use hal::{CaptureMode, CaptureStatus, Context, StreamFlags};
    use options::Options;

    use super::*;
    use crate::overtake::Overtake;

    /// Another thread holds the legacy stream for a copy, so a call of a capture asks where its stream stands.
    #[test]
    fn a_capture_is_not_spoilt_by_a_question_about_its_stream() {
        let driver = crate::soft::driver();
        let overtake = Overtake::attach(&driver, Options::default()).unwrap();
        let stream = driver.stream_create(StreamFlags::DEFAULT, 0).unwrap();
        let adopted = overtake.adopt_plain(stream);
        let (state, context) = (adopted.state(), driver.context_current().unwrap().unwrap_or(Context(0)));
        for mode in [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed] {
            driver.stream_begin_capture(stream, mode).unwrap();
            assert_eq!(state.place(), Place::capturing(context, stream));
            assert_eq!(driver.stream_capture_status(stream), Ok(CaptureStatus::Active), "{mode:?}");
            driver.stream_end_capture(stream).unwrap();
        }
        assert_eq!(state.place(), Place::blocking(context, stream), "asked again when it captures no more");
        drop(adopted);
        driver.stream_destroy(stream).unwrap();
    }

    /// The thread captures in another stream.
    #[test]
    fn nor_by_one_about_another_stream() {
        let driver = crate::soft::driver();
        let overtake = Overtake::attach(&driver, Options::default()).unwrap();
        let [captured, other] = [(); 2].map(|()| driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap());
        let adopted = overtake.adopt_plain(other);
        driver.stream_begin_capture(captured, CaptureMode::ThreadLocal).unwrap();
        let place = adopted.state().place();
        assert_eq!(driver.stream_capture_status(captured), Ok(CaptureStatus::Active));
        driver.stream_end_capture(captured).unwrap();
        assert_eq!(adopted.state().place(), place);
        drop(adopted);
        [captured, other].into_iter().for_each(|stream| driver.stream_destroy(stream).unwrap());
    }
}
