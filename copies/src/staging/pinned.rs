//! Pinned memory of the layer: mapped, faulted in, and only then pinned, because pinning holds system locks that other
//! processes wait for.
#![allow(unsafe_code)] // maps memory

use std::sync::Arc;

use hal::{Code, Driver, HostRegisterFlags, Result};

use super::pages::{Access, populate};

/// A range of pinned memory.
pub(crate) struct Pinned {
    driver: Arc<dyn Driver>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the range lives as long as the value, which hands out its address only.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Pins fresh memory in the current context. Children of a fork see the same pages, so that a fork never moves
    /// those of the parent.
    pub(crate) fn new(driver: &Arc<dyn Driver>, bytes: u64) -> Result<Pinned> {
        let (size, access) = (bytes as usize, libc::PROT_READ | libc::PROT_WRITE);
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping at an address of the system's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Code::OUT_OF_MEMORY.at("mmap").because("the system gave no memory for staging"));
        }
        let (start, flags) = (start.cast(), HostRegisterFlags::PORTABLE.0 | HostRegisterFlags::DEVICEMAP.0);
        let faulted_in = match populate(start as u64, bytes, Access::Write) {
            true => Ok(()),
            false => Err(Code::OUT_OF_MEMORY.at("madvise").because("the system gave no pages for staging")),
        };
        // SAFETY: the range was mapped just now, and is unmapped only after it has been unregistered.
        let pinned = faulted_in.and_then(|()| unsafe { driver.host_register(start, bytes, HostRegisterFlags(flags)) });
        pinned.inspect_err(|_| unmap(start, size))?;
        Ok(Pinned { driver: Arc::clone(driver), start, bytes: size })
    }

    pub(super) fn address(&self) -> u64 {
        self.start as u64
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If it cannot be unregistered, the device may still see the memory. Then it stays mapped.
        if self.driver.host_unregister(self.start).is_ok() {
            unmap(self.start, self.bytes);
        }
    }
}

fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: a mapping of `Pinned::new` that the driver does not know; no thread moves bytes there any more.
    let _ = unsafe { libc::munmap(start.cast(), bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_are_addresses_is_an_error_that_names_the_call() {
        let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let refused = Pinned::new(&driver, 1 << 60).map(drop).unwrap_err();
        assert_eq!((refused.call(), refused.code()), ("mmap", Code::OUT_OF_MEMORY));
    }
}
