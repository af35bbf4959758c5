//! A flow: copies of one size on one stream, each followed by the write of its number to a word in host memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Event, EventFlags, MemOp, Result, Stream};
use priority::Direction;

use super::ground::{Adopted, Ground};

/// At least this many bytes are kept outstanding, if that takes no more than [`MOST_OUTSTANDING`] copies.
const OUTSTANDING_BYTES: u64 = 64 << 20;
const LEAST_OUTSTANDING: u32 = 4;
const MOST_OUTSTANDING: u32 = 64;

/// The copies of a flow, and the word that counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cargo {
    pub direction: Direction,
    /// The lane between whose two sides it copies.
    pub lane: usize,
    /// Bytes of one copy.
    pub bytes: u64,
    /// The word that counts completed copies.
    pub word: usize,
}

/// Copies of one size on one stream.
pub trait Flow: Send + Sync {
    /// The ground whose memory and streams it uses.
    fn ground(&self) -> &Ground;
    /// The copies that it makes.
    fn cargo(&self) -> Cargo;
    /// The stream that is idle when everything has completed.
    fn stream(&self) -> Stream;
    fn copy(&self) -> Result<()>;

    /// Copies to keep outstanding so that the engine never runs dry.
    fn outstanding(&self) -> u32 {
        let enough = OUTSTANDING_BYTES.div_ceil(self.cargo().bytes.max(1));
        u32::try_from(enough).unwrap_or(MOST_OUTSTANDING).clamp(LEAST_OUTSTANDING, MOST_OUTSTANDING)
    }

    /// Submits a write of `sequence` to the word, behind everything submitted so far.
    fn count(&self, sequence: u32) -> Result<()> {
        let address = self.ground().rig().word_address(self.cargo().word);
        self.ground().driver().mem_op(self.stream(), MemOp::write32(address, sequence))
    }

    /// The last number that the device wrote.
    fn done(&self) -> u32 {
        self.ground().rig().word(self.cargo().word).load(Ordering::Acquire)
    }

    /// Sets the word to 0. Only permitted while no copy is outstanding.
    fn reset(&self) {
        self.ground().rig().word(self.cargo().word).store(0, Ordering::Release);
    }
}

pub struct Plain {
    pub ground: Arc<Ground>,
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

/// Whole copies, counted in another stream behind an event. A write behind a copy ends the turn of its stream at the
/// engine, and an event does not: so this stream keeps the engine while it has copies queued, as most programs do.
pub struct Queued {
    whole: Plain,
    counting: Stream,
    event: Event,
}

impl Queued {
    /// Copies of the one stream, counted in the other.
    pub fn new(whole: Plain, counting: Stream) -> Result<Queued> {
        let event = whole.ground.driver().event_create(EventFlags::DISABLE_TIMING)?;
        Ok(Queued { whole, counting, event })
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        // The driver keeps an event until the work that it was recorded behind is done.
        let _is_destroyed = self.whole.ground.driver().event_destroy(self.event);
    }
}

impl Flow for Queued {
    fn ground(&self) -> &Ground {
        &self.whole.ground
    }

    fn cargo(&self) -> Cargo {
        self.whole.cargo
    }

    fn stream(&self) -> Stream {
        self.whole.stream
    }

    fn copy(&self) -> Result<()> {
        self.whole.copy()
    }

    fn count(&self, sequence: u32) -> Result<()> {
        let (rig, driver) = (self.ground().rig(), self.ground().driver());
        driver.event_record(self.event, self.stream())?;
        driver.stream_wait_event(self.counting, self.event)?;
        driver.mem_op(self.counting, MemOp::write32(rig.word_address(self.cargo().word), sequence))
    }
}

/// Plain copies cut into chunks, without or with an empty kernel between them.
pub struct Chunked {
    pub whole: Plain,
    pub chunk_bytes: u64,
    /// Whether a kernel is launched after each chunk.
    pub has_kernels: bool,
}

/// Operations that a stream holds before it blocks its submitter, with a margin.
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

    /// Fewer than for whole copies: a full stream would block the submitter inside the driver, and with it the
    /// driver's lock.
    fn outstanding(&self) -> u32 {
        let operations = self.whole.cargo.bytes.div_ceil(self.chunk_bytes) * (1 + u64::from(self.has_kernels)) + 1;
        u32::try_from(QUEUED / operations).unwrap_or(u32::MAX).clamp(1, self.whole.outstanding())
    }
}

/// Copies through overtake.
pub struct Through {
    /// The stream, with its priority.
    pub adopted: Adopted,
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
        self.adopted.copy(self.cargo.direction, self.cargo.lane, 0, self.cargo.bytes).map(drop)
    }
}
