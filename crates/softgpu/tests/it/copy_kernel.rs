//! The copy kernel's model: the bytes that it moves, its speed, and the copies that it yields to.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Device, DevicePtr, Driver, Function, HostAllocFlags, Launch, Nanos, Stream, StreamFlags};
use overtake_softgpu::SoftGpu;

const PTX: &str = include_str!("../../../../copies/src/kernel/copy.ptx");
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// As `copies/src/kernel/copy.cu` declares it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Descriptor {
    target: u64,
    source: u64,
    width_bytes: u64,
    rows: u64,
    target_pitch_bytes: u64,
    source_pitch_bytes: u64,
    kind: u32,
    value: u32,
    reserved: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Gate {
    host: u64,
    mirror: u64,
    finished: u64,
    wait_ns_max: u64,
    lift: u64,
}

/// The places of a launch's own word, and of the word of a higher priority.
const LIFT: u32 = 64;
const HIGHER: u32 = 32;

struct Bench {
    gpu: SoftGpu,
    stream: Stream,
    copy: Function,
    table: Function,
    host: *mut u8,
    bytes: u64,
    device: DevicePtr,
    word: *mut u8,
}

impl Bench {
    fn new(bytes: u64) -> Bench {
        let gpu = SoftGpu::builder().build();
        let context = gpu.primary_context_retain(Device(0)).unwrap();
        gpu.context_set_current(Some(context)).unwrap();
        let module = gpu.module_load(PTX.as_bytes()).unwrap();
        let function = |name| gpu.module_function(module, name).unwrap();
        let (copy, table) = (function("overtake_copy"), function("overtake_copy_table"));
        function("overtake_add");
        let stream = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        let (host, word) = (gpu.host_alloc(bytes, HostAllocFlags::DEVICEMAP), gpu.host_alloc(4096, HostAllocFlags(2)));
        let device = gpu.mem_alloc(bytes).unwrap();
        Bench { stream, copy, table, host: host.unwrap(), bytes, device, word: word.unwrap(), gpu }
    }

    /// The word of a launch's priority.
    fn word(&self) -> &AtomicU32 {
        self.word_at(0)
    }

