//! The memory of a bank: cache lines of host memory that the device sees, and cache lines of device memory.
#![allow(unsafe_code)] // the one place where raw mapped memory becomes atomics

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Code, DevicePtr, Driver, HostRegisterFlags, Result, StreamFlags};

/// One word per 128 bytes: two words must not share a cache line of the CPU or a burst of the bus.
const LINE_BYTES: u64 = 128;

/// The size of a registration is a multiple of this.
const PAGE_BYTES: u64 = 4096;

/// Words that host and device see, each on its own cache line: some in pinned, mapped host memory, and as many in
/// device memory.
///
/// The host memory is ours and only registered with the driver. It outlives a context that an application destroys,
/// so that a thread that watches words never faults. It is shared with children of a fork: otherwise the parent's
/// next write would copy the page, and CPU and device would see different pages.
pub struct Words {
    driver: Arc<dyn Driver>,
    host: *mut u8,
    mapped_bytes: usize,
    host_seen_by_device: DevicePtr,
    device: DevicePtr,
    count: u64,
}

// SAFETY: `host` points to pinned memory that lives as long as `Words` and is only reached through the
// atomics that `host_word` hands out; the other fields are plain values.
unsafe impl Send for Words {}
// SAFETY: as above; every access through a shared `Words` is an atomic access.
unsafe impl Sync for Words {}

impl Words {
    /// Allocates `count` words in the current context; all read 0.
    pub fn new(driver: &Arc<dyn Driver>, count: u64) -> Result<Words> {
        let mapped_bytes = (count * LINE_BYTES).next_multiple_of(PAGE_BYTES) as usize;
        let host = map(mapped_bytes)?;
        let flags = HostRegisterFlags(HostRegisterFlags::PORTABLE.0 | HostRegisterFlags::DEVICEMAP.0);
        // SAFETY: the range was mapped just now and is unmapped only after it has been unregistered.
        let registered = unsafe { driver.host_register(host, mapped_bytes as u64, flags) };
        registered.inspect_err(|_| unmap(host, mapped_bytes))?;
        // It is built before the next call that can fail, so that Drop frees the registration.
        let mut words = Words {
            driver: Arc::clone(driver),
            host,
            mapped_bytes,
            host_seen_by_device: DevicePtr::NULL,
            device: DevicePtr::NULL,
            count,
        };
        words.host_seen_by_device = driver.host_device_pointer(host)?;
        words.device = driver.mem_alloc(count * LINE_BYTES)?;
        words.clear_device()?;
        Ok(words)
    }

    /// Sets the words of device memory to 0, in a stream of its own. The default streams may wait for something that
    /// the calling thread does next, and this returns when it is done.
    fn clear_device(&self) -> Result<()> {
        let stream = self.driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let set = self.driver.memset_d8_async(self.device, 0, self.count * LINE_BYTES, stream);
        let done = set.and_then(|()| self.driver.stream_synchronize(stream));
        // After a second refusal the stream is the driver's.
        let destroy = || self.driver.stream_destroy(stream);
        done.and(destroy().inspect_err(|_| drop(destroy())))
    }

    fn host_word(&self, index: u64) -> &AtomicU32 {
        assert!(index < self.count, "word {index} of {}", self.count);
        // SAFETY: the mapping is at least `count * LINE_BYTES` long and page aligned, so the word is in bounds and
        // aligned; it was zeroed by the kernel, and it is only accessed atomically, by the CPU and by the device alike;
        // it lives until Drop, which needs `&mut self`.
        unsafe { &*self.host.add((index * LINE_BYTES) as usize).cast::<AtomicU32>() }
    }

    /// Stores to a host word. For the bus it is a plain store.
    pub fn store(&self, index: u64, value: u32) {
        // SeqCst: the raise must be globally visible before the urgent copy is submitted after it.
        self.host_word(index).store(value, Ordering::SeqCst);
    }

    /// Loads a host word.
    pub fn load(&self, index: u64) -> u32 {
        self.host_word(index).load(Ordering::SeqCst)
    }

    /// The address at which the device sees the `index`th host word.
    pub fn host_address(&self, index: u64) -> DevicePtr {
        self.host_seen_by_device.offset(index * LINE_BYTES)
    }

    /// The `index`th word of device memory.
    pub fn device_address(&self, index: u64) -> DevicePtr {
        self.device.offset(index * LINE_BYTES)
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // Errors are ignored: the process or the context may be going away, and the memory goes with it.
        if self.device != DevicePtr::NULL {
            let _ = self.driver.mem_free(self.device);
        }
        // If it cannot be unregistered, the device may still see the memory. Then it stays mapped.
        if self.driver.host_unregister(self.host).is_ok() {
            unmap(self.host, self.mapped_bytes);
        }
    }
}

/// Whether a fork shares the pages. Miri has neither fork nor shared mappings.
const SHARING: libc::c_int = if cfg!(miri) { libc::MAP_PRIVATE } else { libc::MAP_SHARED };

/// Pages of zeroes that a fork shares.
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

/// Unmaps memory that `map` returned.
fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: `memory` came from `map` with the same size, the driver knows it no more, and no reference that
    // `host_word` handed out outlives its `Words`.
    let _ = unsafe { libc::munmap(memory.cast(), bytes) };
}
