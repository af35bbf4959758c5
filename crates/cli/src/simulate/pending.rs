//! Pending copies and inherited priorities: the knowledge of the CPU in the mode `hold`.

use priority::Priority;

use super::machine::Machine;
use super::scenario::Inc;

impl Machine<'_> {
    /// Raises for copies that have become schedulable, and lets their dependencies pass with their priority.
    pub(super) fn count_pending(&mut self) {
        let boosts = std::mem::take(&mut self.boosts);
        for (engine, boost) in boosts {
            self.engines[engine].words.counts().unboost(boost);
        }
        for channel in 0..self.channels.len() {
            self.note_met(channel);
            self.count_channel(channel);
        }
        if self.setup.boost {
            (0..self.channels.len()).for_each(|channel| self.boost_for(channel));
        }
        let now = self.now;
        self.engines.iter_mut().for_each(|engine| engine.words.note(now));
    }

    fn note_met(&mut self, channel: usize) {
        let state = &mut self.channels[channel];
        let is_met = |copy: usize| self.setup.copies[copy].after.iter().all(|at| self.copies[*at].completed.is_some());
        state.met += state.copies.range(state.met..).take_while(|copy| is_met(**copy)).count();
    }

    /// A copy that waits for another is not schedulable, and neither are the copies behind it in its channel (PC-04,
    /// T2).
    fn count_channel(&mut self, channel: usize) {
        let state = &mut self.channels[channel];
        let until = match self.setup.inc {
            Inc::Schedulable => state.met,
            Inc::Submitted => state.copies.len(),
        };
        for at in state.counted..until {
            let copy = state.copies[at];
            let stream = &self.setup.streams[self.setup.copies[copy].stream];
            let counts = self.engines[stream.engine].words.counts();
            self.copies[copy].pending = Some(counts.raise(stream.priority));
        }
        state.counted = until;
    }

    /// Lets the copies that the channel's first waiting copy depends on pass as the most urgent copy behind it (T1).
    /// The boost ends with the dependency, so that other copies of the same channel do not pass.
    fn boost_for(&mut self, channel: usize) {
        let state = &self.channels[channel];
        let Some(waiting) = state.copies.get(state.met).copied() else { return };
        let urgency = state.copies.range(state.met..).map(|copy| self.priority_of(*copy)).max();
        let urgency = urgency.unwrap_or(Priority::LOWEST);
        for ahead in self.channels_ahead_of(waiting) {
            let setup = &self.setup.channels[ahead];
            if setup.level < urgency {
                let boost = self.engines[setup.engine].words.counts().boost(setup.level, urgency);
                self.boosts.push((setup.engine, boost));
            }
        }
    }

    /// The channels of every unfinished copy that `copy` waits for, directly or not, by its own dependencies or by its
    /// place in a channel.
    fn channels_ahead_of(&self, copy: usize) -> Vec<usize> {
        // The number of copies of each channel, from the first, that have been followed.
        let mut followed = vec![0; self.channels.len()];
        let mut open: Vec<usize> = self.unfinished(copy).collect();
        while let Some(next) = open.pop() {
            let channel = self.setup.streams[self.setup.copies[next].stream].channel;
            let queued = &self.channels[channel].copies;
            // Copies are numbered in order of submission, so the copies of a channel are sorted.
            let end = queued.partition_point(|other| *other <= next);
            let from = followed[channel].min(end);
            queued.range(from..end).for_each(|other| open.extend(self.unfinished(*other)));
            followed[channel] = followed[channel].max(end);
        }
        (0..followed.len()).filter(|channel| followed[*channel] > 0).collect()
    }

    fn unfinished(&self, copy: usize) -> impl Iterator<Item = usize> {
        let after = self.setup.copies[copy].after.iter().copied();
        after.filter(|other| self.copies[*other].completed.is_none())
    }

    fn priority_of(&self, copy: usize) -> Priority {
        self.setup.streams[self.setup.copies[copy].stream].priority
    }
}
