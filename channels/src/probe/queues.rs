//! The number of hardware queues for copies, and the assignment of streams to them.
//!
//! Every stream gets a word to wait for and a copy behind it. Then the words are opened from the last stream to the
//! first. A copy that completes at once was first in its queue; the others complete together with the copy in front
//! of them. All streams are held at the same time, because real hardware binds no stream to a queue: a stream takes
//! one whenever it becomes busy, a free one if there is any. A probe that let streams finish in between would see
//! more queues than there are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Code, Driver, MemOp, Nanos, Result, Stream, WaitCondition};

use super::opener::Opener;
use super::rig::{Rig, SLOTS, STREAM_PRIORITY_DEFAULT};
use priority::Direction;

/// The settings of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    /// The number of streams to make, at most 32. The probe cannot see more queues than streams.
    pub streams: usize,
    /// Size of each copy.
    pub copy_bytes: u64,
    /// A copy that takes longer counts as blocked. The probe raises this by itself on a machine that is slow now.
    pub patience: Nanos,
    /// Streams may take this long to drain once they may run; then the probe gives up with an error.
    pub drain: Nanos,
}

impl Default for ProbeOptions {
    fn default() -> ProbeOptions {
        ProbeOptions { streams: 16, copy_bytes: 64 << 10, patience: Nanos::from_ms(3), drain: Nanos::from_ms(2_000) }
    }
}

/// The rule by which streams get their queues, each time in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// There is one queue, or one per stream: the rules cannot be told apart.
    Trivial,
    /// For good, in the order in which streams are created.
    ByCreation,
    /// For good, in the order in which streams are first used for this direction.
    ByFirstUse,
    /// At every change from idle to busy: nothing binds a stream to a queue.
    ByUse,
    /// By no rule that this probe knows.
    Irregular,
}

/// The sharing of queues among streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMap {
    /// The engine whose queues these are.
    pub direction: Direction,
    /// For each probe stream in the order of creation, all of them made busy in that order: the number of its queue.
    pub queue_of: Vec<usize>,
    /// The rule by which streams get queues.
    pub assignment: Assignment,
    /// Whether a stream avoids the queue of a waiting stream while another queue is free.
    pub avoids_waiting: bool,
}

impl QueueMap {
    /// The number of distinct queues that were seen.
    #[must_use]
    pub fn queues(&self) -> usize {
        count(&self.queue_of)
    }

    /// Whether there may be more queues than were seen: every stream had its own.
    #[must_use]
    pub fn may_have_more(&self) -> bool {
        self.queues() == self.queue_of.len()
    }

    /// The streams of each queue, as indices in the order of creation.
    #[must_use]
    pub fn streams_by_queue(&self) -> Vec<Vec<usize>> {
        let mut queues = vec![Vec::new(); self.queues()];
        for (stream, queue) in self.queue_of.iter().enumerate() {
            queues[*queue].push(stream);
        }
        queues
    }
}

const CLOSED: u32 = 1;
const OPEN: u32 = 0;
/// A copy may take this many times as long as all copies together took unhindered.
const SLOWDOWN: u64 = 20;
/// But no longer than this: another thread may have kept this one out meanwhile.
const PATIENCE_MAX: Nanos = Nanos::from_ms(50);

/// Makes streams in the current context and finds out how they share queues for copies in `direction`.
pub fn probe_queues(driver: &Arc<dyn Driver>, direction: Direction, options: &ProbeOptions) -> Result<QueueMap> {
    probe_queues_and_keep(driver, direction, options).map(|(map, _)| map)
}

/// The same, for a caller that must not wait for work of its context: it drops the rig, whose memory is freed then,
/// when it may.
pub fn probe_queues_and_keep(
    driver: &Arc<dyn Driver>,
    direction: Direction,
    options: &ProbeOptions,
) -> Result<(QueueMap, Arc<Rig>)> {
    if options.streams == 0 || options.streams > SLOTS {
        let text = format!("a queue probe takes 1 to {SLOTS} streams, not {}", options.streams);
        return Err(Code::INVALID_VALUE.at("cuStreamCreateWithPriority").because(text));
    }
    let rig = Rig::new(driver, &[options.copy_bytes])?;
    let streams = (0..options.streams).map(|_| rig.stream(STREAM_PRIORITY_DEFAULT)).collect::<Result<Vec<Stream>>>()?;
    let rig = Arc::new(rig);
    let words = Arc::clone(&rig);
    let opener =
        Opener::start(driver, move || (0..SLOTS).for_each(|slot| words.word(slot).store(OPEN, Ordering::Release)))?;
    let prober = Prober { opener, rig, streams, direction, options: *options };
    let map = prober.opener.in_turns(|| prober.map())?;
    let rig = Arc::clone(&prober.rig);
    drop(prober);
    rig.rest();
    Ok((map, rig))
}

