//! The trail of a lane: the slots of the nodes at its last points, for cache hints.
//!
//! The ends of many tasks arrive at once, long after their launches. By then their nodes are no longer in the cache,
//! and the graph walks from each to the next: without hints it would wait for the memory of each.

/// The points whose nodes are known: a power of two.
const POINTS: usize = 2_048;
/// The nodes of so many points are in the first cache still: hints would cost more than they bring.
pub(crate) const NEAR: u64 = 256;

/// The slots of the nodes behind the last points of a lane. Those of points that many others have followed are others.
#[derive(Debug)]
pub(crate) struct Trail(Box<[u32; POINTS]>);

impl Default for Trail {
    fn default() -> Trail {
        Trail(Box::new([0; POINTS]))
    }
}

impl Trail {
    /// The node in this slot is behind this point.
    #[inline]
    pub fn note(&mut self, value: u64, slot: usize) {
        self.0[value as usize % POINTS] = slot as u32;
    }

    /// The slot of the node behind a point.
    #[inline]
    pub fn slot(&self, value: u64) -> usize {
        self.0[value as usize % POINTS] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_of_the_last_points_are_known() {
        let mut trail = Trail::default();
        let count = POINTS as u64 + 3;
        (1..=count).for_each(|value| trail.note(value, value as usize + 7));
        assert!((4..=count).all(|value| trail.slot(value) == value as usize + 7));
    }
}
