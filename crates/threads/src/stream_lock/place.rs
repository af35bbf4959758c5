//! Streams in their contexts, and the question whether calls of two of them are ordered.

use hal::{CaptureStatus, Context, Driver, Result, Stream, StreamFlags};

/// No stream.
pub(super) const OUTSIDE: u64 = 0;
/// More than one stream: a call of the driver's has made another one.
pub(super) const SEVERAL: u64 = u64::MAX;

/// A stream in its context, and whether the legacy stream waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) stream: Stream,
    pub(super) context: Context,
    pub(super) is_blocking: bool,
}

impl Place {
    /// The place of a stream of the context. `None` while the stream captures: the driver takes a question about its
    /// flags for a call that spoils the capture (`tests/c/capture_calls.c`).
    pub fn of(driver: &dyn Driver, context: Context, stream: Stream) -> Result<Option<Place>> {
        let place = Place::blocking(context, stream);
        if stream.is_default() {
            return Ok(Some(place));
        }
        if driver.stream_capture_status(stream)? != CaptureStatus::None {
            return Ok(None);
        }
        let is_blocking = driver.stream_flags(stream)?.0 & StreamFlags::NON_BLOCKING.0 == 0;
        Ok(Some(Place { is_blocking, ..place }))
    }

    /// The place of a stream that captures. Its operations run later, so the legacy stream does not wait for them.
    #[must_use]
    pub fn capturing(context: Context, stream: Stream) -> Place {
        Place { is_blocking: false, ..Place::blocking(context, stream) }
    }

    /// The place of a stream that the legacy one waits for. In doubt a stream counts as one, and threads may wait that
    /// need not.
    #[must_use]
    pub fn blocking(context: Context, stream: Stream) -> Place {
        Place { stream: Stream(number(stream)), context, is_blocking: true }
    }

    /// Whether an operation of one stream may be ordered with one of the other. Contexts share no stream of the
    /// program's, and each has a legacy one.
    pub(super) fn meets(&self, other: &Place) -> bool {
        let is_one = self.stream == other.stream && !self.stream.is_default();
        let waits = |legacy: &Place, stream: &Place| legacy.stream.is_legacy() && stream.is_blocking;
        is_one || (self.context == other.context && (waits(self, other) || waits(other, self)))
    }

    /// The same for a thread inside a call, of which little more than the stream is known.
    pub(super) fn may_meet(&self, entering: u64, within: Within) -> bool {
        match entering {
            OUTSIDE => false,
            SEVERAL => true,
            handle if handle == self.stream.0 && !self.stream.is_default() => true,
            _ if within.context != 0 && within.context != self.context.0 => false,
            _ if self.stream.is_legacy() => !within.is_free,
            legacy => legacy == Stream::LEGACY.0 && self.is_blocking,
        }
    }
}

/// What a thread that enters a stream knows of it without asking the driver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Within {
    /// Its context; 0 is any.
    pub(super) context: u64,
    /// It is known to be a stream that the legacy one does not wait for.
    pub(super) is_free: bool,
}

impl Within {
    /// A stream of the context, and its place if that is known.
    #[inline]
    #[must_use]
    pub fn of(context: Context, place: Option<&Place>) -> Within {
        Within { context: context.0, is_free: place.is_some_and(|place| !place.is_blocking) }
    }
}

/// The handle of a stream, which has two for the legacy one.
#[inline]
pub(super) fn number(stream: Stream) -> u64 {
    if stream == Stream::DEFAULT { Stream::LEGACY.0 } else { stream.0 }
}
