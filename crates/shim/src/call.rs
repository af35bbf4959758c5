//! A call of the program that copies, as a hook or a C function passes it to the layer.

use copies::Direction;
use copies::copy::{Native, Request};
use hal::Stream;

/// One call of the program on its way into the driver.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The copies. Several have no order among them, and the priority of the first.
    pub requests: &'a [Request],
    /// The stream. For handle 0 it is [`Stream::LEGACY`] or [`Stream::PER_THREAD`], by the entry point.
    pub stream: Stream,
    /// The address from which the hook was called, for rules by library; 0 if it is not known.
    pub caller: usize,
    /// The driver call that the program has made.
    pub native: &'a Native<'a>,
}

impl Call<'_> {
    /// The direction, if the entry point names it.
    pub(crate) fn direction(&self) -> Option<Direction> {
        self.requests.first().and_then(Request::direction)
    }

    /// The number of bytes; it saturates.
    pub(crate) fn bytes(&self) -> u64 {
        Request::total_bytes(self.requests)
    }
}
