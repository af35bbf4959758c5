//! An urgent computation while bulk is transferred to the device: 1 MiB to the device, a kernel of 50 us, 64 KiB back.
//!
//! A latency runs from the submission until the result is there. The last way also reads a bulk array whose transfer is
//! under way: that transfer has to come before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use console::failure;
use hal::{Code, Event, EventFlags, Host, HostThread, MemOp, Nanos, Result, Stream};
use measure::bulk::{Feeder, Throughput};
use measure::flow::{Cargo, Flow, Plain};
use measure::ground::Ground;
use measure::stage::Stage;
use overtake::Priority;
use overtake::data::{Array, ArrayOptions, Arrays, KernelArgument, discard, read};
use overtake::task::{Error, More};
use priority::Direction;
use report::{BenchRow, Spread};

use crate::piece::{Part as PartOf, Piece, driver_error};
use crate::tasks::{Part, judged, median_ns, row};
use crate::yard::{Parts, Yard};

/// Bytes of the computation to the device and back, and the time of its kernel.
pub const BYTES: [u64; 2] = [1 << 20, 64 << 10];
const KERNEL: Nanos = Nanos::from_us(50);
/// The time between two.
const GAP: Nanos = Nanos::from_us(1_000);
/// Arrays of bulk, each of which is transferred again and again.
const ARRAYS: usize = 4;
/// Transfers that StarPU has under way at most; others wait, in the order of their priorities.
const IN_FLIGHT: u32 = 5;
const PATIENCE: Nanos = Nanos::from_ms(10_000);
const LEAST_SAMPLES: usize = 5;
/// The most of the idle latency, and the least share of raw bandwidth: of large requests, and of small ones.
const OF_IDLE: f64 = 1.3;
const SHARES: [f64; 2] = [0.88, 0.80];
const LARGE_BYTES: u64 = 64 << 20;
/// Lanes of bulk and of the computation, and words.
const BULK_LANE: usize = 0;
const LANE: usize = 1;
const WORD: usize = 1;
const BULK_WORD: usize = 2;

/// A way to give the computation precedence, or a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Raw,
    /// Streams of a program, without bulk, or beside it with these CUDA priorities.
    Streams {
        has_bulk: bool,
        has_priorities: bool,
    },
    /// As StarPU does it.
    Ordered,
    /// The graph.
    Graph {
        has_bulk: bool,
        reads_bulk: bool,
    },
}

const WAYS: [(&str, Way); 8] = [
    ("raw", Way::Raw),
    ("streams, idle", Way::Streams { has_bulk: false, has_priorities: false }),
    ("no priority", Way::Streams { has_bulk: true, has_priorities: false }),
    ("stream priorities", Way::Streams { has_bulk: true, has_priorities: true }),
    ("ordered before submission", Way::Ordered),
    ("graph, idle", Way::Graph { has_bulk: false, reads_bulk: false }),
    ("graph", Way::Graph { has_bulk: true, reads_bulk: false }),
    ("graph, behind a transfer of bulk", Way::Graph { has_bulk: true, reads_bulk: true }),
];
const RAW: usize = 0;
const STREAMS_IDLE: usize = 1;
const IDLE: usize = 5;
const OURS: usize = 6;
const BEHIND: usize = 7;

/// Latencies in nanoseconds, and the bandwidth of bulk.
#[derive(Clone, Default)]
struct Slice {
    latency_ns: Vec<u64>,
    bulk: Throughput,
}

/// Plain copies, of which so many are kept under way as StarPU does.
struct Few(Plain);

impl Flow for Few {
    fn ground(&self) -> &Ground {
        self.0.ground()
    }

    fn cargo(&self) -> Cargo {
        self.0.cargo()
    }

    fn stream(&self) -> Stream {
        self.0.stream()
    }

    fn copy(&self) -> Result<()> {
        self.0.copy()
    }

    fn outstanding(&self) -> u32 {
        IN_FLIGHT
    }
}

