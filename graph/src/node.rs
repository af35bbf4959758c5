//! Nodes: their descriptions, and their slots, which hold their first edges.

use std::fmt;
use std::num::NonZeroU32;

use priority::{Direction, Priority};

use crate::list::{NONE, Pair};

/// A node. The slot of a node that has ended is used again, under another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl NodeId {
    /// That of no node.
    pub const NONE: NodeId = NodeId { index: NONE, generation: 0 };

    /// The number of the slot, for arrays beside the graph. It stays this node's until [`crate::Graph::ended`] has
    /// returned the node.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}.{}", self.index, self.generation)
    }
}

/// The work of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Copies.
    Copy(Direction),
    /// Kernels.
    Kernel,
    /// None: the node only joins others. It is launched when those before it are.
    Empty,
    /// A function that a worker thread runs.
    Host,
    /// A short function that the thread runs which finds it ready.
    Light,
}

impl Kind {
    /// Whether the work is submitted to the device.
    #[must_use]
    pub const fn is_device(self) -> bool {
        matches!(self, Kind::Kernel | Kind::Copy(_))
    }

    /// Whether the work is a function that the host runs.
    #[must_use]
    pub const fn is_host(self) -> bool {
        matches!(self, Kind::Host | Kind::Light)
    }

    /// The place in a round, a bit each: copies to the device, kernels, copies to the host (PX-11). Copies on the
    /// device go among the kernels.
    #[inline]
    pub(crate) const fn phase(self) -> u8 {
        // Tested first: a kernel's costs one look.
        if matches!(self, Kind::Kernel) { 2 } else { self.phase_of_other() }
    }

    #[inline(never)]
    const fn phase_of_other(self) -> u8 {
        match self {
            Kind::Copy(Direction::HostToDevice) => 1,
            Kind::Copy(Direction::DeviceToHost) => 4,
            _ => 2,
        }
    }
}

/// The outcome of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// All its work has been submitted, or its function has run.
    Launched,
    /// Its work is done, and so is all that it comes after.
    Complete,
}

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has references.
    Waiting,
    /// It has none, and is in a queue.
    Ready,
    /// [`crate::Graph::next`] has handed it out.
    Running,
    /// [`Mark::Launched`].
    Launched,
    /// [`Mark::Complete`], or it has failed.
    Ended,
}

/// The reason of a failure: a number that the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause(pub NonZeroU32);

/// A place in the order of a lane. It is complete when the lane's timeline has come to `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// The lane.
    pub lane: u8,
    /// The number of the node in the lane, from 1 up.
    pub value: u64,
}

/// A caller's description of a new node.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// Its work.
    pub kind: Kind,
    /// Its own priority; it inherits that of the nodes that come after it.
    pub priority: Priority,
    /// The name in errors, or nothing.
    pub name: &'a str,
    /// The nodes that it comes after. Those that have ended are no edge.
    pub after: &'a [NodeId],
    /// References that [`crate::Graph::release`] takes away (PX-03).
    pub references: u32,
    /// The device that does its work, if a device does.
    pub device: u8,
    /// It is a copy that goes in the copy strand of its kind: behind others of its direction and priority, and no node
    /// after it goes on in its strand.
    pub in_copy_strand: bool,
}

impl Spec<'_> {
    /// A plain node with this work: of the lowest priority, without a name, behind none, on the first device.
    #[inline]
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Spec { kind, priority: Priority::LOWEST, name: "", after: &[], references: 0, device: 0, in_copy_strand: false }
    }
}

/// The bit of the number of an edge that stands in the slot of the node after it; the rest is that node's number.
///
/// The first edge into a node stands there, so the common node, with one before it, needs no other memory. All later
/// ones stand in an array.
pub(crate) const IN_SLOT: u32 = 1 << 31;

/// An edge, in the list of those out of `from` and in that of those into `to`. The first of a list has no `previous`:
/// the node tells which that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
    pub out_previous: u32,
    pub out_next: u32,
    pub into_next: u32,
    pub into_previous: u32,
    /// The mark of `from` that `to` starts at.
    pub mark: Mark,
    /// The caller has asked for that mark.
    pub is_asked: bool,
    /// It is one of the references of `to`.
    pub is_counted: bool,
    /// `to` does not fail with `from`.
    pub passes_no_failure: bool,
}

impl Edge {
    /// An edge in no list.
    #[inline(always)]
    pub const fn new(from: u32, to: u32, mark: Mark, is_asked: bool, is_counted: bool) -> Edge {
        let (out_previous, out_next, into_previous, into_next) = (NONE, NONE, NONE, NONE);
        let passes_no_failure = false;
        Edge {
            from,
            to,
            out_previous,
            out_next,
            into_next,
            into_previous,
            mark,
            is_asked,
            is_counted,
            passes_no_failure,
        }
    }
}

