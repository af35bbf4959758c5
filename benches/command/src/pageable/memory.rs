//! Memory of all kinds, and copies of it, each waited for.
#![allow(unsafe_code)] // raw memory: it is made, copied and freed here

use std::sync::Arc;

use hal::{DevicePtr, Driver, HostAllocFlags, Result, Stream, StreamFlags};
use overtake::{Overtake, Priority, PriorityStream};
use priority::Direction;

/// Memory of the device, and pinned memory of the host.
pub struct Memory {
    driver: Arc<dyn Driver>,
    pub device: DevicePtr,
    pinned: *mut u8,
    pub bytes: u64,
    pinned_bytes: u64,
}

// SAFETY: the addresses are given to the driver only, which may be called on any thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(driver: &Arc<dyn Driver>, bytes: u64, pinned_bytes: u64) -> Result<Memory> {
        let device = driver.mem_alloc(bytes)?;
        let pinned = driver.host_alloc(pinned_bytes, HostAllocFlags::PORTABLE);
        let pinned = pinned.inspect_err(|_| drop(driver.mem_free(device)))?;
        Ok(Memory { driver: Arc::clone(driver), device, pinned, bytes, pinned_bytes })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error means that the context is gone, and the memory with it.
        let _ = self.driver.mem_free(self.device);
        // SAFETY: all copies have been waited for.
        let _ = unsafe { self.driver.host_free(self.pinned) };
    }
}

/// The stream of a copy.
pub enum Way {
    Native(Stream),
    Overtake(PriorityStream),
}

/// The host's side of a copy.
pub enum Host<'a> {
    Pageable(&'a mut [u8]),
    Pinned,
}

/// Copies one way in one stream, each waited for.
pub struct Copier {
    pub memory: Arc<Memory>,
    pub direction: Direction,
    pub way: Way,
}

impl Copier {
    /// In a plain stream of this CUDA priority.
    pub fn native(memory: &Arc<Memory>, direction: Direction, cuda_priority: i32) -> Result<Copier> {
        let stream = memory.driver.stream_create(StreamFlags::NON_BLOCKING, cuda_priority)?;
        Ok(Copier { memory: Arc::clone(memory), direction, way: Way::Native(stream) })
    }

    /// Through overtake.
    pub fn through(
        memory: &Arc<Memory>,
        direction: Direction,
        overtake: &Overtake,
        priority: Priority,
    ) -> Result<Copier> {
        let way = Way::Overtake(overtake.stream(priority)?);
        Ok(Copier { memory: Arc::clone(memory), direction, way })
    }

    /// Copies `bytes`, and waits for them. Returns the time that it took.
    pub fn copy(&self, host: &mut Host<'_>, bytes: u64) -> Result<u64> {
        let (driver, memory) = (&self.memory.driver, &self.memory);
        let address = match host {
            Host::Pageable(slice) => {
                assert!(bytes <= slice.len() as u64, "{bytes} bytes of {}", slice.len());
                slice.as_mut_ptr()
            }
            Host::Pinned => {
                assert!(bytes <= memory.pinned_bytes, "{bytes} bytes of {}", memory.pinned_bytes);
                memory.pinned
            }
        };
        assert!(bytes <= memory.bytes, "{bytes} bytes of {}", memory.bytes);
        let (device, clock) = (memory.device, driver.host());
        let begin = clock.now();
        // SAFETY: both sides have so many bytes (checked above), and are borrowed until the copy has completed, because
        // its stream is waited for.
        unsafe {
            match (&self.way, self.direction) {
                (Way::Native(stream), Direction::DeviceToHost) => {
                    driver.copy_dtoh_async(address, device, bytes, *stream)?;
                }
                (Way::Native(stream), _) => driver.copy_htod_async(device, address, bytes, *stream)?,
                (Way::Overtake(stream), Direction::DeviceToHost) => {
                    stream.memcpy_dtoh_async(address, device, bytes)?;
                }
                (Way::Overtake(stream), _) => {
                    stream.memcpy_htod_async(device, address, bytes)?;
                }
            }
        }
        let stream = match &self.way {
            Way::Native(stream) => *stream,
            Way::Overtake(stream) => stream.raw(),
        };
        driver.stream_synchronize(stream)?;
        Ok(clock.now().since(begin).0)
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        if let Way::Native(stream) = self.way {
            let _ = self.memory.driver.stream_destroy(stream);
        }
    }
}
