//! The memory of a bank: cache lines of host memory that the device sees, and cache lines of device memory.
#![allow(unsafe_code)] // the one place where raw mapped memory becomes atomics

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{DevicePtr, Driver, Result, StreamFlags};

use crate::pages::Pages;

/// One word per 128 bytes: two words must not share a cache line of the CPU or a burst of the bus.
const LINE_BYTES: u64 = 128;

/// Words that host and device see, each on its own cache line: some in pinned, mapped host memory, and as many in
/// device memory.
pub struct Words {
    driver: Arc<dyn Driver>,
    host: Pages,
    host_seen_by_device: DevicePtr,
    device: DevicePtr,
    count: u64,
}

impl Words {
    /// Allocates `count` words in the current context; all read 0.
    pub fn new(driver: &Arc<dyn Driver>, count: u64) -> Result<Words> {
        let host = Pages::new(driver, count * LINE_BYTES, |_| Ok(()))?;
        let host_seen_by_device = driver.host_device_pointer(host.start())?;
        let device = driver.mem_alloc(count * LINE_BYTES)?;
        // It is built before the next call that can fail, so that Drop frees the device memory.
        let words = Words { driver: Arc::clone(driver), host, host_seen_by_device, device, count };
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
        unsafe { &*self.host.start().add((index * LINE_BYTES) as usize).cast::<AtomicU32>() }
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
        let _ = self.driver.mem_free(self.device);
    }
}
