//! The bookkeeping of a pipeline: which stage has which buffer, and which frames are dropped. No driver, clock or
//! thread.

use std::collections::VecDeque;

use hal::Nanos;
use overtake_tasks::task::{self, Handle};
use stages::Stage;

use crate::options::Behind;
use crate::record::{Dropped, End, FrameRecord, PipelineStatistics};

/// The last failures are kept, so many, for the peers that ask about them.
const FAILURES_KEPT: usize = 64;

/// The side that has failed with a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Producer,
    Consumer,
}

/// A failure that the peers hear of.
#[derive(Debug)]
struct Kept {
    side: Side,
    position: u64,
    frame: u64,
    cause: Option<task::Error>,
}

/// The frame in a buffer.
#[derive(Debug)]
struct Frame {
    record: FrameRecord,
    /// The consumer is to pass it over.
    is_passed: bool,
    /// Tasks that were handed over with it.
    work: Vec<Handle>,
    /// Its stage, if several members share the frame.
    shared_at: Option<Stage>,
    has_ended: bool,
}

impl Frame {
    fn new() -> Frame {
        let (record, work) = (FrameRecord::new(0, Nanos::ZERO), Vec::new());
        Frame { record, is_passed: false, work, shared_at: None, has_ended: true }
    }
}

/// The frames of a pipeline.
#[derive(Debug)]
pub(crate) struct Book {
    behind: Behind,
    deadline: Option<Nanos>,
    work_span: Nanos,
    records_max: usize,
    /// The buffer of each stage.
    contents: Vec<u8>,
    /// The buffer of no stage.
    spare: u8,
    /// By buffer.
    frames: Vec<Frame>,
    /// The positions from here on have been begun by no consumer, and have not failed.
    unclaimed: u64,
    /// The positions before this one have been committed.
    committed: u64,
    failures: VecDeque<Kept>,
    pub statistics: PipelineStatistics,
    pub records: VecDeque<FrameRecord>,
}

impl Book {
    /// A buffer for each stage, and one more.
    pub fn new(stages: u8, behind: Behind, deadline: Option<Nanos>, work_span: Nanos, records_max: usize) -> Book {
        Book {
            behind,
            deadline,
            work_span,
            records_max,
            contents: (0..stages).collect(),
            spare: stages,
            frames: (0..=stages).map(|_| Frame::new()).collect(),
            unclaimed: 0,
            committed: 0,
            failures: VecDeque::new(),
            statistics: PipelineStatistics::default(),
            records: VecDeque::new(),
        }
    }

    fn index(&self, position: u64) -> usize {
        (position % self.contents.len() as u64) as usize
    }

    /// A frame begins, in the buffer of this stage or in the spare one. Returns its buffer and its number.
    pub fn begin(&mut self, stage: Option<u8>, now: Nanos) -> (u8, u64) {
        let buffer = stage.map_or(self.spare, |stage| self.contents[usize::from(stage)]);
        let number = self.statistics.frames;
        self.statistics.frames += 1;
        let frame = &mut self.frames[usize::from(buffer)];
        (frame.record, frame.is_passed, frame.has_ended) = (FrameRecord::new(number, now), false, false);
        (buffer, number)
    }

    /// A producer comes to a stage that it shares with others: the first of them begins the frame. Returns its buffer,
    /// its number, and the tasks of the frame before it.
    pub fn join(&mut self, stage: Stage, now: Nanos) -> (u8, u64, Vec<Handle>) {
        let at = Some(stage);
        let buffer = self.contents[usize::from(stage.index)];
        if self.frames[usize::from(buffer)].shared_at == at {
            return (buffer, self.frames[usize::from(buffer)].record.number, Vec::new());
        }
        // A producer has acquired the stage, so the frame before it has been released by all.
        self.settle_in(buffer, now);
        let (buffer, number) = self.begin(Some(stage.index), now);
        let frame = &mut self.frames[usize::from(buffer)];
        frame.shared_at = at;
        (buffer, number, std::mem::take(&mut frame.work))
    }

    /// Frames that members share end when all consumers have released them.
    pub fn settle(&mut self, is_released: impl Fn(Stage) -> bool, now: Nanos) {
        for at in 0..self.contents.len() {
            let buffer = self.contents[at];
            let at = self.frames[usize::from(buffer)].shared_at;
            if at.is_some_and(&is_released) {
                self.settle_in(buffer, now);
            }
        }
    }

    fn settle_in(&mut self, buffer: u8, now: Nanos) {
        let Frame { record, shared_at, .. } = &self.frames[usize::from(buffer)];
        if shared_at.is_some() && record.taken.is_some() {
            self.end(buffer, End::Delivered, now);
        }
    }

    /// A producer has committed its part of a frame that it shares. With tasks that are handed over with it.
    pub fn commit_part(&mut self, stage: Stage, now: Nanos, mut work: Vec<Handle>) {
        let buffer = self.contents[usize::from(stage.index)];
        let frame = &mut self.frames[usize::from(buffer)];
        frame.record.committed = Some(now);
        frame.work.append(&mut work);
    }

    /// A frame came when all stages were in use.
    pub fn refuse(&mut self, now: Nanos) {
        let record = FrameRecord::new(self.statistics.frames, now);
        self.statistics.frames += 1;
        self.keep(record, End::Dropped(Dropped::Full), now);
    }

    /// The spare buffer has been filled, and this stage is free for it.
    pub fn place(&mut self, stage: u8) {
        std::mem::swap(&mut self.contents[usize::from(stage)], &mut self.spare);
    }

