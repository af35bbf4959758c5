//! The command sequences of the measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Event, EventFlags, Function, HostThread, Launch, MemOp, Stream};
use softgpu::{BUILTIN_PTX, Connections};

use crate::facts::{Direction, Row};
use crate::rig::{BULK, KIB, MIB, Random, Rig, SMALL, Word, p50};

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
        "burst" => burst(row),
        "kernels" => kernels(row),
        "link" => link(row),
        "processes" => processes(row),
        "pageable" => pageable(row),
        "many" => many(row),
        other => panic!("facts.toml asks for an unknown sequence {other}"),
    }
}

/// A thread that keeps a stream saturated, and counts its copies.
struct Feeder {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    thread: HostThread<()>,
}

impl Feeder {
    /// `group` submits one group of copies and returns its bytes. After each group the progress word is written, and
    /// at most `outstanding` groups are queued.
    fn start(
        rig: &Rig,
        stream: Stream,
        outstanding: u32,
        mut group: impl FnMut(&Rig) -> u64 + Send + 'static,
    ) -> Feeder {
        let (stop, bytes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, fed, own) = (Arc::clone(&stop), Arc::clone(&bytes), rig.clone());
        let progress = rig.word(2);
        progress.store(0);
        let thread = hal::spawn(&rig.driver, "feeder", move || {
            own.driver.context_set_current(Some(own.context)).unwrap();
            let mut issued = 0u32;
            let mut full = || {
                own.driver.host().wait_until(None, &mut || {
                    stopped.load(Ordering::Acquire) || issued.wrapping_sub(progress.load()) < outstanding
                });
                issued += 1;
                (!stopped.load(Ordering::Acquire)).then_some(issued)
            };
            while let Some(issued) = full() {
                fed.fetch_add(group(&own), Ordering::AcqRel);
                own.write(stream, progress.address(), issued);
            }
            own.driver.stream_synchronize(stream).unwrap();
        })
        .unwrap();
        Feeder { stop, bytes, thread }
    }

    fn finish(self, rig: &Rig) {
        self.stop.store(true, Ordering::Release);
        self.thread.join(rig.driver.host());
    }
}

/// Moves on through the bulk buffer.
fn walk(offset: &mut u64, chunk: u64) -> u64 {
    if *offset + chunk > BULK {
        *offset = 0;
    }
    *offset += chunk;
    *offset - chunk
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
    let mut offset = 0;
    let feeder = Feeder::start(&rig, low, 3, move |rig| {
        for _ in 0..8 {
            rig.wait_zero(low, word.address());
            rig.copy(Direction::H2d, rig.bulk, walk(&mut offset, chunk), chunk, low);
        }
        8 * chunk
    });
    rig.sleep_us(40_000);
    let mut random = Random::new(2);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), feeder.bytes.load(Ordering::Acquire));
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
    let bulk = feeder.bytes.load(Ordering::Acquire) - before;
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

/// 64 small copies at once.
fn burst(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (low, high) = (rig.stream(0), rig.stream(rig.driver.priority_range().unwrap().greatest));
    let (channel, events) = (rig.stream(0), (rig.event(), rig.event()));
    let (word, flag, direction) = (rig.word(1), rig.word(0), row.direction);
    let chunk = if row.chunk_kib == 0 { 2 * MIB } else { row.chunk_kib * KIB };
    let method = row.method.as_str();
    let mut offset = 0;
    let feeder = (method != "idle").then(|| {
        Feeder::start(&rig, low, 3, move |rig| {
            for _ in 0..8 {
                rig.wait_zero(low, word.address());
                rig.copy(direction, rig.bulk, walk(&mut offset, chunk), chunk, low);
            }
            8 * chunk
        })
    });
    rig.sleep_us(40_000);
    let fed = |feeder: &Option<Feeder>| feeder.as_ref().map_or(0, |feeder| feeder.bytes.load(Ordering::Acquire));
    let mut random = Random::new(3);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), fed(&feeder));
    for index in 1..=100 {
        let begin_us = rig.now_us();
        if matches!(method, "hold" | "raise per copy") {
            word.store(1);
        }
        if method == "one bracket" {
            rig.write(high, word.address(), 1);
        }
        for copy in 0..64 {
            if method == "bracket through a channel" {
                bracket_through(&rig, row.direction, copy * SMALL, (high, channel), events, word);
                continue;
            }
            match method {
                "bracket per copy" => rig.write(high, word.address(), 1),
                "raise per copy" => word.store(1),
                _ => {}
            }
            rig.copy(direction, rig.small, copy * SMALL, SMALL, high);
            if matches!(method, "bracket per copy" | "raise per copy") {
                rig.write(high, word.address(), 0);
            }
        }
        if method == "one bracket" {
            rig.write(high, word.address(), 0);
        }
        rig.write(high, flag.address(), index);
        rig.spin(flag, index);
        if method == "hold" {
            word.store(0);
        }
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(2_000 + u64::from(random.below(1_000)));
    }
    let span_us = rig.now_us() - started_us;
    let bulk = fed(&feeder) - before;
    if let Some(feeder) = feeder {
        feeder.finish(&rig);
    }
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}

