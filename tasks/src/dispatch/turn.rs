//! The turn to take steps: only the thread that has it does. Other threads leave their nodes to it.
//!
//! No node is left behind: the thread looks for a step, and gives the turn back if there is none, while it holds the
//! lock once. `tasks/src/dispatch/models.rs` verifies this.

use std::ops::DerefMut;
use std::sync::Arc;

use hal::primitive::{AtomicBool, Ordering};

/// A thread takes so many steps before it hands over.
pub(crate) const STEPS_MAX: u32 = 256;

/// The turn, which is a part of the state behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Changed with the lock held; threads without it see whether there is one that will look into the mailboxes.
    is_taken: Arc<AtomicBool>,
    /// It is the turn of the thread on watch, which has not come yet. Only a thread that waits takes it meanwhile: from
    /// any other the state would go from processor to processor. Changed with the lock held, as above.
    is_handed_over: Arc<AtomicBool>,
}

impl Turn {
    /// The sign that a thread has it.
    pub fn sign(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_taken)
    }

    /// The sign that it was handed over.
    pub fn sign_of_handing_over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_handed_over)
    }

    /// Takes the turn, unless another thread has it.
    #[inline]
    pub fn begin(&mut self) -> bool {
        let is_free = !self.is_taken();
        if is_free {
            self.is_taken.store(true, Ordering::Relaxed);
        }
        is_free
    }

    /// Gives the turn back.
    #[inline]
    pub fn end(&mut self) {
        self.is_taken.store(false, Ordering::Relaxed);
    }

    /// Whether a thread has it.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::Relaxed)
    }

    /// Whether steps are left for the thread on watch.
    pub fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Ordering::Relaxed)
    }

    /// The thread on watch takes the steps that are left, if the turn was handed over: it has that now.
    pub fn resume(&mut self) -> bool {
        let was_handed_over = self.is_handed_over();
        if was_handed_over {
            self.is_handed_over.store(false, Ordering::Relaxed);
        }
        was_handed_over
    }
}

/// A state behind a lock, from which steps are taken without that lock.
pub(crate) trait Steps {
    /// The things that a thread has at hand while it takes steps, and the step.
    type Kit;

    fn turn(&mut self) -> &mut Turn;

    /// Puts the next step into the kit, and returns whether there is one. As a value it would be moved several times.
    fn step(&mut self, kit: &mut Self::Kit) -> bool;

    /// There is something that the thread on watch has not seen.
    fn tell(&mut self);
}

/// Takes the steps that can be taken, on the thread that has begun its turn, and ends that. `take` takes one, or
/// those of a batch, without the lock, takes that again, and returns how many they were. The thread on watch goes on
/// when none are left to this one: a thread that submits one task does not have to dispatch those of all others for
/// ever. A thread that has nothing else to do says so by `goes_on`, which is asked with the lock held, and takes
/// another share.
#[inline(always)] // once in each of two loops
pub(crate) fn take_steps<H, S>(
    held: &mut H,
    kit: &mut S::Kit,
    left: &mut u32,
    goes_on: &mut dyn FnMut() -> bool,
    mut take: impl FnMut(&mut H, &mut S::Kit) -> u32,
) where
    H: DerefMut<Target = S>,
    S: Steps,
{
    while take_share(held, kit, left, &mut take) {
        if !goes_on() {
            held.turn().is_handed_over.store(true, Ordering::Relaxed);
            held.tell();
            return;
        }
        *left = STEPS_MAX;
    }
    held.turn().end();
}

/// Takes as many steps as are left to the thread. Returns whether it has taken them all.
#[inline(always)] // as `take_steps`
fn take_share<H, S>(
    held: &mut H,
    kit: &mut S::Kit,
    left: &mut u32,
    take: &mut impl FnMut(&mut H, &mut S::Kit) -> u32,
) -> bool
where
    H: DerefMut<Target = S>,
    S: Steps,
{
    while held.step(kit) {
        *left = left.saturating_sub(take(held, kit));
        if *left == 0 {
            return true;
        }
    }
    false
}