/// Computations one after the other, for a while.
fn sample(yard: &Yard, span: Nanos, mut run: impl FnMut() -> Result<()>) -> Result<Vec<u64>> {
    let host = yard.ground.driver().host();
    let (end, mut samples) = (host.now() + span, Vec::new());
    // The first is the warm-up.
    while host.now() < end || samples.len() <= LEAST_SAMPLES {
        let start = host.now();
        run()?;
        samples.push(host.now().since(start).0);
        host.sleep(GAP);
    }
    samples.remove(0);
    Ok(samples)
}

/// The computation by hand: an upload in one stream, the kernel and the download in another.
struct Hand {
    piece: Piece,
    up: Stream,
    stream: Stream,
    event: Event,
}

impl Hand {
    fn run(&self, ground: &Ground) -> Result<()> {
        let (rig, driver) = (ground.rig(), ground.driver());
        let next = rig.word(WORD).load(Ordering::Acquire).wrapping_add(1);
        self.piece.submit(PartOf::Upload, self.up)?;
        if self.up != self.stream {
            driver.event_record(self.event, self.up)?;
            driver.stream_wait_event(self.stream, self.event)?;
        }
        self.piece.submit(PartOf::Kernels, self.stream)?;
        self.piece.submit(PartOf::Download, self.stream)?;
        driver.mem_op(self.stream, MemOp::write32(rig.word_address(WORD), next))?;
        match rig.wait_for(PATIENCE, &mut || rig.word(WORD).load(Ordering::Acquire) == next) {
            true => Ok(()),
            false => Err(Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because("the computation did not end")),
        }
    }
}

fn by_hand(yard: &mut Yard, way: Way, bytes: u64, span: Nanos) -> Result<Slice> {
    let (least, greatest) = (yard.range.least, yard.range.greatest);
    let (has_bulk, priorities) = match way {
        Way::Streams { has_bulk, has_priorities: true } => (has_bulk, [greatest, least]),
        Way::Streams { has_bulk, .. } => (has_bulk, [least; 2]),
        _ => (true, [greatest, least]),
    };
    let (stream, bulk) = (yard.stream(priorities[0])?, yard.stream(priorities[1])?);
    let cargo = Cargo { direction: Direction::HostToDevice, lane: BULK_LANE, bytes, word: BULK_WORD };
    let plain = Plain { ground: Arc::clone(&yard.ground), cargo, stream: bulk };
    let flow: Arc<dyn Flow> = if way == Way::Ordered { Arc::new(Few(plain)) } else { Arc::new(plain) };
    flow.reset();
    let feeder = has_bulk.then(|| Feeder::start(&flow)).transpose()?;
    let up = if way == Way::Ordered { bulk } else { stream };
    let event = yard.ground.driver().event_create(EventFlags::DISABLE_TIMING)?;
    let hand = Hand { piece: Piece::spinning(&yard.ground, LANE, BYTES, KERNEL), up, stream, event };
    let latency_ns = match way {
        Way::Raw => {
            yard.ground.driver().host().sleep(span);
            Ok(Vec::new())
        }
        _ => sample(yard, span, || hand.run(&yard.ground)),
    };
    let bulk = feeder.map_or(Ok(Throughput::default()), Feeder::stop);
    yard.ground.driver().event_destroy(event)?;
    Ok(Slice { latency_ns: latency_ns?, bulk: bulk? })
}

/// Arrays of bulk, which the host writes and the graph transfers, again and again.
struct Bulk {
    all: Vec<Array<u8>>,
    /// The array whose transfer was submitted last, and the transfers that have ended.
    last: AtomicUsize,
    is_busy: AtomicBool,
    is_over: AtomicBool,
}

/// The thread that feeds bulk, and the bandwidth that it finds.
type Feeding = HostThread<std::result::Result<Throughput, Error>>;

