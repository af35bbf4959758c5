//! The end of a program: all that is left happens, and each node ends as those before it say.

use std::collections::BTreeSet;

use overtake_graph::{Cause, Kind, Runner};

use super::call::Task;
use super::program::Program;
use crate::model::numbers::cause;

impl Program {
    pub fn finish(&mut self) {
        while self.groups > 0 {
            self.graph.end_group();
            self.groups -= 1;
        }
        while self.nodes.iter().any(|node| node.is_reserved) {
            self.describe(0, &Task::PLAIN);
        }
        for node in 0..self.nodes.len() {
            while self.nodes[node].held > 0 {
                self.release(node);
            }
        }
        while self.go_on() {}
        for (number, node) in self.nodes.iter().enumerate() {
            assert!(node.ended.is_some(), "{number} never ended");
        }
        let left = self.graph.statistics();
        assert_eq!((left.nodes, left.edges), (0, 0));
        if self.is_strict {
            self.check_outcomes();
        }
    }

    /// Returns whether anything has happened.
    fn go_on(&mut self) -> bool {
        (0..self.lanes.len()).for_each(|lane| self.report(lane));
        let mut has_moved = false;
        for runner in [Runner::Device, Runner::Light, Runner::Host] {
            has_moved |= self.step(runner).is_some();
        }
        for lane in 0..self.lanes.len() {
            has_moved |= self.execute(lane);
        }
        self.settle();
        self.collect();
        self.check_priorities();
        has_moved
    }

    fn check_outcomes(&self) {
        let mut memo = vec![None; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            let (fails, outcome) = (self.fails(number, &mut memo), node.ended.unwrap().outcome);
            assert!(!fails || outcome.is_err(), "{number} does not fail");
            assert!(fails || outcome.is_ok(), "{number} fails");
            match outcome {
                Err(told) => {
                    assert!(self.is_of_those_before(told, number), "{number} fails by {told:?}");
                    assert!(node.launches == 0 || self.has_broken || node.has_failed, "{number} has run");
                }
                Ok(()) => assert!(node.launches == node.turns || node.kind == Kind::Empty, "{number} has not run"),
            }
        }
    }

    /// Whether the node has failed, or a stated one before it fails.
    fn fails(&self, number: usize, memo: &mut Vec<Option<bool>>) -> bool {
        if let Some(known) = memo[number] {
            return known;
        }
        let node = &self.nodes[number];
        let mut stated = node.before.iter().filter(|it| it.is_stated());
        let fails = node.has_failed || stated.any(|it| self.fails(it.node, memo));
        memo[number] = Some(fails);
        fails
    }

    /// Whether the cause is that of a node that has failed: of this one or one before it.
    fn is_of_those_before(&self, told: Cause, number: usize) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([number]), vec![number]);
        while let Some(node) = open.pop() {
            open.extend(self.nodes[node].before.iter().map(|it| it.node).filter(|it| seen.insert(*it)));
        }
        seen.into_iter().any(|it| cause(it) == told && self.nodes[it].has_failed)
    }
}
