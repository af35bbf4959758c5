//! Lanes, which are real and few, and strands: the logical streams that are folded onto them.

use terms::Priority;

use crate::convoys::{Convoys, has_two};
use crate::list::{NONE, Pair};
use crate::node::{Point, Slot, Stage};
use crate::options::{LANE_DEVICES_MAX, LANES_MAX, Options};

/// The lanes that there may be: a power of two, so an index needs no check.
const LANES: usize = LANES_MAX as usize;

/// The priorities that there may be, and no priority: a power of two, so an index needs no check.
const PRIORITIES: usize = 32;

/// A stream of the device, with the points submitted to it.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lane {
    submitted: u64,
    completed: u64,
    /// The launched nodes that are not complete, in a list by `Slot::next`; `last` has a meaning while there are some.
    in_flight: Pair,
    /// How many strands are folded onto it.
    strands: u32,
    /// The nodes that have been handed out and not been launched. Counted where lanes have a bound.
    running: u32,
    /// The newest barrier that it has joined.
    barrier: u64,
}

/// A logical stream.
struct Strand {
    lane: u8,
    is_convoy: bool,
    /// The nodes that are in it and have not ended.
    holders: u32,
    next_free: u32,
}

/// All lanes and strands, and their joins.
pub(crate) struct Lanes {
    lanes: [Lane; LANES],
    count: u8,
    per_group: u8,
    /// The most nodes of a lane that have been handed out and are not complete.
    max: u64,
    /// The group of each priority on each device; that of the highest, 32, is the first.
    groups: [u8; PRIORITIES * LANE_DEVICES_MAX as usize],
    /// The lanes onto which no strand is folded, a bit each.
    empty: u64,
    strands: Vec<Strand>,
    free: u32,
    convoys: Convoys,
    /// Strands without nodes that are not free before all simulations have ended (PX-18).
    retired: Vec<u32>,
    /// For each pair of lanes the last value of the second that the first has joined.
    joined: Vec<u64>,
    /// The last values of all lanes at the newest barrier.
    barrier_values: Vec<u64>,
    barrier: u64,
    /// The joins of the node at hand: the latest value of each lane, and the lanes that have one, a bit each. There are
    /// none between two nodes.
    latest: Vec<u64>,
    wanted: u64,
    pub joins: u64,
    pub joins_saved: u64,
}

impl Lanes {
    pub fn new(options: &Options) -> Lanes {
        let count = usize::from(options.devices) * usize::from(options.groups) * usize::from(options.lanes);
        let mut groups = [0; PRIORITIES * LANE_DEVICES_MAX as usize];
        for (device, groups) in (0..options.devices).zip(groups.chunks_mut(PRIORITIES)) {
            for priority in options.priorities.iter() {
                let level = u16::from(priority.get() - 1);
                let group = level * u16::from(options.groups) / u16::from(options.priorities.count());
                groups[usize::from(priority.get()) % PRIORITIES] = device * options.groups + group as u8;
            }
        }
        let lane = Lane { submitted: 0, completed: 0, in_flight: Pair::EMPTY, strands: 0, running: 0, barrier: 0 };
        Lanes {
            lanes: [lane; LANES],
            count: count as u8,
            per_group: options.lanes,
            max: if options.lane_max == 0 { u64::MAX } else { options.lane_max.into() },
            groups,
            empty: u64::MAX,
            strands: Vec::new(),
            free: NONE,
            convoys: Convoys::default(),
            retired: Vec::new(),
            joined: vec![0; count * count],
            barrier_values: vec![0; count],
            barrier: 0,
            latest: vec![0; LANES],
            wanted: 0,
            joins: 0,
            joins_saved: 0,
        }
    }

    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The group of a priority on a device.
    #[inline]
    fn group_of(&self, device: u8, priority: Priority) -> u8 {
        let place = usize::from(device) * PRIORITIES + usize::from(priority.get()) % PRIORITIES;
        self.groups[place % self.groups.len()]
    }

    /// Whether the node's strand is one of its priority's group, if it has any.
    #[inline]
    pub fn is_of_group(&self, slot: &Slot) -> bool {
        slot.group == self.group_of(slot.device, slot.effective)
    }

    /// A strand for a node: a convoy, or a new one in the lane of its group that has the fewest.
    #[inline(never)]
    pub fn new_strand(&mut self, slot: &mut Slot) {
        if slot.in_convoy {
            return self.join_convoy(slot);
        }
        self.begin_strand(slot, false);
        // Its points come behind those of others, which are marked first: nodes that join those do not wait for these.
        slot.is_folded = slot.has_joins && self.is_shared(slot.lane);
    }

