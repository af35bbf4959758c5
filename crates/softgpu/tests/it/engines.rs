//! The order in which streams get an engine, seen from outside.

use crate::support::{MIB, Pinned, enter, stream, upload};
use hal::{Driver, EventFlags, MemOp, Nanos, Stream};
use overtake_softgpu::{Payload, SoftGpu};

fn ready() -> (SoftGpu, Pinned, hal::DevicePtr, [Stream; 2]) {
    let gpu = SoftGpu::builder().payload(Payload::TimingOnly).build();
    enter(&gpu);
    let (host, device) = (Pinned::new(&gpu, 64 * MIB), gpu.mem_alloc(64 * MIB).unwrap());
    let streams = [stream(&gpu), stream(&gpu)];
    (gpu, host, device, streams)
}

/// Queues 200 copies of 2 MiB with `between` after each. Returns the time that a small copy of another stream takes.
fn small_copy_us(between: impl Fn(&SoftGpu, Stream)) -> f64 {
    let (gpu, host, device, [bulk, small]) = ready();
    for _ in 0..200 {
        upload(&gpu, device, host, 2 * MIB, bulk).unwrap();
        between(&gpu, bulk);
    }
    let begin = gpu.host().now();
    upload(&gpu, device, host, 65_536, small).unwrap();
    gpu.stream_synchronize(small).unwrap();
    gpu.host().now().since(begin).as_us()
}

#[test]
fn copies_without_a_memory_operation_between_them_let_no_stream_in() {
    let plain_us = small_copy_us(|_, _| {});
    let recorded_us = small_copy_us(|gpu, stream| {
        let event = gpu.event_create(EventFlags::DISABLE_TIMING).unwrap();
        gpu.event_record(event, stream).unwrap();
    });
    let written_us = small_copy_us(|gpu, stream| {
        let word = gpu.mem_alloc(4).unwrap();
        gpu.mem_op(stream, MemOp::write32(word, 1)).unwrap();
    });
    assert!(plain_us > 7_000.0 && recorded_us > 7_000.0, "plain {plain_us}, with event records {recorded_us}");
    assert!(written_us < 120.0, "with writes {written_us}");
}

#[test]
fn small_copies_to_the_device_pass_by_the_engine_and_larger_ones_do_not() {
    let (gpu, host, device, [bulk, small]) = ready();
    upload(&gpu, device, host, 64 * MIB, bulk).unwrap();
    let took_us = |bytes| {
        let begin = gpu.host().now();
        upload(&gpu, device, host, bytes, small).unwrap();
        gpu.stream_synchronize(small).unwrap();
        gpu.host().now().since(begin).as_us()
    };
    let (inline_us, engine_us) = (took_us(24_576), took_us(24_577));
    assert!(inline_us < 30.0 && engine_us > 1_000.0, "24 KiB {inline_us}, a byte more {engine_us}");
    assert_eq!(gpu.counts().copies_inline, 1);
}

#[test]
fn the_directions_have_engines_of_their_own() {
    let (gpu, host, device, [bulk, small]) = ready();
    upload(&gpu, device, host, 64 * MIB, bulk).unwrap();
    gpu.host().sleep(Nanos::from_us(50));
    let begin = gpu.host().now();
    crate::support::download(&gpu, Pinned::new(&gpu, MIB), device, 65_536, small).unwrap();
    gpu.stream_synchronize(small).unwrap();
    assert!(gpu.host().now().since(begin).as_us() < 20.0);
    assert!(!gpu.stream_query(bulk).unwrap());
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    let (gpu, host, device, _) = ready();
    let blocking = gpu.stream_create(hal::StreamFlags::DEFAULT, 0).unwrap();
    upload(&gpu, device, host, 64 * MIB, blocking).unwrap();
    let begin = gpu.host().now();
    gpu.memset_d8_async(device, 0, 64, Stream::LEGACY).unwrap();
    gpu.memset_d8_async(device, 0, 64, blocking).unwrap();
    assert!(!gpu.stream_query(Stream::LEGACY).unwrap());
    gpu.stream_synchronize(Stream::LEGACY).unwrap();
    assert!(gpu.host().now().since(begin).as_us() > 1_000.0, "the copy comes first");
    gpu.stream_synchronize(blocking).unwrap();
    assert!(gpu.stream_query(Stream::LEGACY).unwrap());
}

/// Queues a copy, `between`, and a copy that waits for an event behind a copy of another stream. That copy uses the
/// same engine, and is submitted only when the first has ended. Both streams must end.
fn lets_in_the_copy_that_its_next_one_waits_for(between: impl Fn(&SoftGpu, Stream)) -> hal::Result<()> {
    let (gpu, host, device, [first, second]) = ready();
    let gate = Pinned::new(&gpu, 4_096);
    let event = gpu.event_create(EventFlags::DISABLE_TIMING)?;
    crate::support::wait_for(&gpu, second, gate.device(), 1);
    upload(&gpu, device, host, MIB, second)?;
    gpu.event_record(event, second)?;
    upload(&gpu, device, host, 64 * MIB, first)?;
    between(&gpu, first);
    gpu.stream_wait_event(first, event)?;
    upload(&gpu, device, host, MIB, first)?;
    gpu.host().sleep(Nanos::from_ms(5));
    gate.store(1);
    gpu.stream_synchronize(second)?;
    gpu.stream_synchronize(first)
}

