//! Operations: the entries of streams.

use std::sync::{Arc, Mutex};

use hal::{DevicePtr, MemOp};

use super::agenda::Ns;
use super::kernel::KernelJob;
use super::{ContextKey, EventKey, OpKey, QueueKey, StreamKey};
use crate::raw::Lent;

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not at the head of its stream and queue, or not visible yet.
    Pending,
    /// Begun: the front end, an engine or the multiprocessors execute it.
    Begun,
}

/// Bytes outside any address space: the staging of a pageable copy.
pub(crate) type Staging = Arc<Mutex<Vec<u8>>>;

/// One side of a copy.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// An address of the process, looked up when the copy executes.
    Address { process: usize, address: u64 },
    /// Staged bytes, tightly packed.
    Staged(Staging),
    /// Memory of the caller that is read late: only the planted bug does that.
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

/// Rows, slices and their pitches: the shape of one side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) row_bytes: u64,
    pub(crate) slice_bytes: u64,
}

/// The work of a copy.
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

/// The work of a memset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FillJob {
    pub(crate) process: usize,
    pub(crate) target: u64,
    pub(crate) pitch_bytes: u64,
    pub(crate) width_bytes: u64,
    pub(crate) height: u64,
    pub(crate) value: FillValue,
}

impl FillJob {
    /// A memset of one row.
    pub(crate) fn line(process: usize, target: DevicePtr, bytes: u64, value: FillValue) -> FillJob {
        FillJob { process, target: target.0, pitch_bytes: bytes, width_bytes: bytes, height: 1, value }
    }
}

/// The pattern of a memset.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FillValue {
    Byte(u8),
    Word(u32),
}

/// The result of the early look at a wait behind a running copy.
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
    /// Whether the current write has taken its time, so that it waits at most for its turn.
    pub(crate) is_written: bool,
    pub(crate) lead: Lead,
    /// The next look of its unsatisfied wait. Looks planned for other times are ignored.
    pub(crate) look_at: Option<Ns>,
}

impl MemopJob {
    pub(crate) fn new(ops: &[MemOp]) -> MemopJob {
        MemopJob { ops: ops.to_vec(), position: 0, is_written: false, lead: Lead::None, look_at: None }
    }
}

/// The unit that runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// A copy engine.
    Engine,
    /// The multiprocessors.
    Multiprocessors,
}

/// The work of an operation.
pub(crate) enum OpKind {
    /// Moves bytes.
    Copy(Box<CopyJob>),
    /// A small copy to the device. It runs among the kernels and needs no engine.
    Inline(Box<CopyJob>),
    /// Sets bytes.
    Fill(Box<FillJob>),
    /// Waits for words and writes words.
    Memops(MemopJob),
    /// Runs a kernel.
    Kernel(Box<KernelJob>),
    /// Records an event.
    Record(EventKey),
    /// Waits for the work that an event stands for. Without an event it is a marker.
    Join,
    /// Frees device memory.
    Free { process: usize, address: u64 },
}

impl OpKind {
    /// The first memory operation, if there is one.
    pub(crate) fn first_memop(&self) -> Option<&MemOp> {
        match self {
            OpKind::Memops(job) => job.ops.first(),
            _ => None,
        }
    }

    /// The unit that runs it; `None` if neither does, or if that was not measured.
    pub(crate) fn runs_on(&self) -> Option<RunsOn> {
        match self {
            OpKind::Copy(_) => Some(RunsOn::Engine),
            OpKind::Kernel(_) => Some(RunsOn::Multiprocessors),
            _ => None,
        }
    }

    /// The operation in a word.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            OpKind::Copy(_) => "copy",
            OpKind::Inline(_) => "inline copy",
            OpKind::Fill(_) => "memset",
            OpKind::Memops(_) => "memory operation",
            OpKind::Kernel(_) => "kernel",
            OpKind::Record(_) => "event record",
            OpKind::Join => "event wait",
            OpKind::Free { .. } => "free",
        }
    }
}

/// An unfinished operation.
pub(crate) struct Op {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) stream: StreamKey,
    /// The hardware queue that it is in, until it leaves the queue.
    pub(crate) queue: Option<QueueKey>,
    pub(crate) kind: OpKind,
    pub(crate) state: State,
    /// The time at which the device can see it.
    pub(crate) visible_at: Ns,
    /// Whether the agenda holds the moment at which it becomes visible.
    pub(crate) announced: bool,
    /// Unfinished operations that it depends on, beyond its predecessor in the stream.
    pub(crate) dependencies: u32,
    /// Operations that depend on it.
    pub(crate) dependents: Vec<OpKey>,
    /// The time at which it began.
    pub(crate) started: Ns,
}
