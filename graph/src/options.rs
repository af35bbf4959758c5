//! The options of a graph.

use priority::Priorities;

/// The most lanes of a graph, of all groups and devices.
pub const LANES_MAX: u32 = 64;
/// The most devices whose nodes a graph hands out.
pub const LANE_DEVICES_MAX: u8 = 8;

/// The order in which ready nodes are handed out, and with it all that follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By priority, then by phase, then first in, first out.
    Default,
    /// By priority, then by the rank that callers give ([`crate::Graph::set_rank`]), then first in, first out.
    Ranked,
    /// As PhysX does it, priorities unseen (`graph/README.md`).
    PhysX,
}

/// How an order is inferred from the data that nodes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inference {
    /// Readers have no order among each other (GR-03). If not, every use counts as one that writes (GR-02).
    pub sees_const: bool,
    /// So many edges are looked at for dependencies that are redundant (GR-04). At 0 all dependencies are edges.
    pub search_max: u32,
}

impl Default for Inference {
    fn default() -> Self {
        Inference { sees_const: true, search_max: 64 }
    }
}

/// The parameters of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The order of ready nodes.
    pub order: Order,
    /// The priorities that nodes may have.
    pub priorities: Priorities,
    /// Devices; each has lanes of its own.
    pub devices: u8,
    /// Groups of neighbouring priorities; each has lanes of its own.
    pub groups: u8,
    /// The lanes of a group. Without any the graph has no device.
    pub lanes: u8,
    /// The most nodes that have not ended.
    pub nodes_max: u32,
    /// The most edges, at most as many as callers make.
    pub edges_max: u32,
    /// So many nodes of one phase are handed out in a row while one of another phase of their priority is ready.
    pub phase_max: u32,
    /// One in so many nodes handed out is of a lower priority while one of those is ready (T6).
    pub share: u32,
    /// How an order is inferred from the data that nodes use. It is an order alone: a node fails with those that its
    /// caller states.
    pub inference: Inference,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            order: Order::Default,
            priorities: Priorities::new(8).expect("8 priorities are possible"),
            devices: 1,
            groups: 2,
            lanes: 8,
            nodes_max: 1 << 16,
            edges_max: 1 << 18,
            phase_max: 64,
            share: 64,
            inference: Inference::default(),
        }
    }
}

impl Options {
    /// The same with bounds that the numbers of nodes and edges allow: they have 31 bits (`Edge`).
    pub(crate) fn within_numbers(self) -> Options {
        const MOST: u32 = i32::MAX as u32 - 1;
        Options { nodes_max: self.nodes_max.min(MOST), edges_max: self.edges_max.min(MOST), ..self }
    }

    /// The fault of these options, if there is one.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.devices == 0 || self.devices > LANE_DEVICES_MAX {
            return Some("devices is not between 1 and 8");
        }
        if u32::from(self.devices) * u32::from(self.groups) * u32::from(self.lanes) > LANES_MAX {
            return Some("devices * groups * lanes is more than 64: choose fewer of either");
        }
        if self.devices > 1 && self.order == Order::PhysX {
            return Some("devices is not 1 in the order of PhysX, which knows no other");
        }
        if self.groups == 0 || self.groups > self.priorities.count() {
            return Some("groups is not between 1 and the number of priorities");
        }
        if self.nodes_max == 0 || self.nodes_max == u32::MAX || self.edges_max == u32::MAX {
            return Some("nodes_max is 0, or a bound is 4294967295: choose bounds between");
        }
        if self.phase_max == 0 || self.share < 2 {
            return Some("phase_max is 0, or share is below 2: then urgent nodes would wait for others");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_that_the_numbers_allow() {
        let options = Options { nodes_max: u32::MAX - 1, edges_max: 7, ..Options::default() };
        let (nodes, edges) = (options.within_numbers(), Options { nodes_max: 7, edges_max: u32::MAX - 1, ..options });
        assert_eq!((nodes.nodes_max, nodes.edges_max), (0x7fff_fffe, 7));
        assert_eq!((edges.within_numbers().nodes_max, edges.within_numbers().edges_max), (7, 0x7fff_fffe));
    }
}
