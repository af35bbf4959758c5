//! The calls of a random program. Their numbers choose among what is there when the call is made, so a program without
//! some of its calls is one too.

use overtake_graph::{Mark, Runner, Stage};

use super::program::Program;
use super::random::Random;
use super::setting::Setting;

/// The number of a kernel's kind.
pub const KERNEL: u32 = 7;

/// The numbers of a task, and of those before it.
#[derive(Clone, Debug)]
pub struct Task {
    pub kind: u32,
    pub bits: u32,
    pub after: Vec<u32>,
    /// Those whose launch is enough.
    pub launches: Vec<u32>,
}

impl Task {
    /// A kernel of the lowest priority with one turn, which succeeds and is not held, behind none.
    pub const PLAIN: Task = Task { kind: KERNEL, bits: PLAIN, after: vec![], launches: vec![] };
}

/// The bits of such a task.
pub const PLAIN: u32 = 0x3c01;

/// An object, two ends of a range, and a mode.
pub type Use = [u32; 4];

#[derive(Clone, Debug)]
pub enum Call {
    Append(Task, Vec<Use>),
    Running(Task),
    Named(u32),
    Fill(u32, Task),
    Reserve,
    Describe(u32, Task),
    Replay {
        bits: u32,
        more: u32,
        after: Vec<u32>,
        is_held: bool,
    },
    Before(u32, u32, u32),
    Hold(u32),
    Release(u32),
    Priority(u32, u32),
    Rank(u32, u32),
    GiveUp(u32),
    /// The device reports that work has failed.
    Fail(u32),
    Group(bool),
    Sync,
    /// At most so many are handed out behind or beside the next one, and so many of them launched.
    Device {
        most: u32,
        launched: u32,
        inside: Vec<Call>,
    },
    Host,
    /// The device does the first work of a lane.
    Execute(u32),
    Report(u32),
    Early(u32),
    Collect,
    Lose,
}

impl Call {
    pub fn random(random: &mut Random, setting: &Setting) -> Call {
        Call::any(random, setting, false)
    }

    fn any(random: &mut Random, setting: &Setting, is_inside: bool) -> Call {
        if random.once_in(14) {
            return Call::rare(random, setting, is_inside);
        }
        match random.below(64) {
            0..=17 => Call::append(random, setting),
            18..=20 => Call::Running(Task { after: random.numbers(1), ..task(random) }),
            21 => Call::Named(random.number()),
            22 | 23 => {
                let (which, after) = (random.number(), random.numbers(2));
                let launches = random.numbers_once_in(4, 1);
                Call::Fill(which, Task { after, launches, ..task(random) })
            }
            24 | 25 => Call::Before(random.number(), random.number(), random.number()),
            26 => Call::Hold(random.number()),
            27..=29 => Call::Release(random.number()),
            30 => Call::Priority(random.number(), random.number()),
            31 => Call::Rank(random.number(), random.number()),
            32..=35 => Call::GiveUp(random.number()),
            36 => Call::Fail(random.number()),
            37 => {
                let (bits, more, after) = (random.number(), random.number(), random.numbers(1));
                Call::Replay { bits, more, after, is_held: random.once_in(4) }
            }
            38..=46 if !is_inside => Call::device(random, setting),
            47..=49 => Call::Host,
            50..=54 if !is_inside => Call::Execute(random.number()),
            55..=58 => Call::Report(random.number()),
            59 if setting.may_lose_device && random.once_in(8) => Call::Lose,
            _ => Call::Collect,
        }
    }

    fn rare(random: &mut Random, setting: &Setting, is_inside: bool) -> Call {
        match random.below(8) {
            0..=2 => Call::Reserve,
            3..=5 => Call::Describe(random.number(), Task { after: random.numbers(1), ..task(random) }),
            6 if setting.has_groups => Call::Group(random.once_in(3)),
            7 if setting.has_groups => Call::Sync,
            6 | 7 if setting.may_report_early && !is_inside => Call::Early(random.number()),
            _ => Call::Collect,
        }
    }

