//! Joins: the points of other lanes that a lane waits for before a node.

use super::{LANES, Lanes};
use crate::node::Point;

impl Lanes {
    /// All later work waits for all that has been submitted by now.
    pub fn set_barrier(&mut self) {
        self.barrier += 1;
        for (value, lane) in self.barrier_values.iter_mut().zip(&self.lanes) {
            *value = lane.submitted;
        }
    }

    /// Whether there is a barrier that lanes join.
    #[inline]
    pub fn has_barrier(&self) -> bool {
        self.barrier != 0
    }

    /// Whether the lane has not joined the newest barrier.
    #[inline]
    pub fn has_new_barrier(&self, lane: u8) -> bool {
        self.barrier != 0 && self.lanes[usize::from(lane) % LANES].barrier != self.barrier
    }

    /// Begins the joins of a node in this lane: with those of a barrier, if there is a new one.
    #[inline]
    pub fn begin_joins(&mut self, lane: u8, joins: &mut Vec<Point>) {
        joins.clear();
        if self.has_new_barrier(lane) {
            self.join_barrier(lane, joins);
        }
    }

    fn join_barrier(&mut self, lane: u8, joins: &mut Vec<Point>) {
        self.lanes[usize::from(lane) % LANES].barrier = self.barrier;
        for other in 0..self.count() {
            self.join(lane, Point { lane: other, value: self.barrier_values[usize::from(other)] }, joins);
        }
    }

    /// The node at hand, in this lane, has to come after `point`.
    #[inline]
    pub fn join(&mut self, lane: u8, point: Point, joins: &mut Vec<Point>) {
        self.join_by(lane, point, |point| add(point, joins));
    }

    /// As [`Lanes::join`], where `add` adds a point to those of the node. It returns whether that is the first of its
    /// lane.
    #[inline(always)] // as `add`
    pub fn join_by(&mut self, lane: u8, point: Point, add: impl FnOnce(Point) -> bool) {
        if lane != point.lane && self.is_open(point) {
            self.join_open(lane, point, add);
        }
    }

    /// It has to come after the last point of its own lane, which is of another strand. Returns that, if there is one
    /// that it has to join: no other point of its lane is.
    pub fn join_own(&mut self, lane: u8) -> Option<Point> {
        let point = Point { lane, value: self.lanes[usize::from(lane) % LANES].submitted };
        let mut joined = None;
        if self.is_open(point) {
            self.join_open(lane, point, |point| joined.replace(point).is_none());
        }
        joined
    }

    /// `point` is one of those that a node of no lane stands for, unless it is complete.
    #[inline]
    pub fn gather(&self, point: Point, points: &mut Vec<Point>) {
        if self.is_open(point) {
            add(point, points);
        }
    }

    /// Whether the lane may not have come to the point.
    #[inline]
    fn is_open(&self, point: Point) -> bool {
        self.lanes[usize::from(point.lane) % LANES].completed < point.value
    }

    #[inline]
    fn join_open(&mut self, lane: u8, point: Point, add: impl FnOnce(Point) -> bool) {
        let pair = usize::from(lane) * usize::from(self.count) + usize::from(point.lane);
        let joined = &mut self.joined[pair];
        if *joined >= point.value {
            self.joins_saved += 1;
            return;
        }
        *joined = point.value;
        if add(point) {
            self.joins += 1;
        } else {
            self.joins_saved += 1;
        }
    }
}

/// Adds a point to those of a node, which are one for each lane: the last. Returns whether it is the first of its lane.
#[inline(always)] // its callers are small, and the answer is known in each of its ends
fn add(point: Point, points: &mut Vec<Point>) -> bool {
    for known in points.iter_mut() {
        if known.lane == point.lane {
            known.value = known.value.max(point.value);
            return false;
        }
    }
    points.push(point);
    true
}
