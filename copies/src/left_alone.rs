//! Copies that are left to the driver and only counted.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use channels::copy_shape;
use hal::{Driver, Result, Stream};
use priority::Direction;

use crate::decide::{Plan, Reason};
use crate::overtake::Overtake;
use crate::request::Request;

impl Request {
    /// Has the driver make the copy.
    ///
    /// # Safety
    /// As for [`crate::PriorityStream::memcpy_async`].
    pub unsafe fn copy_by(&self, driver: &dyn Driver, stream: Stream) -> Result<()> {
        // If the caller has not named the direction, the driver finds it, as it does for copies between devices.
        let direction = self.direction().unwrap_or(Direction::Peer);
        // SAFETY: passed on to the caller.
        unsafe { copy_shape(driver, direction, &self.shape, stream) }
    }
}

impl Overtake {
    /// Has the driver make a copy, in any stream, and counts it as left alone.
    ///
    /// # Safety
    /// As for [`crate::PriorityStream::memcpy_async`].
    pub unsafe fn leave_alone(&self, request: &Request, stream: Stream) -> Result<()> {
        self.loss()?;
        let counters = &self.records().counters;
        // SAFETY: passed on to the caller.
        let copied = unsafe { request.copy_by(&**self.driver(), stream) };
        match copied {
            Ok(()) => counters.copied(Plan::Native(Reason::LeftAlone), request.direction(), request.bytes()),
            Err(_) => counters.failed(),
        }
        copied
    }
}