/// The streams of one probe.
struct Prober {
    /// It ends before the rig goes.
    opener: Opener,
    rig: Arc<Rig>,
    streams: Vec<Stream>,
    direction: Direction,
    options: ProbeOptions,
}

/// Opens every word, also on an error.
struct OpenOnDrop<'a>(&'a Prober);

impl Drop for OpenOnDrop<'_> {
    fn drop(&mut self) {
        (0..self.0.streams.len()).for_each(|stream| self.0.set_gate(stream, OPEN));
    }
}

impl Prober {
    fn map(&self) -> Result<QueueMap> {
        let by_creation: Vec<usize> = (0..self.streams.len()).collect();
        // The order of first use differs from that of creation, so that the rules can be told apart: 0, 2, 4, …, 1,
        // 3, 5, …
        let by_first_use: Vec<usize> = by_creation.iter().copied().step_by(2).chain(odd(&by_creation)).collect();
        self.patience(&by_first_use)?;
        let patience = self.patience(&by_creation)?;
        let queue_of = self.hold_all(&by_creation, patience)?;
        let reordered = self.hold_all(&by_first_use, patience)?;
        let assignment = assignment(&queue_of, &reordered, &by_creation, &by_first_use);
        let avoids_waiting = self.avoids_waiting(patience)?;
        Ok(QueueMap { direction: self.direction, queue_of, assignment, avoids_waiting })
    }

    fn set_gate(&self, stream: usize, value: u32) {
        self.rig.word(stream).store(value, Ordering::Release);
    }

    /// Closes the stream's gate, has the stream wait there, and submits a copy behind it.
    fn hold(&self, stream: usize) -> Result<()> {
        self.opener.step(Nanos::ZERO)?;
        self.set_gate(stream, CLOSED);
        self.wait_at_gate(stream)?;
        self.copy(stream)
    }

    fn wait_at_gate(&self, stream: usize) -> Result<()> {
        let wait = MemOp::wait32(self.rig.word_address(stream), OPEN, WaitCondition::Eq);
        self.rig.driver().mem_op(self.streams[stream], wait)
    }

    fn copy(&self, stream: usize) -> Result<()> {
        self.rig.copy(self.direction, 0, self.options.copy_bytes, self.streams[stream])
    }

    fn is_done(&self, stream: usize, patience: Nanos) -> Result<bool> {
        Ok(self.rig.look(&[self.streams[stream]], patience)?[0])
    }

    fn drain(&self) -> Result<()> {
        if self.rig.look(&self.streams, self.options.drain)?.into_iter().all(|done| done) {
            return Ok(());
        }
        let within = self.options.drain;
        let text = format!("copies did not finish within {within}; is the device busy or lost? see nvidia-smi");
        Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because(text))
    }

    /// The time that a copy may take here and now: the patience of the options, or more if copies alone are slow
    /// already.
    fn patience(&self, order: &[usize]) -> Result<Nanos> {
        let host = self.rig.driver().host();
        let start = host.now();
        order.iter().try_for_each(|stream| self.copy(*stream))?;
        self.drain()?;
        let unhindered = host.now().since(start);
        Ok(self.options.patience.max(Nanos(unhindered.0.saturating_mul(SLOWDOWN)).min(PATIENCE_MAX)))
    }

    /// Holds all streams, made busy in this order, and releases them from the last to the first. Returns the queue of
    /// each stream.
    fn hold_all(&self, order: &[usize], patience: Nanos) -> Result<Vec<usize>> {
        let open_at_last = OpenOnDrop(self);
        for stream in order {
            self.hold(*stream)?;
        }
        let mut queue_of = vec![usize::MAX; order.len()];
        // Streams whose own word is open while their copy still stands behind another stream's word.
        let mut behind: Vec<usize> = Vec::new();
        let mut queues = 0;
        for stream in order.iter().rev() {
            // There are two looks.
            self.opener.step(patience + patience)?;
            self.set_gate(*stream, OPEN);
            behind.push(*stream);
            if self.is_done(*stream, patience)? {
                let handles: Vec<Stream> = behind.iter().map(|stream| self.streams[*stream]).collect();
                let done = self.rig.look(&handles, patience)?;
                behind.iter().zip(&done).filter(|(_, done)| **done).for_each(|(stream, _)| queue_of[*stream] = queues);
                behind.retain(|stream| queue_of[*stream] == usize::MAX);
                queues += 1;
            }
        }
        drop(open_at_last);
        self.opener.rest()?;
        self.drain()?;
        // A copy that ran only after all words were open was held up by something other than these queues.
        queue_of.iter_mut().filter(|queue| **queue == usize::MAX).for_each(|queue| *queue = queues);
        Ok(numbered_as_they_appear(&queue_of))
    }

    /// While one stream waits, the others copy one at a time. Whether none of them gets into its queue.
    fn avoids_waiting(&self, patience: Nanos) -> Result<bool> {
        let open_at_last = OpenOnDrop(self);
        self.hold(0)?;
        let mut is_blocked = false;
        for stream in 1..self.streams.len() {
            self.opener.step(patience)?;
            self.copy(stream)?;
            is_blocked = !self.is_done(stream, patience)?;
            if is_blocked {
                break;
            }
        }
        drop(open_at_last);
        self.opener.rest()?;
        self.drain()?;
        Ok(!is_blocked)
    }
}

