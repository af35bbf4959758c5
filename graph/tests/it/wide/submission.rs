//! Calls that add nodes and orders.

use overtake_graph::{Access, Kind, Mark, Mode, NodeId, Priority, Refused, Replay, Spec, Stage, Template};

use super::call::{Task, Use};
use super::node::{Before, Why, Wish};
use super::program::Program;
use crate::model::launches::Launch;
use crate::model::numbers::cause;

const MODES: [Mode; 6] = [Mode::Read, Mode::Write, Mode::ReadWrite, Mode::Discard, Mode::Reduce, Mode::Relaxed];

/// A node before others of a template: its wish, and the steps before it.
type Step = (Wish, Vec<usize>);

/// The nodes before a task by its own lists.
struct Lists {
    after: Vec<NodeId>,
    launches: Vec<NodeId>,
    before: Vec<Before>,
}

fn spec<'a>(wish: &Wish, after: &'a [NodeId], references: u32) -> Spec<'a> {
    let Wish { kind, priority, device, in_copy_strand, .. } = *wish;
    Spec { kind, priority, name: "", after, references, device, in_copy_strand }
}

impl Program {
    fn lists(&self, task: &Task) -> Lists {
        let [after, launches] = [&task.after, &task.launches].map(|list| self.picks(list));
        let mut before = self.orders(&after, Why::Stated(None));
        before.extend(self.orders(&launches, Why::Stated(Some(Mark::Launched))));
        let [after, launches] = [after, launches].map(|list| self.ids(&list));
        Lists { after, launches, before }
    }

    /// The accesses, and the bytes that they are of.
    fn accesses(&self, uses: &[Use]) -> (Vec<Access>, Vec<(usize, Mode)>) {
        let (mut accesses, mut bytes) = (vec![], vec![]);
        for [object, from, to, mode] in uses {
            let object = *object as usize % self.objects.len();
            let mode = MODES[*mode as usize % MODES.len()];
            let (from, to) = (u64::from(from % 5), u64::from(to % 5));
            let range = if (from + to).is_multiple_of(2) { None } else { Some(from.min(to)..from.max(to)) };
            bytes.extend(range.clone().unwrap_or(0..4).map(|byte| (object * 4 + byte as usize, mode)));
            accesses.push(Access { data: self.objects[object], range, mode });
        }
        (accesses, bytes)
    }

    pub fn append(&mut self, task: &Task, uses: &[Use]) {
        let (wish, lists) = (self.wish(task.kind, task.bits), self.lists(task));
        let (accesses, bytes) = self.accesses(uses);
        let mut before = lists.before.clone();
        before.extend(self.orders_of_data(&bytes));
        let spec = spec(&wish, &lists.after, wish.held);
        let told = match (lists.launches.is_empty(), accesses.is_empty()) {
            (true, true) => self.graph.append(&spec),
            (true, false) => self.graph.append_using(&spec, &accesses),
            (false, _) => self.graph.append_besides(&spec, &accesses, &lists.launches),
        };
        match told {
            Err(Refused::WouldBlock | Refused::Edges { .. }) => {}
            Err(Refused::Finished { .. }) if self.is_physx() => {}
            told => {
                let node = self.add(told.unwrap(), &wish);
                (node.uses, node.before) = (bytes, before);
            }
        }
    }

    pub fn running(&mut self, task: &Task) {
        if self.in_hand > 0 {
            return;
        }
        let lists = self.lists(task);
        let wish = Wish { held: 0, fails: false, turns: 1, in_copy_strand: false, ..self.wish(task.kind, task.bits) };
        if let Some(launch) = Launch::at_once(&mut self.graph, &spec(&wish, &lists.after, 0)) {
            self.add(launch.id, &wish).before = lists.before;
            self.begin(&launch);
        }
    }

    /// An empty node with these references, as far as the oracle knows.
    fn unknown(held: u32) -> Wish {
        let (kind, priority) = (Kind::Empty, Priority::LOWEST);
        Wish { kind, device: 0, priority, held, fails: false, turns: 1, in_copy_strand: false }
    }

    pub fn named(&mut self, which: u32) {
        match self.graph.named(&format!("n{}", which % 3)) {
            Err(Refused::WouldBlock) => {}
            told => {
                let id = told.unwrap();
                if !self.nodes.iter().any(|node| node.id == id) {
                    self.add(id, &Program::unknown(1)).is_absent = true;
                }
            }
        }
    }

