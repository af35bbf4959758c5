//! The ground of a benchmark: pinned and device memory, streams and words. It owns them until everything submitted to
//! its streams has completed. That ownership makes submitting copies safe, natively and through overtake alike.
#![allow(unsafe_code)] // raw memory: it is made, copied and freed here; `piece.rs` has kernels work on it

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use crate::rig::Rig;
use hal::locks::{lock, unpoisoned};
use hal::{
    Code, Context, Device, DevicePtr, Driver, Function, HostAllocFlags, Launch, Module, Nanos, Result, Stream,
    StreamFlags,
};
use overtake::copy::{CopyHandle, CopyQueue, Request};
use overtake::{Overtake, Priority, PriorityStream};
use priority::Direction;
use workloads::Kernels;

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
    far: Option<Far>,
    /// Memory of the device alone.
    memory: Mutex<Vec<DevicePtr>>,
    small: OnceLock<Small>,
    works: OnceLock<Kernels>,
}

/// The other end of copies without a host side: memory for each lane, of the same device or of another one.
struct Far {
    context: Context,
    memory: Vec<DevicePtr>,
    /// Whether copies come from there, instead of going there.
    pulls: bool,
}

/// Small kernels, which touch no memory but words.
#[derive(Clone, Copy)]
struct Small {
    module: Module,
    noop: Function,
    spin: Function,
    store: Function,
}

/// A stream of a ground with a priority that overtake heeds.
pub struct Adopted {
    stream: PriorityStream,
    ground: Arc<Ground>,
}

