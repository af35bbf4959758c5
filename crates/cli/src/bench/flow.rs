//! A flow: copies of one size on one stream, each followed by the write of its number to a word in host memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use channels::Direction;
use hal::{MemOp, Result, Stream};

use super::ground::{Adopted, Ground};

/// Copies of at least this many bytes in all are kept outstanding, if that takes no more than [`MOST_OUTSTANDING`].
const OUTSTANDING_BYTES: u64 = 64 << 20;
const LEAST_OUTSTANDING: u32 = 4;
const MOST_OUTSTANDING: u32 = 64;

/// What a flow copies, and how it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cargo {
    /// Which way.
    pub direction: Direction,
    /// Between the two sides of which lane.
    pub lane: usize,
    /// How much at a time.
    pub bytes: u64,
    /// The word that counts what has completed.
    pub word: usize,
}

/// Copies of one size on one stream.
pub trait Flow: Send + Sync {
    /// Where it submits.
    fn ground(&self) -> &Ground;
    /// What it copies.
    fn cargo(&self) -> Cargo;
    /// The stream that is idle when everything has completed.
    fn stream(&self) -> Stream;
    /// Submits one copy.
    fn copy(&self) -> Result<()>;

    /// Copies to keep outstanding so that the engine never runs dry.
    fn outstanding(&self) -> u32 {
        let enough = OUTSTANDING_BYTES.div_ceil(self.cargo().bytes.max(1));
        u32::try_from(enough).unwrap_or(MOST_OUTSTANDING).clamp(LEAST_OUTSTANDING, MOST_OUTSTANDING)
    }

    /// Submits the write of `sequence` to the word, behind everything submitted so far.
    fn count(&self, sequence: u32) -> Result<()> {
        let address = self.ground().rig().word_address(self.cargo().word);
        self.ground().driver().mem_op(self.stream(), MemOp::write32(address, sequence))
    }

    /// What the device wrote last.
    fn done(&self) -> u32 {
        self.ground().rig().word(self.cargo().word).load(Ordering::Acquire)
    }

    /// Sets the word to 0. Only while nothing is outstanding.
    fn reset(&self) {
        self.ground().rig().word(self.cargo().word).store(0, Ordering::Release);
    }
}

/// Plain copies.
pub struct Plain {
    /// Where it submits.
    pub ground: Arc<Ground>,
    /// What it copies.
    pub cargo: Cargo,
    /// A stream of the ground.
    pub stream: Stream,
}

impl Flow for Plain {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn cargo(&self) -> Cargo {
        self.cargo
    }

    fn stream(&self) -> Stream {
        self.stream
    }

    fn copy(&self) -> Result<()> {
        self.ground.copy(self.cargo.direction, self.cargo.lane, 0, self.cargo.bytes, self.stream)
    }
}

/// Plain copies cut into chunks, with nothing or a kernel that does nothing between them.
pub struct Chunked {
    /// The flow that is cut.
    pub whole: Plain,
    /// The size of a chunk.
    pub chunk_bytes: u64,
    /// Whether a kernel is launched after each chunk.
    pub has_kernels: bool,
}

/// Operations that a stream holds before it blocks its submitter, with room to spare.
const QUEUED: u64 = 900;

impl Flow for Chunked {
    fn ground(&self) -> &Ground {
        self.whole.ground()
    }

    fn cargo(&self) -> Cargo {
        self.whole.cargo
    }

    fn stream(&self) -> Stream {
        self.whole.stream
    }

    fn copy(&self) -> Result<()> {
        let Cargo { direction, lane, bytes, .. } = self.whole.cargo;
        for offset in (0..bytes).step_by(self.chunk_bytes as usize) {
            let size = self.chunk_bytes.min(bytes - offset);
            self.whole.ground.copy(direction, lane, offset, size, self.whole.stream)?;
            if self.has_kernels {
                self.whole.ground.launch_nothing(self.whole.stream)?;
            }
        }
        Ok(())
    }

    /// Fewer than whole copies: a full stream would block the submitter inside the driver, and the driver's lock with
    /// it.
    fn outstanding(&self) -> u32 {
        let operations = self.whole.cargo.bytes.div_ceil(self.chunk_bytes) * (1 + u64::from(self.has_kernels)) + 1;
        u32::try_from(QUEUED / operations).unwrap_or(u32::MAX).clamp(1, self.whole.outstanding())
    }
}

/// Copies through overtake.
pub struct Through {
    /// The stream, with its priority.
    pub adopted: Adopted,
    /// What it copies.
    pub cargo: Cargo,
}

impl Flow for Through {
    fn ground(&self) -> &Ground {
        self.adopted.ground()
    }

    fn cargo(&self) -> Cargo {
        self.cargo
    }

    fn stream(&self) -> Stream {
        self.adopted.raw()
    }

    fn copy(&self) -> Result<()> {
        self.adopted.copy(self.cargo.direction, self.cargo.lane, self.cargo.bytes).map(drop)
    }
}
