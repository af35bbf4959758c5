//! The order of PhysX, in random programs, beside a model of its dispatcher that knows no more than its rules.

use overtake_graph::{Direction, Graph, Kind, NodeId, Options, Order, Runner, Spec, Stage};
use proptest::collection::vec;
use proptest::prelude::*;

/// A task: its kind, its launches, those that it comes after, and the tasks that its first launch submits.
#[derive(Clone, Debug)]
struct Wish {
    kind: Kind,
    launches: u32,
    after: Vec<usize>,
    submits: Vec<Wish>,
}

/// A launch: the task, its turn, its stream, and the waits for idle before it.
type Launch = (usize, u32, u32, u64);

/// A task as the dispatcher of PhysX has it.
struct Row {
    wish: Wish,
    references: u32,
    /// The tasks after it, in the order in which they were registered.
    dependents: Vec<usize>,
    stream: Option<u32>,
    /// It has to wait for idle before its first launch.
    needs_sync: bool,
    launched: u32,
    is_released: bool,
}

/// The dispatcher of PhysX: a stack of submitted tasks, a list of running ones for each phase, passes over them.
#[derive(Default)]
struct PhysX {
    rows: Vec<Row>,
    submitted: Vec<usize>,
    lists: [Vec<usize>; 3],
    streams: u32,
    syncs: u64,
    launches: Vec<Launch>,
}

fn phase(kind: Kind) -> usize {
    match kind {
        Kind::Copy(Direction::HostToDevice) => 0,
        Kind::Copy(Direction::DeviceToHost) => 2,
        _ => 1,
    }
}

impl PhysX {
    /// A task that waits for its own reference, and for those before it that are not released.
    fn add(&mut self, wish: &Wish) -> usize {
        let number = self.rows.len();
        let mut references = 1;
        for first in &wish.after {
            if !self.rows[*first].is_released {
                self.rows[*first].dependents.push(number);
                references += 1;
            }
        }
        let (stream, dependents) = (None, Vec::new());
        let (wish, needs_sync, launched, is_released) = (wish.clone(), false, 0, false);
        self.rows.push(Row { wish, references, dependents, stream, needs_sync, launched, is_released });
        number
    }

    /// One reference less.
    fn drop_reference(&mut self, number: usize) {
        self.rows[number].references -= 1;
        if self.rows[number].references == 0 {
            self.submitted.push(number);
        }
    }

    /// The stream of a task goes to the first of those after it that has none; the others are told to wait for idle.
    fn release(&mut self, number: usize) {
        self.rows[number].is_released = true;
        let mut offer = self.rows[number].stream;
        for then in self.rows[number].dependents.clone() {
            let row = &mut self.rows[then];
            if row.stream.is_none() && offer.is_some() {
                row.stream = offer.take();
            } else {
                row.needs_sync = true;
            }
            self.drop_reference(then);
        }
    }

    /// The submitted tasks, the last first, join the lists. Each that has no stream gets a new one.
    fn poll(&mut self) {
        while let Some(number) = self.submitted.pop() {
            let row = &mut self.rows[number];
            if row.stream.is_none() {
                row.stream = Some(self.streams);
                self.streams += 1;
            }
            self.lists[phase(row.wish.kind)].push(number);
        }
    }

    /// Launches the task at this place of a list. Returns whether it stays there.
    fn launch(&mut self, phase: usize, place: usize) -> bool {
        let number = self.lists[phase][place];
        let row = &mut self.rows[number];
        self.launches.push((number, row.launched, row.stream.unwrap(), self.syncs));
        row.launched += 1;
        let (is_first, is_last) = (row.launched == 1, row.launched == row.wish.launches);
        if is_first {
            for wish in self.rows[number].wish.submits.clone() {
                let new = self.add(&wish);
                self.drop_reference(new);
            }
        }
        if is_last {
            self.release(number);
            self.lists[phase].swap_remove(place);
            self.poll();
        }
        !is_last
    }

    /// Launches all that can be.
    fn run(&mut self) {
        self.poll();
        let mut phase = 0;
        while self.lists.iter().any(|list| !list.is_empty()) {
            while !self.lists[phase].is_empty() {
                let (mut place, mut has_waiting) = (0, false);
                while let Some(number) = self.lists[phase].get(place) {
                    let needs_sync = self.rows[*number].needs_sync;
                    has_waiting |= needs_sync;
                    place += usize::from(needs_sync || self.launch(phase, place));
                }
                if has_waiting {
                    self.syncs += 1;
                    self.lists[phase].iter().for_each(|number| self.rows[*number].needs_sync = false);
                }
            }
            phase = (phase + 1) % 3;
        }
    }
}

