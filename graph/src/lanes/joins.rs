//! Joins: the points of other lanes that a lane waits for before a node.

use super::{LANES, Lane, Lanes};
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
    pub fn begin_joins(&mut self, lane: u8) {
        if self.has_new_barrier(lane) {
            self.join_barrier(lane);
        }
    }

    fn join_barrier(&mut self, lane: u8) {
        self.lanes[usize::from(lane) % LANES].barrier = self.barrier;
        for other in 0..self.count() {
            self.want(Some(lane), Point { lane: other, value: self.barrier_values[usize::from(other)] });
        }
    }

    /// A node of this lane wants its last point to be marked, which is of another strand.
    pub fn want_own(&mut self, lane: u8) {
        let Lane { submitted, completed, .. } = self.lanes[usize::from(lane) % LANES];
        if completed < submitted {
            self.want_other(Some(lane), Point { lane, value: submitted });
        }
    }

    /// A node, in this lane if in any, has to come after `point`.
    #[inline]
    pub fn want(&mut self, lane: Option<u8>, point: Point) {
        if lane != Some(point.lane) && self.lanes[usize::from(point.lane) % LANES].completed < point.value {
            self.want_other(lane, point);
        }
    }

    fn want_other(&mut self, lane: Option<u8>, point: Point) {
        let is_joined = lane.is_some_and(|lane| self.joined[self.pair(lane, point.lane)] >= point.value);
        let bit = 1 << point.lane;
        if is_joined || self.wanted & bit != 0 {
            self.joins_saved += u64::from(lane.is_some());
        }
        if is_joined {
            return;
        }
        let latest = &mut self.latest[usize::from(point.lane) % LANES];
        *latest = if self.wanted & bit == 0 { point.value } else { point.value.max(*latest) };
        self.wanted |= bit;
    }

    /// The points wanted, one for each lane. Where they are the joins of a node in a lane, that lane has joined them.
    #[inline]
    pub fn take_wanted(&mut self, lane: Option<u8>, into: &mut Vec<Point>) {
        into.clear();
        while self.wanted != 0 {
            let other = self.wanted.trailing_zeros() as u8;
            self.wanted &= self.wanted - 1;
            let value = self.latest[usize::from(other) % LANES];
            into.push(Point { lane: other, value });
            if let Some(lane) = lane {
                let pair = self.pair(lane, other);
                self.joined[pair] = value;
                self.joins += 1;
            }
        }
    }

    #[inline]
    fn pair(&self, lane: u8, other: u8) -> usize {
        usize::from(lane) * usize::from(self.count) + usize::from(other)
    }
}
