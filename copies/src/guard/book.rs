//! What a carrier has under way.

use std::collections::VecDeque;
use std::ops::Range;
use std::thread::ThreadId;

use channels::{Direction, Shape};
use hal::{Event, Nanos, Stream};

use super::handshake::{Line, Verdict, is_reached, verdict};
use crate::kernel::{Descriptor, Workers};

/// Whose copies a carrier takes. Copies of several streams on one carrier would wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    stream: Stream,
    /// The per-thread default stream is a different stream on every thread.
    thread: Option<ThreadId>,
}

impl User {
    /// Nobody: the stream has gone, and its handle may come to mean another one.
    pub(super) const GONE: User = User { stream: Stream(u64::MAX), thread: None };

    /// Whether it is a stream of that handle.
    pub(super) fn has_handle(&self, stream: Stream) -> bool {
        self.stream == stream
    }

    /// The stream as the calling thread means it.
    pub(super) fn here(stream: Stream) -> User {
        User { stream, thread: (stream == Stream::PER_THREAD).then(|| std::thread::current().id()) }
    }
}

/// Who makes a copy, and how far that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Maker {
    /// Its kernel, when it gets to it, or nobody: it has not been cancelled.
    Kernel,
    /// It has been cancelled; its kernel may have begun to copy before.
    Asked,
    /// The rescuer: nothing submitted yet.
    Rescuer,
    /// … the wait for the stream's earlier work is submitted.
    Joined,
    /// … and the copy.
    Copied,
    /// … and the word that releases the stream.
    Written,
}

/// A copy that is not known to be done.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) number: u32,
    /// Completes when the copy could begin.
    pub(super) ready: Event,
    /// When it was first seen that it could.
    pub(super) ready_since: Option<Nanos>,
    pub(super) shapes: Vec<Shape>,
    pub(super) direction: Direction,
    /// What its kernel was given, should the copy engine not take it.
    pub(super) descriptors: Vec<Descriptor>,
    pub(super) workers: Workers,
    pub(super) maker: Maker,
}

impl Pending {
    /// Whether it reads or writes there. A copy's side lies in one allocation.
    fn touches(&self, memory: &Range<u64>) -> bool {
        self.shapes.iter().any(|shape| [shape.target, shape.source].iter().any(|side| memory.contains(&side.address)))
    }
}

/// The copies of one carrier, in order.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) user: Option<User>,
    /// The last launch.
    pub(super) last: u32,
    pub(super) pending: VecDeque<Pending>,
    /// The rescuer has cancelled what was pending. Until the last cancelled kernel has gone, nothing new is taken.
    pub(super) taken_over: bool,
    /// … and has not submitted all the copies that take the place of the cancelled ones.
    pub(super) taking: bool,
    /// Driver calls of a rescue that failed in a row.
    pub(super) failures: u32,
    /// Nothing is taken any more.
    pub(super) closed: bool,
}

impl Book {
    /// Forgets what is done, and returns the events that are free again.
    pub(super) fn tidy(&mut self, done: u32) -> Vec<Event> {
        let finished = self.pending.iter().take_while(|pending| is_reached(done, pending.number)).count();
        let events = self.pending.drain(..finished).map(|pending| pending.ready).collect();
        if self.pending.is_empty() {
            self.user = None;
        }
        events
    }

    /// Launches up to this one are done, and none after it has been cancelled as long as nothing is taken over.
    pub(super) fn done(&self) -> u32 {
        self.pending.front().map_or(self.last, |first| first.number.wrapping_sub(1))
    }

    /// Whether it can take a copy of `user`.
    pub(super) fn takes(&self, user: User) -> bool {
        !self.closed && !self.taken_over && self.user.is_none_or(|present| present == user)
    }

    /// Whether its first copy could have begun `patience` ago, and has not.
    pub(super) fn is_overdue(&self, started: u32, now: Nanos, patience: Nanos) -> bool {
        let Some(first) = self.pending.front().filter(|first| first.maker == Maker::Kernel) else { return false };
        let waited = first.ready_since.is_some_and(|since| now >= since + patience);
        waited && !is_reached(started, first.number)
    }

    /// Whether a kernel of its own has begun and is not done: what is done has been tidied away.
    pub(super) fn copies_now(&self, started: u32) -> bool {
        let first = self.pending.front();
        first.is_some_and(|first| first.maker == Maker::Kernel && is_reached(started, first.number))
    }

    /// The first copy that has not begun, where one of those touches that memory.
    pub(super) fn first_to_begin(&mut self, started: u32, memory: Option<&Range<u64>>) -> Option<&mut Pending> {
        let begun = self.pending.iter().take_while(|pending| is_reached(started, pending.number)).count();
        let matters = |pending: &Pending| memory.is_none_or(|memory| pending.touches(memory));
        self.pending.iter().skip(begun).any(matters).then(|| &mut self.pending[begun])
    }

    /// Cancels all that is pending; who makes it is found out by [`Book::settle`].
    pub(super) fn take_over(&mut self, line: &Line) {
        (self.taken_over, self.taking) = (true, true);
        line.cancel(self.last);
        self.pending.iter_mut().for_each(|pending| pending.maker = Maker::Asked);
    }

    /// Finds out who makes the copies that were cancelled. Whether that is known of all of them now. Returns how many
    /// became the rescuer's.
    pub(super) fn settle(&mut self, started: u32, outcome: u32) -> (bool, u64) {
        let Some(first) = self.pending.front_mut() else { return (true, 0) };
        if first.maker != Maker::Asked {
            return (true, 0);
        }
        match verdict(first.number, started, outcome) {
            Verdict::Undecided => return (false, 0),
            Verdict::Copying => first.maker = Maker::Kernel,
            Verdict::Cancelled => {}
        }
        let asked = self.pending.iter_mut().filter(|pending| pending.maker == Maker::Asked);
        (true, asked.map(|pending| pending.maker = Maker::Rescuer).count() as u64)
    }

    /// Whether nothing here needs the rescuer any more.
    pub(super) fn is_settled(&self) -> bool {
        self.pending.iter().all(|pending| matches!(pending.maker, Maker::Kernel | Maker::Written))
    }
}

#[cfg(test)]
mod tests;
