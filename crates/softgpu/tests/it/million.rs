//! A million stream operations: memory use does not grow once everything has completed.

use hal::{DevicePtr, Driver, EventFlags, HostAllocFlags, MemOp, Stream, StreamFlags, WaitCondition};
use overtake_softgpu::{Live, SoftGpu};

const ROUNDS: u64 = 125_000;

/// Eight operations on two streams, joined by an event.
fn round(gpu: &SoftGpu, streams: [Stream; 2], event: hal::Event, host: *mut u8, device: DevicePtr) {
    let word = DevicePtr(host as u64);
    gpu.mem_op(streams[0], MemOp::wait32(word, 0, WaitCondition::Eq)).unwrap();
    // SAFETY: both buffers live until the test has synchronised, and the host never reads the bytes.
    unsafe {
        gpu.copy_htod_async(device, host.add(4096), 65_536, streams[0]).unwrap();
        gpu.copy_dtoh_async(host.add(4096), device, 65_536, streams[1]).unwrap();
    }
    gpu.mem_op(streams[0], MemOp::write32(device, 1)).unwrap();
    gpu.event_record(event, streams[0]).unwrap();
    gpu.stream_wait_event(streams[1], event).unwrap();
    gpu.mem_op(streams[1], MemOp::write32(device.offset(8), 1)).unwrap();
    gpu.memset_d8_async(device.offset(65_536), 0, 64, streams[1]).unwrap();
}

fn without_counts(live: Live) -> Live {
    Live { queues: 0, ..live }
}

#[test]
fn a_million_operations_leave_nothing_behind() {
    let gpu = SoftGpu::builder().payload(overtake_softgpu::Payload::TimingOnly).build();
    let context = gpu.primary_context_retain(hal::Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    let streams = [(); 2].map(|()| gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap());
    let event = gpu.event_create(EventFlags::DISABLE_TIMING).unwrap();
    let host = gpu.host_alloc(1 << 20, HostAllocFlags::PORTABLE).unwrap();
    let device = gpu.mem_alloc(1 << 20).unwrap();
    round(&gpu, streams, event, host, device);
    gpu.context_synchronize().unwrap();
    let before = gpu.live();
    (0..ROUNDS).for_each(|_| round(&gpu, streams, event, host, device));
    gpu.context_synchronize().unwrap();
    assert!(gpu.counts().completed > 900_000, "{:?}", gpu.counts());
    assert_eq!(gpu.live().operations, 0);
    assert_eq!(without_counts(gpu.live()), without_counts(before), "memory is flat");
}
