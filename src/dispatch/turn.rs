//! The turn to take steps: only the thread that has it does. The others leave their nodes to that thread.
//!
//! No node is left behind: the thread looks for a step, and gives the turn back if there is none, in one hold of the
//! lock. `src/dispatch/models.rs` checks it.

use std::ops::DerefMut;

/// A thread takes so many steps before it hands over.
pub(crate) const STEPS_MAX: u32 = 256;

/// The turn, which is a part of the state behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    is_taken: bool,
    /// Steps are left that no thread takes: the thread on watch is to do that.
    is_handed_over: bool,
}

impl Turn {
    /// Takes the turn, unless another thread has it.
    #[inline]
    pub fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.is_taken, true)
    }

    /// Gives the turn back.
    #[inline]
    pub fn end(&mut self) {
        self.is_taken = false;
    }

    /// Whether a thread has it.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Whether steps are left for the thread on watch.
    pub fn is_handed_over(&self) -> bool {
        self.is_handed_over
    }

    /// The thread on watch takes the steps that are left. Returns whether there may be some.
    pub fn resume(&mut self) -> bool {
        std::mem::take(&mut self.is_handed_over)
    }
}

/// A state behind a lock, from which steps are taken without that lock.
pub(crate) trait Steps {
    type Step;
    /// The things that a thread has at hand while it takes steps.
    type Kit;

    fn turn(&mut self) -> &mut Turn;

    /// The next step.
    fn step(&mut self, kit: &mut Self::Kit) -> Option<Self::Step>;

    /// There is something that the thread on watch has not seen.
    fn tell(&mut self);
}

/// Takes the steps that can be taken, on the thread that has begun its turn, and ends that. `take` takes one, without
/// the lock, and takes that again. The thread on watch goes on after `most` steps: a thread that submits one task does
/// not have to dispatch those of all others for ever.
#[inline]
pub(crate) fn take_steps<H, S>(
    held: &mut H,
    kit: &mut S::Kit,
    most: u32,
    mut take: impl FnMut(&mut H, S::Step, &mut S::Kit),
) where
    H: DerefMut<Target = S>,
    S: Steps,
{
    let mut steps = 0;
    while let Some(step) = held.step(kit) {
        take(held, step, kit);
        steps += 1;
        if steps == most {
            held.turn().is_handed_over = true;
            held.tell();
            break;
        }
    }
    held.turn().end();
}
