//! A copy as a hook or a C function hands it over.

use copies::Direction;
use copies::copy::Request;
use hal::Stream;

/// One copy on its way into the driver.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// What is copied.
    pub request: Request,
    /// The stream, with handle 0 already read as the entry point reads it: [`Stream::LEGACY`] or
    /// [`Stream::PER_THREAD`].
    pub stream: Stream,
    /// Whether the real call returns only when the copy has completed, or may (pageable memory).
    pub blocking: bool,
    /// The address the hook was called from, for rules by library; 0 where nobody knows.
    pub caller: usize,
}

impl Call {
    /// A copy whose caller nobody knows.
    #[must_use]
    pub fn new(request: Request, stream: Stream, blocking: bool) -> Call {
        Call { request, stream, blocking, caller: 0 }
    }

    /// Which engine it needs, where its entry point says so.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        self.request.direction()
    }
}
