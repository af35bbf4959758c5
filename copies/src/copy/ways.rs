//! The ways into the driver: natively, by copy kernel, in chunks through a channel.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Direction, Refusal, Shape, Submission, chunk, copy_shape};
use hal::{Result, Stream};
use semaphores::{Layout, emulation};

use crate::copy::job::Job;
use crate::copy::native::Native;
use crate::copy::plan::{Plan, Reason};
use crate::guard::Guarded;
use crate::kernel::{Descriptor, GUARDED_DESCRIPTORS, INLINE_DESCRIPTORS, Workers, Yield};
use crate::stream::StreamState;

/// How handing a copy to the driver ended.
pub(super) type Submitted = std::result::Result<(), Refusal>;

impl StreamState {
    /// A copy as the driver does it.
    pub(super) unsafe fn copy_natively(
        &self,
        direction: Direction,
        shape: &Shape,
        native: Option<&Native<'_>>,
    ) -> Result<()> {
        self.inner.natively(|| match native {
            Some(native) => native.result(),
            // SAFETY: passed on to the caller.
            None => unsafe { copy_shape(&*self.inner.driver, direction, shape, self.stream) },
        })
    }
}

impl Job<'_> {
    /// The copy as the driver does it. An address that nobody could place goes through the driver's own inference, as
    /// `Peer` does.
    pub(super) unsafe fn native(&self) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.stream.copy_natively(self.direction(), &self.shape, self.native) }
    }

    /// Lets other streams have their turn behind a bulk copy that went natively: the engine would otherwise go on with
    /// the same stream as long as that has copies and nothing else (facts, section 2).
    pub(super) fn space(&self, reason: Reason) {
        if matches!(reason, Reason::Unchannelled | Reason::Unguarded) && self.stream.stream != Stream::LEGACY {
            // Not written: others wait longer. Nothing depends on it.
            let _ = self.inner.driver.mem_op(self.stream.stream, self.inner.records.tickets.write_nothing());
        }
    }

    fn bulk_kernel(&self) -> (Yield, Workers) {
        let options = &self.inner.options;
        let workers = match self.direction() {
            Direction::HostToDevice => options.kernel_h2d,
            _ => options.kernel_d2h,
        };
        (Yield { word: self.engine().bank.gate_address(self.priority), wait_max: options.kernel_wait_max }, workers)
    }

    pub(super) unsafe fn by_kernel(&self, yields: Option<Yield>, workers: Workers) -> Result<()> {
        let kernel = self.inner.kernel.as_ref().expect("planned only where the kernel is there");
        let whole = [Descriptor::copy(&self.seen_by_device())];
        let pieces = if self.pieces.is_empty() { &whole[..] } else { &self.pieces[..] };
        // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
        pieces
            .chunks(INLINE_DESCRIPTORS)
            .try_for_each(|some| unsafe { kernel.launch(some, workers, yields, self.stream.stream) })
    }

    pub(super) unsafe fn by_bulk_kernel(&self) -> Submitted {
        let ((yields, workers), direction) = (self.bulk_kernel(), self.direction());
        let Some(guard) = &self.inner.guard else {
            // SAFETY: passed on to the caller.
            unsafe { self.by_kernel(Some(yields), workers)? };
            return Ok(());
        };
        let (shapes, descriptors) = match self.pieces.is_empty() {
            true => (vec![self.shape], vec![Descriptor::copy(&self.seen_by_device())]),
            // As many as there are descriptors, and in the same order: `batch::combine`.
            false => {
                let moving = self.requests.iter().filter(|request| request.bytes() > 0);
                (moving.map(|request| request.shape).collect(), self.pieces.clone())
            }
        };
        let launches = shapes.chunks(GUARDED_DESCRIPTORS).zip(descriptors.chunks(GUARDED_DESCRIPTORS));
        for (shapes, descriptors) in launches {
            let stream = self.stream.stream;
            // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
            unsafe { guard.submit(&Guarded { stream, shapes, descriptors, direction, workers, yields })? };
        }
        self.inner.records.counters.guarded(self.shape.bytes());
        Ok(())
    }

    pub(super) unsafe fn by_engine(&self) -> Submitted {
        let (inner, engine) = (self.inner, self.engine());
        let channel = engine.channel(&inner.driver, self.direction(), self.priority)?;
        let chunk_bytes = engine.chunk_bytes(inner.options.blocking_max);
        // Of several copies the shape is only the sum.
        let chunks = match self.requests {
            [_] => chunk::cut(&self.shape, chunk_bytes),
            several => several.iter().flat_map(|request| chunk::cut(&request.shape, chunk_bytes)).collect(),
        };
        inner.records.counters.chunked(chunks.len());
        let submission = Submission {
            from: self.stream.stream,
            priority: self.priority,
            chunks: &chunks,
            bank: &engine.bank,
            emulation: emulation(inner.options.emulation),
            adder: inner.adder()?,
            // Nobody lets himself go first.
            pace: self.waits_at(Plan::Engine { raises: false }).map(|_| &inner.pace),
            in_stream: inner.options.in_stream_brackets,
        };
        // SAFETY: passed on to the caller; chunks are parts of the shape.
        unsafe { channel.submit(&submission) }
    }
}
