//! Kernels that are launched one behind the other before the first is reported: all is as if each were launched alone.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use hal::Nanos;
use overtake::task::{Error, Handle, Lane, More, WorkResult};

use crate::bed::{self, Bed};
use crate::failure::{Outcome, ensure, same};
use crate::log::Log;
use crate::raw;
use crate::rig::Rig;

type Launch = Box<dyn FnMut(&mut Lane<'_>) -> WorkResult<More> + Send>;

/// Kernels behind a task that is held. Returns that, and them.
fn chain(bed: &Bed, launches: Vec<(&str, Launch)>) -> Result<(Handle, Vec<Handle>), Error> {
    let first = bed.tasks.join("first").held().submit()?;
    let mut chain: Vec<Handle> = Vec::new();
    for (name, mut launch) in launches {
        let before = chain.last().unwrap_or(&first);
        let task = bed.tasks.kernel(name, move |lane: &mut Lane<'_>| launch(lane)).after(before).submit()?;
        chain.push(task);
    }
    Ok((first, chain))
}

/// A launch that submits an urgent task.
fn calling(bed: &Bed, log: &Log, name: &'static str) -> Launch {
    let (mut own, urgent, tasks) = (log.launch(name), log.clone(), bed.tasks.clone());
    Box::new(move |lane| {
        tasks.kernel("urgent", urgent.launch("urgent")).priority(bed::urgent()).submit()?;
        own(lane)
    })
}

fn fails() -> Launch {
    Box::new(|_| Err("it fails".into()))
}

/// A launch of a kernel that takes so long.
fn spins(bed: &Bed, span: Nanos) -> Launch {
    let spin = bed.kernels.spin.clone();
    Box::new(move |lane| {
        raw::spin(lane, &spin, span)?;
        Ok(More::Done)
    })
}

/// Those of a long chain are launched in their order, in one lane.
pub fn keep_the_order(rig: &Rig) -> Outcome {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let bed = bed::open(rig)?;
    let log = Log::default();
    let launches = NAMES.iter().map(|name| (*name, Box::new(log.launch(name)) as Launch)).collect();
    let (first, tasks) = chain(&bed, launches)?;
    first.release()?;
    tasks.iter().try_for_each(Handle::wait)?;
    log.is(&NAMES)?;
    ensure!(NAMES.iter().all(|name| log.lane(name) == log.lane("a")), "a chain is in one lane");
    same("launches", &bed.dispatcher.statistics().launches, &12)?;
    bed.tasks.wait()?;
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// Chains that are released at once take turns, task by task, and each stays in its lane: also behind an urgent task,
/// and where one of them fails or has more to launch.
pub fn go_on_in_rounds(rig: &Rig) -> Outcome {
    const NAMES: [[&str; 4]; 3] = [["a1", "a2", "a3", "a4"], ["b1", "b2", "b3", "b4"], ["c1", "c2", "c3", "c4"]];
    let bed = bed::open(rig)?;
    for (at, expected) in [
        ("none", "a1 b1 c1 a2 b2 c2 a3 b3 c3 a4 b4 c4"),
        ("urgent", "a1 b1 c1 a2 b2 urgent c2 a3 b3 c3 a4 b4 c4"),
        ("fails", "a1 b1 c1 a2 c2 a3 c3 a4 c4"),
        ("twice", "a1 b1 c1 a2 b20 c2 a3 b21 c3 a4 b3 c4 b4"),
    ] {
        let log = Log::default();
        let first = bed.tasks.join("first").held().submit()?;
        for names in NAMES {
            let mut before = first.clone();
            for name in names {
                let mut launch: Launch = match at {
                    "urgent" if name == "b2" => calling(&bed, &log, name),
                    "fails" if name == "b2" => fails(),
                    "twice" if name == "b2" => Box::new(log.turns(name, 2)),
                    _ => Box::new(log.launch(name)),
                };
                before = bed.tasks.kernel(name, move |lane: &mut Lane<'_>| launch(lane)).after(&before).submit()?;
            }
        }
        first.release()?;
        bed.tasks.wait()?;
        log.is(&expected.split(' ').collect::<Vec<_>>())?;
        let chains = NAMES.map(|names| names.map(|name| log.lane(name)));
        ensure!(chains[0].iter().all(|lane| *lane == chains[0][0]), "a chain is in one lane");
        ensure!(chains[2].iter().all(|lane| *lane == chains[2][0]), "a chain is in one lane");
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)?;
    }
    Ok(())
}

/// None behind a launch that has failed is launched, and none before all launches of a task.
pub fn end_behind_a_launch_that_is_not_the_last(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let own = |name| Box::new(log.launch(name)) as Launch;
    let twice = Box::new(log.turns("twice", 2));
    let launches =
        vec![("a", own("a")), ("twice", twice), ("b", own("b")), ("fails", fails()), ("c", own("c")), ("d", own("d"))];
    let (first, tasks) = chain(&bed, launches)?;
    first.release()?;
    bed.tasks.wait()?;
    log.is(&["a", "twice0", "twice1", "b"])?;
    for (task, fails) in tasks.iter().zip([false, false, false, true, true, true]) {
        let told = task.wait();
        let is_as_expected = told.as_ref().map_or_else(|error| error.to_string().contains("it fails"), |()| !fails);
        ensure!(is_as_expected && told.is_err() == fails, "{told:?}");
    }
    same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
}

/// A task that becomes ready during a launch, and is more urgent, is the next: of a chain, and beside others.
pub fn end_when_an_urgent_task_comes(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let own = |name| Box::new(log.launch(name)) as Launch;
    let launches = vec![("a", own("a")), ("b", calling(&bed, &log, "b")), ("c", own("c")), ("d", own("d"))];
    let (first, _tasks) = chain(&bed, launches)?;
    first.release()?;
    bed.tasks.wait()?;
    log.is(&["a", "b", "urgent", "c", "d"])?;
    let log = Log::default();
    let own = |name| Box::new(log.launch(name)) as Launch;
    let group = bed.tasks.group()?;
    for (name, mut launch) in
        [("a", own("a")), ("b", calling(&bed, &log, "b")), ("fails", fails()), ("c", own("c")), ("d", own("d"))]
    {
        drop(bed.tasks.kernel(name, move |lane: &mut Lane<'_>| launch(lane)).submit()?);
    }
    drop(group);
    bed.tasks.wait()?;
    log.is(&["a", "b", "urgent", "c", "d"])
}

/// A task that is launched behind a sync point joins all that has been submitted before it.
pub fn end_at_a_sync_point(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let log = Log::default();
    let own = |name| Box::new(log.launch(name)) as Launch;
    let sync: Launch = Box::new(|lane| {
        lane.sync_point()?;
        Ok(More::Done)
    });
    let (first, tasks) = chain(&bed, vec![("a", own("a")), ("sync", sync), ("b", own("b")), ("c", own("c"))])?;
    let mut long = spins(&bed, Nanos::from_ms(2));
    drop(bed.tasks.kernel("long", move |lane: &mut Lane<'_>| long(lane)).submit()?);
    first.release()?;
    tasks.iter().try_for_each(Handle::wait)?;
    same("joins", &bed.dispatcher.graph_statistics().joins, &1)?;
    log.is(&["a", "b", "c"])
}

/// The end of a task that a function or a future waits for is seen before those behind it in its lane have ended.
pub fn end_behind_a_task_that_is_waited_for(rig: &Rig) -> Outcome {
    const LONG: Nanos = Nanos::from_ms(20);
    let bed = bed::open(rig)?;
    let host = rig.driver().host();
    for by_function in [true, false] {
        let short = || spins(&bed, Nanos::from_us(10));
        let (first, tasks) = chain(&bed, vec![("a", short()), ("b", short()), ("long", spins(&bed, LONG))])?;
        let mut future = pin!(tasks[1].clone());
        let seen_ns = Arc::new(AtomicU64::new(0));
        let (driver, told_ns) = (Arc::clone(rig.shared_driver()), Arc::clone(&seen_ns));
        if by_function {
            let told = bed.tasks.host("told", move || {
                told_ns.store(driver.host().now().0, Ordering::Release);
                Ok(())
            });
            drop(told.after(&tasks[1]).submit()?);
        } else {
            ensure!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "it is held");
        }
        let start = host.now();
        first.release()?;
        if !by_function {
            tasks[1].wait()?;
            seen_ns.store(host.now().0, Ordering::Release);
        }
        bed.tasks.wait()?;
        let span = Nanos(seen_ns.load(Ordering::Acquire)).since(start);
        ensure!(
            span < LONG && host.now().since(start) >= LONG,
            "it was seen after {span:?}, by function: {by_function}"
        );
    }
    Ok(())
}
