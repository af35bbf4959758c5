//! A production line: one piece at a time, until its result is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Code, MemOp, Nanos, Result, Stream};
use overtake::Priority;
use overtake::task::Tasks;

use super::ground::Adopted;
use super::piece::{PARTS, Piece, driver_error};

/// A piece that takes longer than this has failed.
const PATIENCE: Nanos = Nanos::from_ms(10_000);

/// The way of the pieces of a line.
pub enum Way {
    /// In a plain stream.
    Stream(Stream),
    /// In a stream whose copies go through the copy layer.
    Through(Adopted),
    /// As tasks.
    Tasks(Tasks, Priority),
}

/// One piece at a time.
pub struct Line {
    pub piece: Arc<Piece>,
    pub way: Way,
    /// The word that tells of the end of a piece in a stream.
    pub word: usize,
}

impl Line {
    /// Submits the piece, and returns when its result is there.
    pub fn run(&self) -> Result<()> {
        let stream = match &self.way {
            Way::Stream(stream) => {
                PARTS.into_iter().try_for_each(|part| self.piece.submit(part, *stream))?;
                *stream
            }
            Way::Through(adopted) => {
                PARTS.into_iter().try_for_each(|part| self.piece.submit_through(part, adopted))?;
                adopted.raw()
            }
            Way::Tasks(tasks, priority) => {
                return self.piece.submit_tasks(tasks, *priority)?.wait().map_err(driver_error);
            }
        };
        self.wait_for(stream)
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
