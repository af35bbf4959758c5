//! A production line: submits a piece of work ([`Piece`]: upload, kernels, download), and the next one when its result
//! is there. The latency of a piece is the time of one turn.

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

/// A stream, and what makes the copies in it.
pub enum CopyPath {
    /// The driver.
    Plain(Stream),
    /// The copy layer, which has adopted the stream.
    Through(Adopted),
}

/// How a line submits its pieces.
pub enum Way {
    /// Call by call, in a stream.
    Stream(CopyPath),
    /// As tasks of a dispatcher, with a priority.
    Tasks(Tasks, Priority),
}

impl CopyPath {
    /// The stream.
    #[must_use]
    pub fn raw(&self) -> Stream {
        match self {
            CopyPath::Plain(stream) => *stream,
            CopyPath::Through(adopted) => adopted.raw(),
        }
    }

    /// Submits the parts of a piece.
    pub fn submit(&self, piece: &Piece) -> Result<()> {
        PARTS.into_iter().try_for_each(|part| match self {
            CopyPath::Plain(stream) => piece.submit(part, *stream),
            CopyPath::Through(adopted) => piece.submit_through(part, adopted),
        })
    }

    /// Submits a copy of these bytes of a lane.
    pub fn copy(&self, ground: &Ground, direction: Direction, lane: usize, bytes: Range<u64>) -> Result<()> {
        let (offset, bytes) = (bytes.start, bytes.end - bytes.start);
        match self {
            CopyPath::Plain(stream) => ground.copy(direction, lane, offset, bytes, *stream),
            CopyPath::Through(adopted) => adopted.copy(direction, lane, offset, bytes).map(drop),
        }
    }
}

/// A piece, which is submitted again and again.
pub struct Line {
    pub piece: Arc<Piece>,
    pub way: Way,
    /// The number of the word of host memory that a stream writes at the end of a piece.
    pub word: usize,
}

impl Line {
    /// Submits the piece, with the next picture, and returns when its result is there.
    pub fn run(&self) -> Result<()> {
        self.piece.next();
        match &self.way {
            Way::Tasks(tasks, priority) => self.piece.submit_tasks(tasks, *priority)?.wait().map_err(driver_error),
            Way::Stream(path) => {
                path.submit(&self.piece)?;
                self.wait_for(path.raw())
            }
        }
    }

    /// Waits until everything in the stream has completed, without a driver call: the stream then writes a word, which
    /// the thread polls.
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
