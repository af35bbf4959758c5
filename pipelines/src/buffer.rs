//! The buffer of a frame: pinned host memory and device memory.

use std::ptr::NonNull;

use copies::copy::Request;
use hal::{Code, DevicePtr, Result};
use overtake_memory::heap::{Block, Heap};

/// The name of the blocks in the statistics of their heaps.
const OWNER: &str = "pipeline";

/// Pinned memory of the host and memory of the device, of the same size, from heaps.
#[derive(Debug)]
pub struct StageBuffer {
    host: Block,
    device: Block,
}

impl StageBuffer {
    /// Takes so many bytes from each heap. The first is one of pinned memory, and the second one of device memory.
    pub fn new(pinned: &Heap, device: &Heap, bytes: u64) -> Result<StageBuffer> {
        let (host, device) = (pinned.alloc(bytes, 256, OWNER)?, device.alloc(bytes, 256, OWNER)?);
        if host.host_pointer().is_none() || device.device_pointer().is_none() {
            let detail = "the first heap must be of pinned memory, and the second one of device memory".to_owned();
            return Err(Code::INVALID_VALUE.at("overtake StageBuffer").because(detail));
        }
        Ok(StageBuffer { host, device })
    }

    /// The bytes of each.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.host.bytes().min(self.device.bytes())
    }

    /// The address of the host's memory.
    #[must_use]
    pub fn host(&self) -> NonNull<u8> {
        self.host.host_pointer().expect("checked when it was made")
    }

    /// The address of the device's memory.
    #[must_use]
    pub fn device(&self) -> DevicePtr {
        self.device.device_pointer().expect("checked when it was made")
    }

    /// A copy of all bytes to the device.
    #[must_use]
    pub fn upload(&self) -> Request {
        Request::htod(self.device(), self.host().as_ptr(), self.bytes())
    }

    /// A copy of all bytes to the host.
    #[must_use]
    pub fn download(&self) -> Request {
        Request::dtoh(self.host().as_ptr(), self.device(), self.bytes())
    }
}
