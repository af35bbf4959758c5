//! Memory whose copies are safe: no safe code can touch it, or free it, while a copy uses it.
//!
//! A copy takes its [`PinnedBuffer`] and gives it back when it has completed. A [`DeviceBuffer`] is shared; its memory
//! is freed with the last of its parts and copies. A program that forgets a running copy loses the memory of both for
//! good: the device may still use it.
//!
//! # Example
//! ```
//! use overtake::buffer::{DeviceBuffer, PinnedBuffer};
//! use overtake::hal::{Device, Driver};
//! use overtake::{Options, Overtake, Priority};
//! # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
//!
//! let overtake = Overtake::open(&driver, Device(0), Options::default())?;
//! let stream = overtake.stream(Priority::LOWEST)?;
//! let device = DeviceBuffer::<f32>::new(&overtake, 1024)?;
//! let mut pinned = PinnedBuffer::new(&overtake, 1024)?;
//! pinned.fill(0.5);
//!
//! let copy = pinned.copy_to(&device, &stream)?;
//! let mut pinned = copy.wait()?;
//! pinned[7] = 2.0; // the copy has completed
//! let pinned = device.copy_to(pinned, &stream)?.wait()?;
//! assert_eq!(pinned[7], 0.5);
//! # Ok::<(), hal::Error>(())
//! ```
//!
//! The calls of [`hal::Driver`] stay raw. A program that destroys a stream or frees device memory by one of them
//! keeps the rules of that call itself.

mod copy;
mod device;
mod pinned;

pub use bytemuck::Pod;
pub use copy::BufferCopy;
pub use device::DeviceBuffer;
pub use pinned::PinnedBuffer;

use hal::{Code, Result};

/// The bytes of so many elements.
fn bytes_of<T>(length: usize) -> Result<u64> {
    let refused = |detail| Code::INVALID_VALUE.at("overtake buffer").because(detail);
    match length.checked_mul(size_of::<T>()) {
        Some(0) => Err(refused("a buffer has at least one byte")),
        Some(bytes) => Ok(bytes as u64),
        None => Err(refused("so many elements have no address each")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_bytes_and_no_more_than_there_are_addresses() {
        assert_eq!(bytes_of::<u32>(3), Ok(12));
        for refused in [bytes_of::<u32>(0), bytes_of::<()>(3), bytes_of::<u32>(usize::MAX / 2)] {
            assert_eq!(refused.unwrap_err().code(), Code::INVALID_VALUE);
        }
    }
}
