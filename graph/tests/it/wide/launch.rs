//! The caller: it takes nodes that are ready, launches and reports them, in batches too.

use overtake_graph::{Kind, Mark, Point, Runner, Stage};

use super::call::Call;
use super::node::{Before, Why};
use super::program::{Item, Program};
use crate::model::launches::{Launch, LaunchBatch};
use crate::model::numbers::cause;

impl Program {
    pub fn step(&mut self, runner: Runner) -> Option<(usize, u32)> {
        let ready = self.graph.next(runner)?;
        let (launch, kind) = (Launch::of(&ready), ready.kind);
        let number = self.number(launch.id);
        assert_eq!(kind, self.nodes[number].kind);
        self.begin(&launch);
        Some((number, launch.turn))
    }

    pub fn begin(&mut self, launch: &Launch) {
        self.make(launch);
        self.report_launch(launch);
    }

    /// The work of a launch is made.
    fn make(&mut self, launch: &Launch) {
        let number = self.number(launch.id);
        self.check_handed_out(number, launch);
        if !self.nodes[number].kind.is_device() {
            self.check_begins(number);
        }
        let node = &mut self.nodes[number];
        (node.launches, node.told) = (node.launches + 1, launch.priority);
        let Some((lane, joins)) = &launch.place else { return };
        node.lane = Some(*lane);
        assert!(lane / (self.options.groups * self.options.lanes) < self.options.devices);
        let item = Item { node: Some(number), joins: joins.clone(), value: None };
        self.lanes[usize::from(*lane)].push_back(item);
    }

    fn report_launch(&mut self, launch: &Launch) {
        let number = self.number(launch.id);
        let node = &mut self.nodes[number];
        let is_last = launch.turn + 1 >= node.turns;
        let at = if node.fails && is_last {
            node.has_failed = true;
            self.graph.failed(node.id, cause(number)).unwrap()
        } else if node.kind.is_device() && !is_last {
            return self.graph.again(node.id).unwrap();
        } else {
            self.graph.launched_followed(node.id).or_else(|| self.graph.launched(launch.id).unwrap().at)
        };
        self.set_launched(launch, at);
    }

    fn set_launched(&mut self, launch: &Launch, at: Option<Point>) {
        let number = self.number(launch.id);
        let node = &mut self.nodes[number];
        node.is_launched = true;
        node.is_done |= !node.kind.is_device();
        if let (Some(at), Some((lane, _))) = (at, &launch.place) {
            assert_eq!(at.lane, *lane);
            let items = &mut self.lanes[usize::from(at.lane)];
            items.iter_mut().rfind(|item| item.node == Some(number)).unwrap().value = Some(at.value);
        }
    }

    /// As in the dispatcher: some nodes are handed out, some of these launched; `inside` happens before the reports.
    /// Returns the numbers and turns of those that are launched.
    pub fn batch(&mut self, most: usize, launched: usize, inside: &[Call]) -> Vec<(usize, u32)> {
        let Some(LaunchBatch { mut launches, is_chain }) = LaunchBatch::next(&mut self.graph, most) else {
            return vec![];
        };
        let is_last = |it: &Launch| {
            let node = &self.nodes[self.number(it.id)];
            it.turn + 1 < node.turns || node.fails
        };
        let count = launches.iter().position(is_last).unwrap_or(launches.len()).min(launched) + 1;
        let count = count.min(launches.len());
        launches[..count].iter().for_each(|launch| self.make(launch));
        self.in_hand = launches.len();
        for launch in &launches {
            let number = self.number(launch.id);
            self.nodes[number].told = launch.priority;
        }
        for call in inside {
            self.act(call);
            self.settle();
        }
        self.in_hand = 0;
        for taken in launches.drain(count..).rev() {
            assert_eq!(self.graph.stage(taken.id), Stage::Running);
            self.graph.take_back(taken.id).unwrap();
        }
        let made = launches.iter().map(|it| (self.number(it.id), it.turn)).collect();
        let last = launches.pop().unwrap();
        if is_chain && !launches.is_empty() && inside.is_empty() {
            let at = self.graph.launched_behind(launches[0].id, launches.len() as u32);
            for (it, value) in launches.iter().zip(at.value..) {
                let point = Some(Point { value, ..at });
                assert_eq!(self.graph.point(it.id), point);
                self.set_launched(it, point);
            }
        } else {
            launches.iter().for_each(|it| self.report_launch(it));
        }
        self.report_launch(&last);
        made
    }

    fn check_handed_out(&self, number: usize, launch: &Launch) {
        let node = &self.nodes[number];
        assert_eq!((node.held, node.launches, node.is_launched), (0, launch.turn, false), "{number}");
        if !self.is_strict {
            return;
        }
        assert_eq!(self.graph.priority(node.id), Some(launch.priority));
        if node.kind.is_device() {
            for before in node.before.iter().filter(|it| it.is_order) {
                let first = &self.nodes[before.node];
                let is_through = first.launches == 0 && self.stage(before.node) == Stage::Ended;
                let is_launched = first.launches > 0 || first.kind == Kind::Empty;
                assert!(is_through || is_launched, "{number} before {} is launched", before.node);
            }
        }
    }

    /// Work of the node is done now, on the device or by the host.
    pub fn check_begins(&mut self, number: usize) {
        if !self.is_strict {
            return;
        }
        if self.nodes[number].may_begin_early {
            let is_early = !self.closure(number).into_iter().all(|first| self.is_over(first));
            self.nodes[number].began_early |= is_early;
            return;
        }
        let node = &self.nodes[number];
        for before in node.before.iter().filter(|it| it.why == Why::Data) {
            let is_over = self.is_over(before.node) || self.is_excused(number, before.node);
            assert!(is_over, "{number} begins before {}, whose bytes it uses", before.node);
        }
        if node.kind.is_device() {
            return self.check_over(number, number);
        }
        node.before.iter().filter(|it| it.is_order).for_each(|before| self.check_mark(number, before));
    }

    /// All before the one are over, as the other begins.
    fn check_over(&self, node: usize, number: usize) {
        for first in self.closure(node) {
            let is_over = self.is_over(first) || self.is_excused(number, first);
            assert!(is_over, "{number} begins before {first} is done");
        }
    }

    /// One node comes before the other behind a third one that the device has begun early: it joins a lane that was
    /// reported before those that this lane joins. To the graph a node of the device that is complete, and has not
    /// failed, is behind all before it, so those behind it may begin early too.
    fn is_excused(&self, number: usize, first: usize) -> bool {
        let mut all = self.closure(number).into_iter();
        all.any(|it| self.nodes[it].began_early && self.closure(it).contains(&first))
    }

    /// A node of the host begins behind this one.
    fn check_mark(&self, number: usize, before: &Before) {
        let first = &self.nodes[before.node];
        let is_left = first.launches == 0 && self.stage(before.node) == Stage::Ended;
        let needs_results = !first.kind.is_host() || is_left;
        let asked = if let Why::Stated(asked) = before.why { asked } else { None };
        match asked.unwrap_or(if needs_results { Mark::Complete } else { Mark::Launched }) {
            Mark::Launched => assert!(first.is_launched || is_left, "{number} before {} is launched", before.node),
            Mark::Complete => {
                assert!(self.is_over(before.node), "{number} before {} is complete", before.node);
                self.check_over(before.node, number);
            }
        }
    }

    fn is_over(&self, node: usize) -> bool {
        let it = &self.nodes[node];
        it.is_done || (it.launches == 0 && self.stage(node) == Stage::Ended)
    }
}
