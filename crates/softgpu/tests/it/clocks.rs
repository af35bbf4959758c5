//! The free-running clock, for programs that poll memory without calling the host.

use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use crate::support::{MIB, Pinned, download, enter, launch, stream, upload, wait_for};
use hal::{Driver, MemOp, Nanos, Wait};
use overtake_softgpu::{Clock, Io, KernelSpec, Running, SoftGpu, Step};
use patience::wait_for as eventually;
use testkit::patience;

const HASTY_PTX: &str = ".version 7.0\n.target sm_70\n.entry hasty(.param .u64 a) {}\n";

fn ready() -> SoftGpu {
    let gpu = SoftGpu::builder().clock(Clock::FreeRunning).build();
    enter(&gpu);
    gpu
}

#[test]
fn a_completion_word_appears_without_any_call() {
    let gpu = ready();
    let (stream, word) = (stream(&gpu), Pinned::new(&gpu, 4096));
    gpu.mem_op(stream, MemOp::write32(word.device(), 5)).unwrap();
    eventually("the clock's thread moves the device", || word.load() == 5);
    assert!(!gpu.host().is_virtual());
}

#[test]
fn copies_take_real_time_and_arrive() {
    let gpu = ready();
    let (stream, source, target) = (stream(&gpu), Pinned::new(&gpu, MIB), Pinned::new(&gpu, MIB));
    let device = gpu.mem_alloc(MIB).unwrap();
    source.store(0xfeed_beef);
    let begin = gpu.host().now();
    (0..100).for_each(|_| upload(&gpu, device, source, MIB, stream).unwrap());
    download(&gpu, target, device, MIB, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert!(gpu.host().now().since(begin) >= Nanos::from_us(100 * 19), "no faster than the link");
    assert_eq!(target.bytes(MIB as usize), source.bytes(MIB as usize));
}

#[test]
fn a_store_by_any_thread_ends_a_wait() {
    let gpu = ready();
    let (stream, word) = (stream(&gpu), Pinned::new(&gpu, 4096));
    wait_for(&gpu, stream, word.device(), 1);
    let (waits, is_about_to_wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        is_about_to_wait.recv().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        word.store(1);
    });
    assert!(!gpu.stream_query(stream).unwrap());
    waits.send(()).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    thread.join().unwrap();
}

/// A kernel that looks every nanosecond until its word is 1. No host keeps up with that.
struct Hasty;

impl Running for Hasty {
    fn step(&mut self, io: &mut Io<'_>) -> Step {
        let word = io.parameter(0);
        if io.load32(word) == 1 { Step::Done } else { Step::Poll(1) }
    }
}

#[test]
fn a_host_that_is_slower_than_its_device_gets_in_all_the_same() {
    let ends = std::thread::spawn(|| {
        let hasty = KernelSpec::new(&[8], || Box::new(Hasty));
        let gpu = SoftGpu::builder().clock(Clock::FreeRunning).kernel("hasty", hasty).build();
        enter(&gpu);
        let module = gpu.module_load(HASTY_PTX.as_bytes()).unwrap();
        let hasty = gpu.module_function(module, "hasty").unwrap();
        let (stream, word) = (stream(&gpu), Pinned::new(&gpu, 4096));
        launch(&gpu, hasty, 1, stream, &[word.device().0]).unwrap();
        for _ in 0..50 {
            assert!(!gpu.stream_query(stream).unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        word.store(1);
        gpu.stream_synchronize(stream).unwrap();
    });
    eventually("calls come back while a kernel looks", || ends.is_finished());
    ends.join().unwrap();
}

#[test]
fn waits_of_the_host_end_by_condition_or_deadline() {
    let gpu = ready();
    let deadline = gpu.host().now() + Nanos::from_ms(5);
    assert_eq!(gpu.host().wait_until(Some(deadline), &mut || false), Wait::Deadline);
    assert!(gpu.host().now() >= deadline);
    let mut looks = 0;
    let third = &mut || {
        looks += 1;
        looks == 3
    };
    assert_eq!(gpu.host().wait_until(None, third), Wait::Met);
}

#[test]
fn it_may_live_in_a_static_and_serve_threads_that_come_and_go() {
    static GPU: OnceLock<SoftGpu> = OnceLock::new();
    let gpu = GPU.get_or_init(ready);
    let context = gpu.primary_context_retain(hal::Device(0)).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let gpu = GPU.get().unwrap();
                gpu.context_set_current(Some(context)).unwrap();
                let memory = gpu.mem_alloc(4096).unwrap();
                gpu.memset_d8_async(memory, 1, 4096, hal::Stream::PER_THREAD).unwrap();
                gpu.stream_synchronize(hal::Stream::PER_THREAD).unwrap();
                gpu.mem_free(memory).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((gpu.live().operations, gpu.live().streams), (0, 1));
}
