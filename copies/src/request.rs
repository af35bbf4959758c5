//! A copy as its caller requests it.

use channels::{Shape, Side};
use hal::{Declared, DevicePtr};
use priority::{Direction, Priority};

/// A copy as its caller requests it: both sides, the size, and optionally a priority.
///
/// # Example
/// ```
/// # use overtake_copies as overtake;
/// use overtake::Priority;
/// use overtake::copy::Request;
/// use overtake::hal::DevicePtr;
///
/// let weights = vec![0_u8; 4096];
/// let request = Request::htod(DevicePtr(0x7000_0000), weights.as_ptr(), 4096);
/// assert_eq!(request.bytes(), 4096);
/// // One urgent copy in a stream of bulk.
/// let urgent = request.at(Priority::new(6).expect("priorities begin at 1"));
/// assert_eq!(urgent.direction(), request.direction());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    pub(crate) shape: Shape,
    pub(crate) priority: Option<Priority>,
    /// As both sides of the shape declare it. To read it off them costs a copy that goes at once 20 instructions.
    pub(crate) direction: Option<Direction>,
    pub(crate) ready: Option<bool>,
}

impl Request {
    /// Copies `bytes` from `source` to `target`. Addresses are unified: host pointers or device pointers.
    #[must_use]
    pub fn linear(target: DevicePtr, source: DevicePtr, bytes: u64) -> Request {
        Request::of(Shape::linear(target.0, source.0, bytes))
    }

    /// Host to device.
    #[must_use]
    pub fn htod(target: DevicePtr, source: *const u8, bytes: u64) -> Request {
        Request::of(Shape::run(Side::device(target), Side::host(source as u64), bytes))
    }

    /// Device to host.
    #[must_use]
    pub fn dtoh(target: *mut u8, source: DevicePtr, bytes: u64) -> Request {
        Request::of(Shape::run(Side::host(target as u64), Side::device(source), bytes))
    }

    /// A rectangle or a box. `None` for a shape that the driver may refuse: it is empty, rows or slices are longer than
    /// the distance between them, a pitch is longer than any device's, or a number exceeds 64 bits.
    #[must_use]
    pub fn shaped(shape: &Shape) -> Option<Request> {
        let holds_rows = |side: &Side| {
            let pitch = side.row_pitch_bytes;
            let apart = || pitch.checked_mul(shape.rows).is_some_and(|rows| rows <= side.slice_pitch_bytes);
            (shape.width_bytes..=PITCH_BYTES_MAX).contains(&pitch) && (shape.depth == 1 || apart())
        };
        let sound = shape.fits() && holds_rows(&shape.target) && holds_rows(&shape.source);
        sound.then(|| Request::of(*shape))
    }

    #[inline]
    fn of(shape: Shape) -> Request {
        let direction = match (shape.source.declared, shape.target.declared) {
            (Declared::Host, Declared::Device) => Some(Direction::HostToDevice),
            (Declared::Device, Declared::Host) => Some(Direction::DeviceToHost),
            _ => None,
        };
        Request { shape, priority: None, direction, ready: None }
    }

    /// The number of bytes of several requests, but no less if the sum leaves 64 bits.
    #[inline]
    #[must_use]
    pub fn total_bytes(requests: &[Request]) -> u64 {
        match requests {
            [one] => one.bytes(),
            several => sum_of_bytes(several),
        }
    }

    /// The request with its own priority, which overrides that of the stream.
    #[must_use]
    pub fn at(self, priority: Priority) -> Request {
        Request { priority: Some(priority), ..self }
    }

    /// States whether the copy can start when it is submitted, because everything before it in its stream is complete.
    /// A caller that waits for completions knows. Otherwise the layer guesses from earlier copies of the stream.
    ///
    /// A copy that can start holds back less urgent ones from then on, however long it takes. A copy that cannot start
    /// yet holds back none until it can, which costs three more driver calls. A wrong statement costs time but never
    /// correctness: the watchdog opens words behind which no copy makes progress.
    #[must_use]
    pub fn ready(self, is_ready: bool) -> Request {
        Request { ready: Some(is_ready), ..self }
    }

    /// The request with this priority, unless it already has one.
    #[doc(hidden)] // for the dispatcher of the front door
    #[must_use]
    pub fn or_at(self, priority: Priority) -> Request {
        Request { priority: self.priority.or(Some(priority)), ..self }
    }

    /// The direction, if both sides declare their memory. The driver is then asked only about the host side.
    #[inline]
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        self.direction
    }

    /// The first bytes of target and source, under unified addressing.
    #[doc(hidden)] // for crates/shim
    #[must_use]
    pub fn addresses(&self) -> [u64; 2] {
        [self.shape.target.address, self.shape.source.address]
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shape.bytes()
    }
}

#[inline(never)] // most calls have one request
pub(crate) fn sum_of_bytes(requests: &[Request]) -> u64 {
    requests.iter().fold(0, |sum, request| sum.saturating_add(request.bytes()))
}

/// The longest pitch that any driver takes (`CU_DEVICE_ATTRIBUTE_MAX_PITCH`).
const PITCH_BYTES_MAX: u64 = i32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_end_where_numbers_do() {
        let half = Request::htod(DevicePtr(1000), std::ptr::null(), 1 << 63);
        assert_eq!(Request::total_bytes(&[half, half]), u64::MAX);
    }

    #[test]
    fn a_shape_that_the_driver_may_refuse_is_no_request() {
        let box_of = |pitch, slice| {
            let side = |address| Side::unified(address).pitched(pitch, slice);
            Shape { target: side(1 << 20), source: side(1 << 30), width_bytes: 16, rows: 4, depth: 2 }
        };
        assert_eq!(Request::shaped(&box_of(16, 64)).map(|request| request.bytes()), Some(128));
        let (narrow, low, wide) = (box_of(15, 64), box_of(16, 63), box_of(1 << 31, 1 << 33));
        let far = Shape { rows: u64::MAX, ..box_of(16, 64) };
        let empty = Shape { rows: 0, ..box_of(16, 64) };
        for shape in [narrow, low, wide, far, empty] {
            assert_eq!(Request::shaped(&shape), None, "{shape:?}");
        }
    }

    #[test]
    fn both_sides_declare_the_direction() {
        let (host, device) = (Side::host(1 << 20).pitched(8, 8), Side::device(DevicePtr(1 << 30)).pitched(8, 8));
        let of = |target, source| Request::shaped(&Shape { target, source, width_bytes: 8, rows: 1, depth: 1 });
        let of = |target, source| of(target, source).and_then(|request| request.direction());
        assert_eq!(of(device, host), Some(Direction::HostToDevice));
        assert_eq!(of(host, device), Some(Direction::DeviceToHost));
        assert_eq!(of(device, Side::unified(1 << 20).pitched(8, 8)), None);
    }
}
