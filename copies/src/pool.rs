//! Driver objects that are kept for their next use. Making one costs more than using it and may wait for the device,
//! and an asynchronous copy must not wait.

use std::sync::{Mutex, OnceLock};

use hal::{Driver, Event, EventFlags, MemOp, Result, Stream, StreamFlags};

use hal::locks::lock;

/// The number of events that are made at the start.
const EVENTS: usize = 16;

/// The flags of an event for which a thread sleeps.
const SLEEPS: EventFlags = EventFlags(EventFlags::DISABLE_TIMING.0 | EventFlags::BLOCKING_SYNC.0);

/// The number of shadows that are kept ready for new streams.
const SHADOWS: usize = 6;

/// Objects that no copy uses at the moment, and the way to make one.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    spare: Mutex<Vec<T>>,
    make: fn(&dyn Driver) -> Result<T>,
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

/// Events without timing, for work of the device alone to wait for.
impl Default for Pool<Event> {
    fn default() -> Pool<Event> {
        Pool { spare: Mutex::default(), make: |driver| driver.event_create(EventFlags::DISABLE_TIMING) }
    }
}

/// A wait keeps the meaning of the record before it: a later record does not change it.
impl Pool<Event> {
    /// Events for threads to wait for. A thread waits as it does in the driver's own calls in the current context: it
    /// sleeps where the program has asked for that, and else it spins.
    pub(crate) fn to_wait_for(driver: &dyn Driver) -> Pool<Event> {
        // A driver that cannot tell has the default.
        let blocks = driver.context_flags().unwrap_or_default().block();
        let sleeps = || Pool { make: |driver| driver.event_create(SLEEPS), ..Pool::default() };
        if blocks { sleeps() } else { Pool::default() }
    }

    /// Makes the first events: the driver does not promise that making one never waits for the device.
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        (0..EVENTS).try_for_each(|_| (self.make)(driver).map(|event| self.give(event)))
    }

    /// An event to record.
    pub(crate) fn take(&self, driver: &dyn Driver) -> Result<Event> {
        self.pop().map_or_else(|| (self.make)(driver), Ok)
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

impl Default for Pool<Stream> {
    fn default() -> Pool<Stream> {
        Pool { spare: Mutex::default(), make: make_shadow }
    }
}

/// With the greatest priority of the context.
fn make_shadow(driver: &dyn Driver) -> Result<Stream> {
    let greatest = driver.priority_range()?.greatest;
    hal::beside_captures(driver, || driver.stream_create(StreamFlags::NON_BLOCKING, greatest))
}

/// Shadows: a stream of ours beside each stream with urgent copies, on which the completion of those copies is written.
/// A write behind the copy in its own stream would delay the stream's later work by 1.4 us; an event delays it by a
/// tenth of that. Each stream has its own shadow, because streams must not wait for each other there.
impl Pool<Stream> {
    /// Makes the missing shadows. This may wait for all work in the context (seen on an H100).
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        while lock(&self.spare).len() < SHADOWS {
            self.give((self.make)(driver)?);
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
