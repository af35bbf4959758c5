//! Which copies count as pending, and who inherits whose priority: what the CPU knows in the mode `hold`.

use std::collections::BTreeSet;

use semaphores::Priority;

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
            self.count_channel(channel);
        }
        if self.setup.boost {
            (0..self.channels.len()).for_each(|channel| self.boost_for(channel));
        }
        let now = self.now;
        self.engines.iter_mut().for_each(|engine| engine.words.note(now));
    }

    /// A copy that waits for another is not schedulable, nor is what stands behind it in its channel (PC-04, T2).
    fn count_channel(&mut self, channel: usize) {
        let unmet = self.first_unmet(channel).filter(|_| self.setup.inc == Inc::Schedulable);
        let schedulable = unmet.unwrap_or(self.channels[channel].copies.len());
        for at in 0..schedulable {
            let copy = self.channels[channel].copies[at];
            if self.copies[copy].pending.is_none() {
                let counts = self.engines[self.setup.engine_of(copy)].words.counts();
                self.copies[copy].pending = Some(counts.raise(self.priority_of(copy)));
            }
        }
    }

    /// Where in the channel the first copy is that still waits for another.
    fn first_unmet(&self, channel: usize) -> Option<usize> {
        let is_unmet = |copy: &usize| self.setup.copies[*copy].after.iter().any(|other| !self.copies[*other].is_done);
        self.channels[channel].copies.iter().position(is_unmet)
    }

    /// Lets what the channel's first waiting copy depends on pass as the most urgent copy that stands behind (T1). The boost
    /// ends when the dependency does, so that it carries nothing past that was merely in the same channel.
    fn boost_for(&mut self, channel: usize) {
        let Some(at) = self.first_unmet(channel) else { return };
        let copies = &self.channels[channel].copies;
        let urgency = copies.range(at..).map(|copy| self.priority_of(*copy)).max().expect("there is one at `at`");
        let waiting = copies[at];
        for ahead in self.ahead_of(waiting) {
            let stream = &self.setup.streams[self.setup.copies[ahead].stream];
            let level = self.setup.channels[stream.channel].level;
            if level < urgency {
                let boost = self.engines[stream.engine].words.counts().boost(level, urgency);
                self.boosts.push((stream.engine, boost));
            }
        }
    }

    /// Every unfinished copy that `copy` waits for, directly or not, by its own dependencies or by its place in a channel.
    fn ahead_of(&self, copy: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![copy];
        while let Some(next) = open.pop() {
            let channel = self.setup.streams[self.setup.copies[next].stream].channel;
            let queued = self.channels[channel].copies.iter().copied().take_while(|queued| *queued != next);
            let after = self.setup.copies[next].after.iter().copied();
            open.extend(after.chain(queued).filter(|other| !self.copies[*other].is_done && found.insert(*other)));
        }
        found
    }

    fn priority_of(&self, copy: usize) -> Priority {
        self.setup.streams[self.setup.copies[copy].stream].priority
    }
}
