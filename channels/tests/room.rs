//! The number of operations that a channel lets stand in its stream, at any value of its count.
#![allow(unsafe_code)] // copies are unsafe

use std::sync::Arc;

use hal::{Code, Device, DevicePtr, Driver, HostAllocFlags, Result, Stream, StreamFlags};
use overtake_channels::fold::groups;
use overtake_channels::{Adder, Channel, ChannelOptions, Refusal, Shape, Submission};
use semaphores::{Bank, Kind, emulation};
use softgpu::SoftGpu;
use terms::{Direction, Priorities, Priority};

const QUEUED_MAX: u32 = 100;
const CHUNK_BYTES: u64 = 4096;
const CHUNKS: u64 = 400;

/// An adder for emulations that add nothing.
struct NoAdder;

impl Adder for NoAdder {
    fn add(&self, _: Stream, _: DevicePtr, _: i32) -> Result<()> {
        Err(Code::NOT_SUPPORTED.at("no adder"))
    }
}

/// A channel whose count starts at a given value, and the parts of a copy of [`CHUNKS`] chunks.
struct Bed {
    gpu: SoftGpu,
    bank: Bank,
    channel: Channel,
    stream: Stream,
    chunks: Vec<Shape>,
}

impl Bed {
    fn new(counted_from: u32) -> Bed {
        let gpu = SoftGpu::builder().build();
        let context = gpu.primary_context_retain(Device(0)).unwrap();
        gpu.context_set_current(Some(context)).unwrap();
        let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
        let two = Priorities::new(2).unwrap();
        let options = ChannelOptions { queued_max: QUEUED_MAX, counted_from };
        let channel = Channel::new(&driver, Direction::HostToDevice, groups(two, 4)[0], options).unwrap();
        let bytes = CHUNKS * CHUNK_BYTES;
        let host = gpu.host_alloc(bytes, HostAllocFlags::PORTABLE).unwrap() as u64;
        let device = gpu.mem_alloc(bytes).unwrap().0;
        let chunk = |index| Shape::linear(device + index * CHUNK_BYTES, host + index * CHUNK_BYTES, CHUNK_BYTES);
        let stream = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        let bank = Bank::new(&driver, two).unwrap();
        Bed { bank, channel, stream, chunks: (0..CHUNKS).map(chunk).collect(), gpu }
    }

    fn submit(&self) -> std::result::Result<(), Refusal> {
        let submission = Submission {
            from: self.stream,
            priority: Priority::LOWEST,
            chunks: &self.chunks,
            bank: &self.bank,
            emulation: emulation(Kind::Hold),
            adder: &NoAdder,
            pace: None,
            in_stream: false,
        };
        // SAFETY: the memory lives as long as the GPU.
        unsafe { self.channel.submit(&submission) }
    }
}

/// A channel that stands still takes no more than its limit, and a moving one takes everything.
#[test]
fn no_more_stands_there_than_may_wherever_the_count_wraps() {
    for counted_from in [0, 0x7fff_ffff - 50, 0x7fff_ffff, u32::MAX - 50, u32::MAX] {
        let bed = Bed::new(counted_from);
        let held = bed.bank.raise(Priority::new(2).unwrap());
        let refused = bed.submit();
        assert!(matches!(&refused, Err(Refusal::Failed(error)) if error.code() == Code::LAUNCH_TIMEOUT), "{refused:?}");
        let standing = bed.gpu.live().operations as u32;
        assert!(
            (QUEUED_MAX / 2..QUEUED_MAX + 64).contains(&standing),
            "from {counted_from:#x}: {standing} stand there"
        );
        bed.bank.lower(held);
        bed.channel.synchronize().unwrap();
        bed.submit().unwrap();
        bed.channel.synchronize().unwrap();
        assert_eq!(bed.gpu.live().operations, 0);
    }
}
