//! Lanes, which are few and real streams, and strands: the virtual streams that are folded onto them.

mod joins;
mod strands;

use priority::Priority;

use crate::copy_strands::CopyStrands;
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
    /// The newest barrier that it has joined.
    barrier: u64,
}

/// A logical stream.
struct Strand {
    lane: u8,
    is_copy_strand: bool,
    /// The nodes that are in it and have not ended.
    holders: u32,
    next_free: u32,
}

/// All lanes and strands, and their joins.
pub(crate) struct Lanes {
    lanes: [Lane; LANES],
    count: u8,
    per_group: u8,
    /// The group of each priority on each device; that of the highest, 32, is the first.
    groups: [u8; PRIORITIES * LANE_DEVICES_MAX as usize],
    /// How many strands are folded onto each lane. Beside each other, because they are compared.
    folded: [u32; LANES],
    /// The lanes onto which no strand is folded, a bit each.
    empty: u64,
    strands: Vec<Strand>,
    free: u32,
    copy_strands: CopyStrands,
    /// Strands without nodes that are not free before all simulations have ended (PX-18).
    retired: Vec<u32>,
    /// For each pair of lanes the last value of the second that the first has joined.
    joined: Vec<u64>,
    /// The last values of all lanes at the newest barrier.
    barrier_values: Vec<u64>,
    barrier: u64,
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
        let lane = Lane { submitted: 0, completed: 0, in_flight: Pair::EMPTY, barrier: 0 };
        Lanes {
            lanes: [lane; LANES],
            count: count as u8,
            per_group: options.lanes,
            groups,
            folded: [0; LANES],
            empty: u64::MAX,
            strands: Vec::new(),
            free: NONE,
            copy_strands: CopyStrands::default(),
            retired: Vec::new(),
            joined: vec![0; count * count],
            barrier_values: vec![0; count],
            barrier: 0,
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
    pub fn group_of(&self, device: u8, priority: Priority) -> u8 {
        let place = usize::from(device) * PRIORITIES + usize::from(priority.get()) % PRIORITIES;
        self.groups[place % self.groups.len()]
    }

    /// Whether the node's strand is one of its priority's group, if it has any.
    #[inline]
    pub fn is_of_group(&self, slot: &Slot) -> bool {
        slot.group == self.group_of(slot.device, slot.effective)
    }

    /// Whether several strands are folded onto the lane.
    #[inline]
    fn is_shared(&self, lane: u8) -> bool {
        self.folded[usize::from(lane) % LANES] > 1
    }

    /// The node behind goes on in the strand, if it has none and no other node has it (PX-14). If not, it has to join.
    #[inline(always)] // it is the common case of two calls, which have the slots at hand
    pub fn offer(&mut self, offer: &mut Slot, taker: &mut Slot) -> bool {
        let fits = offer.offers_strand
            && taker.kind.is_device()
            && taker.strand == NONE
            && !(taker.in_copy_strand && self.is_shared(offer.lane))
            && offer.group == self.group_of(taker.device, taker.effective);
        if fits {
            self.hold(offer.strand, 1);
            offer.hand_on(taker);
        } else {
            taker.has_joins = true;
        }
        fits
    }

    /// So many nodes more.
    #[inline]
    pub fn hold(&mut self, strand: u32, count: u32) {
        self.strands[strand as usize].holders += count;
    }

    /// The node has been launched: it gets the next point of its lane. Returns that, and the node before it there, if
    /// its priority is lower.
    #[inline(always)] // as `Graph::enter_lane`
    pub fn submit(&mut self, slots: &mut [Slot], node: u32) -> (Point, Option<u32>) {
        let slot = &mut slots[node as usize];
        (slot.stage, slot.offers_strand) = (Stage::Launched, !slot.is_copy_strand);
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
}