fn odd(all: &[usize]) -> impl Iterator<Item = usize> {
    all.iter().copied().skip(1).step_by(2)
}

fn count(queue_of: &[usize]) -> usize {
    queue_of.iter().max().map_or(0, |last| last + 1)
}

fn numbered_as_they_appear(queue_of: &[usize]) -> Vec<usize> {
    let mut seen: Vec<usize> = Vec::new();
    let number = |queue: &usize| {
        seen.iter().position(|known| known == queue).unwrap_or_else(|| {
            seen.push(*queue);
            seen.len() - 1
        })
    };
    queue_of.iter().map(number).collect()
}

/// Whether the streams, taken in this order, got the queues in turn.
fn is_in_turn(queue_of: &[usize], order: &[usize]) -> bool {
    let queues = count(queue_of);
    let same = |a: usize, b: usize| queue_of[order[a]] == queue_of[order[b]];
    (0..order.len()).all(|a| (a + 1..order.len()).all(|b| same(a, b) == (a % queues == b % queues)))
}

/// Compares the queues of streams made busy in the order of creation with those in the order of first use.
fn assignment(queue_of: &[usize], reordered: &[usize], by_creation: &[usize], by_first_use: &[usize]) -> Assignment {
    let queues = count(queue_of);
    match queues {
        _ if count(reordered) != queues => Assignment::Irregular,
        _ if queues <= 1 || queues == queue_of.len() => Assignment::Trivial,
        _ if queue_of == reordered && is_in_turn(queue_of, by_creation) => Assignment::ByCreation,
        _ if queue_of == reordered && is_in_turn(queue_of, by_first_use) => Assignment::ByFirstUse,
        _ if is_in_turn(queue_of, by_creation) && is_in_turn(reordered, by_first_use) => Assignment::ByUse,
        _ => Assignment::Irregular,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATION: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    const FIRST_USE: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
    const EVERY_4TH: [usize; 8] = [0, 1, 2, 3, 0, 1, 2, 3];
    const PAIRS: [usize; 8] = [0, 0, 1, 1, 2, 2, 3, 3];

    #[test]
    fn rules_are_told_apart() {
        let rule = |queue_of, reordered| assignment(queue_of, reordered, &CREATION, &FIRST_USE);
        assert_eq!(rule(&EVERY_4TH, &EVERY_4TH), Assignment::ByCreation);
        assert_eq!(rule(&PAIRS, &PAIRS), Assignment::ByFirstUse);
        assert_eq!(rule(&EVERY_4TH, &PAIRS), Assignment::ByUse);
        assert_eq!(rule(&PAIRS, &EVERY_4TH), Assignment::Irregular);
        assert_eq!(rule(&[0, 1, 1, 1, 0, 1, 1, 1], &EVERY_4TH), Assignment::Irregular);
        assert_eq!(rule(&[0; 8], &[0; 8]), Assignment::Trivial);
        assert_eq!(rule(&CREATION, &CREATION), Assignment::Trivial);
    }

    #[test]
    fn queues_are_numbered_as_they_appear() {
        assert_eq!(numbered_as_they_appear(&[3, 2, 1, 3, 2, 0]), [0, 1, 2, 0, 1, 3]);
    }

    #[test]
    fn a_map_lists_streams_by_queue() {
        let queue_of = vec![0, 1, 0, 1];
        let assignment = Assignment::ByCreation;
        let map = QueueMap { direction: Direction::HostToDevice, queue_of, assignment, avoids_waiting: false };
        assert_eq!((map.queues(), map.may_have_more()), (2, false));
        assert_eq!(map.streams_by_queue(), [vec![0, 2], vec![1, 3]]);
    }
}
