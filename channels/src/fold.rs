//! Folding: more priorities than hardware queues.
//!
//! A waiting channel occupies a hardware queue, and work that must not wait must not be queued behind it. So there are
//! at most as many channels as queues, and neighbouring priorities share a channel. Copies of one group do not wait for
//! each other: they run in order on one channel, and a copy that waited for a later one would wait forever.

use priority::{Priorities, Priority};

/// Neighbouring priorities that share a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The lowest priority of the group.
    pub lowest: Priority,
    /// The highest priority of the group; its copies wait only for priorities above this one.
    pub highest: Priority,
}

/// The groups, the lowest first: one per priority if there are enough queues, else of sizes as equal as possible.
#[must_use]
pub fn groups(priorities: Priorities, queues: usize) -> Vec<Group> {
    let count = usize::from(priorities.count());
    let groups = queues.clamp(1, count);
    let bound = |group: usize| group * count / groups;
    (0..groups)
        .filter_map(|group| {
            let lowest = Priority::new(u8::try_from(bound(group)).ok()? + 1)?;
            let highest = Priority::new(u8::try_from(bound(group + 1)).ok()?)?;
            Some(Group { lowest, highest })
        })
        .collect()
}

/// The index of the group that `priority` belongs to.
#[must_use]
pub fn group_of(groups: &[Group], priority: Priority) -> usize {
    groups.iter().position(|group| priority <= group.highest).unwrap_or(groups.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(priorities: u8, queues: usize) -> Vec<(u8, u8)> {
        let groups = groups(Priorities::new(priorities).unwrap(), queues);
        groups.iter().map(|group| (group.lowest.get(), group.highest.get())).collect()
    }

    #[test]
    fn enough_queues_fold_nothing() {
        assert_eq!(bounds(3, 4), [(1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn eight_priorities_on_four_queues() {
        assert_eq!(bounds(8, 4), [(1, 2), (3, 4), (5, 6), (7, 8)]);
        assert_eq!(bounds(5, 3), [(1, 1), (2, 3), (4, 5)]);
    }

    #[test]
    fn with_one_queue_no_priority_waits_for_another() {
        assert_eq!(bounds(8, 1), [(1, 8)]);
        assert_eq!(bounds(8, 0), [(1, 8)]);
    }

    #[test]
    fn every_priority_has_its_group() {
        let groups = groups(Priorities::new(32).unwrap(), 5);
        for priority in Priorities::new(32).unwrap().iter() {
            let group = groups[group_of(&groups, priority)];
            assert!(group.lowest <= priority && priority <= group.highest);
        }
    }
}
