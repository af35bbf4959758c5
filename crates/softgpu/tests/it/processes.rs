//! Several processes and several devices.

use crate::support::{MIB, Pinned, download, enter, stream, upload};
use hal::{Code, Device, DevicePtr, Driver};
use overtake_softgpu::SoftGpu;

#[test]
fn a_process_sees_nothing_of_another() {
    let gpu = SoftGpu::builder().build();
    let other = gpu.process();
    enter(&gpu);
    let (memory, stream, event) =
        (gpu.mem_alloc(64).unwrap(), stream(&gpu), gpu.event_create(Default::default()).unwrap());
    enter(&other);
    assert_eq!(other.stream_query(stream).unwrap_err().code(), Code::INVALID_HANDLE);
    assert_eq!(other.event_query(event).unwrap_err().code(), Code::INVALID_HANDLE);
    assert_eq!(other.mem_free(memory).unwrap_err().code(), Code::INVALID_VALUE);
    assert_eq!(other.pointer_info(memory.0).unwrap().kind, hal::MemoryKind::Pageable);
    let (free, total) = other.mem_info().unwrap();
    assert_eq!(total - free, 64, "they share the device's memory");
}

#[test]
fn a_slice_of_one_process_is_not_the_others() {
    let gpu = SoftGpu::builder().payload(overtake_softgpu::Payload::TimingOnly).build();
    let other = gpu.process();
    enter(&gpu);
    let (bulk, device) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap());
    let saturated = stream(&gpu);
    (0..1_000).for_each(|_| upload(&gpu, device, bulk, MIB, saturated).unwrap());
    enter(&other);
    let (small, target) = (Pinned::new(&other, MIB), other.mem_alloc(MIB).unwrap());
    let own = stream(&other);
    let mut waits_us: Vec<f64> = (0..8)
        .map(|_| {
            let begin = other.host().now();
            upload(&other, target, small, 65_536, own).unwrap();
            other.stream_synchronize(own).unwrap();
            other.host().now().since(begin).as_us()
        })
        .collect();
    waits_us.sort_by(f64::total_cmp);
    assert!(waits_us[7] < 1_150.0, "no copy waits longer than a slice: {waits_us:?}");
    assert!(waits_us[4] > 100.0, "and most wait for a large part of one: {waits_us:?}");
    gpu.stream_synchronize(saturated).unwrap();
}

#[test]
fn devices_have_memory_and_engines_of_their_own_and_a_path_between() {
    let gpu = SoftGpu::builder().devices(2).build();
    let contexts = [0, 1].map(|device| gpu.primary_context_retain(Device(device)).unwrap());
    let host = Pinned::new_in(&gpu, contexts[0], 4096);
    host.store(77);
    let memory = contexts.map(|context| {
        gpu.context_set_current(Some(context)).unwrap();
        gpu.mem_alloc(MIB).unwrap()
    });
    assert_ne!(memory[0].0 >> 40, memory[1].0 >> 40, "each device has its own range of addresses");
    let stream = stream(&gpu);
    let back = Pinned::new(&gpu, 4096);
    upload(&gpu, memory[0], host, 4096, stream).unwrap();
    // SAFETY: both allocations live to the end of the test.
    unsafe { gpu.copy_peer_async(memory[1], contexts[1], memory[0], contexts[0], MIB, stream).unwrap() };
    download(&gpu, back, memory[1], 4096, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert_eq!((back.load(), gpu.counts().copies_other), (77, 1));
    assert!(gpu.device_can_access_peer(Device(0), Device(1)).unwrap());
    gpu.enable_peer_access(contexts[0]).unwrap();
    assert_eq!(gpu.enable_peer_access(contexts[0]).unwrap_err().code(), Code::PEER_ACCESS_ALREADY_ENABLED);
}

#[test]
fn a_trace_lists_operations_with_their_engine_and_times() {
    let gpu = SoftGpu::builder().trace(true).build();
    enter(&gpu);
    let (host, device, stream) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap(), stream(&gpu));
    upload(&gpu, device, host, MIB, stream).unwrap();
    gpu.mem_op(stream, hal::MemOp::write32(DevicePtr(host.0), 1)).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    let trace = gpu.take_trace();
    assert_eq!(trace.len(), 2);
    assert_eq!(trace[0].engine.as_deref(), Some("device 0 H2D engine"));
    assert_eq!((trace[0].queue.as_deref(), trace[1].queue.as_deref()), (Some("H2D queue 0"), Some("H2D queue 0")));
    assert!(trace[0].end <= trace[1].start && trace[1].what.starts_with("write of 1"), "{trace:?}");
    assert!(gpu.take_trace().is_empty());
}
