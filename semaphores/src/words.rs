//! The memory of a bank: cache lines of host memory that the device sees, and of device memory.
#![allow(unsafe_code)] // the one place where raw mapped memory becomes atomics

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{DevicePtr, Driver, HostAllocFlags, Result, Stream};

/// One word per 128 bytes: neighbours must not share a line, neither the CPU's nor the bus's.
const LINE_BYTES: u64 = 128;

/// Words that both sides see, one to a cache line: some in pinned, mapped host memory, and as many in device memory.
pub struct Words {
    driver: Arc<dyn Driver>,
    host: *mut u8,
    host_seen_by_device: DevicePtr,
    device: DevicePtr,
    count: u64,
}

// SAFETY: `host` points to pinned memory that lives as long as `Words` does and is only ever reached through the
// atomics that `host_word` hands out; the other fields are plain values.
unsafe impl Send for Words {}
// SAFETY: as above; every access through a shared `Words` is an atomic access.
unsafe impl Sync for Words {}

impl Words {
    /// Allocates `count` words in the current context; all read 0.
    pub fn new(driver: &Arc<dyn Driver>, count: u64) -> Result<Words> {
        let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
        let host = driver.host_alloc(count * LINE_BYTES, flags)?;
        // Built before the next call that can fail, so that Drop frees what there is.
        let mut words = Words {
            driver: Arc::clone(driver),
            host,
            host_seen_by_device: DevicePtr::NULL,
            device: DevicePtr::NULL,
            count,
        };
        (0..count).for_each(|index| words.store(index, 0));
        words.host_seen_by_device = driver.host_device_pointer(host)?;
        words.device = driver.mem_alloc(count * LINE_BYTES)?;
        driver.memset_d8_async(words.device, 0, count * LINE_BYTES, Stream::PER_THREAD)?;
        driver.stream_synchronize(Stream::PER_THREAD)?;
        Ok(words)
    }

    fn host_word(&self, index: u64) -> &AtomicU32 {
        assert!(index < self.count, "word {index} of {}", self.count);
        // SAFETY: the allocation is `count * LINE_BYTES` long and page aligned, so the word is in bounds and aligned;
        // the driver zeroes it or `new` stores to it before anyone could read it, and it is only accessed atomically,
        // by the CPU and by the device alike; it lives until Drop, which needs `&mut self`.
        unsafe { &*self.host.add((index * LINE_BYTES) as usize).cast::<AtomicU32>() }
    }

    /// Stores to a host word. A plain store as far as the bus is concerned.
    pub fn store(&self, index: u64, value: u32) {
        // SeqCst: the raise must be globally visible before the urgent copy is submitted after it.
        self.host_word(index).store(value, Ordering::SeqCst);
    }

    /// Loads a host word.
    pub fn load(&self, index: u64) -> u32 {
        self.host_word(index).load(Ordering::SeqCst)
    }

    /// Where the device sees the `index`th host word.
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
        // Errors are swallowed: the process or the context may be going away, and then the memory goes with it.
        if self.device != DevicePtr::NULL {
            let _ = self.driver.mem_free(self.device);
        }
        // SAFETY: `host` came from `host_alloc` in `new`, and no reference that `host_word` handed out outlives `self`.
        let _ = unsafe { self.driver.host_free(self.host) };
    }
}