    pub fn fill(&mut self, which: u32, task: &Task) {
        let Some(number) = self.pick_of(which, |node| node.is_absent && !node.is_reserved) else { return };
        let (wish, lists) = (Wish { in_copy_strand: false, ..self.wish(task.kind, task.bits) }, self.lists(task));
        let id = self.nodes[number].id;
        match self.graph.fill_besides(id, &spec(&wish, &lists.after, wish.held), &lists.launches) {
            Err(Refused::WouldBlock | Refused::Edges { .. } | Refused::Cycle { .. } | Refused::Finished { .. }) => {}
            Err(Refused::NameTaken { .. }) => assert_ne!(self.graph.stage(id), Stage::Waiting),
            told => {
                told.unwrap();
                self.nodes[number].describe(&wish);
                self.nodes[number].before.extend(lists.before);
                // The reference that it had by its name.
                if task.bits >> 20 & 1 == 0 {
                    self.release(number);
                }
            }
        }
    }

    pub fn reserve(&mut self) {
        if let Some(id) = self.graph.reserve() {
            let node = self.add(id, &Program::unknown(0));
            (node.is_absent, node.is_reserved) = (true, true);
            (node.is_launched, node.is_done) = (false, false);
        }
    }

    pub fn describe(&mut self, which: u32, task: &Task) {
        let Some(number) = self.pick_of(which, |node| node.is_reserved) else { return };
        let wish = Wish { held: 0, in_copy_strand: false, ..self.wish(task.kind, task.bits) };
        if !wish.kind.is_device() {
            return;
        }
        let mut after = self.picks(&task.after);
        after.retain(|it| *it != number && !self.closure(*it).contains(&number));
        let (before, after) = (self.orders(&after, Why::Stated(None)), self.ids(&after));
        let told = (task.bits >> 21 & 7 == 0).then(|| cause(number));
        let node = &mut self.nodes[number];
        node.describe(&wish);
        node.before.extend(before);
        node.has_failed |= told.is_some();
        self.graph.append_reserved(node.id, &spec(&wish, &after, 0), told);
    }

    pub fn replay(&mut self, bits: u32, more: u32, after: &[u32], is_held: bool) {
        let device = (bits >> 30) as u8 % self.options.devices;
        let (mut template, mut inner): (_, Vec<Step>) = (Template::new(), vec![]);
        for number in 0..1 + more % 5 {
            let bits = bits.rotate_left(5 * number) ^ more.rotate_right(3 * number);
            let wish = self.wish(bits >> 7, bits);
            let mut before: Vec<usize> = [bits >> 3, bits >> 6].iter().map(|it| (it % (number + 1)) as usize).collect();
            before.retain(|it| *it < number as usize);
            before.dedup();
            template.add(wish.kind, wish.priority, "", &before).unwrap();
            inner.push((wish, before));
        }
        let after = self.picks(after);
        let (outer, after, mut nodes) = (self.orders(&after, Why::Stated(None)), self.ids(&after), vec![]);
        let (priority, references) = (self.priority(more >> 8), u32::from(is_held));
        match self.graph.replay(&template, &Replay { priority, after: &after, references, device }, &mut nodes) {
            Err(Refused::WouldBlock) => {}
            Err(Refused::Finished { .. }) if self.is_physx() => {}
            told => {
                told.unwrap();
                self.add_replayed(inner, &nodes, &outer, (priority, references));
            }
        }
    }

    fn add_replayed(&mut self, inner: Vec<Step>, ids: &[NodeId], outer: &[Before], (least, held): (Priority, u32)) {
        let first = self.nodes.len();
        let order = |it| Before { node: first + it, why: Why::Stated(None), is_order: true };
        for ((wish, before), id) in inner.into_iter().zip(ids) {
            let is_first = before.is_empty();
            let held = if is_first { held } else { 0 };
            let wish = Wish { held, priority: wish.priority.max(least), ..wish };
            let before = if is_first { outer.to_vec() } else { before.into_iter().map(order).collect() };
            self.add(*id, &wish).before = before;
        }
    }

    pub fn order(&mut self, first: usize, then: usize, mark: Option<Mark>) {
        let (one, other) = (self.nodes[first].id, self.nodes[then].id);
        let stage = self.graph.stage(other);
        let told = match mark {
            None => self.graph.before(one, other),
            Some(mark) => self.graph.before_at(one, other, mark),
        };
        match told {
            Ok(()) => {
                assert_eq!(stage, Stage::Waiting);
                let before = Before { node: first, why: Why::Stated(mark), is_order: true };
                self.nodes[then].before.push(before);
            }
            Err(Refused::Cycle { .. } | Refused::Finished { .. } | Refused::Started { .. } | Refused::WouldBlock) => {}
            told => panic!("{told:?}"),
        }
    }
}
