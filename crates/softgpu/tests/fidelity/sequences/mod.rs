//! The command sequences of the measurements.

mod burst;
mod feeder;
mod kernels;
mod many;
mod processes;

use hal::{EventFlags, Launch, MemOp};
use overtake_softgpu::{BUILTIN_PTX, Connections};

use crate::facts::{Direction, Row};
use crate::rig::{BULK, KIB, Random, Rig, SMALL, p50};
use feeder::Feeder;

/// The figures of a sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub p50_us: Option<f64>,
    pub bulk_gbps: Option<f64>,
}

/// Replays a row.
pub fn replay(row: &Row) -> Figures {
    match row.sequence.as_str() {
        "contended" => contended(row),
        "latency" => latency(row),
        "queued" => queued(row),
        "gated" => gated(row),
        "bandwidth" => bandwidth(row),
        "burst" => burst::burst(row),
        "kernels" => kernels::kernels(row),
        "link" => link(row),
        "processes" => processes::processes(row),
        "pageable" => pageable(row),
        "many" => many::many(row),
        other => panic!("facts.toml asks for an unknown sequence {other}"),
    }
}

/// A small copy behind bulk, 256 MiB a group, in one piece or in chunks, without any semaphore.
fn contended(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let greatest = rig.driver.priority_range().unwrap().greatest;
    let (low, high) = (rig.stream(0), rig.stream(if row.priority { greatest } else { 0 }));
    let (direction, chunk) = (row.direction, row.chunk_kib * KIB);
    let feeder = Feeder::start(&rig, low, 4, move |rig| {
        (0..BULK / chunk).for_each(|index| rig.copy(direction, rig.bulk, index * chunk, chunk, low));
        BULK
    });
    rig.sleep_us(30_000);
    let flag = rig.word(0);
    let mut random = Random::new(1);
    let mut samples = Vec::new();
    let (started_us, done_before) = (rig.now_us(), rig.word(2).load());
    for index in 1..=200 {
        let begin_us = rig.now_us();
        rig.copy(direction, rig.small, 0, SMALL, high);
        rig.write(high, flag.address(), index);
        rig.spin(flag, index);
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_000 + u64::from(random.below(700)));
        if rig.now_us() - started_us > 1.5e6 {
            break;
        }
    }
    let span_us = rig.now_us() - started_us;
    let bulk = u64::from(rig.word(2).load() - done_before) * BULK;
    feeder.finish(&rig);
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}

/// The sequence of `overtake bench latency`: an urgent copy after a sleep, alone, while bulk goes the other way, or
/// beside bulk in chunks with a kernel behind each.
fn latency(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (range, direction, chunk) = (rig.driver.priority_range().unwrap(), row.direction, row.chunk_kib * KIB);
    let (low, high) = (rig.stream(range.least), rig.stream(range.greatest));
    let module = rig.driver.module_load(BUILTIN_PTX.as_bytes()).unwrap();
    let function = rig.driver.module_function(module, "soft_noop").unwrap();
    let other = if direction == Direction::D2h { Direction::H2d } else { Direction::D2h };
    let feeder = match row.method.as_str() {
        "idle" => None,
        "other engine" => Some(Feeder::start(&rig, low, 4, move |rig| {
            rig.copy(other, rig.bulk, 0, BULK, low);
            BULK
        })),
        "kernels between" => Some(Feeder::start(&rig, low, 3, move |rig| {
            for index in 0..BULK / chunk {
                rig.copy(direction, rig.bulk, index * chunk, chunk, low);
                let grid = [1; 3];
                let launch = Launch { function, grid, block: grid, shared_bytes: 0, stream: low, parameters: &[] };
                // SAFETY: the kernel takes no parameters.
                unsafe { rig.driver.launch(&launch).unwrap() };
            }
            BULK / chunk * chunk
        })),
        other => panic!("facts.toml asks for an unknown method {other}"),
    };
    let (flag, bytes, mut random, mut samples) =
        (rig.word(0), row.urgent_kib.unwrap_or(64) * KIB, Random::new(5), Vec::new());
    rig.sleep_us(40_000);
    let (started_us, before) = (rig.now_us(), rig.word(2).load());
    for index in 1..=300 {
        let begin_us = rig.now_us();
        rig.copy(direction, rig.small, 0, bytes, high);
        rig.write(high, flag.address(), index);
        rig.spin(flag, index);
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_070 + u64::from(random.below(700)));
    }
    let group = if row.method == "kernels between" { BULK / chunk * chunk } else { BULK };
    let bulk = u64::from(rig.word(2).load() - before) * group;
    let bulk_gbps = bulk as f64 / (rig.now_us() - started_us) / 1e3;
    if let Some(feeder) = feeder {
        feeder.finish(&rig);
    }
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk_gbps) }
}

