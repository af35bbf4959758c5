//! The cost of a task in the graph, with a caller and a device that do nothing: append, one dependent, next, launched,
//! complete, ended.
//!
//! `cargo bench -p overtake-graph` prints times, and those of the millionth task beside those of the thousandth;
//! `cargo bench -p overtake-graph -- instructions` prints instructions. Each figure stands beside its limit, and the
//! program fails if one is above.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use overtake_graph::{Direction, Graph, Kind, LANES_MAX, NodeId, Options, Priority, Replay, Runner, Spec, Template};
use testkit::callgrind;

/// Tasks between two looks at the timelines of the lanes.
const BATCH: u64 = 16;
const WARM_UP: u64 = 1_000;
const COUNTED: u64 = 4_096;
/// The most instructions and nanoseconds of a task, and the goal for each.
const INSTRUCTIONS: (u64, u64) = (600, 250);
const NANOSECONDS: (u64, u64) = (150, 60);
/// The same for a task of a template.
const NANOSECONDS_REPLAYED: (u64, u64) = (80, 30);
/// The cost of the millionth task by that of the thousandth.
const RATIO: (f64, f64) = (1.2, 1.05);

/// How a task meets the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The one before is not launched yet: its launch makes the task ready.
    Ahead,
    /// The one before is launched, and not complete.
    Behind,
    /// The one before is launched, and the task is handed out by the call that appends it.
    AtOnce,
    /// A copy to the device, a kernel, a copy back: each chain has three tasks, and the graph has four chains.
    Pipelines,
    /// A template of two chains of four tasks each, replayed behind the replay before it.
    Replayed,
}

const SHAPES: [(&str, Shape); 5] = [
    ("before it is launched", Shape::Ahead),
    ("behind it", Shape::Behind),
    ("behind it, at once", Shape::AtOnce),
    ("four pipelines", Shape::Pipelines),
    ("of a template", Shape::Replayed),
];

/// A caller and a device that do nothing.
struct Null {
    graph: Graph,
    shape: Shape,
    last: Option<NodeId>,
    chains: [Option<NodeId>; 4],
    template: Template,
    /// The nodes of the last replay.
    replayed: Vec<NodeId>,
    /// The last value of each lane, and the lanes whose last is not reported as complete, a bit each.
    values: [u64; LANES_MAX as usize],
    lanes: u64,
    appended: u64,
    /// The step at which the chains are.
    step: u8,
}

impl Null {
    fn new(shape: Shape) -> Null {
        let mut graph = Graph::new(Options::default()).expect("the options fit");
        let last = (shape == Shape::Ahead).then(|| append(&mut graph, &[], Kind::Kernel));
        let (chains, values) = ([None; 4], [0; LANES_MAX as usize]);
        let (template, replayed) = (two_chains(), Vec::new());
        Null { graph, shape, last, chains, template, replayed, values, lanes: 0, appended: 0, step: 2 }
    }

    /// callgrind counts the calls of the function of this name.
    #[inline(never)]
    fn counted_tasks(&mut self, count: u64) {
        self.tasks(count);
    }

    #[inline(never)]
    fn warm_up(&mut self) {
        self.tasks(WARM_UP);
    }

    #[inline(always)] // with these the caller's part of the count is small
    fn tasks(&mut self, count: u64) {
        match self.shape {
            Shape::Ahead | Shape::Behind => (0..count).for_each(|_| self.in_chain()),
            Shape::AtOnce => (0..count).for_each(|_| self.at_once()),
            Shape::Pipelines => (0..count).for_each(|_| self.in_pipeline()),
            Shape::Replayed => (0..count / self.template.len() as u64).for_each(|_| self.replay()),
        }
    }

    #[inline(always)]
    fn in_chain(&mut self) {
        self.last = Some(append(&mut self.graph, self.last.as_slice(), Kind::Kernel));
        self.launch();
    }

    #[inline(always)]
    fn at_once(&mut self) {
        let last = self.last.into_iter().map(Some);
        let told = self.graph.append_running(&Spec::of(Kind::Kernel), last, |_| true);
        let (node, lane, _) = told.expect("no other task is ready");
        black_box(lane);
        self.last = Some(node);
        self.launched(node);
    }

    #[inline(always)]
    fn in_pipeline(&mut self) {
        let chain = (self.appended % 4) as usize;
        self.step = if chain == 0 { (self.step + 1) % 3 } else { self.step };
        let (kind, before) = match self.step {
            0 => (Kind::Copy(Direction::HostToDevice), &[][..]),
            1 => (Kind::Kernel, self.chains[chain].as_slice()),
            _ => (Kind::Copy(Direction::DeviceToHost), self.chains[chain].as_slice()),
        };
        self.chains[chain] = Some(append(&mut self.graph, before, kind));
        self.launch();
    }

