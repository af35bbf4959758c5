//! The equipment of every sequence: a GPU, memory for bulk and for urgent copies, and words that host and device
//! share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{
    Context, Device, DevicePtr, Driver, EventFlags, HostAllocFlags, MemOp, Nanos, Stream, StreamFlags, WaitCondition,
};
use overtake_softgpu::{Connections, Payload, SoftGpu};

use crate::facts::Direction;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
/// The size of the urgent copy.
pub const SMALL: u64 = 64 * KIB;
/// The size of a bulk buffer.
pub const BULK: u64 = 256 * MIB;

/// A word in pinned memory. The allocation is freed with the process only, so the word outlives every thread.
#[derive(Clone, Copy)]
pub struct Word(u64);

impl Word {
    fn atomic(&self) -> &AtomicU32 {
        // SAFETY: the address is four-byte aligned inside a pinned allocation that is never freed, and all accesses go
        // through atomics: this type here, the model on its side.
        unsafe { AtomicU32::from_ptr(self.0 as *mut u32) }
    }

    pub fn load(self) -> u32 {
        self.atomic().load(Ordering::Acquire)
    }

    pub fn store(self, value: u32) {
        self.atomic().store(value, Ordering::Release);
    }

    pub fn address(self) -> DevicePtr {
        DevicePtr(self.0)
    }
}

/// A pinned buffer and its counterpart on the device.
#[derive(Clone, Copy)]
pub struct Pair {
    host: u64,
    device: DevicePtr,
}

impl Pair {
    /// The addresses on the host and on the device.
    pub fn addresses(self) -> (u64, u64) {
        (self.host, self.device.0)
    }
}

/// The equipment.
#[derive(Clone)]
pub struct Rig {
    pub gpu: SoftGpu,
    pub driver: Arc<dyn Driver>,
    pub context: Context,
    pub bulk: Pair,
    pub small: Pair,
    words: u64,
    pub device_word: DevicePtr,
}

impl Rig {
    /// A GPU with the settings of the environment and the row.
    pub fn new(connections: Connections) -> Rig {
        let builder = SoftGpu::builder().environment().expect("OVERTAKE_SOFT_* as documented");
        let gpu = builder.connections(connections).payload(Payload::TimingOnly).build();
        Rig::on(gpu)
    }

    /// The equipment of one process.
    pub fn on(gpu: SoftGpu) -> Rig {
        let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
        let context = driver.primary_context_retain(Device(0)).unwrap();
        driver.context_set_current(Some(context)).unwrap();
        let pair = |bytes| Pair {
            host: driver.host_alloc(bytes, HostAllocFlags::PORTABLE).unwrap() as u64,
            device: driver.mem_alloc(bytes).unwrap(),
        };
        let (bulk, small) = (pair(BULK), pair(64 * MIB));
        let words =
            driver.host_alloc(64 * KIB, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP)).unwrap() as u64;
        let device_word = driver.mem_alloc(4 * KIB).unwrap();
        driver.memset_d32_async(device_word, 0, 1024, Stream::LEGACY).unwrap();
        driver.context_synchronize().unwrap();
        Rig { gpu, driver, context, bulk, small, words, device_word }
    }

    /// The `index`-th word, each on a line of its own.
    pub fn word(&self, index: u64) -> Word {
        Word(self.words + 256 * index)
    }

    pub fn stream(&self, priority: i32) -> Stream {
        self.driver.stream_create(StreamFlags::NON_BLOCKING, priority).unwrap()
    }

    pub fn event(&self) -> hal::Event {
        self.driver.event_create(EventFlags::DISABLE_TIMING).unwrap()
    }

    /// Submits a copy between the two sides of a pair.
    pub fn copy(&self, direction: Direction, pair: Pair, offset: u64, bytes: u64, stream: Stream) {
        self.try_copy(direction, pair, offset, bytes, stream).unwrap();
    }

    pub fn try_copy(
        &self,
        direction: Direction,
        pair: Pair,
        offset: u64,
        bytes: u64,
        stream: Stream,
    ) -> hal::Result<()> {
        let (host, device) = ((pair.host + offset) as *mut u8, pair.device.offset(offset));
        // SAFETY: both buffers are pinned or the device's, and are never freed while the bench lives; the host never
        // reads the bytes.
        unsafe {
            match direction {
                Direction::D2h => self.driver.copy_dtoh_async(host, device, bytes, stream),
                _ => self.driver.copy_htod_async(device, host, bytes, stream),
            }
        }
    }

    pub fn write(&self, stream: Stream, address: DevicePtr, value: u32) {
        self.driver.mem_op(stream, MemOp::write32(address, value)).unwrap();
    }

    pub fn wait_zero(&self, stream: Stream, address: DevicePtr) {
        self.driver.mem_op(stream, MemOp::wait32(address, 0, WaitCondition::Eq)).unwrap();
    }

    pub fn now_us(&self) -> f64 {
        self.driver.host().now().as_us()
    }

    pub fn sleep_us(&self, us: u64) {
        self.driver.host().sleep(Nanos::from_us(us));
    }

    /// Spins until the word reads a value.
    pub fn spin(&self, word: Word, value: u32) {
        let wait = self.driver.host().wait_until(None, &mut || word.load() == value);
        assert_eq!(wait, hal::Wait::Met, "{:?}", self.gpu.deadlock().map(|deadlock| deadlock.to_string()));
    }
}

/// The pseudo-random generator that the measurements used.
pub struct Random(u32);

impl Random {
    pub fn new(seed: u32) -> Random {
        Random(seed.wrapping_mul(7919).wrapping_add(13))
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % limit
    }
}

/// The median of the samples.
pub fn p50(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
