//! Copies that are left alone: the driver's own, and only counted.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::{Direction, copy_shape};
use hal::{Result, Stream};

use crate::copy::plan::{Plan, Reason};
use crate::copy::request::{Request, place};
use crate::overtake::Overtake;

impl Overtake {
    /// Makes a copy as the driver does it, in any stream, and counts it as left alone.
    ///
    /// # Safety
    /// As for [`crate::PriorityStream::memcpy_async`].
    pub unsafe fn leave_alone(&self, request: &Request, stream: Stream) -> Result<()> {
        self.loss()?;
        let (driver, counters) = (&**self.driver(), &self.shared().counters);
        let inferred = || place(driver, request).map(|placement| placement.direction);
        let direction = request.direction.or_else(inferred).unwrap_or(Direction::Peer);
        // SAFETY: passed on to the caller.
        let copied = unsafe { copy_shape(driver, direction, &request.shape, stream) };
        match copied {
            Ok(()) => counters.copied(Plan::Native(Reason::LeftAlone), request.bytes()),
            Err(_) => counters.failed(),
        }
        copied
    }
}
