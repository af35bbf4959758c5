//! The scout: a small probe copy ahead of a rescue. If it gets through the copy queues, so does the rescue.
#![allow(unsafe_code)] // the scout owns the memory that it copies between

use std::sync::Arc;

use channels::copy_shape;
use hal::{DevicePtr, Driver, HostAllocFlags, Nanos, Result, Shape, Stream};
use priority::Direction;

/// The size of a scout. The driver carries much smaller copies in its commands, without a copy queue.
const BYTES: u64 = 64 << 10;

/// The pause between two looks. Each look asks the driver: a modelled device moves at the latest when it is asked.
const LOOK_EVERY: Nanos = Nanos::from_us(10);

/// The memory of small copies.
pub(super) struct Scout {
    driver: Arc<dyn Driver>,
    host: *mut u8,
    device: DevicePtr,
}

// SAFETY: the host never touches the memory behind `host`; only the device does, by copies.
unsafe impl Send for Scout {}
// SAFETY: as above; the other fields are plain values, or Sync by themselves.
unsafe impl Sync for Scout {}

impl Scout {
    pub(super) fn new(driver: &Arc<dyn Driver>) -> Result<Scout> {
        let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE)?;
        // It is built before the next call that can fail, so that Drop frees the memory.
        let mut scout = Scout { driver: Arc::clone(driver), host, device: DevicePtr::NULL };
        scout.device = driver.mem_alloc(2 * BYTES)?;
        Ok(scout)
    }

    /// Whether a copy in each of these directions gets through in time, in this stream, which is empty. If one does
    /// not, it stays in the stream.
    pub(super) fn gets_through(&self, directions: &[Direction], stream: Stream, within: Nanos) -> Result<bool> {
        directions.iter().try_for_each(|direction| self.send(*direction, stream))?;
        let host = self.driver.host();
        let end = host.now() + within;
        while !self.driver.stream_query(stream)? {
            if host.now() >= end {
                return Ok(false);
            }
            host.sleep(LOOK_EVERY);
        }
        // The queue counts as idle, and is given to the next copy, a moment after its last one.
        host.sleep(LOOK_EVERY);
        Ok(true)
    }

    fn send(&self, direction: Direction, stream: Stream) -> Result<()> {
        let (host, device) = (self.host as u64, self.device.0);
        let (shape, direction) = match direction {
            Direction::HostToDevice => (Shape::linear(device, host, BYTES), direction),
            Direction::DeviceToHost => (Shape::linear(host, device, BYTES), direction),
            // The scout has no memory on other devices.
            Direction::DeviceToDevice | Direction::Peer => {
                (Shape::linear(device, device + BYTES, BYTES), Direction::DeviceToDevice)
            }
        };
        // SAFETY: both sides are as large, and live until the streams that copy between them have been drained.
        unsafe { copy_shape(&*self.driver, direction, &shape, stream) }
    }
}

impl Drop for Scout {
    fn drop(&mut self) {
        // Errors are ignored: the process or the context may be going away, and the memory goes with it.
        if self.device != DevicePtr::NULL {
            let _ = self.driver.mem_free(self.device);
        }
        // SAFETY: it was allocated by `new`, and no reference to it has ever been made.
        let _ = unsafe { self.driver.host_free(self.host) };
    }
}