/// The launches of a program by the model.
fn by_the_model(program: &[Wish]) -> Vec<Launch> {
    let mut model = PhysX::default();
    for wish in program {
        model.add(wish);
    }
    (0..program.len()).for_each(|number| model.drop_reference(number));
    model.run();
    model.launches
}

/// The tasks of a graph, by their numbers.
struct Tasks {
    graph: Graph,
    all: Vec<(NodeId, Wish)>,
}

impl Tasks {
    /// Those before it that are not launched are the tasks that it comes after: to PhysX the others have finished.
    fn add(&mut self, wish: &Wish, references: u32, is_over: impl Fn(usize) -> bool) {
        let before = wish.after.iter().filter(|first| !is_over(**first));
        let after: Vec<NodeId> = before.map(|first| self.all[*first].0).collect();
        let spec = Spec { kind: wish.kind, after: &after, references, ..Spec::of(wish.kind) };
        let node = self.graph.append(&spec).unwrap();
        self.all.push((node, wish.clone()));
    }
}

/// The same by the graph.
fn by_the_graph(program: &[Wish]) -> Vec<Launch> {
    let graph = Graph::new(Options { order: Order::PhysX, ..Options::default() }).unwrap();
    let mut tasks = Tasks { graph, all: Vec::new() };
    program.iter().for_each(|wish| tasks.add(wish, 1, |_| false));
    for number in 0..program.len() {
        tasks.graph.release(tasks.all[number].0).unwrap();
    }
    let mut launches: Vec<Launch> = Vec::new();
    while let Some(ready) = tasks.graph.next(Runner::Device) {
        let (node, turn, strand) = (ready.node, ready.turn, ready.place.unwrap().strand);
        let number = tasks.all.iter().position(|(id, _)| *id == node).unwrap();
        launches.push((number, turn, strand, tasks.graph.statistics().syncs));
        let wish = tasks.all[number].1.clone();
        if turn == 0 {
            let stages = tasks.all.iter().map(|(id, _)| tasks.graph.stage(*id));
            let over: Vec<bool> = stages.map(|stage| matches!(stage, Stage::Launched | Stage::Ended)).collect();
            wish.submits.iter().for_each(|new| tasks.add(new, 0, |first| over[first]));
        }
        match turn + 1 == wish.launches {
            true => drop(tasks.graph.launched(node).unwrap()),
            false => tasks.graph.again(node).unwrap(),
        }
    }
    launches
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        2 => Just(Kind::Copy(Direction::HostToDevice)),
        4 => Just(Kind::Kernel),
        2 => Just(Kind::Copy(Direction::DeviceToHost)),
    ]
}

/// Each of these is `number`, and comes after up to three of the tasks before it.
fn wish(number: usize, (kind, launches, after): (Kind, u32, Vec<u16>)) -> Wish {
    let mut before: Vec<usize> = after.iter().map(|first| usize::from(*first)).filter(|_| number > 0).collect();
    before.iter_mut().for_each(|first| *first %= number);
    let mut seen = Vec::new();
    before.retain(|first| {
        !seen.contains(first) && {
            seen.push(*first);
            true
        }
    });
    Wish { kind, launches, after: before, submits: Vec::new() }
}

type Drawn = (Kind, u32, Vec<u16>);

fn drawn() -> impl Strategy<Value = Drawn> {
    (kind(), 1_u32..4, vec(any::<u16>(), 0..4))
}

fn program() -> impl Strategy<Value = Vec<Wish>> {
    let submits = vec((any::<u16>(), drawn()), 0..4);
    (vec(drawn(), 1..16), submits).prop_map(|(tasks, submits)| {
        let mut all: Vec<Wish> = tasks.into_iter().enumerate().map(|(number, drawn)| wish(number, drawn)).collect();
        let known = all.len();
        for (by, drawn) in submits {
            let new = wish(known, drawn);
            all[usize::from(by) % known].submits.push(new);
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_streams_and_waits_are_those_of_physx(program in program()) {
        prop_assert_eq!(by_the_graph(&program), by_the_model(&program));
    }
}
