#![allow(unsafe_code)] // registers memory of its own

use std::sync::Arc;

use hal::{DevicePtr, HostAllocFlags, HostRegisterFlags, Nanos, Stream};
use softgpu::SoftGpu;

use super::*;

const MIB: u64 = 1 << 20;
const READ: Use = Use { writes: false, may_be_far: false };
const WRITTEN: Use = Use { writes: true, may_be_far: false };
const FAR: Use = Use { writes: true, may_be_far: true };

fn gpu() -> (SoftGpu, Home) {
    let gpu = SoftGpu::builder().devices(2).build();
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    (gpu, Home { context, device: Device(0) })
}

/// Memory of another context.
fn elsewhere(gpu: &SoftGpu, home: &Home, device: Device) -> (Context, DevicePtr) {
    let context = gpu.context_create(device).unwrap();
    let memory = gpu.mem_alloc(MIB).unwrap();
    gpu.context_set_current(Some(home.context)).unwrap();
    (context, memory)
}

/// Pieces side by side, to which the device has access.
fn mapped(gpu: &SoftGpu, pieces: u64, bytes: u64) -> DevicePtr {
    let start = gpu.address_reserve((pieces + 1) * bytes).unwrap();
    for at in (0..pieces).map(|piece| start.offset(piece * bytes)) {
        let memory = gpu.physical_create(Device(0), bytes).unwrap();
        gpu.map(at, bytes, memory).unwrap();
        gpu.set_access(at, bytes, Device(0), true).unwrap();
    }
    start
}

#[test]
fn an_allocation_ends_where_its_neighbour_begins() {
    let (gpu, home) = gpu();
    let (one, next) = (gpu.mem_alloc(MIB).unwrap(), gpu.mem_alloc(MIB).unwrap());
    assert_eq!(one.offset(MIB), next);
    assert!(home.reaches(&gpu, (one.0 + 16, MIB - 16), WRITTEN));
    assert!(!home.reaches(&gpu, (one.0 + 16, MIB), WRITTEN));
    let pooled = [(); 2].map(|()| gpu.mem_alloc_async(MIB, Stream::LEGACY).unwrap());
    assert_eq!(pooled[0].offset(MIB), pooled[1]);
    assert!(home.reaches(&gpu, (pooled[0].0, MIB), WRITTEN));
    assert!(!home.reaches(&gpu, (pooled[0].0, MIB + 1), WRITTEN), "memory of a pool is of no context, and no piece");
}

#[test]
fn host_memory_ends_where_its_registration_does() {
    let (gpu, home) = gpu();
    let memory = vec![0_u8; 64 << 10];
    for half in 0..2 {
        // SAFETY: the vector outlives the driver's use of it.
        unsafe {
            let start = memory.as_ptr().add(half * (32 << 10)).cast_mut();
            gpu.host_register(start, 32 << 10, HostRegisterFlags::DEVICEMAP).unwrap();
        }
    }
    let start = memory.as_ptr() as u64;
    assert!(home.reaches(&gpu, (start, 32 << 10), WRITTEN));
    assert!(!home.reaches(&gpu, (start, 64 << 10), READ));
    let pinned = gpu.host_alloc(MIB, HostAllocFlags(3)).unwrap() as u64;
    assert!(home.reaches(&gpu, (pinned, MIB), WRITTEN) && !home.reaches(&gpu, (pinned, MIB + 1), WRITTEN));
}

#[test]
fn other_contexts_are_out_of_reach() {
    let (gpu, home) = gpu();
    let (_, near) = elsewhere(&gpu, &home, Device(0));
    for to in [READ, WRITTEN, FAR] {
        assert!(!home.reaches(&gpu, (near.0, MIB), to), "of the same device: {to:?}");
    }
    let (context, far) = elsewhere(&gpu, &home, Device(1));
    assert!(!home.reaches(&gpu, (far.0, MIB), FAR), "without access");
    gpu.enable_peer_access(context).unwrap();
    assert!(home.reaches(&gpu, (far.0, MIB), FAR));
    assert!(!home.reaches(&gpu, (far.0, MIB), READ), "copies of the host's memory are the driver's");
}

#[test]
fn pieces_go_on_up_to_a_hole() {
    let (gpu, home) = gpu();
    let start = mapped(&gpu, 3, 2 * MIB);
    assert!(home.reaches(&gpu, (start.0 + MIB, 5 * MIB), WRITTEN));
    assert!(!home.reaches(&gpu, (start.0 + MIB, 5 * MIB + 1), WRITTEN), "addresses without memory");
    gpu.unmap(start.offset(2 * MIB), 2 * MIB).unwrap();
    assert!(!home.reaches(&gpu, (start.0, 6 * MIB), WRITTEN), "a hole in the middle");
    assert!(home.reaches(&gpu, (start.0, 2 * MIB), WRITTEN));
    gpu.set_access(start, 2 * MIB, Device(0), false).unwrap();
    assert!(!home.reaches(&gpu, (start.0, 2 * MIB), WRITTEN), "without access");
}

/// The questions that a range costs, by their time.
fn questions(gpu: &SoftGpu, ask: impl Fn()) -> u64 {
    let span = |body: &dyn Fn()| -> Nanos {
        let before = gpu.host().now();
        body();
        gpu.host().now().since(before)
    };
    let one = || assert!(gpu.pointer_extent(0).is_ok());
    one(); // the first call in a while takes another time
    let [nothing, ten, all] = [span(&|| ()), span(&|| (0..10).for_each(|_| one())), span(&ask)];
    all.since(nothing).0 * 10 / ten.since(nothing).0
}

#[test]
fn few_questions_are_asked_about_pieces() {
    let (gpu, home) = gpu();
    let (small, large) = (mapped(&gpu, 100, 2 * MIB), mapped(&gpu, 52, 20 * MIB));
    let asked = questions(&gpu, || assert!(!home.reaches(&gpu, (small.0, 200 * MIB), WRITTEN)));
    assert_eq!(asked, PIECES + 200 / 16, "then it is the driver's");
    let asked = questions(&gpu, || assert!(home.reaches(&gpu, (large.0, 1040 * MIB), WRITTEN)));
    assert_eq!(asked, 52);
    let whole: Arc<dyn Driver> = Arc::new(gpu);
    assert!(home.find(&*whole, small.0, READ).is_some_and(|found| found.bytes == 2 * MIB && found.shift == 0));
}
