//! The probe finds the properties that the software GPU was built with, and leaves nothing behind.

use std::sync::Arc;

use hal::{Code, Device, Driver, Nanos};
use overtake_channels::probe::{Assignment, HOST_DIRECTIONS, ProbeOptions, QueueMap, Rig, probe_queues};
use priority::Direction;
use softgpu::{Connections, Fault, SoftGpu};

/// A software GPU with a current context on this thread.
fn open(gpu: &SoftGpu) -> Arc<dyn Driver> {
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    Arc::new(gpu.clone())
}

/// Counts that a probe must leave unchanged: unfinished operations, streams, allocations.
fn left(gpu: &SoftGpu) -> (usize, usize, usize) {
    let live = gpu.live();
    (live.operations, live.streams, live.allocations)
}

fn probe(connections: Connections, direction: Direction) -> QueueMap {
    let gpu = SoftGpu::builder().connections(connections).build();
    let driver = open(&gpu);
    let before = left(&gpu);
    let map = probe_queues(&driver, direction, &ProbeOptions::default()).unwrap();
    assert_eq!(left(&gpu), before);
    map
}

#[test]
fn four_queues_are_four() {
    for direction in HOST_DIRECTIONS {
        let map = probe(Connections::default(), direction);
        assert_eq!((map.queues(), map.may_have_more(), map.direction), (4, false, direction));
        assert!(map.streams_by_queue().iter().all(|streams| streams.len() == 4), "{map:?}");
        assert_ne!(map.assignment, Assignment::Irregular, "{map:?}");
    }
}

#[test]
fn connections_decide_how_many_there_are() {
    let queues = |max, copy| probe(Connections { max, copy }, Direction::HostToDevice).queues();
    assert_eq!(queues(Some(1), None), 1);
    assert_eq!(queues(Some(1), Some(8)), 8);
    assert_eq!(queues(None, Some(8)), 8);
    assert_eq!(queues(None, Some(3)), 3);
    let many = probe(Connections { max: Some(32), copy: None }, Direction::DeviceToHost);
    assert!(many.may_have_more() && many.queues() == 16, "{many:?}");
}

/// A queue that has just been used counts as idle again at once, or only after a while: then all of them are busy for a
/// stream that comes after four others, and its turn is the queue of the one that waits.
#[test]
fn a_stream_gets_into_the_queue_of_one_that_waits_where_no_other_is_idle() {
    for (idle_after_ns, avoids_waiting) in [(0, true), (1_000_000_000, false)] {
        let mut parameters = softgpu::Parameters::default();
        parameters.queue.idle_after_ns = idle_after_ns;
        let gpu = SoftGpu::builder().parameters(parameters).build();
        let map = probe_queues(&open(&gpu), Direction::HostToDevice, &ProbeOptions::default()).unwrap();
        assert_eq!((map.queues(), map.avoids_waiting), (4, avoids_waiting), "{map:?}");
    }
}

#[test]
fn streams_of_the_application_do_not_change_the_count() {
    let gpu = SoftGpu::builder().build();
    let driver = open(&gpu);
    let rig = Rig::new(&driver, &[4096]).unwrap();
    for _ in 0..3 {
        let stream = rig.stream(0).unwrap();
        rig.copy(Direction::HostToDevice, 0, 4096, stream).unwrap();
    }
    let map = probe_queues(&driver, Direction::HostToDevice, &ProbeOptions::default()).unwrap();
    assert_eq!(map.queues(), 4);
}

#[test]
fn too_many_streams_are_refused() {
    let gpu = SoftGpu::builder().build();
    let options = ProbeOptions { streams: 33, ..ProbeOptions::default() };
    let error = probe_queues(&open(&gpu), Direction::HostToDevice, &options).unwrap_err();
    assert!(error.to_string().contains("1 to 32"), "{error}");
}

/// If any call fails, the probe returns with its error in bounded time and frees everything that it made.
#[test]
fn a_call_that_fails_is_an_error_and_neither_a_hang_nor_a_leak() {
    let calls = [
        ("cuMemHostAlloc", 2),
        ("cuMemAlloc_v2", 1),
        ("cuMemHostGetDevicePointer_v2", 1),
        ("cuStreamCreateWithPriority", 16),
        ("cuMemcpyHtoDAsync_v2", 66),
        ("cuStreamWaitValue32_v2", 33),
        ("cuStreamQuery", 100),
    ];
    for (name, last) in calls {
        for nth in [1, 2, 15, 33, 66, 90].into_iter().filter(|nth| *nth <= last) {
            let fault = Fault::Call { name: name.to_owned(), nth, code: Code::OUT_OF_MEMORY };
            let gpu = SoftGpu::builder().fault(fault).build();
            let driver = open(&gpu);
            let (before, start) = (left(&gpu), driver.host().now());
            let result = probe_queues(&driver, Direction::HostToDevice, &ProbeOptions::default());
            let Err(error) = result else { panic!("call {nth} of {name} did not fail: {result:?}") };
            assert_eq!((error.call(), error.code()), (name, Code::OUT_OF_MEMORY), "call {nth}");
            assert!(driver.host().now().since(start) < Nanos::from_ms(5_000), "{name} {nth}");
            assert_eq!(left(&gpu), before, "{name} {nth}");
        }
    }
}

/// Another thread frees memory, which waits for the device and keeps every other thread out of the driver meanwhile.
/// The device waits for the probe.
fn probe_beside_a_free(free_at_us: u64) -> (QueueMap, Nanos) {
    let mut parameters = softgpu::Parameters::default();
    parameters.host.waits_keep_others_out = true;
    let gpu = SoftGpu::builder().parameters(parameters).build();
    let driver = open(&gpu);
    let context = gpu.context_current().unwrap();
    let own = gpu.clone();
    let frees = hal::spawn(&driver, "frees", move || {
        own.context_set_current(context).unwrap();
        own.host().sleep(Nanos::from_us(free_at_us));
        let memory = own.mem_alloc(4096).unwrap();
        own.mem_free(memory).unwrap();
    });
    let began = gpu.host().now();
    let map = probe_queues(&driver, Direction::HostToDevice, &ProbeOptions::default()).unwrap();
    let took = gpu.host().now().since(began);
    frees.unwrap().join(gpu.host());
    (map, took)
}

#[test]
fn a_call_of_another_thread_that_waits_for_the_device_does_not_stop_it() {
    // Around the time at which the probe begins to hold streams.
    let turns: Vec<_> = (20..40).map(|turn| probe_beside_a_free(10 * turn)).collect();
    for (map, _) in &turns {
        assert_eq!(map.queues(), 4, "a turn that was kept out counts for nothing: {map:?}");
    }
    let kept_out = turns.iter().filter(|(_, took)| *took > Nanos::from_ms(115)).count();
    assert!((1..20).contains(&kept_out), "{kept_out} of 20 were kept out while they held streams");
}