    /// The node goes in the convoy of its kind, which begins with it if there is none. One that has to wait for other
    /// lanes would hold up those behind it, so it has a strand of its own while there is a lane for that.
    #[inline(never)]
    fn join_convoy(&mut self, slot: &mut Slot) {
        let group = self.group_of(slot.device, slot.effective);
        if slot.has_joins && has_two(self.empty, group * self.per_group, self.per_group) {
            return self.begin_strand(slot, false);
        }
        slot.is_convoy = true;
        let Some(strand) = self.convoys.find(slot) else {
            self.begin_strand(slot, true);
            return self.convoys.begin(slot);
        };
        self.hold(strand, 1);
        (slot.strand, slot.lane, slot.group) = (strand, self.strands[strand as usize].lane, group);
    }

    /// Whether several strands are folded onto the lane.
    #[inline]
    fn is_shared(&self, lane: u8) -> bool {
        self.lanes[usize::from(lane) % LANES].strands > 1
    }

    fn begin_strand(&mut self, slot: &mut Slot, is_convoy: bool) {
        let group = self.group_of(slot.device, slot.effective);
        let lane = self.least(group, is_convoy);
        self.lanes[usize::from(lane) % LANES].strands += 1;
        self.empty &= !(1 << lane);
        let strand = Strand { lane, is_convoy, holders: 1, next_free: NONE };
        let index = match self.strands.get_mut(self.free as usize) {
            Some(free) => {
                let index = self.free;
                self.free = free.next_free;
                *free = strand;
                index
            }
            None => {
                self.strands.push(strand);
                self.strands.len() as u32 - 1
            }
        };
        (slot.strand, slot.lane, slot.group) = (index, lane, group);
    }

    /// The first lane of the group that has the fewest strands: one with room and without a convoy, if it can be. The
    /// last lane without strands is a convoy's, where there are convoys.
    fn least(&self, group: u8, is_convoy: bool) -> u8 {
        let first = group * self.per_group;
        let empty = (self.empty >> first).trailing_zeros() as u8;
        if empty < self.per_group && (is_convoy || self.convoys.leave(self.empty, first, self.per_group)) {
            return first + empty;
        }
        let order = |&lane: &u8| {
            let is_full = self.max != u64::MAX && self.room(lane) == 0;
            u64::from(is_full) << 34 | self.convoys.order(lane, self.lanes[usize::from(lane) % LANES].strands)
        };
        (first..first + self.per_group).min_by_key(order).unwrap_or(first)
    }

    /// The node behind goes on in the strand, if it has none and no other node has it (PX-14). If not, it has to join.
    #[inline(always)] // it is the common case of two calls, which have the slots at hand
    pub fn offer(&mut self, offer: &mut Slot, taker: &mut Slot) -> bool {
        let fits = offer.offers_strand
            && taker.kind.is_device()
            && taker.strand == NONE
            && !(taker.in_convoy && self.is_shared(offer.lane))
            && offer.group == self.group_of(taker.device, taker.effective);
        if fits {
            self.hold(offer.strand, 1);
            offer.hand_on(taker);
        } else {
            taker.has_joins = true;
        }
        fits
    }

    /// Whether a new node of this priority goes on in the strand of a launched one, and nothing else changes by it.
    #[inline]
    pub fn goes_on(&self, first: &Slot, device: u8, priority: Priority) -> bool {
        first.offers_strand
            && first.out.first == NONE
            && first.effective >= priority
            && first.poison.is_none()
            && first.group == self.group_of(device, priority)
    }

    /// So many nodes more.
    #[inline]
    pub fn hold(&mut self, strand: u32, count: u32) {
        self.strands[strand as usize].holders += count;
    }

    /// The node goes to a strand of its priority's group, and has to join those before it.
    pub fn change_strand(&mut self, slot: &mut Slot) {
        if self.leave(slot.strand) {
            self.free_strand(slot.strand, true);
        }
        self.new_strand(slot);
        slot.has_joins = true;
    }

    /// One node less. Returns whether the strand has none.
    #[inline]
    pub fn leave(&mut self, strand: u32) -> bool {
        let left = &mut self.strands[strand as usize];
        left.holders -= 1;
        left.holders == 0
    }

