//! Whether copies may raise words, and if not, why.
//!
//! They may not after the layer has stood down because of too many rescues, after it has left the context, and after a
//! copy was lost. A lost copy is one that the layer had accepted, and that neither a kernel nor the copy engine has
//! made because the driver refused again and again. Threads that wait for it continue, because no thread may wait
//! forever, but the bytes are missing. So from then on the context fails as it does natively after a copy or kernel has
//! failed on the device: with the same code, permanently, in every call that goes through the layer.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hal::locks::lock;
use hal::{Code, Error, Result};
use priority::{Direction, Priority};
use semaphores::{Bank, Pending};

use crate::records::fence::Fence;
use crate::records::lifts::Lifts;

/// Whether any context of the process has lost a copy.
static ANYWHERE: AtomicBool = AtomicBool::new(false);

/// The reasons not to raise: the layer has stood down, has left the context, or has lost copies.
const STOOD_DOWN: u8 = 1;
const LEFT: u8 = 2;
const LOST: u8 = 4;

/// Whether a copy has been lost in any context. Costs one load.
#[must_use]
pub fn is_any_copy_lost() -> bool {
    ANYWHERE.load(Ordering::Relaxed)
}

/// The semaphores of all engines, and whether copies may raise them.
pub(crate) struct Standing {
    /// By direction.
    banks: [Arc<Bank>; Direction::COUNT],
    /// The reasons not to raise, one bit each.
    aside: AtomicU8,
    /// The copies that wait for the semaphores.
    pub(crate) lifts: Lifts,
    /// The fences of lost copies.
    lost: Mutex<Vec<Fence>>,
    loss: OnceLock<Error>,
}

impl Standing {
    pub(crate) fn new(banks: [Arc<Bank>; Direction::COUNT]) -> Standing {
        let lifts = Lifts::new(banks.each_ref().map(Arc::clone));
        Standing { banks, aside: AtomicU8::new(0), lifts, lost: Mutex::default(), loss: OnceLock::new() }
    }

    pub(crate) fn banks(&self) -> &[Arc<Bank>; Direction::COUNT] {
        &self.banks
    }

    pub(crate) fn bank(&self, direction: Direction) -> &Bank {
        &self.banks[direction.index()]
    }

    /// Holds off the copies below `priority` on an engine, unless the layer stands aside.
    pub(crate) fn raise(&self, direction: Direction, priority: Priority) -> Option<Pending> {
        let bank = self.bank(direction);
        let pending = bank.raise(priority);
        // The raise comes first and the question after it. A thread that stands down does so first, and opens the words
        // after it.
        if self.is_passive() {
            bank.lower(pending);
            return None;
        }
        Some(pending)
    }

    /// Whether no copy may raise a word, for any reason.
    pub(crate) fn is_passive(&self) -> bool {
        self.aside.load(Ordering::SeqCst) != 0
    }

    /// Whether the reason is that the layer has stood down.
    pub(crate) fn has_stood_down(&self) -> bool {
        self.aside.load(Ordering::SeqCst) & STOOD_DOWN != 0
    }

    /// Opens all words, and lets no copy raise one, because of failures.
    pub(super) fn stand_down(&self) {
        self.stand_aside(STOOD_DOWN);
    }

    /// Lets copies raise words again.
    pub(super) fn resume(&self) {
        self.aside.fetch_and(!STOOD_DOWN, Ordering::SeqCst);
    }

    /// Opens all words, and lets no copy raise one, because the layer ends.
    pub(crate) fn leave(&self) {
        self.stand_aside(LEFT);
    }

    fn stand_aside(&self, why: u8) {
        self.aside.fetch_or(why, Ordering::SeqCst);
        self.open_all();
    }

    pub(crate) fn open_all(&self) {
        self.banks.iter().for_each(|bank| {
            bank.open_all();
        });
    }

    /// Counts accepted copies that cannot be made because the driver refuses them. Every call fails from now on; see
    /// [`Standing::check`].
    pub(crate) fn lose(&self, fences: &[Fence], why: &Error) {
        let copies = fences.len();
        lock(&self.lost).extend(fences);
        let text = format!("a bulk copy that had been accepted could not be made: {why}; its bytes are missing");
        if self.loss.set(Code::LAUNCH_FAILED.at("overtake copy").because(text)).is_ok() {
            log::error!(
                "{copies} bulk copies that had been accepted could not be made: {why}. Their bytes are missing, so \
                 every copy and synchronisation of this context that goes through overtake fails from now on, as after \
                 a kernel that has crashed. Let the program end, and run it with OVERTAKE=off if it happens again."
            );
        }
        ANYWHERE.store(true, Ordering::SeqCst);
        self.stand_aside(LOST);
    }

    /// The number of copies that the context has lost.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.lost).len() as u64
    }

    /// Whether the copy with this fence is lost.
    pub(crate) fn is_lost(&self, fence: Fence) -> bool {
        self.check().is_err() && lock(&self.lost).contains(&fence)
    }

    /// An error if the context has lost a copy.
    pub(crate) fn check(&self) -> Result<()> {
        if self.aside.load(Ordering::SeqCst) & LOST == 0 {
            return Ok(());
        }
        self.loss.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

#[cfg(test)]
mod tests {
    use priority::Priorities;

    use super::*;
    use crate::soft;

    /// What can happen to a context, in any order: each reason not to raise holds until it ends, and only the pause
    /// ends.
    #[test]
    #[cfg_attr(miri, ignore)] // 256 layers take minutes under an interpreter
    fn the_end_of_a_pause_ends_no_other_reason() {
        let driver = soft::driver();
        let why = Code::OUT_OF_MEMORY.at("cuMemcpyHtoDAsync_v2").because("a test");
        for order in 0..4_u32.pow(4) {
            let standing = soft::records(&driver, Priorities::new(2).unwrap()).standing;
            let [mut paused, mut left, mut lost] = [false; 3];
            for step in (0..4).map(|at| order / 4_u32.pow(at) % 4) {
                match step {
                    0 => standing.stand_down(),
                    1 => standing.resume(),
                    2 => standing.leave(),
                    _ => standing.lose(&[], &why),
                }
                paused = step == 0 || paused && step != 1;
                (left, lost) = (left || step == 2, lost || step == 3);
                let at = format!("order {order}, after {step}");
                assert_eq!(standing.is_passive(), paused || left || lost, "{at}");
                assert_eq!(standing.has_stood_down(), paused, "{at}");
                let code = standing.check().err().map(|error| error.code());
                assert_eq!(code, lost.then_some(Code::LAUNCH_FAILED), "{at}");
                let pending = standing.raise(Direction::HostToDevice, Priority::new(2).unwrap());
                assert_eq!(pending.is_some(), !standing.is_passive(), "{at}");
                pending.into_iter().for_each(|pending| standing.bank(Direction::HostToDevice).lower(pending));
            }
        }
    }
}
