//! Which streams share a hardware copy queue: block one, see who else stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::{Code, Driver, MemOp, Nanos, Result, Stream, WaitCondition};

use super::{Rig, STREAM_PRIORITY_DEFAULT};
use crate::Direction;

/// How to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Streams to make; more queues than streams cannot be told apart.
    pub streams: usize,
    /// Size of each copy.
    pub copy_bytes: u64,
    /// How long a copy may take before it counts as blocked. Raised by itself on a machine that is slow right now.
    pub patience: Nanos,
    /// How long streams may take to drain once they may run; past that the probe gives up with an error.
    pub drain: Nanos,
}

impl Default for ProbeOptions {
    fn default() -> ProbeOptions {
        ProbeOptions { streams: 16, copy_bytes: 64 << 10, patience: Nanos::from_ms(3), drain: Nanos::from_ms(2_000) }
    }
}

/// By what rule streams are dealt to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// There is one queue, or as many as streams: nothing to tell.
    Trivial,
    /// Round-robin in the order in which streams were created.
    ByCreation,
    /// Round-robin in the order in which streams were first used for this direction.
    ByFirstUse,
    /// By no rule that we know.
    Irregular,
}

/// Which streams share a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMap {
    /// Which engine's queues.
    pub direction: Direction,
    /// For each probe stream in the order of creation: the number of its queue. Queues are numbered as they appear.
    pub queue_of: Vec<usize>,
    /// The order in which the streams were first used, as indices.
    pub first_use: Vec<usize>,
    /// By what rule.
    pub assignment: Assignment,
}

impl QueueMap {
    /// How many distinct queues were seen.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.queue_of.iter().max().map_or(0, |last| last + 1)
    }

    /// Whether there may be more queues than that: every stream had one to itself.
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

/// The word that holds a stream up.
const GATE: usize = 0;
const CLOSED: u32 = 1;
const OPEN: u32 = 0;
/// A round may take this many times as long as the same copies took unhindered.
const SLOWDOWN: u64 = 20;

/// Opens the gate whatever happens.
struct OpenOnDrop<'a>(&'a AtomicU32);

impl Drop for OpenOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(OPEN, Ordering::Release);
    }
}

/// Makes streams in the current context and finds out which of them share a queue for copies in `direction`.
pub fn probe_queues(driver: &Arc<dyn Driver>, direction: Direction, options: &ProbeOptions) -> Result<QueueMap> {
    let rig = Rig::new(driver, &[options.copy_bytes])?;
    let streams = (0..options.streams).map(|_| rig.stream(STREAM_PRIORITY_DEFAULT)).collect::<Result<Vec<Stream>>>()?;
    // First use in another order than creation, or the two rules could not be told apart: 0, 2, 4, …, 1, 3, 5, …
    let first_use: Vec<usize> = (0..options.streams).step_by(2).chain((1..options.streams).step_by(2)).collect();
    for index in &first_use {
        rig.copy(direction, 0, options.copy_bytes, streams[*index])?;
    }
    drain(&rig, &streams, options)?;
    let (queue_of, is_symmetric) = classify(&rig, &streams, direction, options)?;
    let assignment = if is_symmetric { assignment(&queue_of, &first_use) } else { Assignment::Irregular };
    Ok(QueueMap { direction, queue_of, first_use, assignment })
}

/// For each of `streams`, which must be idle streams of `rig`: the number of its queue for copies in `direction`.
pub fn queue_classes(
    rig: &Rig,
    streams: &[Stream],
    direction: Direction,
    options: &ProbeOptions,
) -> Result<Vec<usize>> {
    for stream in streams {
        rig.copy(direction, 0, options.copy_bytes, *stream)?;
    }
    drain(rig, streams, options)?;
    Ok(classify(rig, streams, direction, options)?.0)
}

fn classify(rig: &Rig, streams: &[Stream], direction: Direction, options: &ProbeOptions) -> Result<(Vec<usize>, bool)> {
    let patience = patience(rig, streams, direction, options)?;
    let mut queue_of: Vec<Option<usize>> = vec![None; streams.len()];
    let (mut queues, mut is_symmetric) = (0, true);
    while let Some(leader) = queue_of.iter().position(Option::is_none) {
        let blocked = blocked_by(rig, streams, leader, direction, patience, options)?;
        for (stream, is_blocked) in blocked.into_iter().enumerate() {
            match queue_of[stream] {
                None if is_blocked || stream == leader => queue_of[stream] = Some(queues),
                // It did not hold the leader up when it was its own queue's turn: sharing is not mutual.
                Some(_) if is_blocked => is_symmetric = false,
                _ => {}
            }
        }
        queues += 1;
    }
    Ok((queue_of.into_iter().flatten().collect(), is_symmetric))
}