    /// The frame in this stage is committed. With tasks that are handed over with it.
    pub fn commit(&mut self, stage: Stage, now: Nanos, work: Vec<Handle>) -> Vec<Handle> {
        if self.behind == Behind::LatestOnly {
            self.pass_waiting(now);
        }
        self.committed = stage.position + 1;
        let buffer = self.contents[usize::from(stage.index)];
        let frame = &mut self.frames[usize::from(buffer)];
        frame.record.committed = Some(now);
        std::mem::replace(&mut frame.work, work)
    }

    /// All stages are in use, and the spare buffer has been filled: it takes the place of a frame that waits. Without
    /// one, the new frame is dropped.
    pub fn replace(&mut self, now: Nanos) {
        self.frames[usize::from(self.spare)].record.committed = Some(now);
        if self.unclaimed >= self.committed {
            return self.end(self.spare, End::Dropped(Dropped::Full), now);
        }
        if self.behind == Behind::LatestOnly {
            self.pass_waiting(now);
        } else {
            // Each takes the stage before its own.
            for position in self.unclaimed..self.committed - 1 {
                let (at, next) = (self.index(position), self.index(position + 1));
                self.contents.swap(at, next);
            }
        }
        let last = self.index(self.committed - 1);
        std::mem::swap(&mut self.contents[last], &mut self.spare);
        if !self.frames[usize::from(self.spare)].is_passed {
            self.end(self.spare, End::Dropped(Dropped::Replaced), now);
        }
    }

    /// The frames that wait are dropped: a newer one comes.
    fn pass_waiting(&mut self, now: Nanos) {
        for position in self.unclaimed..self.committed {
            let buffer = self.contents[self.index(position)];
            if !std::mem::replace(&mut self.frames[usize::from(buffer)].is_passed, true) {
                self.end(buffer, End::Dropped(Dropped::Replaced), now);
            }
        }
    }

    /// The consumer comes to a stage: the buffer and the tasks that were handed over, or nothing if it is to pass the
    /// frame over.
    pub fn claim(&mut self, stage: Stage, now: Nanos) -> Option<(u8, u64, Vec<Handle>)> {
        self.unclaimed = self.unclaimed.max(stage.position + 1);
        let buffer = self.contents[usize::from(stage.index)];
        let frame = &mut self.frames[usize::from(buffer)];
        if frame.is_passed {
            return None;
        }
        let last = self.deadline.map(|deadline| frame.record.captured + deadline);
        if self.behind != Behind::Block && last.is_some_and(|last| now + self.work_span > last) {
            self.end(buffer, End::Dropped(Dropped::Overdue), now);
            return None;
        }
        frame.record.taken.get_or_insert(now);
        Some((buffer, frame.record.number, frame.work.clone()))
    }

    /// The time that is left to the frame in this buffer, if it has a deadline.
    pub fn left(&self, buffer: u8, now: Nanos) -> Option<Nanos> {
        let captured = self.frames[usize::from(buffer)].record.captured;
        self.deadline.map(|deadline| (captured + deadline).since(now))
    }

    /// The frame was captured at another time than its stage was acquired.
    pub fn captured(&mut self, buffer: u8, at: Nanos) {
        self.frames[usize::from(buffer)].record.captured = at;
    }

    pub fn note(&mut self, buffer: u8, name: &'static str, now: Nanos) {
        self.frames[usize::from(buffer)].record.notes.push((name, now));
    }

    /// The frame in this buffer ends.
    pub fn end(&mut self, buffer: u8, end: End, now: Nanos) {
        let frame = &mut self.frames[usize::from(buffer)];
        if !std::mem::replace(&mut frame.has_ended, true) {
            // Its times may be asked for until the next frame comes, and its notes are not.
            let notes = std::mem::take(&mut frame.record.notes);
            let record = FrameRecord { notes, ..frame.record };
            self.keep(record, end, now);
        }
    }

    fn keep(&mut self, mut record: FrameRecord, end: End, now: Nanos) {
        record.ended = Some((now, end));
        let count = match end {
            End::Delivered => {
                let is_late = self.deadline.is_some_and(|deadline| now > record.captured + deadline);
                self.statistics.late += u64::from(is_late);
                &mut self.statistics.delivered
            }
            End::Dropped(Dropped::Full) => &mut self.statistics.full,
            End::Dropped(Dropped::Replaced) => &mut self.statistics.replaced,
            End::Dropped(Dropped::Overdue) => &mut self.statistics.overdue,
            End::Dropped(Dropped::GivenUp) => &mut self.statistics.given_up,
            End::Failed => &mut self.statistics.failed,
        };
        *count += 1;
        self.records.push_back(record);
        if self.records.len() > self.records_max {
            self.records.pop_front();
            self.statistics.records_lost += 1;
        }
    }

    /// A side has failed with the frame in this buffer.
    pub fn fail(&mut self, side: Side, position: u64, buffer: u8, cause: Option<task::Error>, now: Nanos) {
        if side == Side::Producer {
            // No other frame may come to this stage: the consumer passes it over.
            (self.unclaimed, self.committed) = (self.unclaimed.max(position + 1), position + 1);
        }
        self.end(buffer, End::Failed, now);
        if self.failures.len() == FAILURES_KEPT {
            self.failures.pop_front();
        }
        let frame = self.frames[usize::from(buffer)].record.number;
        self.failures.push_back(Kept { side, position, frame, cause });
    }

    /// The number of the frame that a side has failed with, and the cause. Several members may ask.
    pub fn failure(&self, side: Side, position: u64) -> Option<(u64, Option<task::Error>)> {
        let kept = self.failures.iter().rev().find(|kept| kept.side == side && kept.position == position)?;
        Some((kept.frame, kept.cause.clone()))
    }
}
