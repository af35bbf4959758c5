//! The cost of an inferred order: appending tasks by the data that they use, less appending the same tasks with the
//! same edges stated.
//!
//! `cargo bench -p overtake-graph --bench data` prints instructions of a task, beside the limit, and the program fails
//! if they are more.

use std::hint::black_box;
use std::process::ExitCode;

use overtake_graph::{Access, DataId, Graph, Kind, LANES_MAX, Mode, NodeId, Options, Runner, Spec};
use testkit::callgrind;

/// Rounds of four tasks between two looks at the timelines of the lanes.
const BATCH: u64 = 4;
const WARM_UP: u64 = 250;
const COUNTED: u64 = 1_024;
/// Instructions of a task that the inference may cost, with at most two objects as a whole.
const LIMIT: f64 = 300.0;

/// The uses of a round of four tasks: objects by number, written or read.
type Round = [&'static [(usize, Mode)]; 4];

const SHAPES: [(&str, Round); 4] = [
    ("one object, a chain", [WRITES_X, WRITES_X, WRITES_X, WRITES_X]),
    ("two objects, fork and join", [WRITES_X, WRITES_Y, READS_BOTH, READS_BOTH]),
    ("two objects, one edge redundant", [MOVES, MOVES_BACK, MOVES, MOVES_BACK]),
    ("two objects, four readers", [READS_BOTH, READS_BOTH, READS_BOTH, READS_BOTH]),
];
const WRITES_X: &[(usize, Mode)] = &[(0, Mode::ReadWrite)];
const WRITES_Y: &[(usize, Mode)] = &[(1, Mode::Write)];
const READS_BOTH: &[(usize, Mode)] = &[(0, Mode::Read), (1, Mode::Read)];
const MOVES: &[(usize, Mode)] = &[(0, Mode::Read), (1, Mode::Write)];
const MOVES_BACK: &[(usize, Mode)] = &[(1, Mode::Read), (0, Mode::Write)];

/// A caller and a device that do nothing.
struct Null {
    graph: Graph,
    data: [DataId; 2],
    round: Round,
    /// For each task of a round those before it: how many tasks ago, if the edges are stated.
    stated: Option<[Vec<usize>; 4]>,
    /// The last eight tasks.
    last: [Option<NodeId>; 8],
    appended: usize,
    values: [u64; LANES_MAX as usize],
    lanes: u64,
}

impl Null {
    fn new(round: Round, is_stated: bool) -> Null {
        let mut graph = Graph::new(Options::default()).expect("the options fit");
        let data = [graph.data(4096), graph.data(4096)];
        let values = [0; LANES_MAX as usize];
        let mut null = Null { graph, data, round, stated: None, last: [None; 8], appended: 0, values, lanes: 0 };
        // The edges are taken from the inference itself, in a round in which nothing ends.
        let mut stated = [const { Vec::new() }; 4];
        for number in 0..8 {
            let node = null.append();
            let ago = |before| (1..8).find(|ago| null.last[(number + 8 - ago) % 8] == Some(before));
            null.graph.predecessors(node, |before| stated[number % 4].extend(ago(before)));
            null.last[number] = Some(node);
            null.appended += 1;
            if number == 3 {
                stated = [const { Vec::new() }; 4];
            }
        }
        null.stated = is_stated.then_some(stated);
        null.launch();
        null.complete();
        null
    }

    #[inline(always)]
    fn append(&mut self) -> NodeId {
        let spec = Spec::of(Kind::Kernel);
        if let Some(stated) = &self.stated {
            let mut after = [None; 2];
            for (place, ago) in after.iter_mut().zip(&stated[self.appended % 4]) {
                *place = self.last[(self.appended + 8 - ago) % 8];
            }
            return match after {
                [Some(one), Some(other)] => self.graph.append(&Spec { after: &[one, other], ..spec }),
                [one, _] => self.graph.append(&Spec { after: one.as_slice(), ..spec }),
            }
            .expect("there is room");
        }
        match self.round[self.appended % 4] {
            [(one, mode)] => self.graph.append_using(&spec, &[Access::new(self.data[*one], *mode)]),
            [(one, mode), (other, second)] => {
                let accesses = [Access::new(self.data[*one], *mode), Access::new(self.data[*other], *second)];
                self.graph.append_using(&spec, &accesses)
            }
            _ => unreachable!("a task uses one or two objects"),
        }
        .expect("there is room")
    }

    /// callgrind counts the calls of the function of this name.
    #[inline(never)]
    fn counted_rounds(&mut self, count: u64) {
        self.rounds(count);
    }

    #[inline(never)]
    fn warm_up(&mut self) {
        self.rounds(WARM_UP);
    }

    #[inline(always)]
    fn rounds(&mut self, count: u64) {
        for round in 0..count {
            for _ in 0..4 {
                let node = self.append();
                self.last[self.appended % 8] = Some(node);
                self.appended += 1;
            }
            self.launch();
            if round % BATCH == 0 {
                self.complete();
            }
        }
    }

    fn launch(&mut self) {
        while let Some(node) = black_box(self.graph.next(Runner::Device)).map(|ready| ready.node) {
            let at = self.graph.launched(node).expect("it is being launched").at.expect("the device is there");
            self.values[usize::from(at.lane)] = at.value;
            self.lanes |= 1 << at.lane;
        }
    }

    /// The device has come to the last point of each lane.
    fn complete(&mut self) {
        while self.lanes != 0 {
            let lane = self.lanes.trailing_zeros() as usize;
            self.lanes &= self.lanes - 1;
            self.graph.complete(lane as u8, self.values[lane]).expect("it was given out");
        }
        while let Some(ended) = self.graph.ended() {
            black_box(ended);
        }
    }
}

/// The part that runs under callgrind.
fn counted(shape: &str, edges: &str) -> ExitCode {
    let Some((_, round)) = shape.parse().ok().and_then(|shape: usize| SHAPES.get(shape)) else {
        return ExitCode::FAILURE;
    };
    let mut null = Null::new(*round, edges == "stated");
    null.warm_up();
    null.counted_rounds(COUNTED);
    ExitCode::SUCCESS
}

fn measure() -> Result<bool, String> {
    let mut is_within = true;
    for (number, (name, _)) in SHAPES.iter().enumerate() {
        let count = |edges| callgrind::count("counted_rounds", &["counted", &number.to_string(), edges]);
        let of_task = |count: u64| count as f64 / (4 * COUNTED) as f64;
        let (inferred, stated) = (of_task(count("inferred")?), of_task(count("stated")?));
        let cost = inferred - stated;
        let verdict = if cost <= LIMIT { "within the limit" } else { "ABOVE THE LIMIT" };
        println!(
            "{name:<34}{inferred:>8.1} less {stated:>6.1} stated:{cost:>7.1} instructions, limit {LIMIT}: {verdict}"
        );
        is_within &= cost <= LIMIT;
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let ["counted", shape, edges] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return counted(shape, edges);
    }
    match measure() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
