//! A caller of the graph and a device, both simple, and beside them an oracle that knows all edges and no more.

mod batch;
pub mod bytes;
mod checks;
pub mod launches;
pub mod numbers;
mod replay;

use std::collections::VecDeque;

use overtake_graph::{Ended, Graph, Kind, Mark, NodeId, Options, Order, Point, Priority, Refused, Runner, Spec, Stage};

use launches::Launch;
use numbers::cause;

pub use numbers::kind;

/// A test's description of a new task.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub kind: Kind,
    pub device: u8,
    pub priority: Priority,
    pub rank: u32,
    pub turns: u32,
    pub is_held: bool,
    pub fails: bool,
}

/// A task, with its true outcome.
struct Task {
    id: NodeId,
    wish: Wish,
    own: Priority,
    held: u32,
    /// The tasks before it, and the mark that it was asked to wait for.
    before: Vec<(usize, Option<Mark>)>,
    launches: u32,
    is_launched: bool,
    /// The device has done it, or the host has run it.
    is_done: bool,
    has_failed: bool,
    /// It never runs.
    is_given_up: bool,
    /// Its lane, from its first launch on.
    lane: Option<u8>,
    /// As the graph returned it.
    ended: Option<Ended>,
    /// The priority that the caller knows.
    told: Priority,
}

/// Work in a lane of the device.
struct Item {
    task: usize,
    joins: Vec<Point>,
    /// The timeline's value when it is done, if it is the last of its task.
    value: Option<u64>,
}

pub struct Model {
    pub graph: Graph,
    /// The lanes of a device.
    of_a_device: u8,
    /// Whether the order is not that of PhysX, which keeps one law: each reference is given back once.
    is_strict: bool,
    /// Whether ranks decide among tasks of one priority.
    is_ranked: bool,
    /// Work that was on the device has failed, so tasks may have started that fail with it.
    has_broken: bool,
    is_lost: bool,
    tasks: Vec<Task>,
    lanes: Vec<VecDeque<Item>>,
    /// How far the lanes have come in truth.
    done: Vec<u64>,
}

impl Model {
    pub fn new(options: Options) -> Model {
        let of_a_device = options.groups * options.lanes;
        let lanes = usize::from(options.devices) * usize::from(of_a_device);
        Model {
            graph: Graph::new(options).unwrap(),
            of_a_device,
            is_strict: options.order != Order::PhysX,
            is_ranked: options.order == Order::Ranked,
            has_broken: false,
            is_lost: false,
            tasks: Vec::new(),
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            done: vec![0; lanes],
        }
    }

    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub fn devices(&self) -> u8 {
        (self.lanes.len() / usize::from(self.of_a_device)) as u8
    }

    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Appends a task, and runs it at once if it is the next.
    pub fn append_running(&mut self, wish: Wish, after: &[usize]) {
        let (ids, held) = (self.ids(after), u32::from(wish.is_held));
        let Wish { kind, device, priority, .. } = wish;
        let spec = Spec { kind, priority, name: "", after: &ids, references: held, device, in_copy_strand: false };
        match Launch::at_once(&mut self.graph, &spec) {
            Some(Launch { id, turn, priority, place }) => {
                self.add(id, wish, held, after);
                self.begin(self.tasks.len() - 1, turn, priority, place);
            }
            None => self.append(wish, after),
        }
    }

    fn ids(&self, tasks: &[usize]) -> Vec<NodeId> {
        tasks.iter().map(|task| self.tasks[*task].id).collect()
    }

    pub fn append(&mut self, wish: Wish, after: &[usize]) {
        let (ids, held) = (self.ids(after), u32::from(wish.is_held));
        let Wish { kind, device, priority, .. } = wish;
        let spec = Spec { kind, priority, name: "", after: &ids, references: held, device, in_copy_strand: false };
        match self.graph.append(&spec) {
            Err(Refused::Finished { .. }) if !self.is_strict => {}
            told => self.add(told.unwrap(), wish, held, after),
        }
    }

