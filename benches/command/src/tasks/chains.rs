//! A hundred chains of an upload, a kernel and a download: in one stream, by hand, and by the dispatcher.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use console::failure;
use hal::{Code, Event, EventFlags, MemOp, Nanos, Result, Stream};
use measure::catalogue::Workshop;
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake::task::Tasks;
use report::{BenchRow, Spread};

use super::{Course, judged, median_ns, row};
use crate::piece::{PARTS, Part, Piece, driver_error};
use crate::yard::{Parts, Yard};

/// Chains of a sample.
pub const CHAINS: usize = 100;
/// Bytes of a copy.
pub const BYTES: u64 = 1 << 20;
/// The time of a kernel.
const KERNEL: Nanos = Nanos::from_us(50);
/// Lanes before those of the chains.
const LANES_BEFORE: usize = 2;
/// Streams of a program that gives each chain the next one: as many as the dispatcher has lanes of one group.
const STREAMS: usize = 8;
/// Chains that take longer than this have failed.
const PATIENCE: Nanos = Nanos::from_ms(10_000);
/// A slice has at least so many samples.
const LEAST_SAMPLES: usize = 3;

/// A way to submit the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainMethod {
    OneStream,
    /// A chain in each of several streams in turn.
    Streams,
    /// A stream for each part, and events between.
    Events,
    Dispatcher,
}

/// All methods with their names.
pub const METHODS: [(&str, ChainMethod); 4] = [
    ("one stream", ChainMethod::OneStream),
    ("by hand, eight streams", ChainMethod::Streams),
    ("by hand, events", ChainMethod::Events),
    ("dispatcher", ChainMethod::Dispatcher),
];

/// The streams, events or tasks of a method that is open.
struct Chains<'c> {
    pieces: &'c [Arc<Piece>],
    yard: &'c Yard,
    streams: Vec<Stream>,
    events: Vec<Event>,
    tasks: Option<Tasks>,
}

impl Chains<'_> {
    fn submit(&self, method: ChainMethod) -> Result<()> {
        let driver = self.yard.ground.driver();
        for (index, piece) in self.pieces.iter().enumerate() {
            match method {
                ChainMethod::OneStream | ChainMethod::Streams => {
                    let stream = self.streams[index % self.streams.len()];
                    PARTS.into_iter().try_for_each(|part| piece.submit(part, stream))?;
                }
                ChainMethod::Events => {
                    let (up, down) = (self.events[2 * index], self.events[2 * index + 1]);
                    piece.submit(Part::Upload, self.streams[0])?;
                    driver.event_record(up, self.streams[0])?;
                    driver.stream_wait_event(self.streams[1], up)?;
                    piece.submit(Part::Kernels, self.streams[1])?;
                    driver.event_record(down, self.streams[1])?;
                    driver.stream_wait_event(self.streams[2], down)?;
                    piece.submit(Part::Download, self.streams[2])?;
                }
                ChainMethod::Dispatcher => {
                    let tasks = self.tasks.as_ref().expect("opened with the dispatcher");
                    piece.submit_tasks(tasks, self.yard.highest())?;
                }
            }
        }
        Ok(())
    }

    /// Waits until all chains have ended.
    fn wait(&self) -> Result<()> {
        if let Some(tasks) = &self.tasks {
            return tasks.wait().map_err(driver_error);
        }
        let rig = self.yard.ground.rig();
        let words: Vec<_> = (1..=self.streams.len()).map(|word| rig.word(word)).collect();
        let next = words[0].load(Ordering::Acquire).wrapping_add(1);
        for (index, stream) in self.streams.iter().enumerate() {
            rig.driver().mem_op(*stream, MemOp::write32(rig.word_address(1 + index), next))?;
        }
        if rig.wait_for(PATIENCE, &mut || words.iter().all(|word| word.load(Ordering::Acquire) == next)) {
            return Ok(());
        }
        Err(Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because("the chains did not end"))
    }
}

