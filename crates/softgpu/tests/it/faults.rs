//! Injected faults fail where they should, and nowhere else.

use crate::support::{MIB, Pinned, download, enter, stream, upload, wait_for};
use hal::{Code, Device, Driver, MemOp, Nanos};
use overtake_softgpu::{Direction, Fault, SoftGpu};

fn ready() -> (SoftGpu, Pinned, hal::DevicePtr, hal::Stream) {
    let gpu = SoftGpu::builder().build();
    enter(&gpu);
    let (host, device, stream) = (Pinned::new(&gpu, MIB), gpu.mem_alloc(MIB).unwrap(), stream(&gpu));
    (gpu, host, device, stream)
}

#[test]
fn the_nth_call_fails_and_the_others_work() {
    let (gpu, host, device, stream) = ready();
    let name = "cuMemcpyHtoDAsync_v2".to_owned();
    gpu.inject(Fault::Call { name, nth: 2, code: Code::LAUNCH_FAILED });
    upload(&gpu, device, host, MIB, stream).unwrap();
    let error = upload(&gpu, device, host, MIB, stream).unwrap_err();
    assert_eq!((error.code(), error.call()), (Code::LAUNCH_FAILED, "cuMemcpyHtoDAsync_v2"));
    upload(&gpu, device, host, MIB, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert_eq!(gpu.counts().copies_h2d, 2);
}

#[test]
fn a_copy_that_fails_in_flight_ends_its_context_and_no_other() {
    let (gpu, host, device, stream) = ready();
    let other = gpu.process();
    enter(&other);
    gpu.inject(Fault::Copy { nth: 2, code: Code::ILLEGAL_ADDRESS });
    (0..4).for_each(|_| upload(&gpu, device, host, MIB, stream).unwrap());
    assert_eq!(gpu.stream_synchronize(stream).unwrap_err().code(), Code::ILLEGAL_ADDRESS);
    assert_eq!(gpu.mem_alloc(1).unwrap_err().code(), Code::ILLEGAL_ADDRESS, "sticky");
    assert_eq!(gpu.live().operations, 0, "queued operations are dropped");
    other.mem_alloc(MIB).unwrap();
}

#[test]
fn operations_that_waited_for_an_idle_engine_go_on_when_its_copy_dies() {
    let (gpu, host, device, stream) = ready();
    let other = gpu.process();
    enter(&other);
    let (theirs, target, bulk) =
        (Pinned::new(&other, 64 * MIB), other.mem_alloc(64 * MIB).unwrap(), crate::support::stream(&other));
    let store = crate::support::kernel(&other, "soft_store_u32");
    upload(&gpu, device, host, MIB, stream).unwrap();
    gpu.mem_op(stream, MemOp::write32(device, 7)).unwrap();
    upload(&other, target, theirs, 64 * MIB, bulk).unwrap();
    // The copy before the write is long over, and the copy of the other context is not.
    other.host().sleep(Nanos::from_us(500));
    assert!(!gpu.stream_query(stream).unwrap(), "the write waits for the copy of the other context");
    crate::support::launch(&other, store, 1, crate::support::stream(&other), &[0, 1]).unwrap();
    assert_eq!(other.context_synchronize().unwrap_err().code(), Code::ILLEGAL_ADDRESS);
    gpu.stream_synchronize(stream).expect("the other context has failed, and not this one");
}

#[test]
fn freed_memory_under_a_running_copy_is_an_illegal_address() {
    let (gpu, host, device, stream) = ready();
    let gate = Pinned::new(&gpu, 4096);
    wait_for(&gpu, stream, gate.device(), 1);
    upload(&gpu, device, host, MIB, stream).unwrap();
    gpu.mem_free_async(device, crate::support::stream(&gpu)).unwrap();
    gpu.host().sleep(hal::Nanos::from_ms(1));
    gate.store(1);
    assert_eq!(gpu.stream_synchronize(stream).unwrap_err().code(), Code::ILLEGAL_ADDRESS);
}

#[test]
fn a_lost_device_says_so_everywhere() {
    let gpu = SoftGpu::builder().devices(2).build();
    enter(&gpu);
    gpu.inject(Fault::LoseDevice { device: 0 });
    assert_eq!(gpu.context_synchronize().unwrap_err().code(), Code::UNKNOWN);
    let second = gpu.primary_context_retain(Device(1)).unwrap();
    gpu.context_set_current(Some(second)).unwrap();
    gpu.mem_alloc(1).unwrap();
}

#[test]
fn memory_runs_out_where_the_limit_says() {
    let (gpu, ..) = ready();
    gpu.inject(Fault::MemoryLimit { device: 0, bytes: 3 * MIB });
    let second = gpu.mem_alloc(2 * MIB).unwrap();
    assert_eq!(gpu.mem_alloc(1).unwrap_err().code(), Code::OUT_OF_MEMORY);
    gpu.mem_free(second).unwrap();
    gpu.mem_alloc(2 * MIB).unwrap();
}

#[test]
fn a_delayed_engine_holds_its_own_direction_only() {
    let (gpu, host, device, stream) = ready();
    gpu.inject(Fault::DelayEngine { device: 0, direction: Direction::HostToDevice, span_ns: 1_000_000 });
    let begin = gpu.host().now();
    download(&gpu, Pinned::new(&gpu, MIB), device, MIB, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert!(gpu.host().now().since(begin).as_us() < 100.0);
    upload(&gpu, device, host, MIB, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    let took_us = gpu.host().now().since(begin).as_us();
    assert!((1_000.0..1_100.0).contains(&took_us), "{took_us}");
}

#[test]
fn the_environment_plans_faults_too() {
    let variables = |name: &str| (name == overtake_softgpu::FAULTS).then(|| "cuMemAlloc_v2:1=2".to_owned());
    let gpu = SoftGpu::builder().environment_from(variables).unwrap().build();
    enter(&gpu);
    assert_eq!(gpu.mem_alloc(1).unwrap_err().code(), Code::OUT_OF_MEMORY);
    gpu.mem_alloc(1).unwrap();
}
