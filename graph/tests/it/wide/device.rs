//! The device: its lanes, how far they have come, and its failures.

use std::collections::VecDeque;

use overtake_graph::Stage;

use super::node::Node;
use super::program::{Item, Program};
use crate::model::numbers::cause;

impl Program {
    /// The device does the first work of the lane, if its joins are complete.
    pub fn execute(&mut self, lane: usize) -> bool {
        let is_free = |item: &Item| {
            let mut joins = item.joins.iter().chain(&self.skipped[lane]);
            joins.all(|at| self.done[usize::from(at.lane)] >= at.value)
        };
        if !self.lanes[lane].front().is_some_and(is_free) {
            return false;
        }
        let item = self.lanes[lane].pop_front().unwrap();
        if let Some(node) = item.node {
            self.check_begins(node);
            self.nodes[node].is_done |= item.value.is_some();
        }
        self.done[lane] = self.done[lane].max(item.value.unwrap_or(0));
        true
    }

    /// The caller reports how far the lane has come.
    pub fn report(&mut self, lane: usize) {
        self.graph.complete(lane as u8, self.done[lane]).unwrap();
    }

    /// All work of the lane fails, and is reported before that of lanes that it has joined.
    pub fn report_early(&mut self, lane: usize) {
        let is_whole = self.lanes[lane].iter().all(|item| item.value.is_some() && item.node.is_some());
        if !self.is_strict || self.in_hand > 0 || !is_whole {
            return;
        }
        let items: Vec<Item> = self.lanes[lane].drain(..).collect();
        for item in &items {
            let number = item.node.unwrap();
            let node = &mut self.nodes[number];
            self.graph.failed(node.id, cause(number)).unwrap();
            (node.has_failed, node.is_done) = (true, true);
            self.skipped[lane].extend(item.joins.iter().copied());
            self.done[lane] = item.value.unwrap();
        }
        if !items.is_empty() {
            self.has_broken = true;
            self.nodes.iter_mut().for_each(|node| node.may_begin_early |= node.launches > 0);
        }
        self.report(lane);
    }

    /// The device reports that work of the node has failed: one that it has launched, and behind which none has ended.
    pub fn break_down(&mut self, number: usize) {
        let has_ended_well = |it: &Node| it.ended.is_some_and(|ended| ended.outcome.is_ok());
        let is_over = |it: &usize| has_ended_well(&self.nodes[*it]) || self.stage(*it) == Stage::Ended;
        let mut over = (0..self.nodes.len()).filter(is_over);
        let id = self.nodes[number].id;
        if over.any(|it| self.closure(it).contains(&number)) || self.graph.point(id).is_none() {
            return;
        }
        self.graph.failed(id, cause(number)).unwrap();
        self.nodes[number].has_failed = true;
        self.has_broken = true;
    }

    pub fn give_up(&mut self, number: usize) {
        let node = &self.nodes[number];
        let has_not_started = match self.stage(number) {
            Stage::Waiting => !node.is_absent,
            Stage::Ready => node.launches == 0 && !(self.is_physx() && node.kind.is_device()),
            _ => false,
        };
        assert_eq!(self.graph.give_up(node.id, cause(number)), has_not_started);
        if has_not_started {
            let node = &mut self.nodes[number];
            (node.has_failed, node.held) = (true, 0);
        }
    }

    pub fn lose(&mut self) {
        self.graph.fail(cause(0));
        self.lanes.iter_mut().for_each(VecDeque::clear);
        self.is_strict = false;
    }

    /// A point of the caller behind a node that is being launched.
    pub fn sync(&mut self) {
        let is_running = |it: &&Node| it.kind.is_device() && self.graph.stage(it.id) == Stage::Running;
        if let Some(id) = self.nodes.iter().find(is_running).map(|it| it.id) {
            let at = self.graph.sync_point(id).unwrap();
            self.lanes[usize::from(at.lane)].push_back(Item { node: None, joins: vec![], value: Some(at.value) });
        }
    }
}
