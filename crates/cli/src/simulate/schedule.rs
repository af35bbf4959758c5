//! The host scheduler of an engine, as in the patent (PC-07): slices, least recently served first, in order within a
//! channel.

use semaphores::Step;

use super::channel::Op;
use super::machine::Machine;

impl Machine<'_> {
    /// Executes every command that can be executed now.
    pub(super) fn schedule(&mut self, engine: usize) {
        while self.engines[engine].executing.is_none() {
            let Some(channel) = self.choose(engine) else { return };
            self.execute(channel);
        }
    }

    /// The channel that the host scheduler serves next.
    ///
    /// While a copy runs, commands that need no engine are executed at the head of any channel, and the slice stays
    /// with its channel. When the engine is free, the channel that has the slice goes on until the slice is over or
    /// none of its commands can be executed.
    fn choose(&mut self, engine: usize) -> Option<usize> {
        let able: Vec<usize> =
            self.engines[engine].channels.iter().copied().filter(|channel| self.can_execute(*channel)).collect();
        let channels = &mut self.channels;
        let state = &mut self.engines[engine];
        if state.running.is_none()
            && let Some((current, ends)) = state.current.take()
        {
            if self.now < ends && able.contains(&current) {
                state.current = Some((current, ends));
                return Some(current);
            }
            state.turn += 1;
            channels[current].served = state.turn;
        }
        let first = |channel: &usize| (channels[*channel].served, channels[*channel].commands[0].received);
        let chosen = able.into_iter().min_by_key(first)?;
        if state.running.is_none() {
            state.current = Some((chosen, self.now + self.setup.slice));
        }
        Some(chosen)
    }

    fn can_execute(&self, channel: usize) -> bool {
        let state = &self.channels[channel];
        let engine = &self.engines[self.setup.channels[channel].engine];
        let Some(head) = state.commands.front().filter(|_| !state.is_busy) else { return false };
        match head.op {
            Op::Join(copy) => self.copies[copy].completed.is_some(),
            Op::Step(Step::Wait(word)) => engine.words.read(word) == 0,
            Op::Step(Step::Copy(_)) => engine.running.is_none(),
            Op::Step(Step::Write(..) | Step::Add(..)) => true,
        }
    }
}