    fn add(&mut self, id: NodeId, wish: Wish, held: u32, after: &[usize]) {
        let before = after.iter().filter(|first| self.tasks[**first].ended.is_none());
        let before = before.map(|first| (*first, None)).collect();
        let own = wish.priority;
        self.graph.set_rank(id, wish.rank);
        self.tasks.push(Task {
            id,
            wish,
            own,
            held,
            before,
            launches: 0,
            is_launched: wish.kind == Kind::Empty,
            is_done: wish.kind == Kind::Empty,
            has_failed: false,
            is_given_up: false,
            lane: None,
            ended: None,
            told: own,
        });
    }

    /// Orders two tasks, and checks the graph's answer.
    pub fn order(&mut self, first: usize, then: usize, mark: Option<Mark>) {
        let (one, other) = (self.tasks[first].id, self.tasks[then].id);
        let (stage_of_first, stage) = (self.graph.stage(one), self.graph.stage(other));
        let told = match mark {
            None => self.graph.before(one, other),
            Some(mark) => self.graph.before_at(one, other, mark),
        };
        let expected = match (stage_of_first, stage) {
            (Stage::Ended, _) | (_, Stage::Ended) => matches!(told, Err(Refused::Finished { .. })),
            (_, Stage::Ready | Stage::Running | Stage::Launched) => matches!(told, Err(Refused::Started { .. })),
            (_, Stage::Waiting) if self.comes_before(then, first) => matches!(told, Err(Refused::Cycle { .. })),
            (_, Stage::Waiting) => told == Ok(()),
        };
        assert!(expected || !self.is_strict, "{first} ({stage_of_first:?}) before {then} ({stage:?}): {told:?}");
        if told.is_ok() {
            self.tasks[then].before.push((first, mark));
        }
    }

    pub fn hold(&mut self, task: usize) {
        let is_waiting = self.graph.stage(self.tasks[task].id) == Stage::Waiting;
        assert_eq!(self.graph.hold(self.tasks[task].id).is_ok(), is_waiting);
        self.tasks[task].held += u32::from(is_waiting);
    }

    pub fn release(&mut self, task: usize) {
        let is_held = self.tasks[task].held > 0;
        assert_eq!(self.graph.release(self.tasks[task].id).is_ok(), is_held);
        self.tasks[task].held -= u32::from(is_held);
    }

    pub fn set_rank(&mut self, task: usize, rank: u32) {
        if self.tasks[task].ended.is_none() {
            self.graph.set_rank(self.tasks[task].id, rank);
            self.tasks[task].wish.rank = rank;
        }
    }

    pub fn set_priority(&mut self, task: usize, priority: Priority) {
        self.graph.set_priority(self.tasks[task].id, priority).unwrap();
        self.tasks[task].own = priority;
    }

    /// Launches or runs one task, if one is ready. Returns its number and turn.
    pub fn step(&mut self, runner: Runner) -> Option<(usize, u32)> {
        let ready = self.graph.next(runner)?;
        let (Launch { id, turn, priority, place }, kind) = (Launch::of(&ready), ready.kind);
        let number = self.number(id);
        assert_eq!(kind, self.tasks[number].wish.kind);
        self.begin(number, turn, priority, place);
        Some((number, turn))
    }

    fn number(&self, id: NodeId) -> usize {
        self.tasks.iter().position(|task| task.id == id && task.ended.is_none()).unwrap()
    }