impl Ground {
    /// Ground in the current context, with a lane of each size in `lane_bytes`.
    pub fn new(driver: &Arc<dyn Driver>, lane_bytes: &[u64]) -> Result<Ground> {
        let rig = Rig::new(driver)?;
        let (streams, memory, small, works) = (Mutex::default(), Mutex::default(), OnceLock::new(), OnceLock::new());
        let mut ground = Ground { rig, lanes: Vec::new(), far: None, streams, memory, small, works };
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

    /// Allocates the other end of each lane in another context, or in the own one, and lets kernels reach it if the
    /// devices permit that. Returns whether they do.
    pub fn extend(&mut self, context: Context, device: Device, pulls: bool) -> Result<bool> {
        let (driver, own) = (Arc::clone(self.driver()), self.driver().context_device()?);
        let reaches = own == device || driver.device_can_access_peer(own, device)?;
        if own != device && reaches {
            match driver.enable_peer_access(context) {
                // Another ground of this process may have enabled it.
                Err(error) if error.code() != Code::PEER_ACCESS_ALREADY_ENABLED => return Err(error),
                _ => {}
            }
        }
        let far = self.far.insert(Far { context, memory: Vec::new(), pulls });
        driver.context_set_current(Some(context))?;
        for lane in &self.lanes {
            far.memory.push(driver.mem_alloc(lane.bytes)?);
        }
        self.rig.make_current()?;
        Ok(reaches)
    }

    /// The addresses of a copy without a host side: target and source.
    fn ends(&self, lane: usize, offset: u64, bytes: u64) -> Result<(DevicePtr, DevicePtr)> {
        let (_, near) = self.lane(lane, offset, bytes);
        let no_other_end = || Code::INVALID_VALUE.at("cuMemcpyAsync").because("the lanes lead to the host only");
        let far = self.far.as_ref().ok_or_else(no_other_end)?;
        let there = far.memory[lane].offset(offset);
        Ok(if far.pulls { (near, there) } else { (there, near) })
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

    /// Makes a stream that lives as long as the ground, or until it is given back.
    pub fn stream(&self, cuda_priority: i32) -> Result<Stream> {
        let stream = self.driver().stream_create(StreamFlags::NON_BLOCKING, cuda_priority)?;
        lock(&self.streams).push(stream);
        Ok(stream)
    }

    /// Destroys streams of this ground that no other object uses, when they have drained. A context has room for some
    /// 35 streams; with more, calls wait for the device.
    pub fn give_back(&self, streams: &[Stream]) -> Result<()> {
        if !self.rig.look(streams, DRAIN)?.into_iter().all(|done| done) {
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because("the streams of a method did not drain"));
        }
        lock(&self.streams).retain(|stream| !streams.contains(stream));
        streams.iter().try_for_each(|stream| self.driver().stream_destroy(*stream))
    }

    /// Memory of the device alone, which lives as long as the ground.
    pub fn memory(&self, bytes: u64) -> Result<DevicePtr> {
        let memory = self.driver().mem_alloc(bytes)?;
        lock(&self.memory).push(memory);
        Ok(memory)
    }

    /// Gives a stream of this ground a priority.
    pub fn adopt(self: &Arc<Ground>, overtake: &Overtake, stream: Stream, priority: Priority) -> Result<Adopted> {
        let is_ours = lock(&self.streams).contains(&stream);
        assert!(is_ours, "{stream:?} is not a stream of this ground, which could therefore not wait for it");
        Ok(Adopted { stream: overtake.adopt(stream, priority)?, ground: Arc::clone(self) })
    }

    /// Both sides of a lane.
    pub fn lane(&self, lane: usize, offset: u64, bytes: u64) -> (*mut u8, DevicePtr) {
        let lane = &self.lanes[lane];
        assert!(offset + bytes <= lane.bytes, "{bytes} bytes at {offset} in a lane of {}", lane.bytes);
        ((lane.host + offset) as *mut u8, lane.device.offset(offset))
    }

    /// Submits a native copy of `bytes` at `offset` of a lane.
    pub fn copy(&self, direction: Direction, lane: usize, offset: u64, bytes: u64, stream: Stream) -> Result<()> {
        let (host, device) = self.lane(lane, offset, bytes);
        match direction {
            // SAFETY: both sides have `bytes` (checked by `lane`), the host side is pinned, never touched by the host,
            // and freed only by `drop` after every stream of the ground has drained.
            Direction::HostToDevice => unsafe { self.driver().copy_htod_async(device, host, bytes, stream) },
            // SAFETY: as above.
            Direction::DeviceToHost => unsafe { self.driver().copy_dtoh_async(host, device, bytes, stream) },
            Direction::DeviceToDevice | Direction::Peer => {
                let (target, source) = self.ends(lane, offset, bytes)?;
                // SAFETY: both ends have `bytes`, and are freed as above.
                unsafe { self.driver().copy_async(target, source, bytes, stream) }
            }
        }
    }

    fn small(&self) -> Result<Small> {
        if let Some(small) = self.small.get() {
            return Ok(*small);
        }
        let module = self.driver().module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        let of = |name| self.driver().module_function(module, name);
        let (noop, spin, store) = (of("soft_noop")?, of("soft_spin_ns")?, of("soft_store_u32")?);
        Ok(*self.small.get_or_init(|| Small { module, noop, spin, store }))
    }

    /// The kernels that work on pictures.
    pub fn works(&self) -> Result<&Kernels> {
        if let Some(works) = self.works.get() {
            return Ok(works);
        }
        let works = Kernels::load(&**self.driver())?;
        Ok(self.works.get_or_init(|| works))
    }

    fn launch(&self, function: Function, parameters: &[*mut c_void], stream: Stream) -> Result<()> {
        let launch = Launch { function, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters };
        // SAFETY: each caller in this file gives a small kernel the parameters that it declares; it touches no memory
        // but a word, which lives as long as the rig.
        unsafe { self.driver().launch(&launch) }
    }

    /// Launches an empty kernel.
    pub fn launch_nothing(&self, stream: Stream) -> Result<()> {
        self.launch(self.small()?.noop, &[], stream)
    }

    /// Launches a kernel that takes this long.
    pub fn spin(&self, span: Nanos, stream: Stream) -> Result<()> {
        let mut span_ns = span.0;
        self.launch(self.small()?.spin, &[(&raw mut span_ns).cast()], stream)
    }

    /// Launches a kernel that writes a word.
    pub fn store(&self, word: usize, value: u32, stream: Stream) -> Result<()> {
        let (mut address, mut value) = (self.rig.word_address(word).0, value);
        self.launch(self.small()?.store, &[(&raw mut address).cast(), (&raw mut value).cast()], stream)
    }

    fn free(&mut self) -> Result<()> {
        let streams = std::mem::take(unpoisoned(self.streams.get_mut()));
        let is_drained = self.rig.look(&streams, DRAIN)?.into_iter().all(|done| done);
        if !is_drained {
            // Freeing would wait for the device, perhaps for ever, or free memory that a copy still uses.
            return Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery"));
        }
        let modules = [self.small.take().map(|small| small.module), self.works.take().map(|works| works.module())];
        modules.into_iter().flatten().try_for_each(|module| self.driver().module_unload(module))?;
        streams.into_iter().try_for_each(|stream| self.driver().stream_destroy(stream))?;
        if let Some(far) = self.far.take() {
            self.driver().context_set_current(Some(far.context))?;
            let freed = far.memory.into_iter().try_for_each(|memory| self.driver().mem_free(memory));
            self.rig.make_current()?;
            freed?;
        }
        let memory = std::mem::take(unpoisoned(self.memory.get_mut()));
        memory.into_iter().try_for_each(|memory| self.rig.driver().mem_free(memory))?;
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
    /// Submits a copy of `bytes` at `offset` of a lane through overtake.
    pub fn copy(&self, direction: Direction, lane: usize, offset: u64, bytes: u64) -> Result<CopyHandle> {
        let (host, device) = self.ground.lane(lane, offset, bytes);
        match direction {
            // SAFETY: as for `Ground::copy`: the stream is one of the ground's, so its drop waits for this copy too.
            Direction::HostToDevice => unsafe { self.stream.memcpy_htod_async(device, host, bytes) },
            // SAFETY: as above.
            Direction::DeviceToHost => unsafe { self.stream.memcpy_dtoh_async(host, device, bytes) },
            Direction::DeviceToDevice | Direction::Peer => {
                let (target, source) = self.ground.ends(lane, offset, bytes)?;
                // SAFETY: as above.
                unsafe { self.stream.memcpy_async(&Request::linear(target, source, bytes)) }
            }
        }
    }

    /// A queue for so many copies in this stream that share a launch.
    pub fn queue(&self, copies: usize) -> Result<CopyQueue> {
        CopyQueue::new(&self.stream, copies)
    }

    /// Submits `count` blocks of a lane, from its beginning on, as one batch of the queue.
    pub fn copy_blocks(
        &self,
        queue: &mut CopyQueue,
        (direction, lane): (Direction, usize),
        (count, bytes): (u64, u64),
    ) -> Result<()> {
        for index in 0..count {
            let (host, device) = self.ground.lane(lane, index * bytes, bytes);
            let request = match direction {
                Direction::HostToDevice => Request::htod(device, host, bytes),
                _ => Request::dtoh(host, device, bytes),
            };
            // SAFETY: as for `Ground::copy`: the queue is one of a stream of the ground.
            unsafe { queue.copy(&request)? };
        }
        queue.flush().map(drop)
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
