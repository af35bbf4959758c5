//! The proof that nothing can run any more, and a report of every wait.

use std::fmt;

use hal::{MemOp, Nanos};

use super::op::{Op, OpKind, State};
use super::{Model, OpKey, StreamKey, handles};

/// A proven deadlock: no operation can run, no thread can go on, and no time will change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The time of the proof.
    pub at: Nanos,
    /// Each stream with unfinished work, and the wait of its first operation.
    pub streams: Vec<Blocked>,
    /// Each host thread, and its wait.
    pub threads: Vec<String>,
}

/// A stream that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The stream's handle.
    pub stream: hal::Stream,
    /// The first operation of the stream.
    pub first: String,
    /// The thing that this operation waits for.
    pub because: String,
    /// The number of operations behind it.
    pub behind: usize,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "deadlock, proven at {}: nothing is left that could run", self.at)?;
        for blocked in &self.streams {
            let Blocked { stream, first, because, behind } = blocked;
            writeln!(f, "  stream {:#x}: {first} {because}; {behind} more behind it", stream.0)?;
        }
        for thread in &self.threads {
            writeln!(f, "  {thread}")?;
        }
        Ok(())
    }
}

impl Model {
    /// Steps through one full round of looks. `true` if it changed nothing: then nothing will ever change.
    pub(crate) fn is_stuck(&mut self) -> bool {
        if !self.agenda.only_polls() {
            return false;
        }
        let (completed, effects) = (self.counts.completed, self.effects);
        let round_ends = self.agenda.last_at();
        while self.agenda.next_at().is_some_and(|at| at <= round_ends) {
            self.step();
            if !self.agenda.only_polls() {
                return false;
            }
        }
        completed == self.counts.completed && effects == self.effects
    }

    pub(crate) fn deadlock_report(&self, threads: Vec<String>) -> Deadlock {
        let blocked = self.streams.iter().filter_map(|(key, stream)| {
            let &first = stream.ops.front()?;
            let op = &self.ops[first];
            Some(Blocked {
                stream: hal::Stream(self.streams.handle(key, handles::STREAM)),
                first: self.describe(op),
                because: self.because(first, op),
                behind: stream.ops.len() - 1,
            })
        });
        Deadlock { at: Nanos(self.now), streams: blocked.collect(), threads }
    }

    fn stream_name(&self, stream: StreamKey) -> String {
        format!("stream {:#x}", self.streams.handle(stream, handles::STREAM))
    }

    fn because(&self, key: OpKey, op: &Op) -> String {
        if op.dependencies > 0 {
            let holder = self.ops.iter().find(|(_, other)| other.dependents.contains(&key));
            let on = holder.map_or(String::new(), |(_, other)| {
                format!(": {} of {}", self.describe(other), self.stream_name(other.stream))
            });
            return format!("depends on unfinished work{on}");
        }
        if let Some(text) = self.because_of_queue(key, op) {
            return text;
        }
        match (&op.kind, op.state) {
            (OpKind::Memops(job), State::Begun) => self.because_of_word(op, &job.ops[job.position]),
            (OpKind::Kernel(job), State::Begun) if !job.admitted => "waits for multiprocessors".to_owned(),
            (OpKind::Kernel(_), State::Begun) => "polls memory".to_owned(),
            (OpKind::Copy(job), State::Begun) => format!("waits for the {}", self.engines[job.engine].name()),
            _ => "has not begun".to_owned(),
        }
    }

    fn because_of_queue(&self, key: OpKey, op: &Op) -> Option<String> {
        let queue = op.queue?;
        let &head = self.queues[queue].ops.front()?;
        if head == key {
            return None;
        }
        let place = self.queues[queue].ops.iter().position(|other| *other == key)?;
        let other = &self.ops[head];
        let (name, what) = (self.queue_name(queue)?, self.describe(other));
        Some(format!("is number {} in {name}, whose head is a {what} of {}", place + 1, self.stream_name(other.stream)))
    }

    fn because_of_word(&self, op: &Op, memop: &MemOp) -> String {
        let MemOp::Wait { address, value, width, condition } = *memop else { return "is under way".to_owned() };
        let reads = match self.processes[op.process].space.word(address.0, width) {
            Ok((span, _)) => span.load(0, width).to_string(),
            Err(_) => "nothing".to_owned(),
        };
        let place = op.queue.and_then(|queue| self.queue_name(queue)).unwrap_or_default();
        format!("waits at the head of {place} for {condition:?} {value}; the word reads {reads}")
    }
}
