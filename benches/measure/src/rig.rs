//! Words that host and device share, and looks at streams until a deadline.
#![allow(unsafe_code)] // the words are raw memory

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hal::{Code, Context, DevicePtr, Driver, HostAllocFlags, Nanos, Result, Stream, Wait};

/// CUDA's number of the priority that a stream has by default.
pub const STREAM_PRIORITY_DEFAULT: i32 = 0;

/// Each word has a cache line to itself, so that host and device do not compete for neighbours.
const SLOT_BYTES: usize = 64;
const SLOTS: usize = 32;
/// The pause between two looks at a stream.
const LOOK_EVERY: Nanos = Nanos::from_us(20);

/// The words of an experiment, in the context that was current when it was made.
pub struct Rig {
    driver: Arc<dyn Driver>,
    context: Context,
    words: NonNull<u8>,
    words_device: DevicePtr,
}

// SAFETY: the pointer is to memory that the rig owns until it is dropped, and that is only touched as atomics.
unsafe impl Send for Rig {}
// SAFETY: as above; everything else inside is Sync by itself.
unsafe impl Sync for Rig {}

impl Rig {
    /// A rig in the current context.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Rig> {
        let context = driver.context_current()?.ok_or_else(|| {
            Code::INVALID_CONTEXT.at("cuCtxGetCurrent").because("no context is current: call cuCtxSetCurrent first")
        })?;
        let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
        let words = driver.host_alloc((SLOTS * SLOT_BYTES) as u64, flags)?;
        let words = NonNull::new(words).ok_or_else(|| Code::OUT_OF_MEMORY.at("cuMemHostAlloc"))?;
        // A later error drops the rig, which frees them.
        let mut rig = Rig { driver: Arc::clone(driver), context, words, words_device: DevicePtr::NULL };
        rig.words_device = driver.host_device_pointer(words.as_ptr())?;
        Ok(rig)
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Makes the rig's context current on the calling thread. Each further thread needs this once.
    pub fn make_current(&self) -> Result<()> {
        self.driver.context_set_current(Some(self.context))
    }

    /// A 32-bit word that host and device share. Its first value may be any: those who use it set it before.
    #[must_use]
    pub fn word(&self, slot: usize) -> &AtomicU32 {
        assert!(slot < SLOTS, "there are {SLOTS} words");
        // SAFETY: the slot lies inside the words, is aligned to 64 bytes, lives as long as the rig, and is only ever
        // accessed as an AtomicU32.
        unsafe { self.words.add(slot * SLOT_BYTES).cast().as_ref() }
    }

    /// The address at which the device sees [`Rig::word`].
    #[must_use]
    pub fn word_address(&self, slot: usize) -> DevicePtr {
        self.words_device.offset((slot * SLOT_BYTES) as u64)
    }

    /// Looks at `streams` until all are done or `patience` is over. Returns for each whether it is done.
    pub fn look(&self, streams: &[Stream], patience: Nanos) -> Result<Vec<bool>> {
        let host = self.driver.host();
        let deadline = host.now() + patience;
        loop {
            // The clock comes first: a look that began before the deadline counts, however long the calls take.
            let is_late = host.now() >= deadline;
            let done = streams.iter().map(|stream| self.driver.stream_query(*stream)).collect::<Result<Vec<_>>>()?;
            if is_late || done.iter().all(|done| *done) {
                return Ok(done);
            }
            host.sleep(LOOK_EVERY);
        }
    }

    /// Waits in host time until `word` of this rig satisfies `condition`, but no longer than `patience`.
    #[must_use]
    pub fn wait_for(&self, patience: Nanos, condition: &mut (dyn FnMut() -> bool + Send)) -> bool {
        let host = self.driver.host();
        host.wait_until(Some(host.now() + patience), condition) == Wait::Met
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let before = self.driver.context_current();
        // A driver that fails here has lost its context and everything in it, so nothing is left to free.
        if self.make_current().is_err() {
            return;
        }
        // SAFETY: it came from host_alloc; references to words borrow the rig, so none is left, and freeing waits for
        // the work of the context that knows their addresses.
        let _ = unsafe { self.driver.host_free(self.words.as_ptr()) };
        if let Ok(before) = before {
            let _ = self.driver.context_set_current(before);
        }
    }
}
