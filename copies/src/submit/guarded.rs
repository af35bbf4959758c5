//! By a guarded copy kernel, beside the stream of the copy (`guard/README.md`).
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Shape, copy_shape};

use crate::decide::Plan;
use crate::guard::{Guard, Guarded, Load};
use crate::kernel::{GUARDED_DESCRIPTORS, Yield};
use crate::submit::asked::{Miss, Planned, Went};
use crate::submit::kernel::URGENT;
use crate::submit::tracked::{Hold, Tracked};

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_guarded(&self, guard: &Guard) -> Went {
        // SAFETY: passed on to the caller.
        self.go_tracked(|tracked, whole| unsafe { self.guard(guard, tracked, whole) })
    }

    unsafe fn guard<'s>(
        &'s self,
        guard: &Guard,
        Tracked { ticket, lift, .. }: Tracked,
        whole: &mut Hold<'s>,
    ) -> Went<()> {
        let direction = self.direction();
        *whole = Some(self.exclude_others()?);
        let (yields, workers) = match self.plan {
            Plan::UrgentKernel => (None, URGENT),
            _ => {
                let (yields, workers) = self.bulk_kernel();
                (Some(Yield { lift, ..yields }), workers)
            }
        };
        if self.asked.stream.was_on_engine() {
            guard.leave_engine(self.asked.stream.stream);
        }
        // As many as the descriptors, in the same order.
        let shapes: Vec<Shape> = self.asked.cargo.shapes().collect();
        let descriptors = self.descriptors();
        let stream = self.asked.stream.stream;
        let launches = shapes.chunks(GUARDED_DESCRIPTORS).zip(descriptors.chunks(GUARDED_DESCRIPTORS));
        for (number, (some, descriptors)) in launches.enumerate() {
            let load = Load::Shapes { shapes: some.to_vec(), descriptors: descriptors.to_vec() };
            // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
            let submitted = unsafe { guard.submit(Guarded { stream, load, direction, workers, yields, ticket }) };
            match submitted {
                Err(refused) if number == 0 => return Err(refused.into()),
                // The first copies are on their way, and must not be made again.
                Err(_) => {
                    let left = &shapes[number * GUARDED_DESCRIPTORS..];
                    // SAFETY: as above.
                    let made = |shape: &Shape| unsafe { copy_shape(&*self.inner().driver, direction, shape, stream) };
                    left.iter().try_for_each(made).map_err(Miss::Begun)?;
                    break;
                }
                Ok(()) => {}
            }
        }
        self.inner().records.counters.guarded(self.asked.cargo.bytes());
        Ok(())
    }
}
