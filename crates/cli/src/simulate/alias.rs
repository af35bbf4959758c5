//! Aliases: the channel that a stream's copies use (PC-02).

use channels::fold::{group_of, groups};
use priority::{Priorities, Priority};

use super::scenario::Mode;
use super::setup::{EngineSetup, StreamSetup};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSetup {
    /// The name in messages.
    pub name: String,
    /// The engine that it feeds.
    pub engine: usize,
    /// The priority at which its copies wait: the highest that the channel serves.
    pub level: Priority,
}

/// Aliases every stream to a channel, and returns the channels.
///
/// Without semaphores the driver knows no priorities: streams take the queues in turn. With semaphores every group of
/// priorities has a channel. In the mode `hold`, copies that never wait stay in their application's stream, as in
/// overtake. The machine treats each such stream as a channel of its own.
pub fn assign(
    mode: Mode,
    priorities: Priorities,
    engines: &[EngineSetup],
    streams: &mut [StreamSetup],
) -> Vec<ChannelSetup> {
    let mut channels: Vec<ChannelSetup> = Vec::new();
    let mut seen = vec![0usize; engines.len()];
    for stream in streams {
        let engine = &engines[stream.engine];
        let (name, level) = match mode {
            Mode::None => (format!("{} queue {}", engine.name, seen[stream.engine] % engine.queues), Priority::LOWEST),
            Mode::Hold if stream.is_top => (format!("{} stream {}", engine.name, stream.name), priorities.highest()),
            _ => of_group(priorities, engine, stream.priority),
        };
        seen[stream.engine] += 1;
        stream.channel = channels.iter().position(|channel| channel.name == name).unwrap_or_else(|| {
            channels.push(ChannelSetup { name, engine: stream.engine, level });
            channels.len() - 1
        });
    }
    channels
}

fn of_group(priorities: Priorities, engine: &EngineSetup, priority: Priority) -> (String, Priority) {
    let groups = groups(priorities, engine.queues);
    let group = groups[group_of(&groups, priority)];
    let range = if group.lowest == group.highest {
        format!("priority {}", group.highest)
    } else {
        format!("priorities {} to {}", group.lowest, group.highest)
    };
    (format!("{} {range}", engine.name), group.highest)
}
