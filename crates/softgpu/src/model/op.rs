//! Operations: what streams hold until it is done.

use std::sync::{Arc, Mutex};

use hal::MemOp;

use super::agenda::Ns;
use super::kernel::KernelJob;
use super::{ContextKey, EventKey, OpKey, QueueKey, StreamKey};
use crate::raw::Lent;

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not at the head of everything it must head, or not visible yet.
    Pending,
    /// Begun: the front end, an engine or the multiprocessors have it.
    Begun,
}

/// Bytes that wait outside any address space: the staging of a pageable copy.
pub(crate) type Staging = Arc<Mutex<Vec<u8>>>;

/// One side of a copy.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// An address of the process, looked up when the copy executes.
    Address { process: usize, address: u64 },
    /// Staged bytes, tightly packed.
    Staged(Staging),
    /// Memory of the caller's, read late: only the planted bug does that.
    Late(LateSource),
}

/// A source that is read when the copy executes.
#[derive(Clone, Copy)]
pub(crate) struct LateSource(pub(crate) Lent);

impl std::fmt::Debug for LateSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LateSource({:#x})", self.0.start())
    }
}

/// Rows, their pitches, slices, their pitches: the shape of a copy seen from one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) row_bytes: u64,
    pub(crate) slice_bytes: u64,
}

/// What a copy moves.
#[derive(Clone, Debug)]
pub(crate) struct CopyJob {
    pub(crate) engine: usize,
    /// Whether it had to wait for its engine, and nothing was behind it in its queue when it asked.
    pub(crate) is_alone: bool,
    pub(crate) target: Side,
    pub(crate) source: Side,
    pub(crate) target_layout: Layout,
    pub(crate) source_layout: Layout,
    pub(crate) width_bytes: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl CopyJob {
    /// Bytes that move.
    pub(crate) fn bytes(&self) -> u64 {
        self.width_bytes * self.height * self.depth
    }
}

/// What a memset sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillJob {
    pub(crate) process: usize,
    pub(crate) target: u64,
    pub(crate) pitch_bytes: u64,
    pub(crate) width_bytes: u64,
    pub(crate) height: u64,
    pub(crate) value: FillValue,
}

/// The pattern of a memset.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FillValue {
    Byte(u8),
    Word(u32),
}

/// How a wait behind a running copy was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Not looked at yet.
    None,
    /// Satisfied.
    Satisfied,
    /// Not satisfied; looks again at this time.
    Again(Ns),
}

/// Memory operations of one call.
#[derive(Debug)]
pub(crate) struct MemopJob {
    pub(crate) ops: Vec<MemOp>,
    pub(crate) position: usize,
    /// Whether the write at hand has taken its time, and only its turn may be left to wait for.
    pub(crate) is_written: bool,
    pub(crate) lead: Lead,
    /// When its unsatisfied wait looks next; looks planned for other times have been overtaken.
    pub(crate) look_at: Option<Ns>,
}

/// What runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// A copy engine.
    Engine,
    /// The multiprocessors.
    Multiprocessors,
}

/// What an operation does.
pub(crate) enum Kind {
    /// Moves bytes.
    Copy(Box<CopyJob>),
    /// A small copy to the device, which runs among the kernels and never sees an engine.
    Inline(Box<CopyJob>),
    /// Sets bytes.
    Fill(Box<FillJob>),
    /// Waits for words and writes words.
    Memops(MemopJob),
    /// Runs a kernel.
    Kernel(Box<KernelJob>),
    /// Records an event.
    Record(EventKey),
    /// Waits for what an event captured, or for nothing: a marker.
    Join,
    /// Gives device memory back.
    Free { process: usize, address: u64 },
}

impl Kind {
    /// The first memory operation, where it is one or some.
    pub(crate) fn first_memop(&self) -> Option<&MemOp> {
        match self {
            Kind::Memops(job) => job.ops.first(),
            _ => None,
        }
    }

    /// Whether engines or multiprocessors run it; nothing for what neither do, or what was not measured.
    pub(crate) fn runs_on(&self) -> Option<RunsOn> {
        match self {
            Kind::Copy(_) => Some(RunsOn::Engine),
            Kind::Kernel(_) => Some(RunsOn::Multiprocessors),
            _ => None,
        }
    }

    /// In a word.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Kind::Copy(_) => "copy",
            Kind::Inline(_) => "inline copy",
            Kind::Fill(_) => "memset",
            Kind::Memops(_) => "memory operation",
            Kind::Kernel(_) => "kernel",
            Kind::Record(_) => "event record",
            Kind::Join => "event wait",
            Kind::Free { .. } => "free",
        }
    }
}

/// An unfinished operation.
pub(crate) struct Op {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) stream: StreamKey,
    /// The hardware queue it is in, until it leaves it.
    pub(crate) queue: Option<QueueKey>,
    pub(crate) kind: Kind,
    pub(crate) state: State,
    /// When the device can see it.
    pub(crate) visible_at: Ns,
    /// Whether the agenda holds its becoming visible.
    pub(crate) announced: bool,
    /// Unfinished operations that it depends on, beyond its predecessor in the stream.
    pub(crate) dependencies: u32,
    /// Operations that depend on it.
    pub(crate) dependents: Vec<OpKey>,
    /// When it began.
    pub(crate) started: Ns,
}