    /// The task has been handed out, with its lane and joins if it is one of the device: it runs.
    fn begin(&mut self, number: usize, turn: u32, priority: Priority, place: Option<(u8, Vec<Point>)>) {
        self.check_handed_out(number, turn, priority);
        let task = &mut self.tasks[number];
        (task.launches, task.told) = (task.launches + 1, priority);
        let lane = place.map(|(lane, joins)| {
            assert!(!self.is_lost, "{number} is launched on a device that is lost");
            assert_eq!(lane / self.of_a_device, task.wish.device, "{number} is in lane {lane}");
            self.lanes[usize::from(lane)].push_back(Item { task: number, joins, value: None });
            lane
        });
        self.tasks[number].lane = lane;
        let task = &mut self.tasks[number];
        let (id, kind) = (task.id, task.wish.kind);
        let at = if task.wish.fails && turn + 1 == task.wish.turns {
            task.has_failed = true;
            self.graph.failed(id, cause(number)).unwrap()
        } else if kind.is_device() && turn + 1 < task.wish.turns {
            return self.graph.again(id).unwrap();
        } else {
            self.graph.launched_followed(id).or_else(|| self.graph.launched(id).unwrap().at)
        };
        task.is_launched = true;
        task.is_done |= !kind.is_device();
        if let (Some(at), Some(lane)) = (at, lane) {
            assert_eq!(at.lane, lane);
            self.lanes[usize::from(at.lane)].back_mut().unwrap().value = Some(at.value);
        }
    }

    /// The task, if it has not started, never runs.
    pub fn give_up(&mut self, task: usize) {
        let id = self.tasks[task].id;
        let has_not_started = match self.graph.stage(id) {
            Stage::Waiting => true,
            // The bins of PhysX are emptied as a whole.
            Stage::Ready => {
                let task = &self.tasks[task];
                task.launches == 0 && (self.is_strict || !task.wish.kind.is_device())
            }
            _ => false,
        };
        assert_eq!(self.graph.give_up(id, cause(task)), has_not_started);
        if has_not_started {
            let task = &mut self.tasks[task];
            (task.has_failed, task.is_given_up, task.held) = (true, true, 0);
        }
    }

    /// The device reports that work of this task has failed. It has done the work of one behind which another has ended
    /// well, and reports no failure of that.
    pub fn break_down(&mut self, task: usize) {
        let has_ended_well = |task: &Task| task.ended.is_some_and(|ended| ended.outcome.is_ok());
        let behind = |number: usize| self.all_before(number).contains(&task);
        if (0..self.tasks.len()).any(|number| has_ended_well(&self.tasks[number]) && behind(number)) {
            return;
        }
        let is_launched = self.graph.point(self.tasks[task].id).is_some();
        assert_eq!(self.graph.failed(self.tasks[task].id, cause(task)).is_ok(), is_launched);
        self.tasks[task].has_failed |= is_launched;
        self.has_broken |= is_launched;
    }

    /// The device does no more.
    pub fn lose(&mut self) {
        self.graph.fail(cause(0));
        self.lanes.iter_mut().for_each(VecDeque::clear);
        (self.is_lost, self.is_strict) = (true, false);
    }

    /// The device does the first item of this lane, if its joins are complete.
    pub fn execute(&mut self, lane: usize) -> bool {
        let is_free = |item: &Item| item.joins.iter().all(|at| self.done[usize::from(at.lane)] >= at.value);
        if !self.lanes[lane].front().is_some_and(is_free) {
            return false;
        }
        let item = self.lanes[lane].pop_front().unwrap();
        for first in self.all_before(item.task) {
            let first_task = &self.tasks[first];
            let is_over = first_task.is_done || first_task.has_failed;
            assert!(
                is_over || !self.is_strict || !first_task.wish.kind.is_device(),
                "{} runs before {first} is done",
                item.task
            );
        }
        if let Some(value) = item.value {
            self.tasks[item.task].is_done = true;
            self.done[lane] = value;
        }
        true
    }

    /// The caller reports how far the lane has come.
    pub fn report(&mut self, lane: usize) {
        self.graph.complete(lane as u8, self.done[lane]).unwrap();
        assert!(self.graph.complete(lane as u8, u64::MAX).is_err());
    }