    /// A strand without nodes is free, so never before its last work is complete (T19).
    #[inline(never)]
    pub fn free_strand(&mut self, strand: u32, may_be_freed: bool) {
        let left = &mut self.strands[strand as usize];
        let lane = &mut self.lanes[usize::from(left.lane) % LANES];
        lane.strands -= 1;
        self.empty |= u64::from(lane.strands == 0) << left.lane;
        if std::mem::take(&mut left.is_convoy) {
            self.convoys.end(strand);
        }
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

    /// The node has been launched: it gets the next point of its lane. Returns that, and the node before it there, if
    /// its priority is lower.
    #[inline]
    pub fn submit(&mut self, slots: &mut [Slot], node: u32) -> (Point, Option<u32>) {
        let slot = &mut slots[node as usize];
        (slot.stage, slot.offers_strand) = (Stage::Launched, !slot.is_convoy);
        let number = slot.lane;
        let lane = &mut self.lanes[usize::from(number) % LANES];
        lane.submitted += 1;
        slot.value = lane.submitted;
        let point = Point { lane: number, value: lane.submitted };
        let last = std::mem::replace(&mut lane.in_flight.last, node);
        if lane.in_flight.first == NONE {
            lane.in_flight.first = node;
            return (point, None);
        }
        slot.previous = last;
        let effective = slot.effective;
        let before = &mut slots[last as usize];
        before.next = node;
        (point, (before.effective < effective).then_some(last))
    }

    /// The lane has come to `value`, with this node: those up to it are linked.
    #[inline]
    pub fn go_on(&mut self, lane: u8, value: u64, node: u32) {
        let lane = &mut self.lanes[usize::from(lane) % LANES];
        (lane.submitted, lane.in_flight.last) = (value, node);
    }

    /// How many nodes more may be handed out in this lane.
    pub fn room(&self, lane: u8) -> u64 {
        let lane = &self.lanes[usize::from(lane) % LANES];
        self.max.saturating_sub(lane.submitted - lane.completed + u64::from(lane.running))
    }

    /// A node is handed out, and takes room in its lane.
    pub fn begin(&mut self, lane: u8) {
        self.lanes[usize::from(lane) % LANES].running += 1;
    }

    /// A node that took room has been launched, or never will be.
    pub fn begun(&mut self, lane: u8) {
        let lane = &mut self.lanes[usize::from(lane) % LANES];
        lane.running = lane.running.saturating_sub(1);
    }

    /// The next point of the lane, for no node.
    pub fn submit_point(&mut self, lane: u8) -> u64 {
        let lane = &mut self.lanes[usize::from(lane) % LANES];
        lane.submitted += 1;
        lane.submitted
    }

    #[inline]
    pub fn submitted(&self, lane: u8) -> Option<u64> {
        (lane < self.count).then(|| self.lanes[usize::from(lane) % LANES].submitted)
    }

    /// The lane has come to `value`.
    #[inline]
    pub fn complete(&mut self, lane: u8, value: u64) {
        let lane = &mut self.lanes[usize::from(lane) % LANES];
        lane.completed = lane.completed.max(value);
    }

    /// The first node of the lane that has not ended, or none.
    #[inline]
    pub fn first_in_flight(&self, lane: u8) -> u32 {
        self.lanes[usize::from(lane) % LANES].in_flight.first
    }

    /// The node behind one in flight, whose link is `next`, or none.
    #[inline]
    pub fn next_in_flight(&self, lane: u8, node: u32, next: u32) -> u32 {
        if node == self.lanes[usize::from(lane) % LANES].in_flight.last { NONE } else { next }
    }

    /// Those before this one are no longer in flight; all, if it is none.
    #[inline]
    pub fn set_first_in_flight(&mut self, lane: u8, first: u32) {
        self.lanes[usize::from(lane) % LANES].in_flight.first = first;
    }

    /// The node before one that is in flight, in its lane.
    pub fn before(&self, slot: &Slot, node: u32) -> Option<u32> {
        (self.lanes[usize::from(slot.lane) % LANES].in_flight.first != node).then_some(slot.previous)
    }

    /// The node behind one that is in flight, in its lane.
    pub fn behind(&self, slot: &Slot, node: u32) -> Option<u32> {
        (self.lanes[usize::from(slot.lane) % LANES].in_flight.last != node).then_some(slot.next)
    }

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
        usize::from(lane) * usize::from(self.count) + usize::from(other)
    }
}
