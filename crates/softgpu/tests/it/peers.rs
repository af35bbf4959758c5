//! Copies and kernels between devices: rates by pair, engines of their own, and access.

use crate::support::{MIB, Pinned, kernel, launch, stream, upload};
use hal::{Code, Context, Device, DevicePtr, Driver, EventFlags, Stream};
use overtake_softgpu::{Parameters, Payload, SoftGpu};

const BULK: u64 = 64 * MIB;

/// Three devices, with memory on each and a stream of the first.
struct Trio {
    gpu: SoftGpu,
    contexts: [Context; 3],
    memory: [DevicePtr; 3],
}

impl Trio {
    fn new(toml: &str) -> Trio {
        let parameters = Parameters::from_toml(toml).unwrap();
        let gpu = SoftGpu::builder().parameters(parameters).devices(3).payload(Payload::TimingOnly).build();
        let contexts = [0, 1, 2].map(|device| gpu.primary_context_retain(Device(device)).unwrap());
        let memory = contexts.map(|context| {
            gpu.context_set_current(Some(context)).unwrap();
            gpu.mem_alloc(BULK).unwrap()
        });
        gpu.context_set_current(Some(contexts[0])).unwrap();
        Trio { gpu, contexts, memory }
    }

    fn copy(&self, from: usize, to: usize, bytes: u64, stream: Stream) {
        let (memory, contexts) = (&self.memory, &self.contexts);
        // SAFETY: the allocations live to the end of the test.
        unsafe { self.gpu.copy_peer_async(memory[to], contexts[to], memory[from], contexts[from], bytes, stream) }
            .unwrap();
    }

    /// The time in microseconds from now until the streams are done.
    fn time_us(&self, work: impl FnOnce(), streams: &[Stream]) -> f64 {
        let begin = self.gpu.host().now();
        work();
        streams.iter().for_each(|stream| self.gpu.stream_synchronize(*stream).unwrap());
        self.gpu.host().now().since(begin).as_us()
    }
}

#[test]
fn each_pair_has_its_rate_and_each_direction_its_own() {
    let trio = Trio::new("[peer]\ngbps = 54.0\npairs_gbps = [[0.0, 375.0], [200.0]]\n");
    let stream = stream(&trio.gpu);
    for (from, to, gbps) in [(0, 1, 375.0), (1, 0, 200.0), (0, 2, 54.0), (2, 1, 54.0)] {
        let took_us = trio.time_us(|| trio.copy(from, to, BULK, stream), &[stream]);
        let bytes_us = BULK as f64 / gbps / 1e3;
        assert!((bytes_us..bytes_us + 20.0).contains(&took_us), "{from} to {to}: {took_us} us, not {bytes_us}");
    }
    assert_eq!(trio.gpu.counts().copies_other, 4);
}

#[test]
fn pairs_and_hosts_do_not_wait_for_each_other_and_copies_of_a_pair_do() {
    let trio = Trio::new("[peer]\npairs_gbps = [[0.0, 100.0, 100.0], [100.0]]\n");
    let [one, other] = [(); 2].map(|()| stream(&trio.gpu));
    let alone_us = trio.time_us(|| trio.copy(0, 1, BULK, one), &[one]);
    let beside_us = |work: &dyn Fn()| {
        let both = || {
            trio.copy(0, 1, BULK, one);
            work();
        };
        trio.time_us(both, &[one, other]) / alone_us
    };
    let host = Pinned::new(&trio.gpu, MIB);
    let upload = || upload(&trio.gpu, trio.memory[0], host, MIB, other).unwrap();
    assert!(beside_us(&|| trio.copy(0, 2, BULK, other)) < 1.1, "another pair has another engine");
    assert!(beside_us(&|| trio.copy(1, 0, BULK, other)) < 1.1, "and so has the way back");
    assert!(beside_us(&upload) < 1.1, "the host's engine is free");
    assert!(beside_us(&|| trio.copy(0, 1, BULK, other)) > 1.9, "one pair makes one copy after the other");
    trio.copy(0, 1, BULK, one);
    trio.copy(0, 1, 4096, other);
    let urgent_us = trio.time_us(|| (), &[other]) / alone_us;
    assert!((0.9..1.1).contains(&urgent_us), "a small copy waits for the bulk copy before it: {urgent_us}");
}

/// A call for another device takes the host longer: a copy from there more than one to there, and a wait for its event.
#[test]
fn calls_for_another_device_take_the_host_longer() {
    let costs = "push_ns = 3000\npull_ns = 6000\nstream_wait_event_ns = 200\nstream_wait_across_ns = 1800\n";
    let trio = Trio::new(&format!("[host]\n{costs}"));
    let (gpu, own) = (&trio.gpu, stream(&trio.gpu));
    let took_ns = |call: &dyn Fn()| {
        let begin = gpu.host().now();
        call();
        gpu.host().now().since(begin).0 / 100 * 100
    };
    let times = [(0, 1), (1, 0), (1, 2)].map(|(from, to)| took_ns(&|| trio.copy(from, to, 4096, own)));
    assert_eq!(times, [3000, 6000, 3000], "to another, from another, between two others");
    let waits = [0, 1].map(|device| {
        gpu.context_set_current(Some(trio.contexts[device])).unwrap();
        let (event, there) = (gpu.event_create(EventFlags::DISABLE_TIMING).unwrap(), stream(gpu));
        gpu.event_record(event, there).unwrap();
        gpu.context_set_current(Some(trio.contexts[0])).unwrap();
        took_ns(&|| gpu.stream_wait_event(own, event).unwrap())
    });
    assert_eq!(waits, [200, 1800], "for an event of its own device, and of another");
}

#[test]
fn a_kernel_reaches_another_device_only_with_access() {
    let trio = Trio::new("");
    let (gpu, [_, far, _]) = (&trio.gpu, trio.memory);
    let seen = || gpu.pointer_info(far.0).unwrap().device_pointer;
    assert_eq!(seen(), None, "no kernel of this context reaches it");
    let (stream, store) = (stream(gpu), kernel(gpu, "soft_store_u32"));
    gpu.enable_peer_access(trio.contexts[1]).unwrap();
    assert_eq!(seen(), Some(far));
    launch(gpu, store, 1, stream, &[far.0, 7]).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    let back = Pinned::new(gpu, 4);
    crate::support::download(gpu, back, far, 4, stream).unwrap();
    gpu.stream_synchronize(stream).unwrap();
    assert_eq!(back.load(), 7);
    launch(gpu, store, 1, stream, &[trio.memory[2].0, 7]).unwrap();
    assert_eq!(gpu.stream_synchronize(stream).unwrap_err().code(), Code::ILLEGAL_ADDRESS, "access is for one peer");
}
