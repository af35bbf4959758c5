//! A copy as the caller asks for it.

use channels::{Direction, Shape, Side};
use hal::{Copy2d, Copy3d, DevicePtr, Endpoint, Plane, Volume};
use semaphores::Priority;

/// A copy as the caller asks for it.
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
    /// The direction, where the caller named it: then only the host side needs to be asked about.
    pub(crate) direction: Option<Direction>,
}

impl Request {
    /// `bytes` from `source` to `target`. Addresses are those of unified addressing: host pointers or device pointers.
    #[must_use]
    pub fn linear(target: DevicePtr, source: DevicePtr, bytes: u64) -> Request {
        Request { shape: Shape::linear(target.0, source.0, bytes), priority: None, direction: None }
    }

    /// Host to device.
    #[must_use]
    pub fn htod(target: DevicePtr, source: *const u8, bytes: u64) -> Request {
        let direction = Some(Direction::HostToDevice);
        Request { direction, ..Request::linear(target, DevicePtr(source as u64), bytes) }
    }

    /// Device to host.
    #[must_use]
    pub fn dtoh(target: *mut u8, source: DevicePtr, bytes: u64) -> Request {
        let direction = Some(Direction::DeviceToHost);
        Request { direction, ..Request::linear(DevicePtr(target as u64), source, bytes) }
    }

    /// A rectangle. `None` where the driver has to be asked whether it takes that: it is empty, rows are longer than
    /// their pitch, a pitch is longer than any device's, or a number leaves 64 bits.
    #[must_use]
    pub fn two_d(copy: &Copy2d) -> Option<Request> {
        let volume = |plane: &Plane| {
            let Plane { base, pitch_bytes, x_bytes, y } = *plane;
            Volume { base, pitch_bytes, slice_rows: 0, x_bytes, y, z: 0 }
        };
        let Copy2d { width_bytes, height, .. } = *copy;
        let (source, target) = (volume(&copy.source), volume(&copy.target));
        Request::three_d(&Copy3d { source, target, width_bytes, height, depth: 1 })
    }

    /// A box. `None` as for a rectangle, and where a slice has more rows than there are from one to the next.
    #[must_use]
    pub fn three_d(copy: &Copy3d) -> Option<Request> {
        let Copy3d { width_bytes, height, depth, .. } = *copy;
        let side = |volume: &Volume| side(volume, width_bytes, height);
        let shape =
            Shape { target: side(&copy.target)?, source: side(&copy.source)?, width_bytes, rows: height, depth };
        let direction = direction(copy.source.base, copy.target.base);
        shape.fits().then_some(Request { shape, priority: None, direction })
    }

    /// How many bytes several move together; never fewer than they do.
    #[must_use]
    pub fn total_bytes(requests: &[Request]) -> u64 {
        requests.iter().fold(0, |sum, request| sum.saturating_add(request.bytes()))
    }

    /// The same copy with a priority of its own instead of its stream's.
    #[must_use]
    pub fn at(self, priority: Priority) -> Request {
        Request { priority: Some(priority), ..self }
    }

    /// The direction, where the caller named it.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        self.direction
    }

    /// How many bytes it moves.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shape.bytes()
    }
}

/// The direction, where both sides say where they are.
fn direction(source: Endpoint, target: Endpoint) -> Option<Direction> {
    match (source, target) {
        (Endpoint::Host(_), Endpoint::Device(_)) => Some(Direction::HostToDevice),
        (Endpoint::Device(_), Endpoint::Host(_)) => Some(Direction::DeviceToHost),
        _ => None,
    }
}

fn address(endpoint: Endpoint) -> u64 {
    match endpoint {
        Endpoint::Host(address) => address,
        Endpoint::Device(pointer) | Endpoint::Unified(pointer) => pointer.0,
    }
}

/// The longest pitch that any driver takes (`CU_DEVICE_ATTRIBUTE_MAX_PITCH`).
const PITCH_BYTES_MAX: u64 = i32::MAX as u64;

/// One side of a box, with a pitch of 0 read as the driver was seen to read it.
fn side(volume: &Volume, width_bytes: u64, height: u64) -> Option<Side> {
    let (row_end, rows_end) = (volume.x_bytes.checked_add(width_bytes)?, volume.y.checked_add(height)?);
    let pitch = if volume.pitch_bytes == 0 { row_end } else { volume.pitch_bytes };
    let rows = if volume.slice_rows == 0 { rows_end } else { volume.slice_rows };
    if row_end > pitch || rows_end > rows || volume.pitch_bytes > PITCH_BYTES_MAX {
        return None;
    }
    let rows_before = volume.z.checked_mul(rows)?.checked_add(volume.y)?;
    let offset = rows_before.checked_mul(pitch)?.checked_add(volume.x_bytes)?;
    Some(Side {
        address: address(volume.base).checked_add(offset)?,
        row_pitch_bytes: pitch,
        slice_pitch_bytes: pitch.checked_mul(rows)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_end_where_numbers_do() {
        let half = Request::htod(DevicePtr(1000), std::ptr::null(), 1 << 63);
        assert_eq!(Request::total_bytes(&[half, half]), u64::MAX);
    }

    #[test]
    fn rectangles_and_boxes_become_shapes() {
        let base = Endpoint::Device(DevicePtr(1000));
        let copy = Copy2d {
            source: Plane { base: Endpoint::Host(5000), pitch_bytes: 0, x_bytes: 3, y: 2 },
            target: Plane { base, pitch_bytes: 64, x_bytes: 8, y: 1 },
            width_bytes: 16,
            height: 4,
        };
        let shape = Request::two_d(&copy).unwrap().shape;
        assert_eq!((shape.source.address, shape.source.row_pitch_bytes), (5000 + 2 * 19 + 3, 19));
        assert_eq!((shape.target.address, shape.bytes()), (1000 + 64 + 8, 64));
        let volume = |slice_rows| Volume { base, pitch_bytes: 32, slice_rows, x_bytes: 1, y: 2, z: 3 };
        let copy = Copy3d { source: volume(0), target: volume(10), width_bytes: 16, height: 4, depth: 2 };
        let shape = Request::three_d(&copy).unwrap().shape;
        assert_eq!(shape.source.address, 1000 + (3 * 6 + 2) * 32 + 1);
        assert_eq!((shape.target.address, shape.target.slice_pitch_bytes), (1000 + (3 * 10 + 2) * 32 + 1, 320));
    }
}
