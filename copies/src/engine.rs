//! One copy engine of the device: its semaphores and channels.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use channels::chunk::{self, ENGINE_GAP};
use channels::fold::{Group, group_of, groups};
use channels::{Channel, ChannelOptions};
use hal::{Driver, Nanos, Result};
use options::Options;
use priority::{Direction, Priority};
use semaphores::Bank;

/// The rate between devices, where the driver makes all copies.
const PEER_GBPS: u32 = 375;

/// The most channels of bulk besides its first.
const SPARE_MAX: usize = 2;

/// An engine. The fields that a copy needs in order to go at once come first, on one cache line.
#[repr(C, align(64))]
pub(crate) struct Engine {
    /// Whether any bulk has had turns here: a copy needs one load to know.
    had_turns: AtomicBool,
    pub(crate) bank: Arc<Bank>,
    /// The rate, which is also GB/s.
    bytes_per_nanosecond: u64,
    groups: Vec<Group>,
    /// Those of each group. All but the first of a group are for streams that find the others taken.
    channels: Vec<Vec<OnceLock<Channel>>>,
    channel_options: ChannelOptions,
}

const _: () = assert!(std::mem::offset_of!(Engine, groups) <= 64);

impl Engine {
    /// An engine with as many channels as its queues allow. A channel is made when it is first used.
    pub(crate) fn new(driver: &Arc<dyn Driver>, direction: Direction, options: &Options) -> Result<Engine> {
        let priorities = options.priorities;
        // Without channels no copy waits in a hardware queue, so no priorities share one.
        let queues = if options.profile.channels { options.guard.queues() } else { priorities.count().into() } as usize;
        let groups = groups(priorities, queues);
        Ok(Engine {
            bank: Arc::new(Bank::new(driver, priorities)?),
            bytes_per_nanosecond: u64::from(match direction {
                Direction::HostToDevice | Direction::DeviceToHost => options.link_gbps(),
                Direction::DeviceToDevice | Direction::Peer => options.peer_gbps.unwrap_or(PEER_GBPS),
            }),
            had_turns: AtomicBool::new(false),
            channels: (0..groups.len()).map(|group| channels_of(group, groups.len(), queues)).collect(),
            groups,
            channel_options: ChannelOptions {
                counted_from: options.profile.counters_from,
                ..ChannelOptions::default()
            },
        })
    }

    /// The time that a copy of so many bytes takes on an idle engine.
    pub(crate) fn expected(&self, bytes: u64) -> Nanos {
        Nanos(bytes / self.bytes_per_nanosecond) + ENGINE_GAP
    }

    /// The size of chunks that keep it busy for at most so long each.
    pub(crate) fn chunk_bytes(&self, length: Nanos) -> u64 {
        chunk::chunk_bytes(length, self.bytes_per_nanosecond * 1_000_000_000, ENGINE_GAP)
    }

    /// The priority at which copies of `priority` wait in a channel: that of their group.
    pub(crate) fn level(&self, priority: Priority) -> Priority {
        self.groups[group_of(&self.groups, priority)].highest.max(priority)
    }

    /// Whether any bulk has gone in chunks, or whole in its turn. An urgent copy then waits for an unknown time.
    pub(crate) fn has_had_turns(&self) -> bool {
        self.had_turns.load(Ordering::Relaxed)
    }

    /// Bulk has turns here from now on.
    pub(crate) fn note_turns(&self) {
        if !self.had_turns.load(Ordering::Relaxed) {
            self.had_turns.store(true, Ordering::Relaxed);
        }
    }

    /// The channels that `priority` is aliased to, by their number: at least one.
    pub(crate) fn channels(&self, priority: Priority) -> std::ops::Range<usize> {
        0..self.channels[group_of(&self.groups, priority)].len()
    }

    /// The channels of `priority` that there are by now: copies of so many streams may take turns on the engine.
    pub(crate) fn channels_made(&self, priority: Priority) -> u64 {
        let channels = &self.channels[group_of(&self.groups, priority)];
        channels.iter().filter(|channel| channel.get().is_some()).count() as u64
    }

    /// One of [`Engine::channels`].
    pub(crate) fn channel(
        &self,
        driver: &Arc<dyn Driver>,
        direction: Direction,
        priority: Priority,
        number: usize,
    ) -> Result<&Channel> {
        let index = group_of(&self.groups, priority);
        let cell = &self.channels[index][number];
        if let Some(channel) = cell.get() {
            return Ok(channel);
        }
        let make = || Channel::new(driver, direction, self.groups[index], self.channel_options);
        let made = hal::beside_captures(&**driver, make)?;
        // Another thread may have made the channel first; that one stays, and ours is dropped.
        self.note_turns();
        Ok(cell.get_or_init(|| made))
    }
}

/// Places for the channels of a group. Bulk of several streams may wait for earlier work of its own, and no copy may
/// stand behind that: so the lowest group gets more of them, from the queues that no group has. A channel that waits
/// keeps its queue, so half of these queues stay free for copies that wait for nothing.
fn channels_of(group: usize, groups: usize, queues: usize) -> Vec<OnceLock<Channel>> {
    let spare = if group == 0 { (queues.saturating_sub(groups) / 2).min(SPARE_MAX) } else { 0 };
    (0..=spare).map(|_| OnceLock::new()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queues_without_a_group_give_bulk_more_channels() {
        let of = |groups, queues| (0..groups).map(|group| channels_of(group, groups, queues).len()).collect::<Vec<_>>();
        assert_eq!(of(4, 4), [1; 4], "each group has its queue, and none is left");
        assert_eq!(of(2, 4), [2, 1], "of two queues that are left, one");
        assert_eq!(of(6, 16), [3, 1, 1, 1, 1, 1], "not more than two");
    }
}