/// Times of all chains together, in nanoseconds.
fn slice(shop: &Workshop, pieces: &[Arc<Piece>], method: ChainMethod, span: Nanos) -> Result<Vec<u64>> {
    let parts = if method == ChainMethod::Dispatcher { Parts::Dispatcher } else { Parts::Nothing };
    let mut yard = Yard::open(shop, parts)?;
    let count = match method {
        ChainMethod::OneStream => 1,
        ChainMethod::Streams => STREAMS,
        ChainMethod::Events => PARTS.len(),
        ChainMethod::Dispatcher => 0,
    };
    let streams = (0..count).map(|_| yard.stream(STREAM_PRIORITY_DEFAULT)).collect::<Result<Vec<_>>>()?;
    let driver = Arc::clone(yard.ground.driver());
    let has_events = method == ChainMethod::Events;
    let events = (0..if has_events { 2 * pieces.len() } else { 0 })
        .map(|_| driver.event_create(EventFlags::DISABLE_TIMING))
        .collect::<Result<Vec<_>>>()?;
    (1..=STREAMS).for_each(|word| yard.ground.rig().word(word).store(0, Ordering::Release));
    let tasks = yard.dispatcher.as_ref().map(Tasks::new);
    let chains = Chains { pieces, yard: &yard, streams, events, tasks };
    let samples = sample(&chains, method, span);
    let Chains { events, tasks, .. } = chains;
    drop(tasks);
    let samples = samples?;
    events.into_iter().try_for_each(|event| driver.event_destroy(event))?;
    yard.close()?;
    Ok(samples)
}

fn sample(chains: &Chains<'_>, method: ChainMethod, span: Nanos) -> Result<Vec<u64>> {
    let host = chains.yard.ground.driver().host();
    let (end, mut samples) = (host.now() + span, Vec::new());
    // The first is the warm-up.
    while host.now() < end || samples.len() <= LEAST_SAMPLES {
        let start = host.now();
        chains.submit(method)?;
        chains.wait()?;
        samples.push(host.now().since(start).0);
    }
    samples.remove(0);
    Ok(samples)
}

/// Runs the part.
pub fn run(course: &mut Course<'_>) -> failure::Result<super::Part> {
    let shop = &course.stage.shop;
    let piece = |index| Arc::new(Piece::spinning(&shop.ground, LANES_BEFORE + index, [BYTES; 2], KERNEL));
    let pieces: Vec<Arc<Piece>> = (0..CHAINS).map(piece).collect();
    let mut slices = METHODS.map(|_| Vec::new());
    for _ in 0..course.rounds {
        for ((name, method), slices) in METHODS.iter().zip(&mut slices) {
            course.progress.step(&format!("chains: {name}"));
            slices.push(slice(shop, &pieces, *method, course.span)?);
        }
    }
    let [one, streams, events, ours] = &slices;
    let medians = |slices: &Vec<Vec<u64>>| -> Vec<f64> { slices.iter().filter_map(|it| median_ns(it)).collect() };
    let hand: Vec<f64> = medians(streams).into_iter().zip(medians(events)).map(|(one, two)| one.min(two)).collect();
    let over = |slices| Spread::of(medians(slices).iter().zip(&hand).map(|(own, hand)| own / hand).collect());
    let gains = medians(one).into_iter().zip(medians(ours)).zip(&hand);
    let gain = Spread::of(gains.map(|((one, ours), hand)| 100.0 * (one - ours) / (one - hand)).collect());
    let rows = METHODS.iter().zip(&slices).map(|((name, method), slices)| {
        let transport = if *method == ChainMethod::Dispatcher { "kernel" } else { "engine" };
        let all: Vec<u64> = slices.concat();
        let setting = Some(format!("{CHAINS} chains"));
        BenchRow { high_bytes: BYTES, setting, ratio: over(slices), ..row(name, transport, "both", &all) }
    });
    let verdict = over(ours).zip(gain).map(|(over, gain)| {
        let (over, gain) = (over.median, gain.median);
        vec![
            judged("chains by the dispatcher, by those by hand", over, "", "1.05", over <= 1.05),
            judged("share of their gain over one stream", gain, " %", "95", gain >= 95.0),
        ]
    });
    Ok(super::Part { rows: rows.collect(), verdict: verdict.unwrap_or_default() })
}
