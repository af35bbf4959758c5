//! Tasks that run again where they fail: those after them wait, until one run succeeds or the budget is spent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use overtake::task::{Error, Lane, More, Reason, WorkResult};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::log::Log;
use crate::rig::Rig;

/// A launch that fails so many times, and counts its calls.
fn flaky(fails: u32, calls: &Arc<AtomicU32>) -> impl FnMut(&mut Lane<'_>) -> WorkResult<More> + use<> {
    let calls = Arc::clone(calls);
    move |_| match calls.fetch_add(1, Ordering::AcqRel) {
        call if call < fails => Err(format!("call {call}").into()),
        _ => Ok(More::Done),
    }
}

/// Two calls fail, and the third succeeds: the tasks after it run behind that one, and those beside it meanwhile.
pub fn until_it_succeeds(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, calls) = (Log::default(), Arc::default());
    let group = bed.tasks.group()?;
    let task = bed.tasks.kernel("flaky", flaky(2, &calls)).retries(2).submit()?;
    let after = bed.tasks.kernel("after", log.launch("after")).after(&task).submit()?;
    let beside = bed.tasks.kernel("beside", log.launch("beside")).submit()?;
    drop(group);
    task.wait()?;
    after.wait()?;
    beside.wait()?;
    same("calls", &calls.load(Ordering::Acquire), &3)?;
    log.is(&["beside", "after"])?;
    same("retries", &bed.dispatcher.statistics().retries, &2)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// With the budget spent it fails with the last error, and the tasks after it with it.
pub fn until_the_budget_is_spent(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (log, calls) = (Log::default(), Arc::default());
    let task = bed.tasks.kernel("hopeless", flaky(9, &calls)).retries(3).submit()?;
    let after = bed.tasks.host("after", log.function("after")).after(&task).submit()?;
    let error = task.wait().expect_err("each call fails");
    ensure!(
        matches!(&error, Error::Failed(fault) if matches!(&fault.reason, Reason::Returned(told) if told == "call 3")),
        "{error}"
    );
    let error = after.wait().expect_err("the task before it has failed");
    ensure!(error.to_string().contains("task \"hopeless\" failed: call 3"), "{error}");
    same("calls", &calls.load(Ordering::Acquire), &4)?;
    log.is(&[])?;
    let once = Arc::default();
    let task = bed.tasks.kernel("once", flaky(1, &once)).submit()?;
    ensure!(task.wait().is_err(), "it may not run again");
    same("calls of one without a budget", &once.load(Ordering::Acquire), &1)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Of a task of three turns only the one that failed is repeated.
pub fn of_one_turn(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (turns, has_failed) = (Arc::<AtomicU32>::default(), AtomicU32::new(0));
    let seen = Arc::clone(&turns);
    let task = bed.tasks.kernel("three", move |lane: &mut Lane<'_>| {
        seen.store(seen.load(Ordering::Acquire) * 10 + lane.turn() + 1, Ordering::Release);
        if lane.turn() == 1 && has_failed.fetch_add(1, Ordering::AcqRel) == 0 {
            return Err("the second turn".into());
        }
        Ok(if lane.turn() < 2 { More::Again } else { More::Done })
    });
    task.retries(1).submit()?.wait()?;
    same("the turns, one digit each", &turns.load(Ordering::Acquire), &1223)
}

/// A panic is a mistake of the program, and a function of the host can be called once only.
pub fn never(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let calls = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&calls);
    let task = bed.tasks.kernel("panics", move |_: &mut Lane<'_>| -> WorkResult<More> {
        counted.fetch_add(1, Ordering::AcqRel);
        std::panic::resume_unwind(Box::new("in a launch"))
    });
    let error = task.retries(5).submit()?.wait().expect_err("it panics");
    ensure!(error.to_string().contains("it panicked: in a launch"), "{error}");
    same("calls", &calls.load(Ordering::Acquire), &1)?;
    let error = bed.tasks.host("host", || Ok(())).retries(1).submit().map(drop);
    let Err(error) = error else { return Err(Failure::new("a function of the host is repeated")) };
    ensure!(error.to_string().contains("task \"host\" is refused: a function of the host"), "{error}");
    bed.tasks.host("host", || Ok(())).retries(0).submit()?.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}
