//! A call of the program that copies, as a hook or a C function hands it over.

use copies::Direction;
use copies::copy::{Native, Request};
use hal::Stream;

/// One call of the program on its way into the driver.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The copies to make. Several have no order among them, and take the priority of the first.
    pub requests: &'a [Request],
    /// The stream, with handle 0 already read as the entry point reads it: [`Stream::LEGACY`] or
    /// [`Stream::PER_THREAD`].
    pub stream: Stream,
    /// The address the hook was called from, for rules by library; 0 where it is not known.
    pub caller: usize,
    /// The driver call that the program has made.
    pub native: &'a Native<'a>,
}

impl Call<'_> {
    /// The direction, where the entry point names it.
    pub(crate) fn direction(&self) -> Option<Direction> {
        self.requests.first().and_then(Request::direction)
    }

    /// The number of bytes; it saturates.
    pub(crate) fn bytes(&self) -> u64 {
        Request::total_bytes(self.requests)
    }
}
