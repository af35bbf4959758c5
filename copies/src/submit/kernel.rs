//! By copy kernel, in the stream of the copy.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use hal::Result;
use semaphores::Layout;

use crate::kernel::{INLINE_DESCRIPTORS, Workers, Yield};
use crate::submit::asked::{Planned, Went};
use crate::submit::tracked::Tracked;

/// The warps of an urgent copy. They are more than those of bulk, because the copy is short.
pub(super) const URGENT: Workers = Workers { blocks: 16, warps: 16 };

impl Planned<'_> {
    /// Goes by a kernel that waits for nothing.
    ///
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_by_urgent_kernel(&self) -> Went {
        // SAFETY: passed on to the caller.
        self.go_tracked(|_, _| Ok(unsafe { self.launch(None, URGENT) }?))
    }

    /// Goes by a kernel that waits while any copy above it is pending.
    ///
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_by_kernel(&self) -> Went {
        let (yields, workers) = self.bulk_kernel();
        // SAFETY: passed on to the caller.
        self.go_tracked(|Tracked { lift, .. }, _| Ok(unsafe { self.launch(Some(Yield { lift, ..yields }), workers) }?))
    }

    /// The word of a priority that a bulk kernel yields to, and its warps.
    pub(super) fn bulk_kernel(&self) -> (Yield, Workers) {
        let options = &self.inner().options;
        let workers = options.workers_of(self.direction());
        let word = self.engine().bank.gate_address(self.asked.priority);
        (Yield { word, lift: None, wait_max: options.profile.kernel_wait_max }, workers)
    }

    unsafe fn launch(&self, yields: Option<Yield>, workers: Workers) -> Result<()> {
        let kernel = self.inner().kernel.as_ref().expect("planned only where the kernel is there");
        // SAFETY: the plan made sure that the device sees both sides; the caller vouches for their lives.
        self.descriptors()
            .chunks(INLINE_DESCRIPTORS)
            .try_for_each(|some| unsafe { kernel.launch(some, workers, yields, self.asked.stream.stream) })
    }
}
