//! The steps of a plan.

use std::ops::Range;

use graph::Location;
use priority::Priority;

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The number of the array.
    pub array: usize,
    /// Its bytes.
    pub range: Range<u64>,
    /// From there.
    pub from: Location,
    /// To there.
    pub to: Location,
}

impl Moved {
    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// A computation in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its device, or the host.
    pub at: Location,
    /// Its stream: a number from 0 up, in the order in which streams are made. None of the host.
    pub stream: Option<u32>,
    /// The computations that it comes after, by number.
    pub parents: Vec<usize>,
    /// Those of them in other streams, whose ends its stream waits for. None of the host, which waits itself.
    pub joins: u32,
    /// Its priority, and that of its transfers: the highest of its own and of those that come after it.
    pub priority: Priority,
    /// The transfers before it.
    pub transfers: Vec<Moved>,
    /// An access of the host that needs nothing, and so is no node (GR-07).
    pub is_skipped: bool,
}

/// Sums over a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Nodes: computations, and accesses of the host that need something.
    pub nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Nodes that a later one may have to come after, at the end: GrCUDA's frontier.
    pub frontier: usize,
    /// Streams made.
    pub streams: usize,
    /// Ends that streams wait for.
    pub joins: u32,
    /// Bytes from the host to devices.
    pub to_devices_bytes: u64,
    /// Bytes from devices to the host.
    pub to_host_bytes: u64,
    /// Bytes between devices.
    pub between_devices_bytes: u64,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// For each computation of the program.
    pub steps: Vec<Step>,
    /// The device of each stream.
    pub streams: Vec<u8>,
    /// Sums.
    pub totals: Totals,
}

impl Totals {
    pub(crate) fn add(&mut self, step: &Step) {
        self.nodes += usize::from(!step.is_skipped);
        self.edges += step.parents.len();
        self.joins += step.joins;
        for moved in &step.transfers {
            let sum = match (moved.from, moved.to) {
                (Location::Host, _) => &mut self.to_devices_bytes,
                (_, Location::Host) => &mut self.to_host_bytes,
                _ => &mut self.between_devices_bytes,
            };
            *sum += moved.bytes();
        }
    }
}
