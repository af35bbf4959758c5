//! Shadows: a stream of ours beside each stream that carries urgent copies, on which their completion is written.
//!
//! A write behind the copy in its own stream would cost whoever waits for the stream 1.4 us; an event costs a tenth of
//! that. One shadow per stream, because streams must not wait for each other there.

use std::sync::OnceLock;

use hal::{Driver, Event, MemOp, Result, Stream, StreamFlags};

/// The shadow of one stream, made when first needed.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    stream: OnceLock<Stream>,
}

impl Shadow {
    /// Has `op` happen after `event`, and after everything asked for before.
    pub(crate) fn follow(&self, driver: &dyn Driver, event: Event, op: MemOp) -> Result<()> {
        let stream = self.stream(driver)?;
        driver.stream_wait_event(stream, event)?;
        driver.mem_op(stream, op)
    }

    fn stream(&self, driver: &dyn Driver) -> Result<Stream> {
        if let Some(stream) = self.stream.get() {
            return Ok(*stream);
        }
        let greatest = driver.priority_range()?.greatest;
        let made = hal::beside_captures(driver, || driver.stream_create(StreamFlags::NON_BLOCKING, greatest))?;
        if self.stream.set(made).is_err() {
            // Another thread was quicker. An error here would only leak a stream.
            let _ = driver.stream_destroy(made);
        }
        Ok(*self.stream.get().unwrap_or(&made))
    }

    /// Destroys it; what was asked for still happens.
    pub(crate) fn end(&mut self, driver: &dyn Driver) {
        if let Some(stream) = self.stream.take() {
            // An error means that the context is gone, and the stream with it.
            let _ = driver.stream_destroy(stream);
        }
    }
}
