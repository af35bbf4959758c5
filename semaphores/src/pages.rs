//! Host memory of the layer's own that the device sees.
#![allow(unsafe_code)] // maps memory

use std::sync::Arc;

use hal::{Code, Driver, HostRegisterFlags, Result};

/// The size of a registration is a multiple of this.
const PAGE_BYTES: u64 = 4096;

/// Pages of zeroes, pinned and mapped.
///
/// They are ours and only registered with the driver. They outlive a context that an application destroys, so that a
/// thread that looks at them never faults. They are shared with children of a fork: otherwise the parent's next write
/// would copy the page, and CPU and device would see different pages.
pub struct Pages {
    driver: Arc<dyn Driver>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pages live as long as the value, which hands out their address only.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Pages for so many bytes, in the current context. They are registered once `prepare` has had them.
    pub fn new(driver: &Arc<dyn Driver>, bytes: u64, prepare: impl FnOnce(*mut u8) -> Result<()>) -> Result<Pages> {
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let start = map(bytes as usize)?;
        let flags = HostRegisterFlags(HostRegisterFlags::PORTABLE.0 | HostRegisterFlags::DEVICEMAP.0);
        // SAFETY: the range was mapped just now and is unmapped only after it has been unregistered.
        let registered = prepare(start).and_then(|()| unsafe { driver.host_register(start, bytes, flags) });
        registered.inspect_err(|_| unmap(start, bytes as usize))?;
        Ok(Pages { driver: Arc::clone(driver), start, bytes: bytes as usize })
    }

    /// The first byte.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // If they cannot be unregistered, the device may still see them. Then they stay mapped.
        if self.driver.host_unregister(self.start).is_ok() {
            unmap(self.start, self.bytes);
        }
    }
}

/// Whether a fork shares the pages. Miri has neither fork nor shared mappings.
const SHARING: libc::c_int = if cfg!(miri) { libc::MAP_PRIVATE } else { libc::MAP_SHARED };

fn map(bytes: usize) -> Result<*mut u8> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, SHARING | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        let text = format!("the system gave no {bytes} bytes of shared memory: raise its limit");
        return Err(Code::OUT_OF_MEMORY.at("mmap").because(text));
    }
    Ok(memory.cast())
}

fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: `memory` came from `map` with the same size, the driver knows it no more, and nothing that knows its
    // address outlives its `Pages`.
    let _ = unsafe { libc::munmap(memory.cast(), bytes) };
}
