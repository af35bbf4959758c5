//! The ground of a benchmark: pinned and device memory, streams and words. It owns them until everything submitted to
//! its streams has completed. That ownership makes submitting copies safe, natively and through overtake alike.
#![allow(unsafe_code)] // the one file of the bench that touches raw memory

use std::sync::{Arc, Mutex, OnceLock};

use channels::probe::Rig;
use hal::locks::{lock, unpoisoned};
use hal::{Code, DevicePtr, Driver, Function, HostAllocFlags, Launch, Module, Nanos, Result, Stream};
use overtake::copy::CopyHandle;
use overtake::{Overtake, Priority, PriorityStream};
use terms::Direction;

/// A ground that is dropped waits this long for its streams before it leaves its memory to them.
const DRAIN: Nanos = Nanos::from_ms(10_000);

/// A buffer on each side, of the same size. The host never reads or writes the bytes.
struct Lane {
    host: u64,
    device: DevicePtr,
    bytes: u64,
}

/// Memory, streams and words of a benchmark, all in the context that was current when it was made.
pub struct Ground {
    rig: Rig,
    lanes: Vec<Lane>,
    streams: Mutex<Vec<Stream>>,
    noop: OnceLock<(Module, Function)>,
}

/// A stream of a ground with a priority that overtake heeds.
pub struct Adopted {
    stream: PriorityStream,
    ground: Arc<Ground>,
}

impl Ground {
    /// Ground in the current context, with a lane of each size in `lane_bytes`.
    pub fn new(driver: &Arc<dyn Driver>, lane_bytes: &[u64]) -> Result<Ground> {
        let rig = Rig::new(driver, &[])?;
        let mut ground = Ground { rig, lanes: Vec::new(), streams: Mutex::default(), noop: OnceLock::new() };
        for &bytes in lane_bytes {
            let device = driver.mem_alloc(bytes)?;
            let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
            match driver.host_alloc(bytes, flags) {
                Ok(host) => ground.lanes.push(Lane { host: host as u64, device, bytes }),
                Err(error) => {
                    let _ = driver.mem_free(device);
                    return Err(error);
                }
            }
        }
        Ok(ground)
    }

    /// The ground's words, clock and driver.
    #[must_use]
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        self.rig.driver()
    }

    /// Makes a stream that lives as long as the ground.
    pub fn stream(&self, cuda_priority: i32) -> Result<Stream> {
        let stream = self.rig.stream(cuda_priority)?;
        lock(&self.streams).push(stream);
        Ok(stream)
    }

    /// Gives a stream of this ground a priority.
    pub fn adopt(self: &Arc<Ground>, overtake: &Overtake, stream: Stream, priority: Priority) -> Result<Adopted> {
        let is_ours = lock(&self.streams).contains(&stream);
        assert!(is_ours, "{stream:?} is not a stream of this ground, which could therefore not wait for it");
        Ok(Adopted { stream: overtake.adopt(stream, priority)?, ground: Arc::clone(self) })
    }

    fn lane(&self, lane: usize, offset: u64, bytes: u64) -> (*mut u8, DevicePtr) {
        let lane = &self.lanes[lane];
        assert!(offset + bytes <= lane.bytes, "{bytes} bytes at {offset} in a lane of {}", lane.bytes);
        ((lane.host + offset) as *mut u8, lane.device.offset(offset))
    }

    /// Submits a native copy of `bytes` at `offset` of a lane, between host and device.
    pub fn copy(&self, direction: Direction, lane: usize, offset: u64, bytes: u64, stream: Stream) -> Result<()> {
        let (host, device) = self.lane(lane, offset, bytes);
        match direction {
            // SAFETY: both sides have `bytes` (checked by `lane`), the host side is pinned, never touched by the host,
            // and freed only by `drop` after every stream of the ground has drained.
            Direction::HostToDevice => unsafe { self.driver().copy_htod_async(device, host, bytes, stream) },
            // SAFETY: as above.
            Direction::DeviceToHost => unsafe { self.driver().copy_dtoh_async(host, device, bytes, stream) },
            Direction::DeviceToDevice | Direction::Peer => {
                Err(Code::INVALID_VALUE.at("cuMemcpyAsync").because("a lane leads from host to device and back only"))
            }
        }
    }

    /// Launches an empty kernel.
    pub fn launch_nothing(&self, stream: Stream) -> Result<()> {
        let function = match self.noop.get() {
            Some((_, function)) => *function,
            None => {
                let module = self.driver().module_load(softgpu::BUILTIN_PTX.as_bytes())?;
                let function = self.driver().module_function(module, "soft_noop")?;
                self.noop.get_or_init(|| (module, function)).1
            }
        };
        let launch = Launch { function, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters: &[] };
        // SAFETY: `soft_noop` declares no parameters and touches no memory.
        unsafe { self.driver().launch(&launch) }
    }

    fn free(&mut self) -> Result<()> {
        let streams = std::mem::take(unpoisoned(self.streams.get_mut()));
        let is_drained = self.rig.look(&streams, DRAIN)?.into_iter().all(|done| done);
        if !is_drained {
            // Freeing would wait for the device, perhaps for ever, or free memory that a copy still uses.
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery"));
        }
        if let Some((module, _)) = self.noop.take() {
            self.driver().module_unload(module)?;
        }
        for lane in self.lanes.drain(..) {
            self.rig.driver().mem_free(lane.device)?;
            // SAFETY: it came from host_alloc; all work that overtake submits for a stream completes before that
            // stream is idle, and all streams are; nothing on the host refers to it.
            unsafe { self.rig.driver().host_free(lane.host as *mut u8)? };
        }
        Ok(())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // A driver that fails here has lost its context and everything in it. Otherwise the memory stays where
        // unfinished copies still find it.
        let _ = self.rig.make_current().and_then(|()| self.free());
    }
}

impl Adopted {
    /// Submits a copy of `bytes` at the beginning of a lane through overtake.
    pub fn copy(&self, direction: Direction, lane: usize, bytes: u64) -> Result<CopyHandle> {
        let (host, device) = self.ground.lane(lane, 0, bytes);
        match direction {
            // SAFETY: as for `Ground::copy`: the stream is one of the ground's, so its drop waits for this copy too.
            Direction::HostToDevice => unsafe { self.stream.memcpy_htod_async(device, host, bytes) },
            // SAFETY: as above.
            Direction::DeviceToHost => unsafe { self.stream.memcpy_dtoh_async(host, device, bytes) },
            Direction::DeviceToDevice | Direction::Peer => {
                Err(Code::INVALID_VALUE.at("cuMemcpyAsync").because("a lane leads from host to device and back only"))
            }
        }
    }

    /// The stream underneath.
    #[must_use]
    pub fn raw(&self) -> Stream {
        self.stream.raw()
    }

    /// The ground that it belongs to.
    #[must_use]
    pub fn ground(&self) -> &Arc<Ground> {
        &self.ground
    }
}
