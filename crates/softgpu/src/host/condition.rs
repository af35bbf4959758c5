//! The condition of a waiting thread, lent to the thread that has the turn.
#![allow(unsafe_code)] // A condition borrows from the stack of its thread, and another thread evaluates it.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use hal::Wait;
use hal::locks::unpoisoned;

use super::threads::ThreadKey;
use super::{Shared, State};

/// The pause between a lender's looks for its condition, in case it misses the notice.
const LOOK: Duration = Duration::from_millis(2);

/// A condition that another thread may evaluate.
pub(super) struct Condition(NonNull<dyn FnMut() -> bool + Send>);

// SAFETY: its target is `Send`, and there is one `Condition` of it at a time.
unsafe impl Send for Condition {}

impl Condition {
    /// Evaluates it. A panic is an answer too: it belongs to the lender.
    pub(super) fn holds(&mut self) -> thread::Result<bool> {
        catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: its lender is inside `while_lent`, which does not use the condition and does not return before
            // this one is back.
            evaluate(unsafe { self.0.as_mut() })
        }))
    }
}

thread_local! {
    static IS_EVALUATING: Cell<bool> = const { Cell::new(false) };
}

/// Evaluates a condition on the calling thread.
pub(super) fn evaluate(condition: &mut (dyn FnMut() -> bool + Send)) -> bool {
    /// Also when the condition panics.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            let _is_ending = IS_EVALUATING.try_with(|is| is.set(false));
        }
    }
    let _is_ending = IS_EVALUATING.try_with(|is| is.set(true));
    let _reset = Reset;
    condition()
}

/// A condition is evaluated by any thread, in the middle of that thread's own call: it cannot make another.
pub(super) fn assert_not_evaluating() {
    let is_evaluating = IS_EVALUATING.try_with(Cell::get).unwrap_or(false);
    assert!(!is_evaluating, "a condition of Host::wait_until has called the driver or the host, which it must not");
}

/// The place of a thread's condition.
#[derive(Default)]
pub(super) enum Lent {
    /// With its thread.
    #[default]
    No,
    /// Here, for the thread that has the turn.
    Here(Condition),
    /// With that thread, which is evaluating it.
    Taken,
    /// The wait is over, and this is how.
    Over(thread::Result<Wait>),
}

/// A state that is held, and how a wait has ended, if it has.
type Ended<'a> = (MutexGuard<'a, State>, Option<thread::Result<Wait>>);

impl Shared {
    /// Lends the condition of a waiting thread for as long as `wait` runs.
    pub(super) fn while_lent<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        lender: ThreadKey,
        condition: &mut (dyn FnMut() -> bool + Send),
        wait: impl FnOnce(MutexGuard<'a, State>) -> MutexGuard<'a, State>,
    ) -> Ended<'a> {
        let condition: NonNull<dyn FnMut() -> bool + Send + '_> = NonNull::from(condition);
        // SAFETY: the two types differ in a lifetime only. The longer one ends with the loan, which ends in this
        // function, however it is left; and the borrow lasts as long as this function.
        let condition: NonNull<dyn FnMut() -> bool + Send> = unsafe { std::mem::transmute(condition) };
        state.threads.all[lender].condition = Lent::Here(Condition(condition));
        let loan = Loan { shared: self, lender };
        let state = wait(state);
        ManuallyDrop::new(loan).take_back(state)
    }
}

/// Takes a condition back when its thread unwinds.
struct Loan<'a> {
    shared: &'a Shared,
    lender: ThreadKey,
}

impl Loan<'_> {
    #[expect(clippy::disallowed_methods, reason = "another thread evaluates the condition meanwhile, in real time")]
    fn take_back<'a>(&self, mut state: MutexGuard<'a, State>) -> Ended<'a> {
        loop {
            let Some(thread) = state.threads.all.get_mut(self.lender) else { return (state, None) };
            match std::mem::take(&mut thread.condition) {
                Lent::No | Lent::Here(_) => return (state, None),
                Lent::Over(end) => return (state, Some(end)),
                Lent::Taken => thread.condition = Lent::Taken,
            }
            let signal = Arc::clone(&thread.signal);
            state = unpoisoned(signal.wait_timeout(state, LOOK)).0;
        }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let _ended = self.take_back(self.shared.lock());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use hal::{Driver, Nanos, Wait};

    use crate::SoftGpu;

    /// Threads that count in turn, each with a condition in its own stack: Miri sees which thread uses it when.
    #[test]
    fn conditions_are_lent_and_come_back() {
        const THREADS: u32 = 3;
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
        // This thread has the turn until it joins: none of the others runs out of time before all have started.
        let begin = driver.host().now();
        let count = Arc::new(AtomicU32::new(0));
        let turns = |index: u32| {
            let (own, count) = (Arc::clone(&driver), Arc::clone(&count));
            let body = move || {
                let mut looks = 0;
                for round in 0..4 {
                    let turn = THREADS * round + index;
                    let mut condition = || {
                        looks += 1;
                        count.load(Ordering::Acquire) == turn
                    };
                    let deadline = begin + Nanos::from_ms(100);
                    assert_eq!(own.host().wait_until(Some(deadline), &mut condition), Wait::Met);
                    count.fetch_add(1, Ordering::AcqRel);
                }
                looks
            };
            hal::spawn(&driver, &format!("counts {index}"), body).unwrap()
        };
        let looks: u32 = [0, 1, 2].map(turns).into_iter().map(|thread| thread.join(driver.host())).sum();
        assert!(looks > 4 * THREADS, "each waits for the others: {looks}");
    }
}
