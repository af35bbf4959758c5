//! The programs on one device: one computation after the other, by hand, and by the graph.

use console::failure::{self, Failure};
use hal::{Nanos, Result};
use measure::catalogue::Workshop;
use measure::stage::Stage;
use overtake::data::ArrayOptions;
use overtake_plan::dag::{Plan, Policies, Program};
use report::{BenchRow, Spread};
use workloads::Kernels;

use super::automatic::Automatic;
use super::content;
use super::contention::Contention;
use super::hand::{Half, Hand};
use super::memory::Memory;
use super::parts::Parts;
use super::{mean, shapes};
use crate::args::GraphArguments;
use crate::tasks::{Part, judged, median_ns, row};
use crate::yard::{self, Yard};

/// A way to run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Serial,
    Streams,
    Automatic,
}

/// All ways with their names, the reference first and its control last.
const WAYS: [(&str, Way); 4] =
    [("serial", Way::Serial), ("by hand", Way::Streams), ("automatic", Way::Automatic), ("serial again", Way::Serial)];
const HAND: usize = 1;
const OURS: usize = 2;
const CONTROL: usize = 3;
/// A slice has at least so many samples of each program.
const LEAST_SAMPLES: usize = 5;
/// The halves of a program by hand, which show how much the device gains from running their parts at once.
const HALVES: [(&str, Half); 2] = [("copies by hand", Half::Copies), ("computations by hand", Half::Computations)];
/// The samples of a half in a round.
const HALF_SAMPLES: usize = 20;
/// The least part of the bound's speed, the most of the time by hand, and the speed-up that was published.
const OF_BOUND: f64 = 0.9;
const BY_HAND: f64 = 1.05;
const PUBLISHED: f64 = 1.44;
/// The least part of the mean of the bounds, where that is less than the published one.
const OF_BOUNDS: f64 = 0.95;
/// The ratios of two equal ways.
const CONTROL_LIMITS: (f64, f64) = (0.9, 1.1);

/// A program in its order.
struct Subject {
    program: Program,
    plan: Plan,
    memory: Memory,
    /// The right words of the arrays that the host reads, if they are compared.
    expected: Option<Vec<Vec<u32>>>,
}

/// The measurements of a program.
#[derive(Default)]
struct Measured {
    /// Samples in nanoseconds, by way and round.
    samples: [Vec<Vec<u64>>; WAYS.len()],
    /// By round.
    bounds_ns: Vec<f64>,
    /// With the contention that the halves show in the same round.
    contended_ns: Vec<f64>,
    /// Samples of each half of the program by hand, by round, and the least time of the half if nothing in it ran
    /// beside the rest: of the copies by one engine for each way, and of the computations one by one.
    halves: [Vec<Vec<u64>>; HALVES.len()],
    halves_alone_ns: [Vec<f64>; HALVES.len()],
    checked: [u64; WAYS.len()],
    wrong: [u64; WAYS.len()],
}

impl Measured {
    /// The median of each round.
    fn medians(&self, way: usize) -> Vec<f64> {
        self.samples[way].iter().filter_map(|samples| median_ns(samples)).collect()
    }

    /// The time of one way by that of another, round by round.
    fn ratios(&self, way: usize, to: usize) -> Vec<f64> {
        self.medians(way).iter().zip(self.medians(to)).map(|(own, other)| own / other).collect()
    }
}

impl Subject {
    fn new(shop: &Workshop, kernels: Kernels, program: Program, is_checked: bool) -> failure::Result<Subject> {
        let plan = program.plan(&Policies::default(), 1).map_err(|fault| Failure::Other(fault.message))?;
        let memory = Memory::new(shop.ground.driver(), kernels, &program)?;
        let expected = is_checked.then(|| content::results(&program));
        Ok(Subject { program, plan, memory, expected })
    }

    /// Whether all arrays that the host reads have the right words.
    fn is_right(&self, words: impl Fn(usize) -> Result<Vec<u32>>) -> Result<bool> {
        let Some(expected) = &self.expected else { return Ok(true) };
        let mut is_right = true;
        for array in content::read_by_host(&self.program) {
            is_right &= content::are_same(&words(array)?, &expected[array]);
        }
        Ok(is_right)
    }

