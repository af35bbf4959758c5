//! The queue in which a caller collects copies and sets for one launch.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::fmt;
use std::sync::Arc;

use hal::{Code, DevicePtr, Result};
use priority::{Direction, Priority};

use crate::decide::{Plan, Reason};
use crate::handle::CopyHandle;
use crate::request::Request;
use crate::service::batch::Batch;
use crate::service::batches::Batches;
use crate::service::entry::{Content, Entry, PIECE_BYTES, SERVED_BYTES_MAX};
use crate::service::places::{Places, Way};
use crate::state::StreamState;
use crate::stream::PriorityStream;
use crate::submit;

/// Batches for each engine that a new queue has ready: one to fill while the device reads another.
const READY: usize = 2;

/// Collects copies and sets, and launches all of them at once when it is flushed: as one launch of a kernel for each
/// engine at most. Copies of one flush have no order among them; they come after all earlier work of the stream, and
/// all later work comes after them.
///
/// Every copy may be queued. Those of up to 64 KiB between the device and pinned memory share a launch. All others, and
/// one that is alone in its flush, go as [`PriorityStream::memcpy_async`] sends them. A launch has the priority of its
/// most urgent copy: it yields to the copies above, and holds off those below. It goes under the guard where the layer
/// has one. If a batch cannot go by kernel, the driver makes its copies one by one, and [`crate::Statistics::native`]
/// counts them with the reason.
///
/// A queue that is dropped is flushed, but not in the child of a fork.
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::copy::{CopyQueue, Request};
/// # use overtake::hal::{Device, Driver, HostAllocFlags};
/// # use overtake::{Options, Overtake, Priority};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
/// # let overtake = Overtake::open(&driver, Device(0), Options::default())?;
/// # let (host, device) = (driver.host_alloc(1 << 20, HostAllocFlags(3))?, driver.mem_alloc(1 << 20)?);
/// let stream = overtake.stream(Priority::LOWEST)?;
/// let mut queue = CopyQueue::new(&stream, 256)?;
/// for block in 0..256 {
///     let at = block * 4096;
///     // SAFETY: both sides have 1 MiB, live until the copies have completed, and are left alone until then.
///     unsafe { queue.copy(&Request::htod(device.offset(at), host.wrapping_add(at as usize), 4096))? };
/// }
/// queue.flush()?.expect("there was something to copy").wait()?;
/// assert_eq!(overtake.statistics().service_launches, 1);
/// # Ok::<(), hal::Error>(())
/// ```
pub struct CopyQueue {
    batches: Arc<Batches>,
    reserve: usize,
    is_literal: bool,
    places: Places,
    /// The batches for the engine to the device, which also has all that stays on the device, and to the host.
    sides: [Filling; 2],
    /// Copies and sets that do not share a launch.
    others: Vec<Other>,
    // Dropped last: it keeps the context in which the batches have their memory.
    stream: Arc<StreamState>,
}

fn may_reserve(reserve: usize, call: &'static str) -> Result<()> {
    match reserve <= CopyQueue::RESERVE_MAX {
        true => Ok(()),
        false => {
            let because = format!("room for {reserve} copies in one launch, at most {}", CopyQueue::RESERVE_MAX);
            Err(Code::INVALID_VALUE.at(call).because(because))
        }
    }
}

enum Other {
    Copy(Request),
    Set(Entry),
}

#[derive(Default)]
struct Filling {
    batch: Option<Batch>,
    priority: Option<Priority>,
    /// The last statement of a request ([`Request::ready`]).
    ready: Option<bool>,
}

impl CopyQueue {
    /// The most copies that one launch has room for.
    pub const RESERVE_MAX: usize = 1 << 20;

    /// A queue for this stream, with pinned memory for `reserve` copies in one launch, [`CopyQueue::RESERVE_MAX`] at
    /// most. May wait for all work in the context when it is the first one, because that loads the kernel.
    pub fn new(stream: &PriorityStream, reserve: usize) -> Result<CopyQueue> {
        may_reserve(reserve, "overtake CopyQueue::new")?;
        let stream = Arc::clone(stream.state());
        let inner = &stream.inner;
        let queue = CopyQueue {
            batches: inner.batches()?,
            reserve: reserve.max(1),
            is_literal: false,
            places: Places::default(),
            sides: Default::default(),
            others: Vec::new(),
            stream,
        };
        queue.provide();
        Ok(queue)
    }