/// A small copy on a second stream, behind copies of 256 MiB that are queued on the first.
fn queued(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let greatest = rig.driver.priority_range().unwrap().greatest;
    let (low, high) = (rig.stream(0), rig.stream(greatest));
    let samples = (0..9).map(|_| {
        (0..row.count).for_each(|_| rig.copy(row.direction, rig.bulk, 0, BULK, low));
        rig.sleep_us(row.sleep_us);
        let begin_us = rig.now_us();
        rig.copy(row.direction, rig.small, 0, SMALL, high);
        rig.driver.stream_synchronize(high).unwrap();
        let took_us = rig.now_us() - begin_us;
        rig.driver.stream_synchronize(low).unwrap();
        took_us
    });
    Figures { p50_us: Some(p50(samples.collect())), bulk_gbps: None }
}

/// A small copy beside gated chunks; the word is raised by the CPU and lowered by the GPU behind the completion word.
fn gated(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (low, high) = (rig.stream(0), rig.stream(rig.driver.priority_range().unwrap().greatest));
    let (flag, word, chunk) = (rig.word(0), rig.word(1), row.chunk_kib * KIB);
    let feeder = Feeder::gated(&rig, low, Direction::H2d, chunk, word);
    rig.sleep_us(40_000);
    let mut random = Random::new(2);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), feeder.bytes());
    for index in 1..=400 {
        let begin_us = rig.now_us();
        word.store(1);
        rig.copy(Direction::H2d, rig.small, 0, SMALL, high);
        let lower = [MemOp::write32(flag.address(), index), MemOp::write32(word.address(), 0)];
        rig.driver.mem_op_batch(high, &lower).unwrap();
        rig.spin(flag, index);
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(500 + u64::from(random.below(700)));
    }
    let span_us = rig.now_us() - started_us;
    let bulk = feeder.bytes() - before;
    feeder.finish(&rig);
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}

/// 256 MiB in chunks, with and without waits, between two events.
fn bandwidth(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let stream = rig.stream(0);
    let word = if row.device_word { rig.device_word } else { rig.word(1).address() };
    let events = [(); 2].map(|()| rig.driver.event_create(EventFlags::DEFAULT).unwrap());
    let chunk = row.chunk_kib * KIB;
    let mut best: f64 = 0.0;
    for _ in 0..4 {
        rig.driver.event_record(events[0], stream).unwrap();
        for index in 0..BULK / chunk {
            (0..row.waits).for_each(|_| rig.wait_zero(stream, word));
            rig.copy(row.direction, rig.bulk, index * chunk, chunk, stream);
        }
        rig.driver.event_record(events[1], stream).unwrap();
        rig.driver.event_synchronize(events[1]).unwrap();
        let elapsed_ms = rig.driver.event_elapsed_ms(events[0], events[1]).unwrap();
        best = best.max(BULK as f64 / f64::from(elapsed_ms) / 1e6);
    }
    Figures { p50_us: None, bulk_gbps: Some(best) }
}

/// One small copy on an idle GPU, in its stream or through a channel.
fn link(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (user, channel) = (rig.stream(0), rig.stream(rig.driver.priority_range().unwrap().greatest));
    let (before, after) = (rig.event(), rig.event());
    let (flag, word) = (rig.word(0), rig.device_word);
    let driver = &rig.driver;
    let samples = (1..=400).map(|index| {
        let begin_us = rig.now_us();
        match row.method.as_str() {
            "raw" => {
                rig.copy(Direction::H2d, rig.small, 0, SMALL, user);
                rig.write(user, flag.address(), index);
            }
            "batched lower" => {
                rig.write(channel, word, 1);
                rig.copy(Direction::H2d, rig.small, 0, SMALL, channel);
                let lower = [MemOp::write32(word, 0), MemOp::write32(flag.address(), index)];
                driver.mem_op_batch(channel, &lower).unwrap();
            }
            method => {
                driver.event_record(before, user).unwrap();
                driver.stream_wait_event(channel, before).unwrap();
                let bracket = method == "bracket";
                if bracket {
                    rig.write(channel, word, 1);
                }
                rig.copy(Direction::H2d, rig.small, 0, SMALL, channel);
                if bracket {
                    rig.write(channel, word, 0);
                }
                driver.event_record(after, channel).unwrap();
                driver.stream_wait_event(user, after).unwrap();
                rig.write(user, flag.address(), index);
            }
        }
        rig.spin(flag, index);
        rig.now_us() - begin_us
    });
    Figures { p50_us: Some(p50(samples.collect())), bulk_gbps: None }
}

/// A copy from unpinned memory.
fn pageable(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let stream = rig.stream(0);
    let bytes = row.chunk_kib * KIB;
    let source = vec![1u8; bytes as usize];
    let target = rig.driver.mem_alloc(bytes).unwrap();
    let samples = (0..5).map(|_| {
        let begin_us = rig.now_us();
        // SAFETY: the vector lives until the end of the function, and a pageable source is consumed at the call.
        unsafe { rig.driver.copy_htod_async(target, source.as_ptr(), bytes, stream).unwrap() };
        rig.driver.stream_synchronize(stream).unwrap();
        rig.now_us() - begin_us
    });
    Figures { p50_us: Some(samples.fold(f64::INFINITY, f64::min)), bulk_gbps: None }
}