impl Bulk {
    fn feed(&self, host: &dyn Host) -> std::result::Result<Throughput, Error> {
        let mut ends = Vec::new();
        for turn in 0_usize.. {
            let array = &self.all[turn % ARRAYS];
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            // It waits for the transfer before.
            drop(array.overwrite()?);
            if turn >= ARRAYS {
                ends.push(host.now());
                self.is_busy.store(true, Ordering::Release);
            }
            read(array).to_device()?;
            self.last.store(turn % ARRAYS, Ordering::Release);
        }
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Ok(Throughput::default()) };
        Ok(Throughput { bytes: (ends.len() as u64 - 1) * self.all[0].len() as u64, span: last.since(*first) })
    }

    /// The array of the oldest transfer but one: the host waits for the oldest, to write its array again.
    fn under_way(&self) -> &Array<u8> {
        &self.all[(self.last.load(Ordering::Acquire) + 2) % ARRAYS]
    }

    fn start(self: &Arc<Bulk>, yard: &Yard) -> Result<Feeding> {
        let (its, ground) = (Arc::clone(self), Arc::clone(&yard.ground));
        let feeding = hal::spawn(yard.ground.driver(), "bulk feeder", move || {
            ground.rig().make_current()?;
            its.feed(ground.driver().host())
        })?;
        let rig = yard.ground.rig();
        let _is_busy = rig.wait_for(PATIENCE, &mut || self.is_busy.load(Ordering::Acquire) || feeding.is_done());
        Ok(feeding)
    }
}