    /// Refuses addresses and sizes that are no multiples of 4, as PhysX does (`physx-order`).
    #[must_use]
    pub fn literal(mut self) -> CopyQueue {
        self.is_literal = true;
        self
    }

    /// The pieces that a batch has room for: those of the longest copy at least.
    fn room(&self) -> usize {
        self.reserve.max(SERVED_BYTES_MAX.div_ceil(PIECE_BYTES) as usize)
    }

    fn provide(&self) {
        let inner = &self.stream.inner;
        inner.at_home(|| self.batches.provide(READY * self.sides.len(), self.room()));
    }

    /// Goes on with another stream of the same layer, and with memory for at least `reserve` copies. Copies that are
    /// queued are launched first, in the stream that they were queued for.
    pub fn reset(&mut self, stream: &PriorityStream, reserve: usize) -> Result<()> {
        if !Arc::ptr_eq(stream.inner(), &self.stream.inner) {
            let because = "the stream is of another layer: make a queue for it";
            return Err(Code::INVALID_VALUE.at("overtake CopyQueue::reset").because(because));
        }
        may_reserve(reserve, "overtake CopyQueue::reset")?;
        let flushed = self.flush();
        self.stream = Arc::clone(stream.state());
        self.reserve = reserve.max(self.reserve);
        self.provide();
        flushed.map(drop)
    }

    /// The copies and sets that wait for the next flush.
    #[must_use]
    pub fn len(&self) -> usize {
        let batched = |side: &Filling| side.batch.as_ref().map_or(0, |batch| batch.entries().len());
        self.sides.iter().map(batched).sum::<usize>() + self.others.len()
    }

    /// Whether no copy waits for the next flush.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a copy; one without bytes is ignored. If its launch is full, that goes at once.
    ///
    /// # Safety
    /// The ranges of the request stay valid, and unchanged or untouched as the direction demands, until the copy has
    /// completed; pageable host memory follows the driver's own rules.
    pub unsafe fn copy(&mut self, request: &Request) -> Result<()> {
        let (shape, bytes) = (request.shape, request.bytes());
        if bytes == 0 {
            return Ok(());
        }
        let (target, source) = (shape.target.address, shape.source.address);
        self.check(target | source | bytes)?;
        let priority = request.priority.unwrap_or(self.stream.priority);
        self.stream.inner.check(priority, "overtake CopyQueue::copy")?;
        let (driver, home) = (&*self.stream.inner.driver, &self.stream.inner.home);
        let Some((entry, way)) = self.places.entry(driver, home, request) else {
            self.others.push(Other::Copy(*request));
            return Ok(());
        };
        // SAFETY: passed on to the caller.
        let added = unsafe { self.add(entry, way, priority) };
        let filling = &mut self.sides[side_of(way)];
        filling.ready = request.ready.or(filling.ready);
        added
    }

    /// Queues a set: `bytes` from `target` on become the 4 bytes of `value`, repeated.
    ///
    /// # Safety
    /// The range stays valid and untouched until the set has completed.
    pub unsafe fn set(&mut self, target: DevicePtr, value: u32, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.check(target.0 | bytes)?;
        let (driver, home) = (&*self.stream.inner.driver, &self.stream.inner.home);
        let is_small = bytes <= SERVED_BYTES_MAX;
        let way = is_small.then(|| self.places.of_set(driver, home, target.0, bytes)).flatten();
        let direction = way.map_or(Direction::DeviceToDevice, |way| way.direction);
        let entry = Entry { target: target.0, content: Content::Value(value), bytes, direction };
        let Some(way) = way else {
            self.others.push(Other::Set(entry));
            return Ok(());
        };
        // SAFETY: passed on to the caller.
        unsafe { self.add(entry, way, self.stream.priority) }
    }

    fn check(&self, multiple: u64) -> Result<()> {
        if self.is_literal { check_literal(multiple) } else { Ok(()) }
    }

    /// # Safety
    /// As for [`CopyQueue::copy`].
    unsafe fn add(&mut self, entry: Entry, way: Way, priority: Priority) -> Result<()> {
        let side = side_of(way);
        let is_full = self.sides[side].batch.as_ref().is_some_and(|batch| !batch.fits(entry.bytes));
        // SAFETY: passed on to the caller.
        let flushed = if is_full { unsafe { self.launch(side) }.map(drop) } else { Ok(()) };
        let room = self.room();
        let filling = &mut self.sides[side];
        let take = || self.stream.inner.at_home(|| self.batches.take(room));
        let batch = filling.batch.get_or_insert_with(take);
        batch.add(entry, way.target_shift, way.source_shift);
        filling.priority = filling.priority.max(Some(priority));
        flushed
    }

