//! Driver objects that are kept for their next use, because making one costs more than using it, and may wait for the
//! device: a copy that the application submits without waiting must not.

use std::sync::{Mutex, OnceLock};

use hal::{Driver, Event, EventFlags, MemOp, Result, Stream, StreamFlags};

use hal::locks::lock;

/// How many events there are to begin with.
const EVENTS: usize = 16;

/// How many shadows are kept ready for streams to come.
const SHADOWS: usize = 6;

/// Objects that no copy uses at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    spare: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { spare: Mutex::default() }
    }
}

impl<T> Pool<T> {
    /// Gives one back.
    pub(crate) fn give(&self, object: T) {
        lock(&self.spare).push(object);
    }

    fn pop(&self) -> Option<T> {
        lock(&self.spare).pop()
    }

    /// Ends all that are there by `end`. An error of that means that the context is gone, and the object with it.
    fn end(&self, end: impl Fn(T) -> Result<()>) {
        let spare = std::mem::take(&mut *lock(&self.spare));
        spare.into_iter().for_each(|object| drop(end(object)));
    }
}

/// Events without timing. What was captured by one keeps its meaning: a later record does not change earlier waits.
impl Pool<Event> {
    /// Makes some to begin with: the driver does not promise that making one never waits for the device.
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        (0..EVENTS).try_for_each(|_| driver.event_create(EventFlags::DISABLE_TIMING).map(|event| self.give(event)))
    }

    /// An event to record.
    pub(crate) fn take(&self, driver: &dyn Driver) -> Result<Event> {
        self.pop().map_or_else(|| driver.event_create(EventFlags::DISABLE_TIMING), Ok)
    }

    /// An event that says whether everything in the stream so far has completed.
    pub(crate) fn mark(&self, driver: &dyn Driver, stream: Stream) -> Result<Event> {
        let event = self.take(driver)?;
        let recorded = driver.event_record(event, stream);
        recorded.inspect_err(|_| self.give(event))?;
        Ok(event)
    }

    /// Destroys all that are not in use.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        self.end(|event| driver.event_destroy(event));
    }
}

/// Shadows: a stream of ours beside each stream that carries urgent copies, on which their completion is written. A
/// write behind the copy in its own stream would delay all that waits for the stream by 1.4 us, an event by a tenth of
/// that. One shadow per stream, because streams must not wait for each other there.
impl Pool<Stream> {
    /// Makes what is missing, which may wait for everything in the context (seen on an H100).
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        while lock(&self.spare).len() < SHADOWS {
            let greatest = driver.priority_range()?.greatest;
            self.give(hal::beside_captures(driver, || driver.stream_create(StreamFlags::NON_BLOCKING, greatest))?);
        }
        Ok(())
    }

    /// The shadow in that place, which a stream keeps for it. None where all have been given away: the stream does
    /// without until one has come back.
    pub(crate) fn shadow(&self, place: &OnceLock<Stream>) -> Option<Stream> {
        if place.get().is_none() {
            // Another thread may be quicker.
            place.set(self.pop()?).unwrap_or_else(|spare| self.give(spare));
        }
        place.get().copied()
    }

    /// Destroys all that are not in use.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        self.end(|stream| driver.stream_destroy(stream));
    }
}

/// Has `op` happen on a shadow after `event`, and after everything asked for before.
pub(crate) fn follow(driver: &dyn Driver, shadow: Stream, event: Event, op: MemOp) -> Result<()> {
    driver.stream_wait_event(shadow, event)?;
    driver.mem_op(shadow, op)
}