/// The copy kernel of the library, its descriptors and its gate as `copies/src/kernel/copy.cu` declares them.
const COPY_PTX: &str = include_str!("../../../../copies/src/kernel/copy.ptx");

/// One copy of 64 KiB by the copy kernel on 16 multiprocessors; it never yields.
fn launch_copy(rig: &Rig, function: Function, direction: Direction, stream: Stream) {
    let (host, device) = rig.small.addresses();
    let (target, source) = if direction == Direction::D2h { (host, device) } else { (device, host) };
    let mut descriptors = [[0_u64; 8]; 8];
    descriptors[0] = [target, source, SMALL, 1, 0, 0, 0, 0];
    let (mut count, mut gate) = (1_u32, [0_u64; 4]);
    let parameters = [descriptors.as_mut_ptr().cast(), (&raw mut count).cast(), gate.as_mut_ptr().cast()];
    let (grid, block) = ([16, 1, 1], [512, 1, 1]);
    let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: three parameters of 512, 4 and 32 bytes, as the kernel declares them; both buffers outlive the bench.
    unsafe { rig.driver.launch(&launch).unwrap() };
}

/// 64 small copies at once by kernel, each with a completion word, beside bulk on the engine.
fn kernels(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (low, high, direction) = (rig.stream(0), rig.stream(0), row.direction);
    let module = rig.driver.module_load(COPY_PTX.as_bytes()).unwrap();
    let function = rig.driver.module_function(module, "overtake_copy").unwrap();
    let feeder = Feeder::start(&rig, low, 4, move |rig| {
        rig.copy(direction, rig.bulk, 0, BULK, low);
        BULK
    });
    rig.sleep_us(30_000);
    let (flag, mut random, mut samples) = (rig.word(0), Random::new(6), Vec::new());
    let (started_us, before) = (rig.now_us(), rig.word(2).load());
    for index in 1..=100 {
        let begin_us = rig.now_us();
        for copy in 1..=64 {
            launch_copy(&rig, function, direction, high);
            rig.write(high, flag.address(), 64 * index + copy);
        }
        rig.spin(flag, 64 * index + 64);
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_070 + u64::from(random.below(700)));
    }
    let bulk = u64::from(rig.word(2).load() - before) * BULK;
    let bulk_gbps = bulk as f64 / (rig.now_us() - started_us) / 1e3;
    feeder.finish(&rig);
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk_gbps) }
}

