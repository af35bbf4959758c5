//! Folding: more priorities than hardware queues.
//!
//! A channel that waits occupies a hardware queue, and what must not wait may not stand behind it. So there are at most
//! as many channels as queues; priorities share channels in groups, and copies of one group do not wait for each other:
//! they are in order on one channel, and a copy that waited for one behind it would wait for ever.

use semaphores::{Priorities, Priority};

/// Neighbouring priorities that share a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The lowest priority of the group.
    pub lowest: Priority,
    /// The highest; copies of the whole group wait only for what is above it.
    pub highest: Priority,
}

/// The groups, the lowest first: one per priority where there are queues enough, else as even as it gets.
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

/// The group of a priority.
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
    fn one_queue_means_nobody_waits_for_anybody() {
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