/// How long a round may take here and now: the options' patience, or more where the copies alone are slow already.
fn patience(rig: &Rig, streams: &[Stream], direction: Direction, options: &ProbeOptions) -> Result<Nanos> {
    let start = rig.driver().host().now();
    for stream in streams {
        rig.copy(direction, 0, options.copy_bytes, *stream)?;
    }
    drain(rig, streams, options)?;
    let unhindered = rig.driver().host().now().since(start);
    Ok(options.patience.max(Nanos(unhindered.0.saturating_mul(SLOWDOWN))))
}

/// Which of `streams` cannot copy while `leader` waits with a copy behind the wait.
fn blocked_by(
    rig: &Rig,
    streams: &[Stream],
    leader: usize,
    direction: Direction,
    patience: Nanos,
    options: &ProbeOptions,
) -> Result<Vec<bool>> {
    let gate = rig.word(GATE);
    gate.store(CLOSED, Ordering::Release);
    let open = OpenOnDrop(gate);
    let wait = MemOp::wait32(rig.word_address(GATE), OPEN, WaitCondition::Eq);
    rig.driver().mem_op(streams[leader], wait)?;
    rig.copy(direction, 0, options.copy_bytes, streams[leader])?;
    let others: Vec<Stream> =
        streams.iter().enumerate().filter(|(index, _)| *index != leader).map(|(_, stream)| *stream).collect();
    for stream in &others {
        rig.copy(direction, 0, options.copy_bytes, *stream)?;
    }
    let mut blocked: Vec<bool> = rig.look(&others, patience)?.into_iter().map(|done| !done).collect();
    drop(open);
    drain(rig, streams, options)?;
    blocked.insert(leader, false);
    Ok(blocked)
}

fn drain(rig: &Rig, streams: &[Stream], options: &ProbeOptions) -> Result<()> {
    if rig.look(streams, options.drain)?.into_iter().all(|done| done) {
        return Ok(());
    }
    let text = format!("copies did not finish within {}; is the device busy or lost? see nvidia-smi", options.drain);
    Err(Code::LAUNCH_TIMEOUT.at("cuStreamQuery").because(text))
}

fn assignment(queue_of: &[usize], first_use: &[usize]) -> Assignment {
    let streams = queue_of.len();
    let queues = queue_of.iter().max().map_or(0, |last| last + 1);
    let is_round_robin = |order: &[usize]| {
        (0..streams)
            .all(|a| (a + 1..streams).all(|b| (queue_of[order[a]] == queue_of[order[b]]) == (a % queues == b % queues)))
    };
    let by_creation: Vec<usize> = (0..streams).collect();
    match queues {
        _ if queues <= 1 || queues == streams => Assignment::Trivial,
        _ if is_round_robin(first_use) => Assignment::ByFirstUse,
        _ if is_round_robin(&by_creation) => Assignment::ByCreation,
        _ => Assignment::Irregular,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_USE: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

    #[test]
    fn rules_are_told_apart() {
        assert_eq!(assignment(&[0, 1, 2, 3, 0, 1, 2, 3], &FIRST_USE), Assignment::ByCreation);
        assert_eq!(assignment(&[0, 0, 1, 1, 2, 2, 3, 3], &FIRST_USE), Assignment::ByFirstUse);
        assert_eq!(assignment(&[0, 1, 1, 1, 0, 1, 1, 1], &FIRST_USE), Assignment::Irregular);
        assert_eq!(assignment(&[0; 8], &FIRST_USE), Assignment::Trivial);
        assert_eq!(assignment(&[0, 1, 2, 3, 4, 5, 6, 7], &FIRST_USE), Assignment::Trivial);
        assert_eq!(assignment(&[], &[]), Assignment::Trivial);
    }

    #[test]
    fn a_map_lists_streams_by_queue() {
        let queue_of = vec![0, 1, 0, 1];
        let assignment = Assignment::ByCreation;
        let map = QueueMap { direction: Direction::HostToDevice, queue_of, first_use: vec![], assignment };
        assert_eq!((map.queues(), map.may_have_more()), (2, false));
        assert_eq!(map.streams_by_queue(), [vec![0, 2], vec![1, 3]]);
    }
}
