//! Bugs to plant in the model, so that the conformance suite can show that it finds them.

/// A bug to plant. Each is one that a CUDA shim or a model of one could really have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planted {
    /// `stream_wait_event` is accepted and has no effect.
    EventWaitIgnored,
    /// The last byte of every row of a 2D or 3D copy stays behind.
    RowTailDropped,
    /// GEQ compares as signed numbers and not cyclically, and EQ compares 64 bits at every width.
    WaitComparesWrong,
    /// An asynchronous copy from pageable memory reads its source when it executes, not before the call returns.
    PageableReadLate,
    /// A memset does not wait for the copy before it in its stream.
    MemsetOvertakesCopy,
}

impl Planted {
    /// All of them.
    pub const ALL: [Planted; 5] = [
        Planted::EventWaitIgnored,
        Planted::RowTailDropped,
        Planted::WaitComparesWrong,
        Planted::PageableReadLate,
        Planted::MemsetOvertakesCopy,
    ];
}
