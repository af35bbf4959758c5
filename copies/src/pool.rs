//! Driver objects that are kept for their next use. Making one costs more than using it and may wait for the device,
//! and an asynchronous copy must not wait.

use std::sync::{Mutex, OnceLock};

use hal::{Driver, Event, EventFlags, MemOp, Result, Stream, StreamFlags};

use hal::locks::lock;

/// The number of events that are made at the start.
const EVENTS: usize = 16;

/// The number of shadows that are kept ready for new streams.
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

    /// Ends all objects that are not in use by `end`. An error means that the context is gone, and the object with it.
    fn end(&self, end: impl Fn(T) -> Result<()>) {
        let spare = std::mem::take(&mut *lock(&self.spare));
        spare.into_iter().for_each(|object| drop(end(object)));
    }
}

/// Events without timing. A wait keeps the meaning of the record before it: a later record does not change it.
impl Pool<Event> {
    /// Makes the first events: the driver does not promise that making one never waits for the device.
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        (0..EVENTS).try_for_each(|_| driver.event_create(EventFlags::DISABLE_TIMING).map(|event| self.give(event)))
    }

    /// An event to record.
    pub(crate) fn take(&self, driver: &dyn Driver) -> Result<Event> {
        self.pop().map_or_else(|| driver.event_create(EventFlags::DISABLE_TIMING), Ok)
    }

    /// An event that completes with the work that is in the stream now.
    pub(crate) fn mark(&self, driver: &dyn Driver, stream: Stream) -> Result<Event> {
        let event = self.take(driver)?;
        let recorded = driver.event_record(event, stream);
        recorded.inspect_err(|_| self.give(event))?;
        Ok(event)
    }

    pub(crate) fn clear(&self, driver: &dyn Driver) {
        self.end(|event| driver.event_destroy(event));
    }
}

/// Shadows: a stream of ours beside each stream with urgent copies, on which the completion of those copies is written.
/// A write behind the copy in its own stream would delay the stream's later work by 1.4 us; an event delays it by a
/// tenth of that. Each stream has its own shadow, because streams must not wait for each other there.
impl Pool<Stream> {
    /// Makes the missing shadows. This may wait for all work in the context (seen on an H100).
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        while lock(&self.spare).len() < SHADOWS {
            let greatest = driver.priority_range()?.greatest;
            self.give(hal::beside_captures(driver, || driver.stream_create(StreamFlags::NON_BLOCKING, greatest))?);
        }
        Ok(())
    }

    /// The shadow of a stream, which keeps it in `place`. `None` if all have been given away: the stream does without
    /// until one is given back.
    pub(crate) fn shadow(&self, place: &OnceLock<Stream>) -> Option<Stream> {
        if place.get().is_none() {
            // Another thread may have set it first.
            place.set(self.pop()?).unwrap_or_else(|spare| self.give(spare));
        }
        place.get().copied()
    }

    pub(crate) fn clear(&self, driver: &dyn Driver) {
        self.end(|stream| driver.stream_destroy(stream));
    }
}

/// Has `op` happen on a shadow after `event`, and after all earlier work there.
pub(crate) fn follow(driver: &dyn Driver, shadow: Stream, event: Event, op: MemOp) -> Result<()> {
    driver.stream_wait_event(shadow, event)?;
    driver.mem_op(shadow, op)
}
