//! By copy kernel: in the copy's own stream, or guarded in a helper stream (`guard/README.md`).
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use channels::{Shape, copy_shape};
use hal::{DevicePtr, Result};
use semaphores::Layout;

use crate::guard::{Guard, Guarded, Load};
use crate::kernel::{GUARDED_DESCRIPTORS, INLINE_DESCRIPTORS, Terms, Workers, Yield};
use crate::records::Fence;
use crate::service::batch::Batch;
use crate::submit::asked::{Miss, Planned, Went};
use crate::submit::tracked::StreamHold;

/// The warps of an urgent copy. They are more than those of bulk, because the copy is short.
const URGENT: Workers = Workers { blocks: 16, warps: 16 };

impl Planned<'_> {
    /// Goes by a kernel that waits while any copy above it is pending, or by one that waits for nothing.
    ///
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_by_kernel(&self) -> Went {
        self.go_tracked(|tracked, whole| {
            let terms = self.terms(tracked.lift);
            // SAFETY: passed on to the caller, in both arms.
            unsafe {
                match &self.inner().guard {
                    None => self.launch(terms)?,
                    Some(guard) => self.guard(guard, tracked.fence, terms, whole)?,
                }
            }
            self.placed.served.iter().for_each(|served| served.was_launched.set(true));
            Ok(())
        })
    }

    /// The terms of its launch; `lift` is the word by which that is lifted alone.
    fn terms(&self, lift: Option<DevicePtr>) -> Terms {
        let (options, stream) = (&self.inner().options, self.asked.stream.stream);
        if self.waits_at().is_none() {
            let workers = self.placed.served.as_ref().map_or(URGENT, |served| enough_for(served.batch));
            return Terms { workers, yields: None, handshake: None, stream };
        }
        let word = self.engine().bank.gate_address(self.asked.priority);
        let yields = Some(Yield { word, lift, wait_max: options.profile.kernel_wait_max });
        Terms { workers: options.workers_of(self.direction()), yields, handshake: None, stream }
    }

    unsafe fn launch(&self, terms: Terms) -> Result<()> {
        if let Some(served) = &self.placed.served {
            // SAFETY: the caller vouches for the ranges; a batch that was launched does not change.
            return unsafe { served.kernel.launch(served.batch, terms) };
        }
        let kernel = self.inner().kernel.as_ref().expect("planned only where the kernel is there");
        // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
        self.descriptors().chunks(INLINE_DESCRIPTORS).try_for_each(|some| unsafe { kernel.launch(some, terms) })
    }

    unsafe fn guard<'s>(&'s self, guard: &Guard, fence: Fence, terms: Terms, whole: &mut StreamHold<'s>) -> Went<()> {
        let (direction, asked) = (self.direction(), self.asked);
        *whole = Some(self.exclude_others()?);
        let Terms { workers, yields, stream, .. } = terms;
        let submit = |load| {
            // SAFETY: as in `launch`.
            unsafe { guard.submit(Guarded { stream, load, direction, workers, yields, fence }) }
        };
        if let Some(served) = &self.placed.served {
            submit(Load::Batch(Arc::clone(served.batch), Arc::clone(served.kernel)))?;
        } else {
            if asked.stream.was_on_engine() {
                guard.leave_engine(stream);
            }
            // SAFETY: passed on to the caller.
            unsafe { self.guard_each(submit)? };
        }
        self.inner().records.counters.guarded.add(asked.cargo.bytes());
        Ok(())
    }

    /// Has the copies guarded, as many in a launch as that takes.
    unsafe fn guard_each(&self, submit: impl Fn(Load) -> std::result::Result<(), channels::Refusal>) -> Went<()> {
        // As many as the descriptors, in the same order.
        let shapes: Vec<Shape> = self.asked.cargo.shapes().collect();
        let descriptors = self.descriptors();
        let launches = shapes.chunks(GUARDED_DESCRIPTORS).zip(descriptors.chunks(GUARDED_DESCRIPTORS));
        for (number, (some, descriptors)) in launches.enumerate() {
            match submit(Load::Shapes { shapes: some.to_vec(), descriptors: descriptors.to_vec() }) {
                Err(refused) if number == 0 => return Err(refused.into()),
                // The first copies are on their way, and must not be made again.
                Err(_) => {
                    let left = &shapes[number * GUARDED_DESCRIPTORS..];
                    let (driver, stream, direction) =
                        (&*self.inner().driver, self.asked.stream.stream, self.direction());
                    // SAFETY: passed on to the caller.
                    let made = |shape: &Shape| unsafe { copy_shape(driver, direction, shape, stream) };
                    return left.iter().try_for_each(made).map_err(Miss::Begun);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

/// The warps of a batch that waits for no copy: one for each piece, up to those of an urgent copy.
fn enough_for(batch: &Batch) -> Workers {
    let pieces = batch.pieces().map_or(1, |(_, pieces)| pieces.max(1));
    Workers { blocks: pieces.div_ceil(URGENT.warps).min(URGENT.blocks), ..URGENT }
}
