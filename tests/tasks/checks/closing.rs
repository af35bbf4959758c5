//! The dispatcher is closed in the middle: it ends, and each handle has an outcome.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hal::Nanos;
use hal::locks::lock;
use overtake::dispatch::Dispatcher;
use overtake::task::{Error, Handle, Lane, More, Reason, Recording, Tasks, WorkResult};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::raw;
use crate::rig::Rig;

const THREADS: u32 = 3;

fn is_closed(handle: &Handle) -> bool {
    let error = handle.outcome().and_then(Result::err);
    matches!(error.and_then(|error| error.fault()), Some(fault) if matches!(fault.reason, Reason::Closed))
}

/// Work on the device, a function that waits for it, a task that is held, one after it, and a function that is being
/// run: the first and the last end as ever, the others fail by name. A thread that waits for one wakes.
pub fn in_the_middle(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (word, owned) = (rig.buffer_of(&[0; 64])?, Arc::new(()));
    let (spin, store, mine) = (bed.kernels.spin.clone(), bed.kernels.store.clone(), Arc::clone(&owned));
    let device = bed.tasks.kernel("device", move |lane: &mut Lane<'_>| {
        let _owned = &mine;
        raw::spin(lane, &spin, Nanos::from_ms(2))?;
        raw::word(lane, &store, word.at(0), 3)?;
        Ok(More::Done)
    });
    let device = device.submit()?;
    let mine = Arc::clone(&owned);
    let waits = bed.tasks.host("waits", move || drop_with(mine)).after(&device).submit()?;
    let mine = Arc::clone(&owned);
    let held = bed.tasks.light("held", move || drop_with(mine)).held().submit()?;
    let after = bed.tasks.join("after").after(&held).submit()?;
    let (driver, mine, is_running) =
        (Arc::clone(rig.shared_driver()), Arc::clone(&owned), Arc::new(AtomicBool::new(false)));
    let running = Arc::clone(&is_running);
    let runs = bed.tasks.host("runs", move || {
        running.store(true, Ordering::Release);
        driver.host().sleep(Nanos::from_us(500));
        drop_with(mine)
    });
    let runs = runs.submit()?;
    bed::eventually(rig, "the function is run", || is_running.load(Ordering::Acquire))?;
    let (waited_for, set) = (after.clone(), bed.tasks.clone());
    let waiter = rig.spawn("waiter", move |_| Ok((waited_for.wait().is_err(), set.wait().is_ok())));
    rig.driver().host().sleep(Nanos::from_us(100));
    let Bed { dispatcher, tasks, .. } = bed;
    drop(dispatcher);
    same("the waiting thread", &rig.join(waiter)?, &(true, true))?;
    ensure!(device.outcome().is_some_and(|end| end.is_ok()), "it was launched: {:?}", device.outcome());
    ensure!(runs.outcome().is_some_and(|end| end.is_ok()), "it was being run: {:?}", runs.outcome());
    for handle in [&held, &after] {
        ensure!(is_closed(handle), "{:?}", handle.outcome());
    }
    ensure!(is_closed(&waits), "{:?}", waits.outcome());
    refuses_by_name(&tasks)?;
    same("the functions that are left", &Arc::strong_count(&owned), &1)?;
    same("the word", &rig.download(word, rig.stream()?)?[0], &3)
}

/// The error of a closed dispatcher names the task and the cure.
fn refuses_by_name(tasks: &Tasks) -> Outcome {
    let template = Recording::<u32>::new().finish()?;
    let calls = [
        ("\"late\"", tasks.join("late").submit()),
        ("\"late\"", tasks.host("late", || Ok(())).submit_named()),
        ("\"late\"", tasks.named("late")),
        ("(of a template)", template.replay(tasks, 0).submit()),
    ];
    for (name, call) in calls {
        let cure = "is refused: the dispatcher has been closed; open another one, and submit it there";
        let said = call.map_or_else(|error| error.to_string(), |_| "it is submitted".to_owned());
        same("the error", &said, &format!("task {name} {cure}"))?;
    }
    Ok(())
}

/// The end of a function that owns something.
fn drop_with<T>(owned: T) -> WorkResult<()> {
    drop(owned);
    Ok(())
}

