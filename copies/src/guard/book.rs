//! The copies that a carrier has in flight.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::thread::ThreadId;

use hal::{Event, Nanos, Stream};
use priority::Direction;

use super::callers::Takeover;
use super::load::Load;
use crate::kernel::Workers;
use crate::kernel::handshake::{Line, Maker, is_reached, verdict};
use crate::records::Fence;

/// The most copies on a carrier at once. A stream holds many more before a submission blocks, and the book is held
/// meanwhile.
const COPIES_MAX: usize = 256;

/// Stands for a destroyed stream: its handle may come to mean another stream.
const GONE: Stream = Stream(u64::MAX);

/// A copy that may not be done.
pub(super) struct Carried {
    /// The number of its launch.
    pub(super) number: u32,
    /// Completes when the copy could begin.
    pub(super) ready: Event,
    /// The time at which a thread first saw that it could.
    pub(super) ready_since: Option<Nanos>,
    pub(super) load: Load,
    pub(super) direction: Direction,
    pub(super) workers: Workers,
    pub(super) maker: Maker,
    pub(super) fence: Fence,
}

/// The copies of one carrier, in order.
#[derive(Default)]
pub(super) struct Book {
    /// The stream of its copies. Copies of several streams on one carrier would wait for each other.
    stream: Option<Stream>,
    /// The thread, if the handle means another stream on every thread.
    thread: Option<ThreadId>,
    /// The number of the last launch.
    pub(super) last: u32,
    pub(super) copies: VecDeque<Carried>,
    /// The rescuer has cancelled all copies. The carrier takes no copy until the last cancelled kernel has ended.
    pub(super) taken_over: bool,
    /// Kept until all the copies that replace cancelled ones have been submitted.
    pub(super) takeover: Option<Takeover>,
    /// Scouts that did not get through in time, since the last that did.
    pub(super) scouts_lost: u32,
    /// Driver calls of a rescue that failed in a row.
    pub(super) failures: u32,
    /// The carrier takes no copy any more.
    pub(super) closed: bool,
}

impl Book {
    /// Whether it has copies of the stream that this handle means on the calling thread.
    pub(super) fn is_of(&self, stream: Stream) -> bool {
        self.stream == Some(stream) && self.thread == thread_of(stream)
    }

    /// Whether it can take a copy of the stream that this handle means on the calling thread.
    pub(super) fn takes(&self, stream: Stream) -> bool {
        let is_open = !self.closed && !self.taken_over && self.copies.len() < COPIES_MAX;
        is_open && (self.stream.is_none() || self.is_of(stream))
    }

    /// Adds a copy of the calling thread's stream.
    pub(super) fn add(&mut self, stream: Stream, copy: Carried) {
        (self.stream, self.thread) = (Some(stream), thread_of(stream));
        self.last = copy.number;
        self.copies.push_back(copy);
    }

    /// The program has destroyed the stream of this handle. Its copies go on; the handle may come to mean another
    /// stream.
    pub(super) fn forget(&mut self, stream: Stream) {
        if self.stream == Some(stream) {
            self.stream = Some(GONE);
        }
    }

    /// Forgets copies that are done, and returns their events.
    pub(super) fn tidy(&mut self, done: u32) -> Vec<Event> {
        let finished = self.copies.iter().take_while(|copy| is_reached(done, copy.number)).count();
        let events = self.copies.drain(..finished).map(|copy| copy.ready).collect();
        if self.copies.is_empty() {
            self.stream = None;
        }
        events
    }

    /// Launches up to this one are done. Without a take-over, no later launch has been cancelled.
    pub(super) fn done(&self) -> u32 {
        self.copies.front().map_or(self.last, |first| first.number.wrapping_sub(1))
    }

    /// Whether the first copy could have begun `patience` ago, and has not.
    pub(super) fn is_overdue(&self, started: u32, now: Nanos, patience: Nanos) -> bool {
        let Some(first) = self.copies.front().filter(|first| first.maker == Maker::Kernel) else { return false };
        let waited = first.ready_since.is_some_and(|since| now >= since + patience);
        waited && !is_reached(started, first.number)
    }

    /// Whether a kernel has begun and is not done. Copies that are done have been forgotten before.
    pub(super) fn copies_now(&self, started: u32) -> bool {
        let first = self.copies.front();
        first.is_some_and(|first| first.maker == Maker::Kernel && is_reached(started, first.number))
    }

    /// The first copy that has not begun, if one of those touches this memory.
    pub(super) fn first_to_begin(&mut self, started: u32, memory: Option<&Range<u64>>) -> Option<&mut Carried> {
        let begun = self.copies.iter().take_while(|copy| is_reached(started, copy.number)).count();
        let matters = |copy: &Carried| memory.is_none_or(|memory| copy.load.touches(memory));
        self.copies.iter().skip(begun).any(matters).then(|| &mut self.copies[begun])
    }

    /// The engines of its copies.
    pub(super) fn directions(&self) -> Vec<Direction> {
        let directions: BTreeSet<Direction> = self.copies.iter().map(|copy| copy.direction).collect();
        directions.into_iter().collect()
    }

    /// Cancels all copies; [`Book::settle`] then finds their makers.
    pub(super) fn take_over(&mut self, line: &Line, takeover: Takeover) {
        (self.taken_over, self.takeover) = (true, Some(takeover));
        line.cancel(self.last);
        self.copies.iter_mut().for_each(|copy| copy.maker = Maker::Asked);
    }

    /// Finds the makers of cancelled copies. Returns whether all are known now, and the number that became the
    /// rescuer's.
    pub(super) fn settle(&mut self, started: u32, outcome: u32) -> (bool, u64) {
        let Some(first) = self.copies.front_mut() else { return (true, 0) };
        if first.maker != Maker::Asked {
            return (true, 0);
        }
        match verdict(first.number, started, outcome) {
            Maker::Asked => return (false, 0),
            Maker::Kernel => first.maker = Maker::Kernel,
            _ => {}
        }
        let asked = self.copies.iter_mut().filter(|copy| copy.maker == Maker::Asked);
        (true, asked.map(|copy| copy.maker = Maker::Rescuer).count() as u64)
    }

    /// Whether no copy of this carrier needs the rescuer.
    pub(super) fn is_settled(&self) -> bool {
        self.copies.iter().all(|copy| matches!(copy.maker, Maker::Kernel | Maker::Written))
    }
}

/// The calling thread, for the per-thread default stream: that is a different stream on every thread.
fn thread_of(stream: Stream) -> Option<ThreadId> {
    (stream == Stream::PER_THREAD).then(|| std::thread::current().id())
}

#[cfg(test)]
mod tests;
