//! By a guarded copy kernel, beside the stream of the copy (`guard/README.md`).
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::Shape;

use crate::guard::{Guard, Guarded, Load};
use crate::kernel::{GUARDED_DESCRIPTORS, Yield};
use crate::submit::asked::{Planned, Went};
use crate::submit::tracked::Tracked;

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_guarded(&self, guard: &Guard) -> Went {
        // SAFETY: passed on to the caller.
        self.go_tracked(|tracked| unsafe { self.guard(guard, tracked) })
    }

    unsafe fn guard(&self, guard: &Guard, Tracked { ticket, lift, .. }: Tracked) -> Went<()> {
        let ((yields, workers), direction) = (self.bulk_kernel(), self.direction());
        let yields = Yield { lift, ..yields };
        if self.asked.stream.was_on_engine() {
            guard.leave_engine(self.asked.stream.stream);
        }
        // As many as the descriptors, in the same order.
        let shapes: Vec<Shape> = self.asked.cargo.shapes().collect();
        let descriptors = self.descriptors();
        let launches = shapes.chunks(GUARDED_DESCRIPTORS).zip(descriptors.chunks(GUARDED_DESCRIPTORS));
        for (shapes, descriptors) in launches {
            let (stream, yields) = (self.asked.stream.stream, Some(yields));
            let load = Load::Shapes { shapes: shapes.to_vec(), descriptors: descriptors.to_vec() };
            // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
            unsafe { guard.submit(Guarded { stream, load, direction, workers, yields, ticket })? };
        }
        self.inner().records.counters.guarded(self.asked.cargo.bytes());
        Ok(())
    }
}