    /// Takes the graph's news, and checks all priorities.
    pub fn settle(&mut self) {
        let (graph, tasks) = (&mut self.graph, &mut self.tasks);
        graph.inherited(|id, priority| {
            let task = tasks.iter_mut().find(|task| task.id == id && task.ended.is_none()).unwrap();
            assert!(task.told != priority && task.launches > 0, "{priority} is no news");
            task.told = priority;
        });
        while let Some(ended) = graph.ended() {
            let task = tasks.iter_mut().find(|task| task.id == ended.node && task.ended.is_none()).unwrap();
            assert_eq!((task.held, ended.turns), (0, task.launches));
            task.ended = Some(ended);
        }
        if self.is_strict {
            self.check_priorities();
        }
    }

    /// Lets all that is left happen, and checks how it ended.
    pub fn finish(&mut self) {
        for task in 0..self.tasks.len() {
            while self.tasks[task].held > 0 {
                self.release(task);
            }
        }
        loop {
            (0..self.lanes.len()).for_each(|lane| self.report(lane));
            let mut has_moved = false;
            for runner in [Runner::Device, Runner::Light, Runner::Host] {
                has_moved |= self.step(runner).is_some();
            }
            for lane in 0..self.lanes.len() {
                has_moved |= self.execute(lane);
            }
            self.settle();
            if !has_moved {
                break;
            }
        }
        if self.is_strict {
            self.check_outcomes();
        }
        assert!(self.tasks.iter().all(|task| task.ended.is_some()), "a task never ended");
        let left = self.graph.statistics();
        assert_eq!((left.nodes, left.edges), (0, 0));
    }

    fn check_handed_out(&self, number: usize, turn: u32, priority: Priority) {
        let task = &self.tasks[number];
        assert_eq!((task.held, task.launches, task.is_launched), (0, turn, false), "{number}");
        if !self.is_strict {
            return;
        }
        assert_eq!(self.graph.priority(task.id), Some(priority));
        for (first, asked) in &task.before {
            let first_task = &self.tasks[*first];
            let needs_results = !first_task.wish.kind.is_host() && task.wish.kind.is_host();
            match asked.unwrap_or(if needs_results { Mark::Complete } else { Mark::Launched }) {
                Mark::Launched => assert!(self.has_launched(*first), "{number} before {first} is launched"),
                Mark::Complete => assert!(self.is_complete(*first), "{number} before {first} is complete"),
            }
        }
        let same = |kind: Kind| {
            (kind.is_device(), kind == Kind::Light) == (task.wish.kind.is_device(), task.wish.kind == Kind::Light)
        };
        let others = self.tasks.iter().filter(|other| other.ended.is_none() && same(other.wish.kind));
        for other in others.filter(|other| self.graph.stage(other.id) == Stage::Ready) {
            let (urgency, rank) = (self.graph.priority(other.id).unwrap(), other.wish.rank);
            assert!(urgency <= priority, "{number} is handed out too early");
            let is_behind = urgency < priority || rank <= task.wish.rank;
            assert!(is_behind || !self.is_ranked, "{number} is handed out before one of a higher rank");
        }
    }

    /// Whether an empty task, too, has been reached by all before it.
    fn has_launched(&self, task: usize) -> bool {
        let is_through = self.tasks[task].wish.kind == Kind::Empty;
        self.tasks[task].is_launched
            && (!is_through || self.tasks[task].before.iter().all(|(first, _)| self.has_launched(*first)))
    }

    fn is_complete(&self, task: usize) -> bool {
        let is_done = |task: &usize| self.tasks[*task].is_done || self.tasks[*task].has_failed;
        is_done(&task) && self.all_before(task).iter().all(is_done)
    }

    /// One that was left out keeps its place in the order.
    fn comes_before(&self, first: usize, then: usize) -> bool {
        first == then || self.all_before(then).contains(&first)
    }

    /// All tasks before this one, also through others.
    fn all_before(&self, task: usize) -> Vec<usize> {
        let (mut found, mut open) = (vec![false; self.tasks.len()], vec![task]);
        while let Some(task) = open.pop() {
            for (first, _) in &self.tasks[task].before {
                if !std::mem::replace(&mut found[*first], true) {
                    open.push(*first);
                }
            }
        }
        (0..self.tasks.len()).filter(|task| found[*task]).collect()
    }
}
