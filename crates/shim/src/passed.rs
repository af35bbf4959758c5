//! Counts of copies that went to the driver before they reached the layer of a context, by reason. Together with the
//! counts of the contexts they account for every copy of the program.

use std::sync::atomic::{AtomicU64, Ordering};

/// The reason why a copy came to no layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The layer does not work: before the driver's start, in the child of a fork, at the end of the process, or after
    /// a panic of ours.
    NotAwake,
    /// A copy of a kind that only the driver makes: within a device, of arrays, from host to host, of no bytes, or of a
    /// shape that the driver may refuse.
    OtherKind,
    /// The layer is not open in the calling thread's context, or there is none.
    NotOpen,
    /// The stream belongs to another context: to a green one, or to one that is not current at the stream's first copy.
    ForeignStream,
    /// The stream is known, and its context is not current.
    NotCurrent,
    /// The per-thread default stream of a thread that is ending.
    ThreadEnding,
    /// The driver refused the copy, or the context has lost an earlier one.
    Refused,
}

const ALL: [Passed; 7] = [
    Passed::NotAwake,
    Passed::OtherKind,
    Passed::NotOpen,
    Passed::ForeignStream,
    Passed::NotCurrent,
    Passed::ThreadEnding,
    Passed::Refused,
];

impl Passed {
    /// The word in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Passed::NotAwake => "not awake",
            Passed::OtherKind => "other kind",
            Passed::NotOpen => "context not open",
            Passed::ForeignStream => "foreign stream",
            Passed::NotCurrent => "context not current",
            Passed::ThreadEnding => "thread ending",
            Passed::Refused => "refused",
        }
    }
}

struct Class {
    copies: AtomicU64,
    bytes: AtomicU64,
}

// Not in the process's state: copies are counted before that exists, and after its end.
static CLASSES: [Class; ALL.len()] =
    [const { Class { copies: AtomicU64::new(0), bytes: AtomicU64::new(0) } }; ALL.len()];

/// Counts a copy that was passed on; `bytes` is 0 if they are not known. Neither allocates nor locks.
pub fn passed_on(reason: Passed, bytes: u64) {
    let class = &CLASSES[reason as usize];
    class.copies.fetch_add(1, Ordering::Relaxed);
    class.bytes.fetch_add(bytes, Ordering::Relaxed);
}

/// The reasons with copies, the number of those, and their bytes.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, u64, u64)> {
    let of = |reason: Passed| {
        let class = &CLASSES[reason as usize];
        (reason.name(), class.copies.load(Ordering::Relaxed), class.bytes.load(Ordering::Relaxed))
    };
    ALL.into_iter().map(of).filter(|(_, copies, _)| *copies > 0)
}
