//! Kernels: the budget of multiprocessors, the shared link, polling, and images that loading refuses.

use crate::support::{MIB, Pinned, enter, kernel, launch, stream, upload};
use hal::{Code, DevicePtr, Driver};
use overtake_softgpu::{BUILTIN_PTX, Direction, Io, KernelSpec, Running, SoftGpu, Step};

/// A kernel that copies over a link in one move, as its parameters say.
struct Mover {
    direction: Direction,
    moved: bool,
}

impl Running for Mover {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        if std::mem::replace(&mut self.moved, true) {
            return Step::Done;
        }
        let (target, source, bytes) = (io.parameter(0), io.parameter(1), io.parameter(2));
        Step::Move { direction: self.direction, bytes, target, source, limit_gbps: 0.0 }
    }
}

/// A kernel that waits, for ever if need be, until a word reads 1.
struct Poller;

impl Running for Poller {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        let word = io.parameter(0);
        if io.load32(word) == 1 { Step::Done } else { Step::Poll(500) }
    }
}

const PTX: &str = ".version 7.0\n.target sm_70\n.entry up(.param .u64 a, .param .u64 b, .param .u64 c) {}\n.entry \
                   down(.param .u64 a, .param .u64 b, .param .u64 c) {}\n.entry poll(.param .u64 a) {}\n";

fn ready() -> SoftGpu {
    let mover = |direction| KernelSpec::new(&[8, 8, 8], move || Box::new(Mover { direction, moved: false }));
    let gpu = SoftGpu::builder()
        .kernel("up", mover(Direction::HostToDevice))
        .kernel("down", mover(Direction::DeviceToHost))
        .kernel("poll", KernelSpec::new(&[8], || Box::new(Poller)))
        .build();
    enter(&gpu);
    gpu
}

fn timed(gpu: &SoftGpu, work: impl FnOnce()) -> f64 {
    let begin = gpu.host().now();
    work();
    gpu.context_synchronize().unwrap();
    gpu.host().now().since(begin).as_us()
}

#[test]
fn a_move_carries_bytes_at_the_multiprocessors_rate() {
    let gpu = ready();
    let module = gpu.module_load(PTX.as_bytes()).unwrap();
    let (up, down) = (gpu.module_function(module, "up").unwrap(), gpu.module_function(module, "down").unwrap());
    let (source, target, device) = (Pinned::new(&gpu, 64 * MIB), Pinned::new(&gpu, 64 * MIB), gpu.mem_alloc(64 * MIB));
    let (stream, device, bytes) = (stream(&gpu), device.unwrap(), 64 * MIB);
    source.store(0x1234_5678);
    let up_us = timed(&gpu, || launch(&gpu, up, 4, stream, &[device.0, source.0, bytes]).unwrap());
    let down_us = timed(&gpu, || launch(&gpu, down, 4, stream, &[target.0, device.0, bytes]).unwrap());
    let gbps = |us: f64| bytes as f64 / us / 1e3;
    assert!((50.0..51.1).contains(&gbps(up_us)), "{}", gbps(up_us));
    assert!((51.5..52.4).contains(&gbps(down_us)), "{}", gbps(down_us));
    assert_eq!(target.load(), 0x1234_5678);
}

#[test]
fn a_kernel_gets_little_of_a_link_that_the_engine_fills_and_all_of_it_afterwards() {
    let gpu = ready();
    let module = gpu.module_load(PTX.as_bytes()).unwrap();
    let up = gpu.module_function(module, "up").unwrap();
    let (bulk, small) = (Pinned::new(&gpu, 64 * MIB), Pinned::new(&gpu, MIB));
    let device = gpu.mem_alloc(66 * MIB).unwrap();
    let (first, second) = (stream(&gpu), stream(&gpu));
    let parameters = [device.0 + 65 * MIB, small.0, 65_536];
    let run = || {
        launch(&gpu, up, 4, second, &parameters).unwrap();
        gpu.stream_synchronize(second).unwrap();
    };
    let alone_us = timed(&gpu, run);
    upload(&gpu, device, bulk, 64 * MIB, first).unwrap();
    gpu.host().sleep(hal::Nanos::from_us(50));
    let begin = gpu.host().now();
    run();
    let beside_us = gpu.host().now().since(begin).as_us();
    // The launch and the first reads wait behind the engine's reads, and the bytes get less than half of the link: 3
    // us, 3 us and 1.4 us.
    assert!((alone_us + 6.7..alone_us + 7.7).contains(&beside_us), "alone {alone_us}, beside bulk {beside_us}");
    gpu.context_synchronize().unwrap();
}

#[test]
fn kernels_that_fill_the_device_run_one_after_another() {
    let gpu = ready();
    let spin = kernel(&gpu, "soft_spin_ns");
    let streams = [stream(&gpu), stream(&gpu)];
    let both =
        |blocks| timed(&gpu, || streams.iter().for_each(|&s| launch(&gpu, spin, blocks, s, &[1_000_000]).unwrap()));
    let (small_us, large_us) = (both(8), both(132 * 16));
    assert!((1_000.0..1_100.0).contains(&small_us), "{small_us}");
    assert!((2_000.0..2_100.0).contains(&large_us), "{large_us}");
}

