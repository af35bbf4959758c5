//! The equipment of an experiment: streams, pairs of buffers to copy between, and words that host and device share. The
//! rig owns all of them, so no copy can outlive its memory, and submitting copies is safe.
#![allow(unsafe_code)] // the one file of the probe that touches raw memory

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use hal::locks::{lock, unpoisoned};
use hal::{Code, Context, DevicePtr, Driver, HostAllocFlags, Nanos, Result, Stream, StreamFlags, Wait};

use priority::Direction;

/// The directions in which a rig can copy.
pub const HOST_DIRECTIONS: [Direction; 2] = [Direction::HostToDevice, Direction::DeviceToHost];

/// CUDA's number of the priority that a stream has by default.
pub const STREAM_PRIORITY_DEFAULT: i32 = 0;

/// Each word has a cache line to itself, so that host and device do not compete for neighbours.
const SLOT_BYTES: usize = 64;
/// The number of words of each width.
pub(super) const SLOTS: usize = 32;
const WORDS_BYTES: usize = 2 * SLOTS * SLOT_BYTES;
/// A rig that is dropped waits this long for its streams before it leaves its memory to them.
const DRAIN: Nanos = Nanos::from_ms(10_000);
/// The pause between two looks at a stream.
const LOOK_EVERY: Nanos = Nanos::from_us(20);

/// A buffer on the host and one on the device, of the same size.
struct Lane {
    host: NonNull<u8>,
    device: DevicePtr,
    bytes: u64,
}

/// Streams, buffers and words of an experiment, all in the context that was current when it was made.
pub struct Rig {
    driver: Arc<dyn Driver>,
    context: Context,
    streams: Mutex<Vec<Stream>>,
    lanes: Vec<Lane>,
    words: NonNull<u8>,
    words_device: DevicePtr,
}

// SAFETY: the pointers are to memory that the rig owns until it is dropped. The host touches the words only as atomics,
// and never touches the bytes of the lanes at all.
unsafe impl Send for Rig {}
// SAFETY: as above; everything else inside is Sync by itself.
unsafe impl Sync for Rig {}

impl Rig {
    /// A rig in the current context, with a lane of each size in `lane_bytes`.
    pub fn new(driver: &Arc<dyn Driver>, lane_bytes: &[u64]) -> Result<Rig> {
        let context = driver.context_current()?.ok_or_else(|| {
            Code::INVALID_CONTEXT.at("cuCtxGetCurrent").because("no context is current: call cuCtxSetCurrent first")
        })?;
        let words = pinned(&**driver, WORDS_BYTES as u64)?;
        let mut rig = Rig {
            driver: Arc::clone(driver),
            context,
            streams: Mutex::new(Vec::new()),
            lanes: Vec::new(),
            words,
            words_device: DevicePtr::NULL,
        };
        // Later errors drop the rig, which frees everything made so far.
        rig.words_device = driver.host_device_pointer(words.as_ptr())?;
        for bytes in lane_bytes {
            let lane = rig.lane(*bytes)?;
            rig.lanes.push(lane);
        }
        Ok(rig)
    }

