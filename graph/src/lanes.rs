//! Lanes, which are real and few, and strands: the logical streams that are folded onto them.

use crate::list::{NONE, Pair};
use crate::node::Point;
use crate::nodes::Nodes;
use crate::options::{LANES_MAX, Options};

/// A stream of the device, with the points submitted to it.
struct Lane {
    submitted: u64,
    completed: u64,
    /// The launched nodes that are not complete, in a list by `Slot::next`.
    in_flight: Pair,
    /// How many strands are folded onto it.
    strands: u32,
    /// The newest barrier that it has joined.
    barrier: u64,
}

/// A logical stream.
struct Strand {
    lane: u8,
    group: u8,
    /// The nodes that are in it and have not ended.
    holders: u32,
    next_free: u32,
}

/// All lanes and strands, and their joins.
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    per_group: u8,
    strands: Vec<Strand>,
    free: u32,
    /// Strands without nodes that are not free before all simulations have ended (PX-18).
    retired: Vec<u32>,
    /// For each pair of lanes the last value of the second that the first has joined.
    joined: Vec<u64>,
    /// The last values of all lanes at the newest barrier.
    barrier_values: Vec<u64>,
    barrier: u64,
    /// The joins of the node at hand: the latest value of each lane, and the lanes that have one, a bit each.
    latest: Vec<u64>,
    wanted: u64,
    pub joins: u64,
    pub joins_saved: u64,
}

impl Lanes {
    pub fn new(options: &Options) -> Lanes {
        let count = usize::from(options.groups) * usize::from(options.lanes);
        let lane = || Lane { submitted: 0, completed: 0, in_flight: Pair::EMPTY, strands: 0, barrier: 0 };
        Lanes {
            lanes: (0..count).map(|_| lane()).collect(),
            per_group: options.lanes,
            strands: Vec::new(),
            free: NONE,
            retired: Vec::new(),
            joined: vec![0; count * count],
            barrier_values: vec![0; count],
            barrier: 0,
            latest: vec![0; LANES_MAX as usize],
            wanted: 0,
            joins: 0,
            joins_saved: 0,
        }
    }

    pub fn count(&self) -> u8 {
        self.lanes.len() as u8
    }

    /// A strand in the lane of the group that has the fewest.
    pub fn new_strand(&mut self, group: u8) -> u32 {
        let first = usize::from(group) * usize::from(self.per_group);
        let lanes = &self.lanes[first..first + usize::from(self.per_group)];
        let least = lanes.iter().enumerate().min_by_key(|(_, lane)| lane.strands).map_or(0, |(index, _)| index);
        let lane = (first + least) as u8;
        self.lanes[usize::from(lane)].strands += 1;
        if self.free == NONE {
            self.strands.push(Strand { lane, group, holders: 0, next_free: NONE });
            return self.strands.len() as u32 - 1;
        }
        let index = self.free;
        let strand = &mut self.strands[index as usize];
        self.free = strand.next_free;
        *strand = Strand { lane, group, holders: 0, next_free: NONE };
        index
    }

    #[inline]
    pub fn lane_of(&self, strand: u32) -> u8 {
        self.strands[strand as usize].lane
    }

    #[inline]
    pub fn group_of(&self, strand: u32) -> u8 {
        self.strands[strand as usize].group
    }

    /// One more node is in the strand.
    #[inline]
    pub fn enter(&mut self, strand: u32) {
        self.strands[strand as usize].holders += 1;
    }

    /// One node less. The strand is free when it has none, so never before its last work is complete (T19).
    #[inline]
    pub fn leave(&mut self, strand: u32, may_be_freed: bool) {
        let left = &mut self.strands[strand as usize];
        left.holders -= 1;
        if left.holders > 0 {
            return;
        }
        self.lanes[usize::from(left.lane)].strands -= 1;
        if may_be_freed {
            left.next_free = self.free;
            self.free = strand;
        } else {
            self.retired.push(strand);
        }
    }

    /// No simulation runs any more.
    pub fn free_retired(&mut self) {
        while let Some(strand) = self.retired.pop() {
            self.strands[strand as usize].next_free = self.free;
            self.free = strand;
        }
    }

    /// The next point of the lane, for this node. Returns the value, and the node before it.
    #[inline]
    pub fn submit(&mut self, nodes: &mut Nodes, lane: u8, node: u32) -> (u64, u32) {
        let lane = &mut self.lanes[usize::from(lane)];
        lane.submitted += 1;
        let last = std::mem::replace(&mut lane.in_flight.last, node);
        match last {
            NONE => lane.in_flight.first = node,
            last => nodes[last].next = node,
        }
        let slot = &mut nodes[node];
        (slot.previous, slot.next, slot.value) = (last, NONE, lane.submitted);
        (lane.submitted, last)
    }

    /// The next point of the lane, for no node.
    pub fn submit_point(&mut self, lane: u8) -> u64 {
        let lane = &mut self.lanes[usize::from(lane)];
        lane.submitted += 1;
        lane.submitted
    }

    #[inline]
    pub fn submitted(&self, lane: u8) -> Option<u64> {
        self.lanes.get(usize::from(lane)).map(|lane| lane.submitted)
    }

    /// The lane has come to `value`. Returns the first node up to there that has not been returned.
    #[inline]
    pub fn complete_one(&mut self, nodes: &mut Nodes, lane: u8, value: u64) -> Option<u32> {
        let lane = &mut self.lanes[usize::from(lane)];
        lane.completed = lane.completed.max(value);
        let first = lane.in_flight.first;
        if first == NONE || nodes[first].value > value {
            return None;
        }
        let next = nodes[first].next;
        lane.in_flight.first = next;
        match next {
            NONE => lane.in_flight.last = NONE,
            next => nodes[next].previous = NONE,
        }
        Some(first)
    }

    /// All later work waits for all that has been submitted by now.
    pub fn set_barrier(&mut self) {
        self.barrier += 1;
        for (value, lane) in self.barrier_values.iter_mut().zip(&self.lanes) {
            *value = lane.submitted;
        }
    }

    /// Whether the lane has not joined the newest barrier.
    #[inline]
    pub fn has_new_barrier(&self, lane: u8) -> bool {
        self.lanes[usize::from(lane)].barrier != self.barrier
    }

    /// Begins the joins of a node in this lane: with those of a barrier, if there is a new one.
    #[inline]
    pub fn begin_joins(&mut self, lane: u8) {
        self.wanted = 0;
        if self.has_new_barrier(lane) {
            self.join_barrier(lane);
        }
    }

    fn join_barrier(&mut self, lane: u8) {
        self.lanes[usize::from(lane)].barrier = self.barrier;
        for other in 0..self.count() {
            self.want(Some(lane), Point { lane: other, value: self.barrier_values[usize::from(other)] });
        }
    }

    /// Begins to collect points for no lane.
    #[inline]
    pub fn begin_points(&mut self) {
        self.wanted = 0;
    }

    /// A node, in this lane if in any, has to come after `point`.
    #[inline]
    pub fn want(&mut self, lane: Option<u8>, point: Point) {
        if lane != Some(point.lane) && self.lanes[usize::from(point.lane)].completed < point.value {
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
        let latest = &mut self.latest[usize::from(point.lane)];
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
            let value = self.latest[usize::from(other)];
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
        usize::from(lane) * self.lanes.len() + usize::from(other)
    }
}