/// The state of a node. Its size is a power of two, which makes an index a shift.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(crate) struct Slot {
    pub generation: u32,
    /// Counted edges and held references.
    pub references: u32,
    /// The references that the caller has to release.
    pub held: u32,
    /// Edges to the nodes that come after this one, in the order in which they were made.
    pub out: Pair,
    /// The first edge that was made from a node that comes before. The others are elsewhere.
    pub edge: Edge,
    /// The newest edge from a node that comes before.
    pub into: u32,
    /// The neighbours in a ready queue or in a lane, or the next slot that has ended or is free. The first of a list
    /// has no `previous` and the last no `next`: the list tells which nodes those are.
    pub previous: u32,
    pub next: u32,
    /// The logical stream.
    pub strand: u32,
    /// How often the node has been handed out.
    pub turns: u32,
    /// The points that the nodes behind this one have to join: of a node that is none of the device.
    pub points: u32,
    /// The place in the lane.
    pub value: u64,
    /// The last search for a circle that came here.
    pub visit: u64,
    /// Nodes that were made later have higher ones.
    pub number: u64,
    pub poison: Option<Cause>,
    /// Of ready nodes of one priority that of the highest rank is the next, where ranks are looked at.
    pub rank: u32,
    pub kind: Kind,
    pub stage: Stage,
    pub own: Priority,
    /// The inherited one included.
    pub effective: Priority,
    /// The priority that the caller has been told.
    pub told: Priority,
    pub lane: u8,
    /// The group of the lane.
    pub group: u8,
    pub device: u8,
    /// A node after it may go on in its strand.
    pub offers_strand: bool,
    /// It goes in the copy strand of its kind, unless it goes on in a strand.
    pub in_copy_strand: bool,
    /// Its strand is a copy strand.
    pub is_copy_strand: bool,
    /// Its strand begins behind others in their lane.
    pub is_folded: bool,
    /// It was handed out beside others, and its strand began with that.
    pub is_strand_new: bool,
    /// An edge leads here from a launched node in another strand, or in none; or the priority has changed since the
    /// node has a strand.
    pub has_joins: bool,
    /// It has a name by which others refer to it, and has not been submitted (PX-05).
    pub is_absent: bool,
    /// Something goes with it when it leaves: a name by which others refer to it, or a rank.
    pub is_kept: bool,
    /// PhysX waits for idle before it (PX-15, PX-16).
    pub wants_sync: bool,
    /// It has a name.
    pub has_name: bool,
    /// It was handed out without the queue.
    pub is_alone: bool,
    /// It is in the list of changed priorities.
    pub is_changed: bool,
    /// It was not run, and stays in the order until those before it have ended.
    pub is_left: bool,
    /// Such a node: its end was asked for, and with it those before it.
    pub is_left_wanted: bool,
}

impl Slot {
    pub const EMPTY: Slot = Slot {
        generation: 0,
        references: 0,
        held: 0,
        out: Pair::EMPTY,
        edge: Edge::new(NONE, NONE, Mark::Launched, false, false),
        into: NONE,
        previous: NONE,
        next: NONE,
        strand: NONE,
        turns: 0,
        points: NONE,
        rank: 0,
        value: 0,
        visit: 0,
        number: 0,
        poison: None,
        kind: Kind::Empty,
        stage: Stage::Ended,
        own: Priority::LOWEST,
        effective: Priority::LOWEST,
        told: Priority::LOWEST,
        lane: 0,
        group: 0,
        device: 0,
        offers_strand: false,
        in_copy_strand: false,
        is_copy_strand: false,
        is_folded: false,
        is_strand_new: false,
        has_joins: false,
        is_absent: false,
        is_kept: false,
        wants_sync: false,
        is_changed: false,
        is_alone: false,
        is_left: false,
        is_left_wanted: false,
        has_name: false,
    };

    /// The slot becomes that of a new node. A node leaves edges, points and rank as it found them,
    /// so they are not written. The list of changed priorities holds slots, not nodes.
    #[inline(always)] // a call would be a thirtieth of a task
    pub fn begin(&mut self, spec: &Spec<'_>, effective: Priority) {
        (self.references, self.held) = (spec.references, spec.references);
        self.strand = NONE;
        self.turns = 0;
        self.poison = None;
        (self.kind, self.stage, self.device) = (spec.kind, Stage::Waiting, spec.device);
        (self.own, self.effective) = (spec.priority, effective);
        (self.offers_strand, self.has_joins, self.wants_sync) = (false, false, false);
        (self.in_copy_strand, self.is_copy_strand, self.is_folded) = (spec.in_copy_strand, false, false);
        (self.has_name, self.is_kept) = (!spec.name.is_empty(), false);
        (self.is_absent, self.is_alone) = (false, false);
    }

    /// It is handed out by the call that appends it.
    #[inline]
    pub fn run(&mut self, priority: Priority) {
        (self.stage, self.is_alone, self.told, self.turns) = (Stage::Running, true, priority, 1);
    }

    /// The node behind goes on in the strand of this one.
    #[inline]
    pub fn hand_on(&mut self, behind: &mut Slot) {
        self.offers_strand = false;
        (behind.strand, behind.lane, behind.group) = (self.strand, self.lane, self.group);
    }

    /// Whether its work may be on the device, or about to be.
    pub fn is_under_way(&self) -> bool {
        self.kind.is_device() && (matches!(self.stage, Stage::Running | Stage::Launched) || self.turns > 0)
    }
}
