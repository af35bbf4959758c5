//! In chunks through a channel.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Shape, Submission, chunk};
use semaphores::emulation;

use crate::submit::asked::{Planned, Went};

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_by_channel(&self) -> Went {
        // SAFETY: passed on to the caller.
        self.go_tracked(|_| unsafe { self.queue() })
    }

    unsafe fn queue(&self) -> Went<()> {
        let (inner, engine, priority) = (self.inner(), self.engine(), self.asked.priority);
        let channel = engine.channel(&inner.driver, self.direction(), priority)?;
        let blocking_max = self.asked.tolerated(self.direction()).unwrap_or(inner.options.blocking_max);
        let chunk_bytes = engine.chunk_bytes(blocking_max);
        let chunks: Vec<Shape> = self.asked.cargo.shapes().flat_map(|shape| chunk::cut(&shape, chunk_bytes)).collect();
        inner.records.counters.chunked(chunks.len());
        let submission = Submission {
            from: self.asked.stream.stream,
            priority,
            chunks: &chunks,
            bank: &engine.bank,
            emulation: emulation(inner.options.emulation),
            adder: inner,
            // A copy of the most urgent priority does not wait for other callers.
            pace: self.waits_at().map(|_| &inner.pace),
            in_stream: inner.options.in_stream_brackets,
        };
        // SAFETY: passed on to the caller; chunks are parts of the shapes.
        Ok(unsafe { channel.submit(&submission) }?)
    }
}