/// One copy on a channel in a bracket of writes, joined to its stream by two events.
fn bracket_through(
    rig: &Rig,
    direction: Direction,
    offset: u64,
    (user, channel): (Stream, Stream),
    (before, after): (Event, Event),
    word: Word,
) {
    rig.driver.event_record(before, user).unwrap();
    rig.driver.stream_wait_event(channel, before).unwrap();
    rig.write(channel, word.address(), 1);
    rig.copy(direction, rig.small, offset, SMALL, channel);
    rig.write(channel, word.address(), 0);
    rig.driver.event_record(after, channel).unwrap();
    rig.driver.stream_wait_event(user, after).unwrap();
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

/// Bulk in requests of eight chunks over many streams, with a kernel before each and at most twelve outstanding.
struct Feed {
    rig: Rig,
    noop: Function,
    bulk: Vec<Stream>,
    /// The channel of the chunks, each behind a wait for the word; `None`: the request's own stream, without waits.
    channel: Option<Stream>,
    word: Word,
}

impl Feed {
    fn run(&self, stopped: &AtomicBool, fed: &AtomicU64) {
        let driver = &self.rig.driver;
        driver.context_set_current(Some(self.rig.context)).unwrap();
        let events = (self.rig.event(), self.rig.event());
        let mut random = Random::new(7);
        let (mut issued, mut total, mut offset) = (vec![0u32; self.bulk.len()], 0u32, 0);
        let over = || stopped.load(Ordering::Acquire);
        loop {
            driver.host().wait_until(None, &mut || over() || total - self.done() < 12);
            if over() {
                break;
            }
            let index = random.below(self.bulk.len() as u32) as usize;
            self.request(self.bulk[index], events, &mut offset);
            total += 1;
            issued[index] += 1;
            fed.fetch_add(16 * MIB, Ordering::AcqRel);
            self.rig.write(self.bulk[index], self.progress(index).address(), issued[index]);
        }
        driver.context_synchronize().unwrap();
    }

    fn progress(&self, index: usize) -> Word {
        self.rig.word(8 + index as u64)
    }

    fn done(&self) -> u32 {
        (0..self.bulk.len()).map(|index| self.progress(index).load()).sum()
    }

    fn request(&self, stream: Stream, (before, after): (Event, Event), offset: &mut u64) {
        let driver = &self.rig.driver;
        let function = self.noop;
        let launch = Launch { function, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters: &[] };
        // SAFETY: the kernel takes no parameters.
        unsafe { driver.launch(&launch).unwrap() };
        if let Some(channel) = self.channel {
            driver.event_record(before, stream).unwrap();
            driver.stream_wait_event(channel, before).unwrap();
        }
        let lane = self.channel.unwrap_or(stream);
        for _ in 0..8 {
            if self.channel.is_some() {
                self.rig.wait_zero(lane, self.word.address());
            }
            self.rig.copy(Direction::H2d, self.rig.bulk, walk(offset, 2 * MIB), 2 * MIB, lane);
        }
        if let Some(channel) = self.channel {
            driver.event_record(after, channel).unwrap();
            driver.stream_wait_event(stream, after).unwrap();
        }
    }
}

/// Bulk over many streams with kernels between, and small copies over as many others. Bulk goes natively, or through
/// one dedicated channel whose chunks wait for a word that the CPU raises and lowers.
fn many(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let module = rig.driver.module_load(BUILTIN_PTX.as_bytes()).unwrap();
    let noop = rig.driver.module_function(module, "soft_noop").unwrap();
    let channel = rig.stream(0);
    let small: Vec<Stream> = (0..row.count).map(|_| rig.stream(0)).collect();
    let bulk: Vec<Stream> = (0..row.count).map(|_| rig.stream(0)).collect();
    let (word, flag, gated) = (rig.word(1), rig.word(0), row.method == "channel");
    let stop = Arc::new(AtomicBool::new(false));
    let bytes = Arc::new(AtomicU64::new(0));
    let (stopped, fed) = (Arc::clone(&stop), Arc::clone(&bytes));
    let feed = Feed { rig: rig.clone(), noop, bulk, channel: gated.then_some(channel), word };
    let feeder = hal::spawn(&rig.driver, "feeder", move || feed.run(&stopped, &fed)).unwrap();
    rig.sleep_us(50_000);
    let mut random = Random::new(99);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), bytes.load(Ordering::Acquire));
    for index in 1..=400 {
        let stream = small[random.below(small.len() as u32) as usize];
        let begin_us = rig.now_us();
        if gated {
            word.store(1);
        }
        rig.copy(Direction::H2d, rig.small, 0, SMALL, stream);
        rig.write(stream, flag.address(), index);
        rig.spin(flag, index);
        word.store(0);
        samples.push(rig.now_us() - begin_us);
        // The measurement asked for 600 us. There a sleep lasts at least 60 us longer than asked, and its end varies.
        // Without that variation the copies fall into step with the chunks, and the figure depends on the step.
        rig.sleep_us(660 + u64::from(random.below(40)));
    }
    let span_us = rig.now_us() - started_us;
    let bulk = bytes.load(Ordering::Acquire) - before;
    stop.store(true, Ordering::Release);
    feeder.join(rig.driver.host());
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}

/// Bulk in one process and a small copy in another. The word is registered in both.
fn processes(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let other = Rig::on(rig.gpu.process());
    let (raised, chunk) = (row.method == "cpu", row.chunk_kib * KIB);
    let page = rig.word(1);
    // SAFETY: the page belongs to the first bench's pinned words, which are never freed.
    unsafe {
        let flags = hal::HostRegisterFlags::DEVICEMAP;
        other.driver.host_register(page.address().0 as *mut u8, 256, flags).unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, bulk) = (Arc::clone(&stop), other.clone());
    let thread = hal::spawn(&other.driver, "bulk process", move || {
        bulk.driver.context_set_current(Some(bulk.context)).unwrap();
        let stream = bulk.stream(0);
        let (started_us, mut bytes) = (bulk.now_us(), 0);
        while !stopped.load(Ordering::Acquire) {
            for index in 0..BULK / chunk {
                if raised {
                    bulk.wait_zero(stream, page.address());
                }
                bulk.copy(Direction::H2d, bulk.bulk, index * chunk, chunk, stream);
            }
            bulk.driver.stream_synchronize(stream).unwrap();
            bytes += BULK;
        }
        bytes as f64 / (bulk.now_us() - started_us) / 1e3
    })
    .unwrap();
    rig.sleep_us(30_000);
    let stream = rig.stream(0);
    let mut random = Random::new(4);
    let mut samples = Vec::new();
    for _ in 0..300 {
        let begin_us = rig.now_us();
        if raised {
            page.store(1);
        }
        rig.copy(Direction::H2d, rig.small, 0, SMALL, stream);
        if raised {
            rig.write(stream, page.address(), 0);
        }
        rig.driver.stream_synchronize(stream).unwrap();
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(1_200 + u64::from(random.below(800)));
    }
    stop.store(true, Ordering::Release);
    let bulk_gbps = thread.join(rig.driver.host());
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk_gbps) }
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
