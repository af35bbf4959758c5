//! The foundations of all other tests: order, bytes, time and deadlocks.

use std::sync::Arc;

use hal::{
    Code, ContextFlags, Device, Driver, EventFlags, HostAllocFlags, MemOp, Nanos, Stream, StreamFlags, Wait,
    WaitCondition,
};
use overtake_softgpu::SoftGpu;

const MIB: u64 = 1 << 20;

fn ready() -> SoftGpu {
    let gpu = SoftGpu::builder().build();
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    gpu
}

fn stream(gpu: &SoftGpu) -> Stream {
    gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap()
}

#[test]
fn bytes_go_there_and_back_in_order() {
    let gpu = ready();
    let stream = stream(&gpu);
    let host = gpu.host_alloc(2 * MIB, HostAllocFlags::PORTABLE).unwrap();
    let device = gpu.mem_alloc(MIB).unwrap();
    // SAFETY: the allocation has two mebibytes and no other reference yet.
    let bytes = unsafe { std::slice::from_raw_parts_mut(host, 2 * MIB as usize) };
    bytes[..MIB as usize].iter_mut().enumerate().for_each(|(i, b)| *b = i as u8 ^ 0x5a);
    // SAFETY: both halves stay pinned and untouched until the stream is done.
    unsafe {
        gpu.copy_htod_async(device, host, MIB, stream).unwrap();
        gpu.copy_dtoh_async(host.add(MIB as usize), device, MIB, stream).unwrap();
    }
    gpu.stream_synchronize(stream).unwrap();
    let (sent, received) = bytes.split_at(MIB as usize);
    assert!(sent == received);
}

#[test]
fn a_handle_that_is_used_again_names_no_default_stream() {
    let gpu = SoftGpu::builder().reuse_handles(true).build();
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    let stale = stream(&gpu);
    gpu.stream_destroy(stale).unwrap();
    // It is made here, in the place of the other one.
    gpu.stream_synchronize(Stream::PER_THREAD).unwrap();
    let codes = [gpu.stream_destroy(stale), gpu.stream_synchronize(stale)].map(|done| done.unwrap_err().code());
    assert_eq!(codes, [Code::INVALID_HANDLE; 2]);
}

#[test]
fn a_small_copy_takes_the_measured_time() {
    let gpu = ready();
    let stream = stream(&gpu);
    let host = gpu.host_alloc(MIB, HostAllocFlags::PORTABLE).unwrap();
    let device = gpu.mem_alloc(MIB).unwrap();
    let before = gpu.host().now();
    // SAFETY: the memory is pinned for as long as the test runs.
    unsafe { gpu.copy_htod_async(device, host, 65_536, stream).unwrap() };
    gpu.mem_op(stream, MemOp::write32(hal::DevicePtr(host as u64), 7)).unwrap();
    // SAFETY: the word is inside the pinned allocation and aligned.
    let word = unsafe { std::sync::atomic::AtomicU32::from_ptr(host.cast()) };
    let wait = gpu.host().wait_until(None, &mut || word.load(std::sync::atomic::Ordering::Acquire) == 7);
    assert_eq!(wait, Wait::Met);
    let took = gpu.host().now().since(before);
    assert!((7.5..9.0).contains(&took.as_us()), "{took}");
}

#[test]
fn a_wait_that_no_thread_can_end_is_proven_and_a_store_ends_it() {
    let gpu = ready();
    let stream = stream(&gpu);
    let word = gpu.host_alloc(4096, HostAllocFlags::DEVICEMAP).unwrap();
    let address = gpu.host_device_pointer(word).unwrap();
    gpu.mem_op(stream, MemOp::wait32(address, 1, WaitCondition::Eq)).unwrap();
    let error = gpu.stream_synchronize(stream).unwrap_err();
    assert_eq!(error.code(), hal::Code::LAUNCH_TIMEOUT);
    assert!(error.to_string().contains("the word reads 0"), "{error}");
    assert!(gpu.deadlock().is_some());
    // SAFETY: the word is inside the pinned allocation and aligned.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(word.cast()) }.store(1, std::sync::atomic::Ordering::Release);
    gpu.stream_synchronize(stream).unwrap();
}

#[test]
fn threads_take_turns_by_time() {
    let gpu = ready();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..3u64)
        .map(|thread| {
            let (log, child) = (Arc::clone(&log), Arc::clone(&driver));
            hal::spawn(&driver, &format!("worker {thread}"), move || {
                for round in 0..3u64 {
                    child.host().sleep(Nanos(10 + thread + 100 * round));
                    let now = child.host().now().0;
                    log.lock().unwrap().push((now, thread));
                }
            })
            .unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join(gpu.host()));
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 9);
    assert!(log.is_sorted(), "{log:?}");
}

#[test]
fn an_event_orders_two_streams_and_measures() {
    let gpu = ready();
    let (first, second) = (stream(&gpu), stream(&gpu));
    let host = gpu.host_alloc(64 * MIB, HostAllocFlags::PORTABLE).unwrap();
    let device = gpu.mem_alloc(64 * MIB).unwrap();
    let events = [(); 2].map(|()| gpu.event_create(EventFlags::DEFAULT).unwrap());
    gpu.event_record(events[0], first).unwrap();
    // SAFETY: the memory is pinned for as long as the test runs.
    unsafe { gpu.copy_htod_async(device, host, 55_200_000, first).unwrap() };
    gpu.event_record(events[1], first).unwrap();
    gpu.stream_wait_event(second, events[1]).unwrap();
    assert!(!gpu.stream_query(second).unwrap());
    gpu.stream_synchronize(second).unwrap();
    let elapsed = gpu.event_elapsed_ms(events[0], events[1]).unwrap();
    assert!((1.0..1.01).contains(&elapsed), "{elapsed}");
}

/// The host of the model does not spin, so it counts the waits that would.
#[test]
fn a_wait_sleeps_by_the_flags_of_its_event() {
    let gpu = SoftGpu::builder().build();
    assert!(gpu.context_flags().is_err(), "no context is current");
    gpu.context_create(Device(0)).unwrap();
    assert!(!gpu.context_flags().unwrap().block());
    gpu.context_create_with(Device(0), ContextFlags(ContextFlags::BLOCKING_SYNC.0 | 8)).unwrap();
    assert!(gpu.context_flags().unwrap().block());
    let (stream, device) = (stream(&gpu), gpu.mem_alloc(64 * MIB).unwrap());
    let [spins, sleeps] = [EventFlags::DISABLE_TIMING, EventFlags(3)].map(|flags| gpu.event_create(flags).unwrap());
    for event in [spins, spins, sleeps] {
        gpu.memset_d8_async(device, 0, 64 * MIB, stream).unwrap();
        gpu.event_record(event, stream).unwrap();
        gpu.event_synchronize(event).unwrap();
        gpu.event_synchronize(event).unwrap();
    }
    let counts = gpu.counts();
    assert_eq!((counts.spinning_event_waits, counts.blocking_event_waits), (2, 1), "those that waited");
}