    /// Runs it for a while. The first run is the warm-up, whose results are looked at.
    fn slice(&self, yard: &mut Yard, kernels: Kernels, way: Way, span: Nanos) -> Result<(Vec<u64>, bool)> {
        let (program, plan, memory) = (&self.program, &self.plan, &self.memory);
        let has_contents = self.expected.is_some();
        if way == Way::Automatic {
            let dispatcher = yard.dispatcher.as_ref().expect("opened with the dispatcher");
            let ours = Automatic::new(dispatcher, ArrayOptions::default(), program, &[kernels])?;
            let fill = |is_first| ours.fill(is_first && has_contents);
            return self.sample(yard, span, (&fill, &|| ours.run(), &|array| ours.words(array)));
        }
        let hand = match way {
            Way::Serial => Hand::serial(yard, program, plan, memory)?,
            _ => Hand::streams(yard, program, plan, memory)?,
        };
        let fill = |is_first| {
            if is_first && has_contents {
                memory.fill(program);
            }
            Ok(())
        };
        self.sample(yard, span, (&fill, &|| hand.run(), &|array| Ok(memory.words(array))))
    }

    /// Measures the parts, and those of each half together.
    fn measure_parts(&self, yard: &mut Yard, measured: &mut Measured) -> Result<()> {
        let (program, plan, memory) = (&self.program, &self.plan, &self.memory);
        let parts = Parts::measure(yard, program, plan, memory)?;
        measured.bounds_ns.push(parts.bound_ns(program, plan));
        let sum: f64 = parts.kernels.iter().sum();
        let copies = Parts { kernels: vec![0.0; parts.kernels.len()], ..parts.clone() };
        let mut factors = [1.0; HALVES.len()];
        for (place, alone_ns) in [copies.bound_ns(program, plan), sum].into_iter().enumerate() {
            let hand = Hand::streams(yard, program, plan, memory)?.half(HALVES[place].1);
            let host = yard.ground.driver().host();
            hand.run()?;
            let sample = |_| {
                let start = host.now();
                hand.run()?;
                Ok(host.now().since(start).0)
            };
            let samples = (0..HALF_SAMPLES).map(sample).collect::<Result<Vec<u64>>>()?;
            factors[place] = by_alone(&samples, alone_ns).unwrap_or(factors[place]);
            measured.halves[place].push(samples);
            measured.halves_alone_ns[place].push(alone_ns);
        }
        let contention = Contention::new(factors[0], factors[1]);
        measured.contended_ns.push(parts.contended_ns(program, plan, contention));
        Ok(())
    }

    fn sample(&self, yard: &Yard, span: Nanos, (fill, run, words): Calls<'_>) -> Result<(Vec<u64>, bool)> {
        let host = yard.ground.driver().host();
        fill(true)?;
        run()?;
        let is_right = self.is_right(words)?;
        let (end, mut samples) = (host.now() + span, Vec::new());
        while host.now() < end || samples.len() < LEAST_SAMPLES {
            fill(false)?;
            let start = host.now();
            run()?;
            samples.push(host.now().since(start).0);
        }
        Ok((samples, is_right))
    }
}

/// Has the inputs written, runs the program, and tells the words of an array.
type Calls<'c> = (&'c dyn Fn(bool) -> Result<()>, &'c dyn Fn() -> Result<()>, &'c dyn Fn(usize) -> Result<Vec<u32>>);

/// Runs the part.
pub fn run(stage: &Stage, graph: &GraphArguments, whole: Nanos) -> failure::Result<Part> {
    let (shop, rounds) = (&stage.shop, graph.common.rounds as usize);
    let kernels = *shop.ground.works()?;
    let programs = shapes::programs(graph.bytes).into_iter();
    let subjects = programs.map(|program| Subject::new(shop, kernels, program, graph.check));
    let subjects = subjects.collect::<failure::Result<Vec<_>>>()?;
    let mut all: Vec<Measured> = subjects.iter().map(|_| Measured::default()).collect();
    let steps = rounds * (1 + WAYS.len());
    let mut progress = stage.progress(whole.as_secs(), steps);
    let slice = Nanos(whole.0 / (steps * subjects.len()).max(1) as u64);
    for round in 0..rounds {
        progress.step("parts");
        let mut yard = Yard::open(shop, yard::Parts::Nothing)?;
        for (subject, measured) in subjects.iter().zip(&mut all) {
            subject.measure_parts(&mut yard, measured)?;
        }
        yard.close()?;
        for turn in 0..WAYS.len() {
            let place = (turn + round) % WAYS.len();
            let (name, way) = WAYS[place];
            progress.step(name);
            let open = if way == Way::Automatic { yard::Parts::Dispatcher } else { yard::Parts::Nothing };
            for (subject, measured) in subjects.iter().zip(&mut all) {
                let mut yard = Yard::open(shop, open)?;
                let (samples, is_right) = subject.slice(&mut yard, kernels, way, slice)?;
                yard.close()?;
                measured.samples[place].push(samples);
                measured.checked[place] += u64::from(graph.check);
                measured.wrong[place] += u64::from(!is_right);
            }
        }
    }
    let rows = subjects.iter().zip(&all).flat_map(|(subject, measured)| rows(subject, measured)).collect();
    Ok(Part { rows, verdict: verdict(&subjects, &all) })
}