    #[inline(always)]
    fn replay(&mut self) {
        let replay = Replay { after: self.last.as_slice(), ..Replay::default() };
        self.graph.replay(&self.template, &replay, &mut self.replayed).expect("there is room");
        self.last = self.replayed.last().copied();
        (0..self.template.len()).for_each(|_| self.launch());
    }

    #[inline(always)]
    fn launch(&mut self) {
        let ready = self.graph.next(Runner::Device).expect("a task is ready");
        let node = ready.node;
        black_box((ready.place, ready.joins.len()));
        self.launched(node);
    }

    #[inline(always)]
    fn launched(&mut self, node: NodeId) {
        let at = self.graph.launched(node).expect("it is being launched").at.expect("the device is there");
        self.values[usize::from(at.lane)] = at.value;
        self.lanes |= 1 << at.lane;
        self.appended += 1;
        if self.appended.is_multiple_of(BATCH) {
            self.complete();
            while let Some(ended) = self.graph.ended() {
                black_box((ended.node, ended.outcome.err()));
            }
        }
    }

    /// The device has come to the last point of each lane.
    fn complete(&mut self) {
        while self.lanes != 0 {
            let lane = self.lanes.trailing_zeros() as usize;
            self.lanes &= self.lanes - 1;
            self.graph.complete(lane as u8, self.values[lane]).expect("it was given out");
        }
    }
}

/// Two chains: a copy to the device, two kernels, a copy back.
fn two_chains() -> Template {
    let kinds = [Kind::Copy(Direction::HostToDevice), Kind::Kernel, Kind::Kernel, Kind::Copy(Direction::DeviceToHost)];
    let mut template = Template::new();
    for (number, kind) in [kinds, kinds].concat().into_iter().enumerate() {
        let before = number.checked_sub(1).filter(|_| number != kinds.len());
        template.add(kind, Priority::LOWEST, "", before.as_slice()).expect("the one before is there");
    }
    template
}

/// A task after those.
#[inline(always)]
fn append(graph: &mut Graph, after: &[NodeId], kind: Kind) -> NodeId {
    graph.append(&Spec { after, ..Spec::of(kind) }).expect("there is room")
}

/// A figure beside its limit and its goal. Returns whether it is within the limit.
fn print(name: &str, figure: f64, unit: &str, (limit, goal): (f64, f64)) -> bool {
    let verdict = if figure <= goal {
        "within the goal"
    } else if figure <= limit {
        "within the limit"
    } else {
        "ABOVE THE LIMIT"
    };
    println!("{name:<34}{figure:>8.2} {unit:<14}limit {limit:>6}, goal {goal:>6}: {verdict}");
    figure <= limit
}

fn wide((limit, goal): (u64, u64)) -> (f64, f64) {
    (limit as f64, goal as f64)
}

fn instructions() -> ExitCode {
    let mut is_within = true;
    for (name, shape) in SHAPES {
        match callgrind::count("counted_tasks", &["counted", &format!("{shape:?}")]) {
            Ok(count) => {
                let figure = count as f64 / COUNTED as f64;
                is_within &= print(&format!("a task after one, {name}"), figure, "instructions", wide(INSTRUCTIONS));
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The part that runs under callgrind.
fn counted(name: &str) -> ExitCode {
    let Some((_, shape)) = SHAPES.into_iter().find(|(_, shape)| format!("{shape:?}") == name) else {
        return ExitCode::FAILURE;
    };
    let mut null = Null::new(shape);
    null.warm_up();
    null.counted_tasks(COUNTED);
    ExitCode::SUCCESS
}

/// Nanoseconds of a task: the median over rounds of so many tasks each.
fn time(null: &mut Null, rounds: u64) -> f64 {
    let mut samples: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            null.counted_tasks(WARM_UP);
            start.elapsed().as_nanos() as f64 / WARM_UP as f64
        })
        .collect();
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn times() -> ExitCode {
    let mut is_within = true;
    for (name, shape) in SHAPES {
        let mut null = Null::new(shape);
        null.counted_tasks(WARM_UP);
        let early = time(&mut null, 31);
        null.counted_tasks(1_000_000);
        let late = time(&mut null, 31);
        let bounds = if shape == Shape::Replayed { NANOSECONDS_REPLAYED } else { NANOSECONDS };
        is_within &= print(&format!("a task after one, {name}"), early, "ns", wide(bounds));
        is_within &= print("  the millionth by the thousandth", late / early, "", RATIO);
    }
    if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["instructions"] => instructions(),
        ["counted", name] => counted(name),
        _ => times(),
    }
}
