//! A task that fails: the tasks after it do not run, the others do, and each error names its task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hal::Nanos;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Arguments, Error, Handle, Lane, More, Reason, WorkResult};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

/// Two tasks after the first, one of each runner, and one beside them. Only that one runs.
fn others_end(bed: &Bed, first: &Handle, name: &str) -> Outcome {
    let runs: Arc<AtomicU32> = Arc::default();
    let count = |by: u32| {
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(by, Ordering::AcqRel);
            Ok(())
        }
    };
    let on_device = count(1);
    let kernel = bed.tasks.kernel("kernel", move |_: &mut Lane<'_>| on_device().map(|()| More::Done));
    let kernel = kernel.after(first).submit()?;
    let function = bed.tasks.host("function", count(10)).after(&kernel).submit()?;
    let beside = bed.tasks.host("beside", count(100)).submit()?;
    let failed = first.wait().expect_err("it fails");
    ensure!(failed.to_string().contains(&format!("task \"{name}\" failed")), "{failed}");
    for (task, its) in [(&kernel, "kernel"), (&function, "function")] {
        let error = task.wait().expect_err("a task before it has failed");
        let Error::NotRun { task, fault, .. } = &error else { return Err(Failure::new(format_args!("{error}"))) };
        same("the task that did not run", task, &format!("\"{its}\""))?;
        same("because of", &fault.task, &format!("\"{name}\""))?;
    }
    beside.wait()?;
    same("tasks that ran", &runs.load(Ordering::Acquire), &100)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Also where both have one name.
pub fn of_another_of_its_name(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let first = bed.tasks.host("same", || Err("the file is empty".into())).held().submit()?;
    let then = bed.tasks.host("same", || Ok(())).after(&first).submit()?;
    first.release()?;
    let told = [first.wait(), then.wait()];
    let [first, then] = told.map(|told| told.expect_err("the first has failed"));
    ensure!(matches!(first, Error::Failed(_)), "{first}");
    ensure!(matches!(then, Error::NotRun { .. }), "it was not run: {then}");
    let told = "task \"same\" was not run: task \"same\" failed: the file is empty";
    same("why", &then.to_string().as_str(), &told)
}

pub fn of_a_launch(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let task = bed.tasks.kernel("broken", |_: &mut Lane<'_>| Err("no such picture".into()));
    let task = task.held().submit()?;
    task.release()?;
    let error = task.wait().expect_err("it fails");
    ensure!(matches!(&error, Error::Failed(fault) if matches!(fault.reason, Reason::Returned(_))), "{error}");
    let next = bed.tasks.kernel("broken again", |_: &mut Lane<'_>| Err("no such picture".into()));
    others_end(&bed, &next.submit()?, "broken again")
}

pub fn of_a_function(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let task = bed.tasks.host("unreadable", || Err("the file is empty".into())).submit()?;
    others_end(&bed, &task, "unreadable")
}

pub fn panics(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let in_launch = bed.tasks.kernel("launch", |_: &mut Lane<'_>| -> WorkResult<More> {
        std::panic::resume_unwind(Box::new("in a launch"))
    });
    others_end(&bed, &in_launch.submit()?, "launch")?;
    let in_function = bed.tasks.host("host", || std::panic::resume_unwind(Box::new("in a function")));
    let in_function = in_function.submit()?;
    others_end(&bed, &in_function, "host")?;
    let error = in_function.wait().expect_err("it has panicked");
    ensure!(error.to_string().contains("it panicked: in a function"), "{error}");
    Ok(())
}

/// Arguments that do not fit are refused before the driver sees them, by the number of the argument.
pub fn arguments(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (word, kernel) = (rig.buffer(64)?, bed.kernels.store.clone());
    let wrong = [
        (Arguments::new().address(word.at(0)), "it takes 2 arguments, and 1 are given"),
        (Arguments::new().address(word.at(0)).value(&1_u64), "argument 2 has 4 bytes, and 8 are given"),
    ];
    for (arguments, said) in wrong {
        let kernel = kernel.clone();
        let task = bed.tasks.kernel("wrong", move |lane: &mut Lane<'_>| {
            raw::launch(lane, &kernel, arguments.clone())?;
            Ok(More::Done)
        });
        let error = task.submit()?.wait().expect_err("it is refused");
        ensure!(error.to_string().contains("kernel soft_store_u32") && error.to_string().contains(said), "{error}");
    }
    Ok(())
}

/// Functions that are ready when the dispatcher is closed do not run, and their handles say so. Those that run end.
pub fn closed_before(rig: &Rig) -> Outcome {
    let bed = bed::open_with(rig, DispatchOptions { workers: 4, ..DispatchOptions::default() })?;
    let begun: Arc<AtomicU32> = Arc::default();
    let sleeping = |span: Nanos| {
        let (driver, begun) = (Arc::clone(rig.shared_driver()), Arc::clone(&begun));
        bed.tasks.host("sleeping", move || {
            begun.fetch_add(1, Ordering::AcqRel);
            driver.host().sleep(span);
            Ok(())
        })
    };
    // The worker that is waited for first ends last.
    let running = [4, 3, 2, 1].map(|span| sleeping(Nanos::from_ms(span)).submit());
    bed::eventually(rig, "four functions", || begun.load(Ordering::Acquire) == 4)?;
    let ready = sleeping(Nanos::ZERO).submit()?;
    drop(bed);
    for task in running {
        ensure!(matches!(task?.outcome(), Some(Ok(()))), "it was running");
    }
    same("functions that ran", &begun.load(Ordering::Acquire), &4)?;
    match ready.outcome() {
        Some(Err(Error::Failed(fault))) if matches!(fault.reason, Reason::Closed) => Ok(()),
        other => Err(Failure::new(format_args!("{other:?}"))),
    }
}
