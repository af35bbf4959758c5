//! Profiles of kernels, from the blocks' own events to a trace: on the software GPU, and on a GPU with
//! `OVERTAKE_BACKEND=cuda`.
#![allow(unsafe_code)] // launches; each buffer is null or that of a recording

use std::sync::Arc;

use backend::Backend;
use overtake::hal::{Device, Driver};
use overtake::profile::{Detail, Profile, Profiler, ProfilerOptions, Recording, spans};
use overtake::{Options, Overtake, Priority, PriorityStream};
use workloads::Profiled;

const SPAN_NS: u64 = 20_000;

struct Bed {
    driver: Arc<dyn Driver>,
    kernel: Profiled,
    // Dropped before the layer.
    stream: PriorityStream,
    overtake: Overtake,
}

impl Bed {
    fn new() -> Bed {
        let asked = std::env::var_os(backend::BACKEND_VARIABLE).is_some();
        let backend = if asked { Backend::from_environment().unwrap() } else { Backend::Soft };
        let driver = backend::open_with(backend, workloads::register).unwrap().driver;
        let overtake = Overtake::open(&driver, Device(0), Options::default()).unwrap();
        let stream = overtake.stream(Priority::LOWEST).unwrap();
        Bed { kernel: Profiled::load(&*driver).unwrap(), stream, overtake, driver }
    }

    fn profiler(&self, buffers: usize, events: u32) -> Profiler {
        let profiler = Profiler::new(&self.overtake, ProfilerOptions { buffers, events }).unwrap();
        profiler.collect(true);
        profiler
    }

    fn launch(&self, recording: &Recording<'_>, kernel: u32, blocks: u32) {
        self.launch_for(SPAN_NS, recording, kernel, blocks);
    }

    fn launch_for(&self, span_ns: u64, recording: &Recording<'_>, kernel: u32, blocks: u32) {
        let (driver, stream) = (&*self.driver, self.stream.raw());
        // SAFETY: the buffer is null, or that of the recording.
        unsafe { self.kernel.launch(driver, recording.buffer(), kernel, span_ns, blocks, stream) }.unwrap();
    }

    fn take(&self, profiler: &Profiler) -> Profile {
        self.stream.synchronize().unwrap();
        profiler.take()
    }
}

#[test]
fn each_block_of_each_launch_is_there_with_its_times() {
    let bed = Bed::new();
    let profiler = bed.profiler(2, 1_000);
    assert_eq!((profiler.register(&["blur", "scale"]), profiler.register(&["sum"])), (0, 2));
    let recording = profiler.begin(&bed.stream);
    for (kernel, blocks) in [(1, 200), (2, 7), (1, 200)] {
        bed.launch(&recording, kernel, blocks);
    }
    drop(recording);
    let profile = bed.take(&profiler);
    assert_eq!((profile.batches.len(), profile.left_out), (1, 0));
    let batch = &profile.batches[0];
    assert_eq!((batch.events.len(), batch.lost, batch.unfinished), (407, 0, 0));
    let launches: Vec<(String, u64)> =
        spans(&batch.events).iter().map(|span| (profile.name(span.kernel), span.blocks)).collect();
    let named = |name: &str, blocks| (name.to_owned(), blocks);
    assert_eq!(launches, [named("scale", 200), named("sum", 7), named("scale", 200)]);
    assert!(batch.events.iter().all(|event| event.end_ns - event.begin_ns >= SPAN_NS), "{:?}", batch.events[0]);
    let slices = |detail| profile.trace(detail).matches("\"ph\":\"X\"").count();
    assert_eq!((slices(Detail::Kernels), slices(Detail::Blocks)), (3, 410));
    assert_eq!(profiler.take().batches, [], "they are taken once");
}

#[test]
fn events_without_room_are_counted_and_the_next_batch_begins_anew() {
    let bed = Bed::new();
    let profiler = bed.profiler(1, 100);
    for blocks in [130, 40] {
        let recording = profiler.begin(&bed.stream);
        bed.launch(&recording, 0, blocks);
        drop(recording);
        bed.stream.synchronize().unwrap();
        profiler.poll();
    }
    let profile = profiler.take();
    let counts: Vec<(usize, u64)> = profile.batches.iter().map(|batch| (batch.events.len(), batch.lost)).collect();
    assert_eq!(counts, [(100, 30), (40, 0)]);
    assert!(profile.trace(Detail::Kernels).contains("30 block events found no room"));
}

#[test]
fn a_batch_that_is_under_way_keeps_its_buffer() {
    let bed = Bed::new();
    let profiler = bed.profiler(2, 100);
    for kernel in 0..5 {
        let recording = profiler.begin(&bed.stream);
        assert_eq!(recording.buffer().0 == 0, kernel >= 2, "there are two buffers");
        // Far longer than this thread takes from one launch to the next.
        bed.launch_for(20_000_000, &recording, kernel, 10);
    }
    let profile = bed.take(&profiler);
    let kernels: Vec<Vec<u32>> =
        profile.batches.iter().map(|batch| batch.events.iter().map(|event| event.kernel).collect()).collect();
    assert_eq!((kernels, profile.left_out), (vec![vec![0; 10], vec![1; 10]], 3));
    let recording = profiler.begin(&bed.stream);
    assert_ne!(recording.buffer().0, 0, "both are free again");
}

#[test]
fn nothing_is_collected_while_it_is_off() {
    let bed = Bed::new();
    let profiler = bed.profiler(2, 100);
    profiler.collect(false);
    let recording = profiler.begin(&bed.stream);
    assert_eq!(recording.buffer().0, 0);
    bed.launch(&recording, 0, 10);
    drop(recording);
    assert_eq!(bed.take(&profiler), Profile::default());
}