    fn word_at(&self, index: u32) -> &AtomicU32 {
        assert!(index < 1024);
        // SAFETY: the allocation has 4 096 bytes, is page aligned and lives as long as the GPU; only atomics touch it.
        unsafe { AtomicU32::from_ptr(self.word.add(4 * index as usize).cast()) }
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        assert!(offset + bytes.len() as u64 <= self.bytes);
        // SAFETY: inside the allocation, as just asserted; no launch that uses it is under way.
        unsafe { self.host.add(offset as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    fn read(&self, offset: u64, bytes: u64) -> Vec<u8> {
        assert!(offset + bytes <= self.bytes);
        // SAFETY: inside the allocation, as just asserted. The model moves bytes only while this thread is inside a
        // call.
        unsafe { std::slice::from_raw_parts(self.host.add(offset as usize), bytes as usize).to_vec() }
    }

    fn linear(&self, to_host: bool, bytes: u64) -> Descriptor {
        let (host, device) = (self.host as u64, self.device.0);
        let (target, source) = if to_host { (host, device) } else { (device, host) };
        Descriptor { target, source, width_bytes: bytes, rows: 1, ..Descriptor::default() }
    }

    fn launch(&self, descriptors: &[Descriptor], blocks: u32, gate: Gate) {
        let mut table = [Descriptor::default(); 8];
        table[..descriptors.len()].copy_from_slice(descriptors);
        self.launch_with(self.copy, table.as_mut_ptr().cast(), descriptors.len() as u32, blocks, gate);
    }

    fn launch_with(&self, function: Function, first: *mut c_void, mut count: u32, blocks: u32, mut gate: Gate) {
        let parameters = [first, (&raw mut count).cast(), (&raw mut gate).cast()];
        let grid = [blocks + u32::from(gate.host != 0), 1, 1];
        let launch = Launch {
            function,
            grid,
            block: [512, 1, 1],
            shared_bytes: 0,
            stream: self.stream,
            parameters: &parameters,
        };
        // SAFETY: the kernels declare these three parameters; all ranges are allocated until the GPU goes.
        unsafe { self.gpu.launch(&launch).unwrap() };
    }

    /// The time from submission to the end of a synchronisation.
    fn timed(&self, launch: impl FnOnce()) -> f64 {
        let before = self.gpu.host().now();
        launch();
        self.gpu.stream_synchronize(self.stream).unwrap();
        self.gpu.host().now().since(before).as_us()
    }

    fn gated(&self, wait_max: Nanos) -> Gate {
        let word = self.gpu.host_device_pointer(self.word).unwrap();
        let lift = word.0 + u64::from(LIFT) * 4;
        Gate { host: word.0, mirror: self.device.0, finished: self.device.0, wait_ns_max: wait_max.0, lift }
    }
}

#[test]
fn bandwidth_follows_the_number_of_warps_and_of_multiprocessors() {
    let bench = Bench::new(64 * MIB);
    for (to_host, blocks, gbps) in [(false, 2, 36.5), (false, 4, 51.0), (true, 1, 38.0), (true, 8, 52.0)] {
        let us = bench.timed(|| bench.launch(&[bench.linear(to_host, 64 * MIB)], blocks, Gate::default()));
        let seen = (64 * MIB) as f64 / (us * 1e3);
        assert!((seen - gbps).abs() < gbps * 0.02, "{blocks} blocks: {seen} GB/s instead of {gbps}");
    }
}

#[test]
fn rows_pitches_fills_and_the_table_move_real_bytes() {
    let bench = Bench::new(MIB);
    bench.write(0, &(0..MIB as usize).map(|i| (i * 7 + i / 251) as u8).collect::<Vec<_>>());
    let (host, device) = (bench.host as u64, bench.device.0);
    let rows = Descriptor {
        target: device + 3,
        source: host + 5,
        width_bytes: 1_000,
        rows: 37,
        target_pitch_bytes: 1_024,
        source_pitch_bytes: 1_001,
        ..Descriptor::default()
    };
    let fill = Descriptor {
        target: device + 300_001,
        width_bytes: 6_001,
        rows: 2,
        target_pitch_bytes: 7_000,
        kind: 1,
        value: 0x0403_0201,
        ..Descriptor::default()
    };
    bench.launch(&[rows, fill], 4, bench.gated(Nanos::from_ms(1)));
    // The table lies in pinned memory behind the bytes that come back.
    let back = Descriptor { target: host + 400 * KIB, source: device, ..bench.linear(true, 400 * KIB) };
    let words = [back.target, back.source, back.width_bytes, back.rows, 0, 0, 0, 0];
    bench.write(MIB - 4096, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    let mut pointer = host + MIB - 4096;
    bench.launch_with(bench.table, (&raw mut pointer).cast(), 1, 4, Gate::default());
    bench.gpu.stream_synchronize(bench.stream).unwrap();
    for row in 0..37u64 {
        let (sent, received) = (5 + row * 1_001, 400 * KIB + 3 + row * 1_024);
        assert!(bench.read(sent, 1_000) == bench.read(received, 1_000), "row {row}");
        assert_eq!(bench.read(received + 1_000, 24), [0; 24], "between rows");
    }
    for row in 0..2 {
        let filled = bench.read(400 * KIB + 300_001 + row * 7_000, 6_001);
        assert!(filled.iter().enumerate().all(|(i, b)| *b == (i % 4) as u8 + 1), "fill {row}");
    }
}

#[test]
fn a_raised_word_stops_it_within_two_microseconds_and_lets_it_go_on() {
    let bench = Bench::new(16 * MIB);
    let gpu = &bench.gpu;
    gpu.memset_d8_async(bench.device, 1, 16 * MIB, bench.stream).unwrap();
    gpu.stream_synchronize(bench.stream).unwrap();
    bench.launch(&[bench.linear(true, 16 * MIB)], 2, bench.gated(Nanos::from_ms(10)));
    gpu.host().sleep(Nanos::from_us(100));
    bench.word().store(1, Ordering::SeqCst);
    let arrived = || bench.read(0, 16 * MIB).iter().filter(|byte| **byte == 1).count() as f64;
    let at_once = arrived();
    gpu.host().sleep(Nanos::from_us(500));
    let later = arrived();
    let after_us = (later - at_once) / 52.1e3;
    assert!((0.5..2.5).contains(&after_us), "went on for {after_us} us");
    assert!(!gpu.stream_query(bench.stream).unwrap());
    bench.word().store(0, Ordering::SeqCst);
    let us = bench.timed(|| ());
    let rest_us = (16.0 * MIB as f64 - later) / 52.1e3;
    assert!((rest_us..rest_us + 6.0).contains(&us), "the rest of {rest_us} us took {us} us");
}

/// A lifted launch goes on as long as the word of the higher priority lets it, and no longer.
#[test]
fn a_lifted_launch_looks_at_the_higher_word() {
    let bench = Bench::new(16 * MIB);
    let gpu = &bench.gpu;
    let is_done = || gpu.stream_query(bench.stream).unwrap();
    bench.word().store(1, Ordering::SeqCst);
    bench.word_at(HIGHER).store(1, Ordering::SeqCst);
    bench.launch(&[bench.linear(false, 16 * MIB)], 4, bench.gated(Nanos::from_ms(10)));
    bench.word_at(LIFT).store(HIGHER, Ordering::SeqCst);
    gpu.host().sleep(Nanos::from_ms(1));
    assert!(!is_done(), "the higher word is up too");
    bench.word_at(HIGHER).store(0, Ordering::SeqCst);
    gpu.host().sleep(Nanos::from_us(100));
    bench.word_at(LIFT).store(0, Ordering::SeqCst);
    gpu.host().sleep(Nanos::from_ms(1));
    assert!(!is_done(), "it is lifted no more");
    bench.word_at(LIFT).store(HIGHER, Ordering::SeqCst);
    let rest_us = bench.timed(|| ());
    assert!((180.0..240.0).contains(&rest_us), "after 100 us of 320 the rest took {rest_us} us");
    bench.word().store(0, Ordering::SeqCst);
    bench.word_at(HIGHER).store(1, Ordering::SeqCst);
    let free_us = bench.timed(|| bench.launch(&[bench.linear(false, MIB)], 4, bench.gated(Nanos::from_ms(10))));
    assert!(free_us < 100.0, "the word of its own priority is down, and it waited {free_us} us");
}

#[test]
fn a_write_waits_for_the_looks_of_one_that_stands_still() {
    let bench = Bench::new(16 * MIB);
    let (gpu, flag) = (&bench.gpu, DevicePtr(bench.gpu.host_device_pointer(bench.word).unwrap().0 + 256));
    let other = gpu.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
    let write = || {
        let before = gpu.host().now();
        gpu.mem_op(other, hal::MemOp::write32(flag, 1)).unwrap();
        gpu.stream_synchronize(other).unwrap();
        gpu.host().now().since(before).as_us()
    };
    bench.word().store(1, Ordering::SeqCst);
    let alone_us = write();
    bench.launch(&[bench.linear(false, 16 * MIB)], 4, bench.gated(Nanos::from_ms(10)));
    gpu.host().sleep(Nanos::from_us(100));
    let beside_us = write();
    assert!((1.2..1.6).contains(&(beside_us - alone_us)), "{beside_us} instead of {alone_us}");
    bench.word().store(0, Ordering::SeqCst);
    gpu.stream_synchronize(bench.stream).unwrap();
}

#[test]
fn its_patience_ends() {
    let bench = Bench::new(MIB);
    bench.word().store(1, Ordering::SeqCst);
    let free = bench.timed(|| bench.launch(&[bench.linear(false, MIB)], 4, Gate::default()));
    let held = bench.timed(|| bench.launch(&[bench.linear(false, MIB)], 4, bench.gated(Nanos::from_us(300))));
    assert!((299.0..304.0).contains(&(held - free)), "{held} instead of {free}");
    let loose = bench.timed(|| {
        bench.launch(&[bench.linear(false, MIB)], 4, Gate { host: 0, ..bench.gated(Nanos::from_ms(1)) });
    });
    assert!((loose - free).abs() < 1.0, "no word, nothing to wait for");
}

#[test]
fn a_bad_address_ends_the_context() {
    let bench = Bench::new(MIB);
    bench.launch(&[Descriptor { target: 16, ..bench.linear(false, MIB) }], 4, Gate::default());
    let error = bench.gpu.stream_synchronize(bench.stream).unwrap_err();
    assert_eq!(error.code(), hal::Code::ILLEGAL_ADDRESS);
}
