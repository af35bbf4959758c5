//! Graphs in the model: their lanes, the objects that they leave behind, and refusals.

use crate::support::{MIB, Pinned, download, enter, stream, upload};
use hal::{CaptureMode, Code, Driver, EventFlags, GraphExec, Stream, StreamFlags};
use overtake_softgpu::{Payload, SoftGpu};

const BYTES: u64 = 32 * MIB;

fn captured(gpu: &SoftGpu, stream: Stream, work: impl FnOnce()) -> hal::Result<GraphExec> {
    gpu.stream_begin_capture(stream, CaptureMode::Relaxed)?;
    work();
    let graph = gpu.stream_end_capture(stream)?;
    let exec = gpu.graph_instantiate(graph);
    gpu.graph_destroy(graph)?;
    exec
}

fn launch(gpu: &SoftGpu, graph: GraphExec, stream: Stream) -> hal::Result<()> {
    // SAFETY: the memory of these tests lives as long as they do, or was never given back.
    unsafe { gpu.graph_launch(graph, stream) }
}

/// The time in microseconds of a launch.
fn time_us(gpu: &SoftGpu, graph: GraphExec, stream: Stream) -> f64 {
    let begin = gpu.host().now();
    launch(gpu, graph, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    gpu.host().now().since(begin).as_us()
}

#[test]
fn branches_run_side_by_side_and_leave_nothing() {
    let gpu = SoftGpu::builder().payload(Payload::TimingOnly).build();
    enter(&gpu);
    let (host, back, device) = (Pinned::new(&gpu, BYTES), Pinned::new(&gpu, BYTES), gpu.mem_alloc(2 * BYTES).unwrap());
    let [origin, forked] = [(); 2].map(|()| stream(&gpu));
    let [fork, join] = [(); 2].map(|()| gpu.event_create(EventFlags::DISABLE_TIMING).unwrap());
    let upload = || upload(&gpu, device, host, BYTES, origin).unwrap();
    let download = |stream| download(&gpu, back, device.offset(BYTES), BYTES, stream).unwrap();
    let one = captured(&gpu, origin, upload).unwrap();
    let chain = captured(&gpu, origin, || {
        upload();
        download(origin);
    });
    let both = captured(&gpu, origin, || {
        gpu.event_record(fork, origin).unwrap();
        gpu.stream_wait_event(forked, fork).unwrap();
        upload();
        download(forked);
        gpu.event_record(join, forked).unwrap();
        gpu.stream_wait_event(origin, join).unwrap();
    });
    let (chain, both) = (chain.unwrap(), both.unwrap());
    [one, chain, both].into_iter().for_each(|graph| assert!(time_us(&gpu, graph, origin) > 0.0));
    let (before, counted) = (gpu.live(), gpu.counts().graph_launches);
    let alone_us = time_us(&gpu, one, origin);
    let [chain_us, both_us] = [chain, both].map(|graph| time_us(&gpu, graph, origin) / alone_us);
    assert!((1.9..2.2).contains(&chain_us) && (0.9..1.2).contains(&both_us), "{chain_us} and {both_us}");
    assert_eq!(gpu.counts().graph_launches, counted + 3);
    let after = gpu.live();
    assert_eq!((after.streams, after.operations, after.queues), (before.streams, 0, before.queues));
    [one, chain, both].into_iter().for_each(|graph| gpu.graph_exec_destroy(graph).unwrap());
    assert_eq!(gpu.live().graphs, 0);
    assert_eq!(launch(&gpu, one, origin).unwrap_err().code(), Code::INVALID_VALUE, "it is destroyed");
}

#[test]
fn kernels_of_a_graph_have_the_priority_of_their_captured_stream() {
    let gpu = SoftGpu::builder().build();
    enter(&gpu);
    let (spin, low) = (crate::support::kernel(&gpu, "soft_spin_ns"), stream(&gpu));
    let high = gpu.stream_create(StreamFlags::NON_BLOCKING, -5).unwrap();
    let large = |stream| crate::support::launch(&gpu, spin, 100_000, stream, &[100_000]).unwrap();
    let urgent = captured(&gpu, high, || large(high)).unwrap();
    (0..16).for_each(|_| large(stream(&gpu)));
    let took_us = time_us(&gpu, urgent, low);
    assert!(took_us < 350.0, "it passes kernels that have not begun: {took_us} us");
}

#[test]
fn work_that_is_not_modelled_is_refused_when_the_graph_is_made_ready() {
    let gpu = SoftGpu::builder().build();
    enter(&gpu);
    let (stream, device, pageable) = (stream(&gpu), gpu.mem_alloc(MIB).unwrap(), vec![1_u8; 4096]);
    // SAFETY: the capture only looks at the memory, which lives to the end of the test.
    let copy = || unsafe { gpu.copy_htod_async(device, pageable.as_ptr(), 4096, stream) }.unwrap();
    assert_eq!(captured(&gpu, stream, copy).unwrap_err().code(), Code::NOT_SUPPORTED);
    let free = || gpu.mem_free_async(device, stream).unwrap();
    assert_eq!(captured(&gpu, stream, free).unwrap_err().code(), Code::NOT_SUPPORTED);
    let empty = captured(&gpu, stream, || ()).unwrap();
    let nested = captured(&gpu, stream, || {
        assert_eq!(launch(&gpu, empty, stream).unwrap_err().code(), Code::NOT_SUPPORTED);
    });
    launch(&gpu, nested.unwrap(), stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
}