    fn append(random: &mut Random, setting: &Setting) -> Call {
        let kind = if random.once_in(2) { KERNEL } else { random.number() };
        let (after, launches) = (random.numbers_once_in(3, 2), random.numbers_once_in(10, 2));
        let uses = if setting.uses_data { random.below(4) } else { 0 };
        let uses = (0..uses).map(|_| [(); 4].map(|()| random.number())).collect();
        Call::Append(Task { kind, bits: random.number(), after, launches }, uses)
    }

    fn device(random: &mut Random, setting: &Setting) -> Call {
        let is_disturbed = setting.interferes && random.once_in(3);
        let inside = if is_disturbed { 1 + random.below(3) } else { 0 };
        let inside = (0..inside).map(|_| Call::any(random, setting, true)).collect();
        Call::Device { most: random.below(8), launched: random.below(8), inside }
    }
}

fn task(random: &mut Random) -> Task {
    Task { kind: random.number(), bits: random.number(), ..Task::PLAIN }
}

impl Program {
    pub fn act(&mut self, call: &Call) {
        let (nodes, lanes) = (self.nodes.len(), self.lanes.len());
        match call {
            Call::Append(task, uses) => self.append(task, uses),
            Call::Running(task) => self.running(task),
            Call::Named(which) => self.named(*which),
            Call::Fill(which, task) => self.fill(*which, task),
            Call::Reserve => self.reserve(),
            Call::Describe(which, task) => self.describe(*which, task),
            Call::Replay { bits, more, after, is_held } => self.replay(*bits, *more, after, *is_held),
            Call::Device { most, launched, inside } => drop(self.batch(*most as usize, *launched as usize, inside)),
            Call::Host => drop(self.step(Runner::Host).or_else(|| self.step(Runner::Light))),
            Call::Execute(lane) => _ = (0..lanes).any(|it| self.execute((*lane as usize + it) % lanes)),
            Call::Report(lane) => self.report(*lane as usize % lanes),
            Call::Early(lane) => self.report_early(*lane as usize % lanes),
            Call::Collect => self.collect(),
            Call::Group(is_begun) => self.group(*is_begun),
            Call::Sync => self.sync(),
            Call::Lose => self.lose(),
            Call::Release(node) => {
                if let Some(node) = self.pick_of(*node, |node| node.held > 0) {
                    self.release(node);
                }
            }
            call if nodes > 0 => self.act_on_nodes(call),
            _ => {}
        }
    }

    /// The calls that need nodes. There are some.
    fn act_on_nodes(&mut self, call: &Call) {
        let pick = |number: &u32| self.pick(*number).unwrap();
        match call {
            Call::Before(first, then, mark) => {
                let mark = [None, Some(Mark::Launched), Some(Mark::Complete)][*mark as usize % 3];
                self.order(pick(first), pick(then), mark);
            }
            Call::Hold(node) => self.hold(pick(node)),
            Call::Priority(node, to) => self.set_priority(pick(node), *to),
            Call::Rank(node, rank) => {
                let node = &self.nodes[pick(node)];
                if node.ended.is_none() {
                    self.graph.set_rank(node.id, rank % 4);
                }
            }
            Call::GiveUp(node) => self.give_up(pick(node)),
            Call::Fail(node) => self.break_down(pick(node)),
            _ => {}
        }
    }

    fn hold(&mut self, node: usize) {
        let is_waiting = self.stage(node) == Stage::Waiting;
        assert_eq!(self.graph.hold(self.nodes[node].id).is_ok(), is_waiting);
        self.nodes[node].held += u32::from(is_waiting);
    }

    pub fn release(&mut self, node: usize) {
        let is_held = self.nodes[node].held > 0;
        self.nodes[node].held -= u32::from(is_held);
        assert_eq!(self.graph.release(self.nodes[node].id).is_ok(), is_held, "{node} is held");
    }

    /// A node that has not been described gets its priority then.
    fn set_priority(&mut self, node: usize, to: u32) {
        if self.nodes[node].is_absent {
            return;
        }
        let to = self.priority(to);
        self.graph.set_priority(self.nodes[node].id, to).unwrap();
        if self.stage(node) != Stage::Ended {
            self.nodes[node].own = to;
        }
    }

    fn group(&mut self, is_begun: bool) {
        if is_begun {
            self.graph.begin_group();
            self.groups += 1;
        } else if self.groups > 0 {
            self.graph.end_group();
            self.groups -= 1;
        }
    }
}
