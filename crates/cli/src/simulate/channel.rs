//! A channel of the machine: commands in issue order, and the copies that they belong to.

use std::collections::VecDeque;

use hal::DevicePtr;
use priority::Priority;
use semaphores::{EmulationKind, Step, emulation};

use super::scenario::{Inc, Mode};
use super::words::Words;

/// The action of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Wait until that copy has completed: an event.
    Join(usize),
    /// A step of the copy's bracket.
    Step(Step),
}

/// A command in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The copy that it belongs to.
    pub copy: usize,
    /// The action.
    pub op: Op,
    /// Its place in the order in which all commands were received.
    pub received: u64,
}

#[derive(Debug, Default)]
pub struct Channel {
    /// The commands that have not been executed, the head first.
    pub commands: VecDeque<Command>,
    /// Its unfinished copies, in issue order.
    pub copies: VecDeque<usize>,
    /// The number of these, from the first, that wait for no other copy any more.
    pub met: usize,
    /// The number of these, from the first, that count as pending.
    pub counted: usize,
    /// Whether the head is being executed.
    pub is_busy: bool,
    /// The turn in which it last gave up its engine; 0 before the first.
    pub served: u64,
}

impl Channel {
    /// Removes the first copy, which has completed.
    pub fn complete(&mut self) -> Option<usize> {
        // Copies are counted only in the mode `hold`.
        self.met = self.met.saturating_sub(1);
        self.counted = self.counted.saturating_sub(1);
        self.copies.pop_front()
    }
}

/// The commands of one copy: waits for the copies before it, and then its bracket.
pub fn commands(words: &Words, mode: Mode, inc: Inc, level: Priority, after: &[usize], chunks: usize) -> Vec<Op> {
    let steps = match mode.kind() {
        None => (0..chunks).map(Step::Copy).collect(),
        Some(kind) => channels::bracket::bracket(words, emulation(kind), level, chunks),
    };
    let mut ops: Vec<Op> = steps.into_iter().map(Op::Step).collect();
    let at = match (inc, mode.kind()) {
        (Inc::Submitted, Some(EmulationKind::Bracket | EmulationKind::Atomics)) => {
            ops.iter().position(is_inc).map_or(0, |inc| inc + 1)
        }
        _ => 0,
    };
    ops.splice(at..at, after.iter().copied().map(Op::Join));
    ops
}

fn is_inc(op: &Op) -> bool {
    matches!(op, Op::Step(Step::Write(_, 1) | Step::Add(_, 1)))
}

/// The word that the command waits for, if it is a wait.
pub fn waited_word(op: Op) -> Option<DevicePtr> {
    match op {
        Op::Step(Step::Wait(word)) => Some(word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use priority::Priorities;

    use super::*;

    #[test]
    fn earlier_copies_stand_before_a_bracket_or_behind_its_inc() {
        let words = Words::new(Some(EmulationKind::Bracket), Priorities::new(2).unwrap());
        let two = Priority::new(2).unwrap();
        let place = |mode, inc, level| {
            let ops = commands(&words, mode, inc, level, &[7], 1);
            ops.iter().position(|op| *op == Op::Join(7)).unwrap()
        };
        assert_eq!(place(Mode::Bracket, Inc::Schedulable, two), 0);
        assert_eq!(place(Mode::Bracket, Inc::Submitted, two), 1);
        assert_eq!(place(Mode::Bracket, Inc::Submitted, Priority::LOWEST), 0, "the lowest has no inc");
        assert_eq!(place(Mode::Hold, Inc::Submitted, two), 0, "the CPU counts");
        assert_eq!(commands(&words, Mode::None, Inc::Schedulable, two, &[], 2).len(), 2);
    }
}