    fn lane(&self, bytes: u64) -> Result<Lane> {
        let device = self.driver.mem_alloc(bytes)?;
        match pinned(&*self.driver, bytes) {
            Ok(host) => Ok(Lane { host, device, bytes }),
            Err(error) => {
                let _ = self.driver.mem_free(device);
                Err(error)
            }
        }
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

    /// Makes a stream that does not synchronise with the default stream. It lives as long as the rig.
    pub fn stream(&self, priority: i32) -> Result<Stream> {
        let stream = self.driver.stream_create(StreamFlags::NON_BLOCKING, priority)?;
        lock(&self.streams).push(stream);
        Ok(stream)
    }

    /// Submits a copy of the first `bytes` of a lane, in one of the [`HOST_DIRECTIONS`]. The contents do not matter:
    /// no caller can read them.
    pub fn copy(&self, direction: Direction, lane: usize, bytes: u64, stream: Stream) -> Result<()> {
        let lane = &self.lanes[lane];
        assert!(bytes <= lane.bytes, "a copy of {bytes} bytes in a lane of {}", lane.bytes);
        let host = lane.host.as_ptr();
        match direction {
            // SAFETY: the lane has `bytes` on both sides, pinned, never written by the host, and is freed only by
            // `drop` after every stream of the rig has drained.
            Direction::HostToDevice => unsafe { self.driver.copy_htod_async(lane.device, host, bytes, stream) },
            // SAFETY: as above; the host neither reads nor writes the target.
            Direction::DeviceToHost => unsafe { self.driver.copy_dtoh_async(host, lane.device, bytes, stream) },
            Direction::DeviceToDevice | Direction::Peer => {
                Err(Code::INVALID_VALUE.at("cuMemcpyAsync").because("a rig copies between host and device only"))
            }
        }
    }

    /// A 32-bit word that host and device share. Its first value may be any: those who use it set it before.
    #[must_use]
    pub fn word(&self, slot: usize) -> &AtomicU32 {
        assert!(slot < SLOTS, "there are {SLOTS} words");
        // SAFETY: the slot lies inside the words, is aligned to 64 bytes, lives as long as the rig, and is only ever
        // accessed as an AtomicU32: 64-bit words lie in the other half.
        unsafe { self.words.add(slot * SLOT_BYTES).cast().as_ref() }
    }

    /// The address at which the device sees [`Rig::word`].
    #[must_use]
    pub fn word_address(&self, slot: usize) -> DevicePtr {
        self.words_device.offset((slot * SLOT_BYTES) as u64)
    }

    /// A 64-bit word that host and device share. Its first value may be any, too.
    #[must_use]
    pub fn wide_word(&self, slot: usize) -> &AtomicU64 {
        assert!(slot < SLOTS, "there are {SLOTS} wide words");
        // SAFETY: as for `word`; this half is only ever accessed as AtomicU64.
        unsafe { self.words.add((SLOTS + slot) * SLOT_BYTES).cast().as_ref() }
    }

    /// The address at which the device sees [`Rig::wide_word`].
    #[must_use]
    pub fn wide_word_address(&self, slot: usize) -> DevicePtr {
        self.words_device.offset(((SLOTS + slot) * SLOT_BYTES) as u64)
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

    /// Ends its streams, which have drained. Its memory stays until it is dropped: to free it waits for the context.
    pub(super) fn rest(&self) {
        for stream in std::mem::take(&mut *lock(&self.streams)) {
            // An error means that the context is gone, and the stream with it.
            let _ = self.driver.stream_destroy(stream);
        }
    }

    fn free(&mut self) -> Result<()> {
        let streams = std::mem::take(unpoisoned(self.streams.get_mut()));
        // The earlier failure may have come from this very call, so it gets a second chance before everything stays
        // allocated.
        let seen = self.look(&streams, DRAIN).or_else(|_| self.look(&streams, DRAIN))?;
        let is_drained = seen.into_iter().all(|done| done);
        if !is_drained {
            // Freeing would wait for the device, perhaps for ever, or free memory that a copy still uses.
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery"));
        }
        // A buffer that cannot be freed must not keep the others.
        let mut freed = Ok(());
        for stream in streams {
            freed = freed.and(self.driver.stream_destroy(stream));
        }
        for lane in self.lanes.drain(..) {
            freed = freed.and(self.driver.mem_free(lane.device));
            // SAFETY: it came from host_alloc, the streams have drained, and the rig gives out no reference to it.
            freed = freed.and(unsafe { self.driver.host_free(lane.host.as_ptr()) });
        }
        // SAFETY: as above; references to words borrow the rig, so none is left.
        freed.and(unsafe { self.driver.host_free(self.words.as_ptr()) })
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let before = self.driver.context_current();
        // A driver that fails here has lost its context and everything in it, so nothing is left to free.
        if before == Ok(Some(self.context)) {
            let _ = self.free();
            return;
        }
        let _ = self.make_current().and_then(|()| self.free());
        if let Ok(before) = before {
            let _ = self.driver.context_set_current(before);
        }
    }
}

fn pinned(driver: &dyn Driver, bytes: u64) -> Result<NonNull<u8>> {
    let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
    let pointer = driver.host_alloc(bytes, flags)?;
    NonNull::new(pointer).ok_or_else(|| Code::OUT_OF_MEMORY.at("cuMemHostAlloc"))
}
