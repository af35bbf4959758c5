//! The native way: the driver's own call, for copies that are alone, and for those that no other way can make.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Shape, copy_shape};
use hal::Result;
use terms::Direction;

use crate::decide::is_tracked;
use crate::native::Native;
use crate::state::StreamState;
use crate::submit::asked::{Asked, Planned, Went};

impl Asked<'_> {
    /// Has the driver make the copy. With [`Direction::Peer`] it finds the direction.
    ///
    /// # Safety
    /// As for [`super::submit`].
    #[inline(always)]
    pub(super) unsafe fn copy_natively(&self, direction: Direction) -> Result<()> {
        // SAFETY: passed on to the caller. A batch always has a call of its own.
        unsafe { copy_natively(self.stream, &self.cargo.first().shape, direction, self.native) }
    }
}

unsafe fn copy_natively(
    stream: &StreamState,
    shape: &Shape,
    direction: Direction,
    native: Option<&Native<'_>>,
) -> Result<()> {
    stream.note_engine();
    stream.inner.natively(|| match native {
        Some(native) => native.result(),
        // SAFETY: passed on to the caller.
        None => unsafe { copy_shape(&*stream.inner.driver, direction, shape, stream.stream) },
    })
}

impl Planned<'_> {
    /// # Safety
    /// As for [`super::submit`].
    pub(super) unsafe fn go_natively(&self) -> Went {
        // SAFETY: passed on to the caller.
        let copy = || unsafe { self.asked.copy_natively(self.direction()) };
        if is_tracked(&self.placed.known, self.plan) {
            return self.go_tracked(|_| Ok(copy()?));
        }
        copy()?;
        self.give_way();
        Ok(None)
    }

    /// Lets other streams have their turn behind a bulk copy. Without this the engine goes on with the same stream as
    /// long as that has copies and no other work (facts, section 2).
    fn give_way(&self) {
        let (inner, stream) = (self.inner(), self.asked.stream.stream);
        if self.gives_way() && !stream.is_legacy() {
            // If the write fails, others wait longer, and have no other harm: the copy itself has gone.
            let written = inner.driver.mem_op(stream, inner.records.tickets.write_nothing());
            written.unwrap_or_else(|_| inner.records.counters.failed());
        }
    }
}