/// Several threads submit, release and wait meanwhile.
pub fn beside_submitters(rig: &Rig) -> Outcome {
    let Bed { dispatcher, tasks, kernels, .. } = bed::open(rig)?;
    let (submitted, ended): (Arc<AtomicU32>, Arc<AtomicU32>) = Default::default();
    let submitter = |number: u32| {
        let (tasks, spin) = (tasks.clone(), kernels.spin.clone());
        let (submitted, ended) = (Arc::clone(&submitted), Arc::clone(&ended));
        rig.spawn("submitter", move |driver| {
            let mut handles = Vec::new();
            loop {
                let spin = spin.clone();
                let kernel = tasks.kernel("kernel", move |lane: &mut Lane<'_>| {
                    raw::spin(lane, &spin, Nanos::from_us(3))?;
                    Ok(More::Done)
                });
                let Ok(kernel) = kernel.submit() else { break };
                let Ok(host) = tasks.host("function", || Ok(())).after(&kernel).held().submit() else { break };
                let _ = host.release();
                handles.extend([kernel, host]);
                submitted.fetch_add(2, Ordering::AcqRel);
                driver.host().sleep(Nanos::from_us(u64::from(5 + number)));
            }
            for handle in &handles {
                let is_over =
                    handle.wait().is_ok() || is_closed(handle) || handle.outcome().is_some_and(|end| end.is_err());
                ensure!(is_over, "{:?}", handle.outcome());
                ended.fetch_add(1, Ordering::AcqRel);
            }
            Ok(())
        })
    };
    let submitters: Vec<_> = (0..THREADS).map(submitter).collect();
    let is_busy = || submitted.load(Ordering::Acquire) > THREADS * 4;
    bed::eventually(rig, "the threads have submitted tasks", is_busy)?;
    drop(dispatcher);
    submitters.into_iter().try_for_each(|thread| rig.join(thread))?;
    same("the tasks that have ended", &ended.load(Ordering::Acquire), &submitted.load(Ordering::Acquire))?;
    Ok(tasks.wait()?)
}

/// A function owns the dispatcher and drops it, on a worker or on a thread that dispatches; or it fails meanwhile.
pub fn by_its_own_task(rig: &Rig) -> Outcome {
    type Own = Arc<Mutex<Option<Dispatcher>>>;
    for kind in ["host", "light", "launch", "unrun"] {
        let Bed { dispatcher, tasks, .. } = bed::open(rig)?;
        let own: Own = Arc::new(Mutex::new(Some(dispatcher)));
        let mine = Arc::clone(&own);
        let close = move || lock(&mine).take().map(drop);
        let task = match kind {
            "host" => tasks.host(kind, move || drop_with(close())),
            "light" => tasks.light(kind, move || drop_with(close())),
            "launch" => tasks.kernel(kind, move |_: &mut Lane<'_>| Ok(close().map_or(More::Done, |()| More::Done))),
            _ => tasks.host(kind, move || Err(format!("{:?}", close().is_some()).into())),
        };
        let task = task.submit()?;
        bed::eventually(rig, "the task ends", || task.is_done())?;
        drop((own, task));
        let is_closed = || matches!(tasks.join("late").submit(), Err(Error::Closed { .. }));
        bed::eventually(rig, "the dispatcher is closed", is_closed)?;
        Ok::<(), Failure>(tasks.wait()?)?;
    }
    Ok(())
}

/// A function drops the dispatcher that runs the function around it: it is inside of both.
pub fn by_a_task_of_another(rig: &Rig) -> Outcome {
    let (Bed { dispatcher, tasks, .. }, other) = (bed::open(rig)?, bed::open(rig)?);
    let (own, inner) = (Arc::new(Mutex::new(Some(dispatcher))), other.tasks.clone());
    let submit = move || Ok(inner.light("inner", move || drop_with(lock(&own).take())).submit().map(drop)?);
    let outer = tasks.light("outer", submit).submit()?;
    bed::eventually(rig, "the function ends", || outer.is_done())?;
    let is_closed = || matches!(tasks.join("late").submit(), Err(Error::Closed { .. }));
    bed::eventually(rig, "the dispatcher is closed", is_closed)?;
    outer.wait()?;
    Ok(other.tasks.wait()?)
}
