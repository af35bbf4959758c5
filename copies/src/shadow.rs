//! Shadows: a stream of ours beside each stream that carries urgent copies, on which their completion is written.
//!
//! A write behind the copy in its own stream would cost whoever waits for the stream 1.4 us; an event costs a tenth of
//! that. One shadow per stream, because streams must not wait for each other there.
//!
//! They are made beforehand. On an H100 making a stream may wait for everything in the context, and a copy that the
//! application submits without waiting must not.

use std::sync::{Mutex, OnceLock};

use hal::{Driver, Event, MemOp, Result, Stream, StreamFlags};

use crate::lock::lock;

/// How many are kept ready for streams to come.
const SPARE: usize = 6;

/// Shadows that no stream has.
#[derive(Debug, Default)]
pub(crate) struct Shadows {
    spare: Mutex<Vec<Stream>>,
}

impl Shadows {
    /// Makes what is missing, which may wait for the device.
    pub(crate) fn provide(&self, driver: &dyn Driver) -> Result<()> {
        while lock(&self.spare).len() < SPARE {
            let greatest = driver.priority_range()?.greatest;
            let made = hal::beside_captures(driver, || driver.stream_create(StreamFlags::NON_BLOCKING, greatest))?;
            self.give(made);
        }
        Ok(())
    }

    fn take(&self) -> Option<Stream> {
        lock(&self.spare).pop()
    }

    fn give(&self, stream: Stream) {
        lock(&self.spare).push(stream);
    }

    /// Destroys them.
    pub(crate) fn clear(&self, driver: &dyn Driver) {
        for stream in lock(&self.spare).drain(..) {
            // An error means that the context is gone, and the stream with it.
            let _ = driver.stream_destroy(stream);
        }
    }
}

/// The shadow of one stream, if it has needed one and one was there.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    stream: OnceLock<Stream>,
}

impl Shadow {
    /// The stream's shadow. None where all have been given away: then it does without until one has come back.
    pub(crate) fn of(&self, shadows: &Shadows) -> Option<Stream> {
        if self.stream.get().is_none() {
            // Another thread may be quicker.
            self.stream.set(shadows.take()?).unwrap_or_else(|spare| shadows.give(spare));
        }
        self.stream.get().copied()
    }

    /// Gives it back; what was asked for still happens.
    pub(crate) fn end(&mut self, shadows: &Shadows) {
        self.stream.take().into_iter().for_each(|stream| shadows.give(stream));
    }
}

/// Has `op` happen on a shadow after `event`, and after everything asked for before.
pub(crate) fn follow(driver: &dyn Driver, shadow: Stream, event: Event, op: MemOp) -> Result<()> {
    driver.stream_wait_event(shadow, event)?;
    driver.mem_op(shadow, op)
}