/// The computation by the graph.
fn compute(arrays: &Arrays, uses: &[Box<dyn KernelArgument + '_>], ground: &Arc<Ground>, to: Priority) -> Result<()> {
    let ground = Arc::clone(ground);
    let spin = arrays.launch("urgent", uses, move |lane, _| {
        ground.spin(KERNEL, lane.stream())?;
        Ok(More::Done)
    });
    spin.priority(to).submit().map(drop).map_err(driver_error)
}

fn by_graph(yard: &Yard, (has_bulk, reads_bulk): (bool, bool), bytes: u64, span: Nanos) -> Result<Slice> {
    let dispatcher = yard.dispatcher.as_ref().expect("opened with the dispatcher");
    let arrays = Arrays::open(dispatcher, ArrayOptions::default()).map_err(driver_error)?;
    let array = |bytes: u64| arrays.array::<u8>(&[bytes as usize]).map_err(driver_error);
    let (input, output) = (array(BYTES[0])?, array(BYTES[1])?);
    let all = (0..ARRAYS).map(|_| array(bytes)).collect::<Result<_>>()?;
    let (last, is_busy, is_over) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let bulk = Arc::new(Bulk { all, last, is_busy, is_over });
    let feeding = has_bulk.then(|| bulk.start(yard)).transpose()?;
    let (highest, host) = (yard.highest(), yard.ground.driver().host());
    let latency_ns = sample(yard, span, || {
        // A new input; the host has written it when the computation is submitted.
        let mut uses: Vec<Box<dyn KernelArgument + '_>> = vec![Box::new(read(&input)), Box::new(discard(&output))];
        if reads_bulk {
            uses.push(Box::new(read(bulk.under_way())));
        }
        drop(input.overwrite().map_err(driver_error)?);
        compute(&arrays, &uses, &yard.ground, highest)?;
        read(&output).priority(highest).to_host().and_then(|handle| handle.wait()).map_err(driver_error)
    });
    bulk.is_over.store(true, Ordering::Release);
    let throughput = feeding.map_or(Ok(Throughput::default()), |feeding| feeding.join(host)).map_err(driver_error)?;
    arrays.wait().map_err(driver_error)?;
    Ok(Slice { latency_ns: latency_ns?, bulk: throughput })
}

/// Runs the part.
pub fn run(stage: &Stage, bytes: u64, rounds: u32, span: Nanos) -> failure::Result<Part> {
    let mut all = WAYS.map(|_| Vec::new());
    let mut progress = stage.progress(span.as_secs(), rounds as usize * WAYS.len());
    let slice_span = Nanos(span.0 / (u64::from(rounds) * WAYS.len() as u64));
    for round in 0..rounds as usize {
        for turn in 0..WAYS.len() {
            let place = (turn + round) % WAYS.len();
            let (name, way) = WAYS[place];
            progress.step(name);
            let parts = if matches!(way, Way::Graph { .. }) { Parts::Dispatcher } else { Parts::Nothing };
            let mut yard = Yard::open(&stage.shop, parts)?;
            let slice = match way {
                Way::Graph { has_bulk, reads_bulk } => by_graph(&yard, (has_bulk, reads_bulk), bytes, slice_span),
                _ => by_hand(&mut yard, way, bytes, slice_span),
            }?;
            yard.close()?;
            all[place].push(slice);
        }
    }
    Ok(Part { rows: rows(&all, bytes), verdict: verdict(&all, bytes) })
}

/// The median latency of each round by that of another way.
fn slowdowns(all: &[Vec<Slice>], way: usize, to: usize) -> Option<Spread> {
    let median = |slice: &Slice| median_ns(&slice.latency_ns);
    let pairs = all[way].iter().zip(&all[to]);
    Spread::of(pairs.filter_map(|(own, other)| Some(median(own)? / median(other)?)).collect())
}

/// The bandwidth of bulk in each round as a share of that of plain bulk.
fn shares(all: &[Vec<Slice>], way: usize) -> Option<Spread> {
    let pairs = all[way].iter().zip(&all[RAW]);
    Spread::of(pairs.filter_map(|(own, raw)| Some(own.bulk.gbps()? / raw.bulk.gbps()?)).collect())
}

fn rows(all: &[Vec<Slice>], bytes: u64) -> Vec<BenchRow> {
    let gbps = |way: usize| all[way].iter().fold(Throughput::default(), |sum, slice| sum.and(slice.bulk)).gbps();
    let of_way = |(place, (name, way)): (usize, &(&str, Way))| {
        let is_ours = matches!(way, Way::Graph { .. });
        let latencies = all[place].iter().flat_map(|slice| slice.latency_ns.clone()).collect::<Vec<_>>();
        let bulk_gbps = gbps(place);
        BenchRow {
            high_bytes: if *way == Way::Raw { 0 } else { BYTES[0] },
            bulk_bytes: if bulk_gbps.is_some() { bytes } else { 0 },
            bulk_gbps,
            raw_gbps: bulk_gbps.and(gbps(RAW)),
            ratio: slowdowns(all, place, if is_ours { IDLE } else { STREAMS_IDLE }),
            ..row(name, if is_ours { "kernel" } else { "engine" }, Direction::HostToDevice.name(), &latencies)
        }
    };
    WAYS.iter().enumerate().map(of_way).collect()
}

fn verdict(all: &[Vec<Slice>], bytes: u64) -> Vec<String> {
    let (size, share_min) = (report::format::size(bytes), SHARES[usize::from(bytes < LARGE_BYTES)]);
    let ratio = slowdowns(all, OURS, IDLE).map(|ratio| {
        let what = format!("urgent computation beside bulk of {size}, by its idle median");
        judged(&what, ratio.median, "", &OF_IDLE.to_string(), ratio.median <= OF_IDLE)
    });
    let share = shares(all, OURS).map(|share| {
        let what = format!("bulk of {size} beside it, by raw");
        judged(&what, share.median, "", &format!("at least {share_min}"), share.median >= share_min)
    });
    // The transfer that the computation waits for, and the one before it.
    let gbps = all[RAW].iter().fold(Throughput::default(), |sum, slice| sum.and(slice.bulk)).gbps();
    let latencies: Vec<u64> = all[BEHIND].iter().flat_map(|slice| slice.latency_ns.clone()).collect();
    let idle: Vec<u64> = all[IDLE].iter().flat_map(|slice| slice.latency_ns.clone()).collect();
    let behind = gbps.zip(median_ns(&latencies)).zip(median_ns(&idle)).map(|((gbps, own), idle)| {
        let transfers = (own - idle) / (bytes as f64 / gbps);
        let what = format!("wait for a transfer of {size} that comes before it, in transfers");
        judged(&what, transfers, "", "2", transfers <= 2.0)
    });
    [ratio, share, behind].into_iter().flatten().collect()
}
