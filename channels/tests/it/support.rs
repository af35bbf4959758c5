//! A channel on a software GPU, with one copy to submit.
#![allow(unsafe_code)] // copies are unsafe: the memory outlives them

use std::sync::Arc;

use hal::{Code, Device, DevicePtr, Driver, HostAllocFlags, Result, Stream, StreamFlags};
use overtake_channels::fold::groups;
use overtake_channels::{Adder, Channel, ChannelOptions, Refusal, Shape, Submission};
use priority::{Direction, Priorities, Priority};
use semaphores::{Bank, EmulationKind, emulation};
use softgpu::SoftGpu;

pub const CHUNK_BYTES: u64 = 4096;

/// An adder for emulations that add nothing.
struct NoAdder;

impl Adder for NoAdder {
    fn add(&self, _: Stream, _: DevicePtr, _: i32) -> Result<()> {
        Err(Code::NOT_SUPPORTED.at("no adder"))
    }
}

/// A channel, and the parts of a copy for it.
pub struct Bed {
    pub gpu: SoftGpu,
    pub bank: Bank,
    pub channel: Channel,
    pub stream: Stream,
    pub target: DevicePtr,
    pub chunks: Vec<Shape>,
}

impl Bed {
    pub fn new(options: ChannelOptions, chunks: u64) -> Bed {
        let gpu = SoftGpu::builder().build();
        let context = gpu.primary_context_retain(Device(0)).unwrap();
        gpu.context_set_current(Some(context)).unwrap();
        let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
        let two = Priorities::new(2).unwrap();
        let channel = Channel::new(&driver, Direction::HostToDevice, groups(two, 4)[0], options).unwrap();
        let bytes = chunks * CHUNK_BYTES;
        let host = gpu.host_alloc(bytes, HostAllocFlags::PORTABLE).unwrap() as u64;
        let target = gpu.mem_alloc(bytes).unwrap();
        let chunk = |index| Shape::linear(target.0 + index * CHUNK_BYTES, host + index * CHUNK_BYTES, CHUNK_BYTES);
        let stream = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        let bank = Bank::new(&driver, two).unwrap();
        Bed { bank, channel, stream, target, chunks: (0..chunks).map(chunk).collect(), gpu }
    }

    pub fn submit(&self, kind: EmulationKind) -> std::result::Result<(), Refusal> {
        self.submit_at(Priority::LOWEST, kind)
    }

    pub fn submit_at(&self, priority: Priority, kind: EmulationKind) -> std::result::Result<(), Refusal> {
        let submission = Submission {
            from: self.stream,
            priority,
            chunks: &self.chunks,
            bank: &self.bank,
            emulation: emulation(kind),
            adder: &NoAdder,
            pace: None,
        };
        // SAFETY: the memory lives as long as the GPU.
        unsafe { self.channel.submit(&submission) }
    }

    /// The bytes of the target.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.chunks.len() * CHUNK_BYTES as usize];
        // SAFETY: both have so many bytes.
        unsafe { self.gpu.copy_dtoh(bytes.as_mut_ptr(), self.target, bytes.len() as u64).unwrap() };
        bytes
    }
}
