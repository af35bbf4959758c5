//! Counts of copies that went to the driver before they reached the layer of a context, by reason. Together with the
//! counts of the contexts they account for every copy of the program.

use crate::tally::Tally;

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

// Not in the process's state: copies are counted before that exists, and after its end.
static TALLIES: [Tally; ALL.len()] = [const { Tally::new() }; ALL.len()];

/// Counts a copy that was passed on; `bytes` is 0 if they are not known. Neither allocates nor locks.
pub fn passed_on(reason: Passed, bytes: u64) {
    TALLIES[reason as usize].add(bytes);
}

/// The reasons with copies, the number of those, and their bytes.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, u64, u64)> {
    let of = |reason: Passed| {
        let (copies, bytes) = TALLIES[reason as usize].sum();
        (reason.name(), copies, bytes)
    };
    ALL.into_iter().map(of).filter(|(_, copies, _)| *copies > 0)
}