    /// Launches the copies that were queued since the last flush. Returns the handle of all of them; `None` if there
    /// were none. An error is that of the first copy that failed; the others are on their way.
    pub fn flush(&mut self) -> Result<Option<CopyHandle>> {
        self.places.forget();
        let mut last = Ok(None);
        for other in std::mem::take(&mut self.others) {
            // SAFETY: the caller that queued it keeps its ranges.
            let submitted = unsafe { self.submit(&other) };
            last = last.and_then(|_| submitted.map(Some));
        }
        for side in 0..self.sides.len() {
            // SAFETY: as above, for each of its copies.
            let launched = unsafe { self.launch(side) };
            last = last.and_then(|last| Ok(launched?.or(last)));
        }
        last
    }

    /// Takes back what was queued since the last flush: it is not copied.
    pub fn clear(&mut self) {
        self.places.forget();
        self.others.clear();
        let batches = self.sides.iter_mut().filter_map(|side| std::mem::take(side).batch);
        batches.for_each(|batch| self.batches.give(batch));
    }

    /// # Safety
    /// As for [`CopyQueue::copy`].
    unsafe fn submit(&self, other: &Other) -> Result<CopyHandle> {
        let stream = &self.stream;
        match other {
            // SAFETY: passed on to the caller.
            Other::Copy(request) => unsafe { submit::submit(stream, request, None) },
            Other::Set(entry) => {
                // SAFETY: passed on to the caller.
                let set = || unsafe { entry.make_natively(&*stream.inner.driver, stream.stream) };
                submit::as_it_is(stream, Reason::NoHostSide, set)
            }
        }
    }

    /// # Safety
    /// As for [`CopyQueue::copy`], for each copy of the batch.
    unsafe fn launch(&mut self, side: usize) -> Result<Option<CopyHandle>> {
        let Filling { batch: Some(batch), priority, ready } = std::mem::take(&mut self.sides[side]) else {
            return Ok(None);
        };
        let priority = priority.unwrap_or(self.stream.priority);
        if let Some(request) = batch.only_copy() {
            self.batches.give(batch);
            // SAFETY: passed on to the caller.
            return unsafe { self.submit(&Other::Copy(Request { ready, ..request.at(priority) })) }.map(Some);
        }
        let (copies, bytes) = (batch.entries().len(), batch.bytes());
        let direction = if side == 0 { Direction::HostToDevice } else { Direction::DeviceToHost };
        let whole = Request { ready, ..submit::as_one(direction, bytes).at(priority) };
        // SAFETY: passed on to the caller.
        let handle = unsafe { submit::submit_batch(&self.stream, &self.batches, batch, &whole, None)? };
        let counters = &self.stream.inner.records.counters;
        match handle.plan {
            Plan::Kernel { .. } => counters.served(copies, bytes),
            // It has been counted as one copy.
            plan => (1..copies).for_each(|_| counters.copied(plan, Some(direction), 0)),
        }
        Ok(Some(handle))
    }
}

/// The check of a literal queue ([`CopyQueue::literal`]), of addresses and sizes that a bitwise or has put together.
#[doc(hidden)]
pub fn check_literal(multiple: u64) -> Result<()> {
    if multiple.is_multiple_of(4) {
        return Ok(());
    }
    let because = "physx-order takes multiples of 4 only, as PhysX does: leave it, or align the copy";
    Err(Code::INVALID_VALUE.at("overtake CopyQueue").because(because))
}

/// The place of an entry's batch in [`CopyQueue::sides`].
fn side_of(way: Way) -> usize {
    usize::from(way.direction == Direction::DeviceToHost)
}

impl Drop for CopyQueue {
    fn drop(&mut self) {
        if self.stream.inner.is_of_parent() {
            return std::mem::forget((std::mem::take(&mut self.sides), Arc::clone(&self.stream)));
        }
        if let Err(error) = self.flush() {
            log::warn!("a copy of a queue that was dropped could not be made: {error}. Flush it to get the error");
        }
    }
}

impl fmt::Debug for CopyQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stream, len) = (self.stream.stream, self.len());
        f.debug_struct("CopyQueue").field("stream", &stream).field("len", &len).finish_non_exhaustive()
    }
}