#[test]
fn the_engine_is_kept_for_no_copy_whose_stream_waits_for_another() {
    lets_in_the_copy_that_its_next_one_waits_for(|_, _| {}).expect("nothing between");
    lets_in_the_copy_that_its_next_one_waits_for(|gpu, stream| {
        gpu.mem_op(stream, MemOp::write32(gpu.mem_alloc(4).unwrap(), 1)).unwrap();
    })
    .expect("a write between");
    lets_in_the_copy_that_its_next_one_waits_for(|gpu, stream| {
        crate::support::wait_for(gpu, stream, Pinned::new(gpu, 4_096).device(), 0);
    })
    .expect("a satisfied wait between");
}

/// The order in which copies land when small copies with a write behind the last meet four large ones with a write
/// behind each. `B` and `b` are the large ones and their writes, `U` and `u` the small ones.
fn turns(small_streams: usize, copies: usize) -> String {
    let gpu = SoftGpu::builder().payload(Payload::TimingOnly).trace(true).build();
    enter(&gpu);
    let (host, device) = (Pinned::new(&gpu, 64 * MIB), gpu.mem_alloc(64 * MIB).unwrap());
    let (bulk, word) = (stream(&gpu), gpu.mem_alloc(4).unwrap());
    let small: Vec<Stream> = (0..small_streams).map(|_| stream(&gpu)).collect();
    for _ in 0..4 {
        crate::support::download(&gpu, host, device, 64 * MIB, bulk).unwrap();
        gpu.mem_op(bulk, MemOp::write32(word, 1)).unwrap();
    }
    gpu.host().sleep(Nanos::from_us(1_500));
    for &small in &small {
        (0..copies).for_each(|_| crate::support::download(&gpu, host, device, 65_536, small).unwrap());
        gpu.mem_op(small, MemOp::write32(word, 1)).unwrap();
    }
    gpu.context_synchronize().unwrap();
    let name = |entry: overtake_softgpu::TraceEntry| match (entry.stream == bulk, entry.engine.is_some()) {
        (true, true) => 'B',
        (true, false) => 'b',
        (false, true) => 'U',
        (false, false) => 'u',
    };
    gpu.take_trace().into_iter().map(name).collect()
}

/// As measured (`reports/driver/h100`: `turns`, `burst-landings`).
#[test]
fn writes_behind_copies_wait_for_their_turn_and_a_burst_begins_alone() {
    assert_eq!(turns(1, 1), "BbBUbBubBb", "the write behind the small copy comes behind the next large one");
    assert_eq!(turns(1, 3), "BbBUbBUUbBub", "the first small copy has a turn of its own");
    assert_eq!(turns(3, 1), "BbBUUUbBuuubBb", "no stream overtakes another");
}

/// The longest time of a small copy that comes at any time of a turn, in turns: behind bulk of so many streams with a
/// write behind each of its copies.
fn longest_wait_turns(bulk_streams: usize) -> f64 {
    const COPIES: usize = 6;
    let waits = (0..20).map(|part| {
        let gpu = SoftGpu::builder().payload(Payload::TimingOnly).build();
        enter(&gpu);
        let (host, device) = (Pinned::new(&gpu, 16 * MIB), gpu.mem_alloc(16 * MIB).unwrap());
        let (small, word) = (stream(&gpu), gpu.mem_alloc(4).unwrap());
        let bulk: Vec<Stream> = (0..bulk_streams).map(|_| stream(&gpu)).collect();
        for bulk in [&bulk; COPIES].into_iter().flatten() {
            crate::support::download(&gpu, host, device, 16 * MIB, *bulk).unwrap();
            gpu.mem_op(*bulk, MemOp::write32(word, 1)).unwrap();
        }
        gpu.host().sleep(Nanos::from_us(500 + 16 * part));
        let began = gpu.host().now();
        crate::support::download(&gpu, host, device, 65_536, small).unwrap();
        let end = gpu.event_create(EventFlags::DISABLE_TIMING).unwrap();
        gpu.event_record(end, small).unwrap();
        gpu.event_synchronize(end).unwrap();
        gpu.host().now().since(began).as_us() / 307.0
    });
    waits.fold(0.0, f64::max)
}

/// As measured there (`turns`): behind one stream a copy waits for the copy that runs, and behind two and three, on the
/// hardware, for up to one more than there are streams. Here it is one of each stream at most. Five streams share four
/// queues, and it stands behind all that is queued in its own.
#[test]
fn a_copy_waits_for_a_turn_of_each_stream() {
    let turns = [1, 2, 3].map(longest_wait_turns);
    for (streams, turns) in (1..).zip(turns) {
        let most = f64::from(streams);
        assert!((most - 0.2..most + 0.2).contains(&turns), "behind {streams} streams {turns} turns");
    }
    let shared = longest_wait_turns(4);
    assert!(shared > 15.0, "behind four streams, with four queues, {shared} turns");
}
