//! Several threads submit, and functions of tasks do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use overtake::data::{discard, read_write};
use overtake::task::{Handle, Lane, More, Tasks};

use crate::bed;
use crate::failure::{Failure, Outcome, same};
use crate::rig::Rig;

const ROUNDS: u32 = 200;

/// A function of a task submits computations, beside a thread that leaves tasks to the one that dispatches. A
/// thread that submits a computation finds those, and may not take steps before it has let go of the order of
/// submissions: the function asks for that.
pub fn submit_in_functions(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (first, then) = (bed.arrays.array_of(&[0_u32])?, Arc::new(bed.arrays.array_of(&[0_u32])?));
    let (is_over, inner): (Arc<AtomicBool>, Arc<AtomicU32>) = Default::default();
    let (tasks, ends) = (Tasks::new(&bed.dispatcher), Arc::clone(&is_over));
    let other = rig.spawn("submitter", move |_| {
        while !ends.load(Ordering::Acquire) {
            for _ in 0..100 {
                tasks.kernel("kernel", |_: &mut Lane<'_>| Ok(More::Done)).submit()?;
            }
            tasks.wait()?;
        }
        Ok(())
    });
    let round = |_| -> Result<(), Failure> {
        let change = bed.arrays.launch("change", (discard(&first),), |_, _| Ok(More::Done)).submit()?;
        let (arrays, then, inner) = (bed.arrays.clone(), Arc::clone(&then), Arc::clone(&inner));
        let submit = move || {
            arrays.launch("in a function", (read_write(&then),), |_, _| Ok(More::Done)).submit()?;
            inner.fetch_add(1, Ordering::AcqRel);
            Ok(())
        };
        let next: Handle = bed.tasks.light("next", submit).after(&change).submit()?;
        bed.tasks.kernel("behind", |_: &mut Lane<'_>| Ok(More::Done)).after(&next).submit()?;
        Ok(())
    };
    let submitted = (0..ROUNDS).try_for_each(round);
    is_over.store(true, Ordering::Release);
    rig.join(other)?;
    submitted?;
    bed.tasks.wait()?;
    bed.arrays.wait()?;
    same("computations that functions have submitted", &inner.load(Ordering::Acquire), &ROUNDS)
}
