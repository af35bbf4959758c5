//! Nodes that are skipped: they do not run, and have ended as far as callers can see. Until the nodes before them have
//! ended they remain as empty nodes, so that later nodes still come after these.

use priority::Priority;

use crate::finish::Ended;
use crate::graph::Graph;
use crate::list::NONE;
use crate::node::{Kind, Mark, NodeId, Stage};

impl Graph {
    /// Whether the node was left out, and those before it have not ended: [`Graph::ended`] has returned it, or will.
    #[must_use]
    pub fn is_left_out(&self, node: NodeId) -> bool {
        self.nodes.find(node).is_some_and(|node| self.nodes[node].is_left)
    }

    /// The end of a node that was left out is wanted. Returns whether it was not before: no node comes before it later,
    /// so those that do are wanted once.
    pub fn want_left_out(&mut self, node: NodeId) -> bool {
        let Some(node) = self.nodes.find(node).filter(|node| self.nodes[*node].is_left) else { return false };
        !std::mem::replace(&mut self.nodes[node].is_left_wanted, true)
    }

    /// The node has failed, and no work of it is on the device. It ends, and those that fail with it know that. Where
    /// nodes before it have not ended, an empty node takes its place in the order, and passes no failure on.
    #[inline(never)]
    pub(crate) fn leave_out(&mut self, node: u32) {
        // To PhysX those behind it run.
        if self.nodes[node].into == NONE || self.is_physx() {
            return self.end(node);
        }
        let id = self.nodes.id(node);
        self.left_out += 1;
        let slot = &mut self.nodes[node];
        (slot.is_left, slot.kind, slot.stage, slot.own) = (true, Kind::Empty, Stage::Waiting, Priority::LOWEST);
        slot.is_left_wanted = false;
        slot.offers_strand = false;
        let strand = std::mem::replace(&mut slot.strand, NONE);
        let last = if self.ended.first == NONE { NodeId::NONE } else { self.nodes.id(self.ended.last) };
        self.left.push_back((id, last));
        if strand != NONE && self.lanes.leave(strand) {
            self.lanes.free_strand(strand, true);
        }
        // It is told as one that has ended, so its name is free.
        self.nodes.withdraw_name(node);
        self.fail_those_behind(node);
        self.lower(node);
        if self.count_history(node) == 0 {
            self.todo.push_back(node);
        }
    }

    /// Those that fail with the node do not wait for it any more. Their edges stay, for the order.
    fn fail_those_behind(&mut self, node: u32) {
        let Some(cause) = self.nodes[node].poison else { return };
        let mut edge = self.nodes[node].out.first;
        while edge != NONE {
            self.mark_anew(edge);
            let it = *self.edge(edge);
            if !it.passes_no_failure && !self.nodes[it.to].is_left {
                self.poison_after(it.to, cause);
                if it.is_counted {
                    self.edge_mut(edge).is_counted = false;
                    self.drop_reference(it.to, self.is_usual);
                }
            }
            edge = it.out_next;
        }
    }

    /// It waits for those before it as an empty node does, and raises them. Returns how many that are.
    fn count_history(&mut self, node: u32) -> u32 {
        let (mut references, effective) = (0, self.nodes[node].effective);
        let mut edge = self.nodes[node].into;
        while edge != NONE {
            self.mark_anew(edge);
            let is_launched = self.nodes[self.edge(edge).from].stage == Stage::Launched;
            let it = self.edge_mut(edge);
            it.is_counted = !is_launched || it.mark != Mark::Launched;
            references += u32::from(it.is_counted);
            let from = it.from;
            edge = it.into_next;
            self.raise(from, effective);
        }
        self.nodes[node].references = references;
        references
    }

    /// Nodes of no lane that have been launched behind this one, which was in a lane, stand for its points too.
    pub(crate) fn hand_points_on(&mut self, node: u32) {
        let points = self.nodes[node].points;
        self.visit += 1;
        self.stack.push(node);
        while let Some(node) = self.stack.pop() {
            let mut edge = self.nodes[node].out.first;
            while edge != NONE {
                let it = *self.edge(edge);
                edge = it.out_next;
                let slot = &self.nodes[it.to];
                if slot.stage == Stage::Launched && !slot.kind.is_device() && slot.visit != self.visit {
                    self.nodes[it.to].visit = self.visit;
                    let mut list = points;
                    while let Some((point, rest)) = self.points.split(list) {
                        self.nodes[it.to].points = self.points.push(self.nodes[it.to].points, point);
                        list = rest;
                    }
                    self.stack.push(it.to);
                }
            }
        }
    }

    /// As [`Graph::ended`], where nodes are left out: those that stay in the order are returned once, when they would
    /// have ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn ended_or_left_out(&mut self) -> Option<Ended> {
        loop {
            if let Some(ended) = self.next_left() {
                return Some(ended);
            }
            let first = self.ended.first;
            let is_told = first != NONE && std::mem::take(&mut self.nodes[first].is_left);
            let ended = self.take_ended()?;
            if !is_told {
                return Some(ended);
            }
            self.left_out -= 1;
        }
    }

    /// The oldest of those that have not been returned, if it is the next. From now on it has no failure.
    fn next_left(&mut self) -> Option<Ended> {
        let (id, last) = *self.left.front()?;
        if self.nodes.find(last).is_some() {
            return None;
        }
        self.left.pop_front();
        let slot = &mut self.nodes[id.index];
        let outcome = slot.poison.take().map_or(Ok(()), Err);
        Some(Ended { node: id, outcome, turns: slot.turns })
    }
}