/// The median time of a half by its least time, if it has any parts.
fn by_alone(samples: &[u64], alone_ns: f64) -> Option<f64> {
    median_ns(samples).filter(|_| alone_ns > 0.0).map(|median| median / alone_ns)
}

/// The rows of a program.
fn rows(subject: &Subject, measured: &Measured) -> Vec<BenchRow> {
    let setting = Some(subject.program.name.clone());
    let is_checked = subject.expected.is_some();
    let of_way = |(place, (name, way)): (usize, &(&str, Way))| {
        let transport = if *way == Way::Automatic { "kernel" } else { "engine" };
        BenchRow {
            setting: setting.clone(),
            ratio: Spread::of(measured.ratios(place, 0)).filter(|_| place != 0),
            checked: is_checked.then_some(measured.checked[place]),
            wrong: is_checked.then_some(measured.wrong[place]),
            ..row(name, transport, "both", &measured.samples[place].concat())
        }
    };
    let computed = |name, bounds_ns: &[f64]| {
        let bounds: Vec<u64> = bounds_ns.iter().map(|bound| *bound as u64).collect();
        let ratios = bounds_ns.iter().zip(measured.medians(0)).map(|(bound, serial)| bound / serial);
        BenchRow {
            setting: setting.clone(),
            ratio: Spread::of(ratios.collect()),
            ..row(name, "engine", "both", &bounds)
        }
    };
    let bounds = [computed("bound", &measured.bounds_ns), computed("bound with contention", &measured.contended_ns)];
    let of_half = |(place, (name, _)): (usize, &(&str, Half))| {
        let rounds = measured.halves[place].iter().zip(&measured.halves_alone_ns[place]);
        BenchRow {
            setting: setting.clone(),
            ratio: Spread::of(rounds.filter_map(|(samples, alone_ns)| by_alone(samples, *alone_ns)).collect()),
            ..row(name, "engine", "both", &measured.halves[place].concat())
        }
    };
    let halves = HALVES.iter().enumerate().map(of_half);
    WAYS.iter().enumerate().map(of_way).chain(bounds).chain(halves).collect()
}

fn verdict(subjects: &[Subject], all: &[Measured]) -> Vec<String> {
    let mut text = Vec::new();
    let mut judge = |what: String, ratios: Vec<f64>, limit: f64, is_most: bool| {
        if let Some(ratio) = Spread::of(ratios) {
            let holds = if is_most { ratio.median <= limit } else { ratio.median >= limit };
            let bound = if is_most { "at most" } else { "at least" };
            let what = format!("{what}, rounds from {:.3} to {:.3}", ratio.least, ratio.most);
            text.push(judged(&what, ratio.median, "", &format!("{bound} {limit:.3}"), holds));
        }
    };
    for (subject, measured) in subjects.iter().zip(all) {
        let name = &subject.program.name;
        let bounds = measured.bounds_ns.iter().zip(measured.medians(OURS)).map(|(bound, own)| bound / own);
        judge(format!("{name}: bound by automatic"), bounds.collect(), OF_BOUND, false);
        let contended = measured.contended_ns.iter().zip(measured.medians(OURS)).map(|(bound, own)| bound / own);
        judge(format!("{name}: bound with contention by automatic"), contended.collect(), OF_BOUND, false);
        judge(format!("{name}: serial by automatic"), measured.ratios(0, OURS), 1.0, false);
        judge(format!("{name}: automatic by hand"), measured.ratios(OURS, HAND), BY_HAND, true);
    }
    // Each round has a mean of its own.
    let means = |of: &dyn Fn(&Measured) -> Vec<f64>| -> Vec<f64> { mean(&all.iter().map(of).collect::<Vec<_>>()) };
    let bounds = means(&|measured| {
        measured.medians(0).iter().zip(&measured.bounds_ns).map(|(own, bound)| own / bound).collect()
    });
    let limit = Spread::of(bounds).map_or(PUBLISHED, |bounds| PUBLISHED.min(OF_BOUNDS * bounds.median));
    judge("geometric mean of serial by automatic".into(), means(&|measured| measured.ratios(0, OURS)), limit, false);
    if let Some(control) = Spread::of(means(&|measured| measured.ratios(CONTROL, 0))) {
        let (least, most) = CONTROL_LIMITS;
        let holds = (least..=most).contains(&control.median);
        let what = "control: serial again, against itself";
        text.push(judged(what, control.median, "", &format!("{least} to {most}"), holds));
    }
    text
}