#[test]
fn a_polling_kernel_is_ended_by_a_store_and_else_proven_stuck() {
    let gpu = ready();
    let module = gpu.module_load(PTX.as_bytes()).unwrap();
    let poll = gpu.module_function(module, "poll").unwrap();
    let word = Pinned::new(&gpu, 4096);
    let stream = stream(&gpu);
    launch(&gpu, poll, 1, stream, &[word.0]).unwrap();
    let error = gpu.stream_synchronize(stream).unwrap_err();
    assert_eq!(error.code(), Code::LAUNCH_TIMEOUT);
    assert!(error.to_string().contains("polls memory"), "{error}");
    word.store(1);
    gpu.stream_synchronize(stream).unwrap();
}

#[test]
fn atomics_and_stores_reach_memory_and_bad_addresses_end_the_context() {
    let gpu = ready();
    let (add, store) = (kernel(&gpu, "soft_atomic_add_u32"), kernel(&gpu, "soft_store_u32"));
    let (word, stream) = (Pinned::new(&gpu, 4096), stream(&gpu));
    launch(&gpu, store, 1, stream, &[word.0, 40]).unwrap();
    launch(&gpu, add, 7, stream, &[word.0, 3]).unwrap();
    launch(&gpu, add, 1, stream, &[word.0, u64::from(-1i32 as u32)]).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert_eq!(word.load(), 42);
    launch(&gpu, store, 1, stream, &[0x10, 1]).unwrap();
    assert_eq!(gpu.stream_synchronize(stream).unwrap_err().code(), Code::ILLEGAL_ADDRESS);
}

#[test]
fn loading_refuses_unknown_kernels_with_the_reason() {
    let gpu = ready();
    let refused = |image: &str| gpu.module_load(image.as_bytes()).unwrap_err();
    let unknown = refused(".version 7.0\n.target sm_70\n.entry mystery() {}");
    assert_eq!(unknown.code(), Code::INVALID_IMAGE);
    assert!(unknown.to_string().contains("mystery"), "{unknown}");
    let mismatch = refused(".version 7.0\n.target sm_70\n.entry poll(.param .u32 a) {}");
    assert_eq!(mismatch.code(), Code::INVALID_PTX);
    assert_eq!(refused("\x7fELF").code(), Code::INVALID_IMAGE);
    let module = gpu.module_load(BUILTIN_PTX.as_bytes()).unwrap();
    assert_eq!(gpu.module_function(module, "poll").unwrap_err().code(), Code::NOT_FOUND);
    assert_eq!(launch(&gpu, hal::Function(0), 1, stream(&gpu), &[]).unwrap_err().code(), Code::INVALID_HANDLE);
    assert_eq!(gpu.allocation(DevicePtr::NULL.0), None);
}

/// Where multiprocessors are short, the kernel of the stream with the greatest priority is next, and of one priority
/// that which has waited longest.
#[test]
fn urgent_kernels_are_next_where_multiprocessors_are_short() {
    let gpu = ready();
    let (spin, whole) = (kernel(&gpu, "soft_spin_ns"), 10_000);
    let of = |priority| gpu.stream_create(hal::StreamFlags::NON_BLOCKING, priority).unwrap();
    let (first, low, urgent) = (of(0), of(0), of(-5));
    launch(&gpu, spin, whole, first, &[200_000]).unwrap();
    launch(&gpu, spin, whole, low, &[50_000]).unwrap();
    launch(&gpu, spin, whole, urgent, &[50_000]).unwrap();
    gpu.stream_synchronize(urgent).unwrap();
    assert!(gpu.stream_query(first).unwrap(), "no kernel is interrupted");
    assert!(!gpu.stream_query(low).unwrap(), "the urgent kernel came later and went first");
    gpu.stream_synchronize(low).unwrap();
}

/// A kernel that fills the device begins on the multiprocessors that a small one leaves, and takes those as well when
/// they are free, before kernels that came later.
#[test]
fn a_kernel_that_fills_the_device_runs_beside_a_small_one() {
    let gpu = ready();
    let spin = kernel(&gpu, "soft_spin_ns");
    let [small, large, late] = [(); 3].map(|()| stream(&gpu));
    launch(&gpu, spin, 8, small, &[500_000]).unwrap();
    launch(&gpu, spin, 10_000, large, &[900_000]).unwrap();
    gpu.host().sleep(hal::Nanos::from_us(550));
    assert!(gpu.stream_query(small).unwrap());
    launch(&gpu, spin, 8, late, &[1_000]).unwrap();
    gpu.host().sleep(hal::Nanos::from_us(100));
    assert!(!gpu.stream_query(late).unwrap(), "the large kernel has all multiprocessors now");
    let took_us = timed(&gpu, || gpu.stream_synchronize(large).unwrap());
    assert!(took_us < 300.0, "it began beside the small one: {took_us}");
    gpu.stream_synchronize(late).unwrap();
}
