//! Brackets: the command sequence of one copy on a channel.
//!
//! Pure: given the bank, the emulation, a priority and how many chunks there are, it says what to submit. In
//! [`Kind::Bracket`](semaphores::Kind::Bracket) mode the sequence is the patent's, literally (PC-03): acquire every higher
//! semaphore in ascending order, inc unless lowest, copy, dec unless lowest.

use semaphores::{Bank, Emulation, Priority, Step};

/// The steps that submit `chunks` chunks of one copy at `priority`.
///
/// The acquire stands before every chunk, because a chunk is what may be overtaken; inc and dec stand around the whole
/// copy, because it stays pending until its last chunk has executed.
#[must_use]
pub fn bracket(bank: &Bank, emulation: &dyn Emulation, priority: Priority, chunks: usize) -> Vec<Step> {
    let mut steps = Vec::with_capacity(chunks * 2 + 2);
    for chunk in 0..chunks {
        emulation.acquire(bank, priority, &mut steps);
        if chunk == 0 {
            emulation.inc(bank, priority, &mut steps);
        }
        steps.push(Step::Copy(chunk));
    }
    if chunks > 0 {
        emulation.dec(bank, priority, &mut steps);
    }
    steps
}
