//! A production line: one piece at a time, until its result is there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Code, MemOp, Nanos, Result, Stream};
use measure::ground::{Adopted, Ground};
use overtake::Priority;
use overtake::task::Tasks;
use priority::Direction;

use super::piece::{PARTS, Piece, driver_error};

/// A piece that takes longer than this has failed.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// A stream, and the way of its copies.
pub enum Road {
    /// Plain copies.
    Plain(Stream),
    /// Copies through the copy layer.
    Through(Adopted),
}

/// The way of the pieces of a line.
pub enum Way {
    /// In a stream.
    Stream(Road),
    /// As tasks.
    Tasks(Tasks, Priority),
}

impl Road {
    /// The stream.
    #[must_use]
    pub fn raw(&self) -> Stream {
        match self {
            Road::Plain(stream) => *stream,
            Road::Through(adopted) => adopted.raw(),
        }
    }

    /// Submits the parts of a piece.
    pub fn submit(&self, piece: &Piece) -> Result<()> {
        PARTS.into_iter().try_for_each(|part| match self {
            Road::Plain(stream) => piece.submit(part, *stream),
            Road::Through(adopted) => piece.submit_through(part, adopted),
        })
    }

    /// Submits a copy of these bytes of a lane.
    pub fn copy(&self, ground: &Ground, direction: Direction, lane: usize, bytes: Range<u64>) -> Result<()> {
        let (offset, bytes) = (bytes.start, bytes.end - bytes.start);
        match self {
            Road::Plain(stream) => ground.copy(direction, lane, offset, bytes, *stream),
            Road::Through(adopted) => adopted.copy(direction, lane, offset, bytes).map(drop),
        }
    }
}

/// One piece at a time.
pub struct Line {
    pub piece: Arc<Piece>,
    pub way: Way,
    /// The word that tells of the end of a piece in a stream.
    pub word: usize,
}

impl Line {
    /// Submits the piece, with the next picture, and returns when its result is there.
    pub fn run(&self) -> Result<()> {
        self.piece.next();
        match &self.way {
            Way::Tasks(tasks, priority) => self.piece.submit_tasks(tasks, *priority)?.wait().map_err(driver_error),
            Way::Stream(road) => {
                road.submit(&self.piece)?;
                self.wait_for(road.raw())
            }
        }
    }

    /// Waits until everything in the stream has completed, as a loop sees it that only looks at a word.
    fn wait_for(&self, stream: Stream) -> Result<()> {
        let rig = self.piece.ground().rig();
        let word = rig.word(self.word);
        let next = word.load(Ordering::Acquire).wrapping_add(1);
        rig.driver().mem_op(stream, MemOp::write32(rig.word_address(self.word), next))?;
        if rig.wait_for(PATIENCE, &mut || word.load(Ordering::Acquire) == next) {
            return Ok(());
        }
        Err(Code::LAUNCH_TIMEOUT.at("cuStreamWriteValue32").because(format!("no result within {PATIENCE}")))
    }
}
