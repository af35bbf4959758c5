//! Checks in real time: threads run beside each other, and a thread that waits looks at the device itself.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use overtake::hal::{Nanos, Wait};
use overtake::task::{Lane, More};

use crate::bed;
use crate::checks::{beside, threads};
use crate::failure::{Outcome, ensure, same};
use crate::model::on_real_time;

/// Longer than any wait of these checks.
const PATIENCE: Duration = Duration::from_secs(5);

/// Some of their tasks are left to the thread that has the turn, as it happens.
pub fn threads_submit_at_once() -> Outcome {
    on_real_time(|rig| {
        (0..4).try_for_each(|_| {
            beside::threads_have_chains(rig)?;
            threads::submit_beside_each_other(rig)
        })
    })
}

/// For tasks that have completed, and for those that a function of the host comes after.
pub fn waits_end() -> Outcome {
    on_real_time(|rig| {
        let bed = bed::open(rig)?;
        for _ in 0..200 {
            let task = bed.tasks.kernel("kernel", |_: &mut Lane<'_>| Ok(More::Done)).submit()?;
            let function = bed.tasks.host("function", || Ok(())).after(&task).submit()?;
            task.wait()?;
            function.wait()?;
            bed.tasks.kernel("alone", |_: &mut Lane<'_>| Ok(More::Done)).submit()?.wait()?;
            bed.tasks.wait()?;
        }
        same("nodes that are left", &bed.dispatcher.graph_statistics().nodes, &0)
    })
}

/// A thread that waits for work which is complete looks at the device itself, and wakes no other one. The first wait
/// wakes the thread on watch, which naps then for longer than the others take.
pub fn waits_for_complete_work_wake_no_thread() -> Outcome {
    const WAITS: u64 = 2_000;
    on_real_time(|rig| {
        let bed = bed::open(rig)?;
        let wait = |number: u64| {
            let task = bed.tasks.kernel("kernel", |_: &mut Lane<'_>| Ok(More::Done)).submit()?;
            if number.is_multiple_of(2) { task.wait() } else { bed.tasks.wait() }
        };
        wait(0)?;
        let before = bed.dispatcher.statistics().wakes;
        (0..WAITS).try_for_each(wait)?;
        let wakes = bed.dispatcher.statistics().wakes - before;
        // Some are late, where other programs have the processors. A thread on watch that is awake is woken by none.
        ensure!(wakes < WAITS / 10, "{wakes} threads were woken in {WAITS} waits");
        Ok(())
    })
}

/// Whether a future has been woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A future counts on the thread on watch, also beside a thread that looks itself.
pub fn ends_are_seen_for_others_beside_a_thread_that_waits() -> Outcome {
    on_real_time(|rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        for _ in 0..200 {
            let launch = |_: &mut Lane<'_>| Ok(More::Done);
            let first = bed.tasks.kernel("first", launch).submit()?;
            let (woken, future) = (Arc::new(Woken::default()), bed.tasks.kernel("second", launch).submit()?);
            let mut future = pin!(future);
            let is_ready = future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&woken)))).is_ready();
            first.wait()?;
            let end = host.now() + Nanos::from_ms(5_000);
            let seen = host.wait_until(Some(end), &mut || is_ready || woken.0.load(Ordering::SeqCst));
            same("the wait for a future's waker", &seen, &Wait::Met)?;
        }
        Ok(())
    })
}

/// Of tasks that no thread waits for, whether the thread on watch naps when they are submitted, or sleeps.
pub fn ends_are_seen_behind_naps() -> Outcome {
    on_real_time(|rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        let pauses_ms = [3; 8].into_iter().chain([70, 3, 70]);
        for pause_ms in pauses_ms {
            let task = bed.tasks.kernel("kernel", |_: &mut Lane<'_>| Ok(More::Done)).submit()?;
            // Longer than any nap: only the thread on watch can see the end.
            let seen = host.wait_until(Some(host.now() + Nanos::from_ms(5_000)), &mut || task.is_done());
            same("the wait for a task's end", &seen, &Wait::Met)?;
            host.wait_until(Some(host.now() + Nanos::from_ms(pause_ms)), &mut || false);
        }
        Ok(())
    })
}

/// Of work beside a function that takes long where those before it were short: it waits for that work itself.
pub fn ends_are_seen_beside_a_long_function() -> Outcome {
    on_real_time(|rig| {
        let bed = bed::open(rig)?;
        let launch = |_: &mut Lane<'_>| Ok(More::Done);
        for _ in 0..8 {
            for _ in 0..16 {
                let task = bed.tasks.kernel("kernel", launch).submit()?;
                bed.tasks.host("short", || Ok(())).after(&task).submit()?.wait()?;
            }
            let (begins, has_begun) = mpsc::channel();
            let (ends, is_over) = mpsc::channel();
            let long = move || {
                begins.send(())?;
                Ok(is_over.recv_timeout(PATIENCE)?)
            };
            let task = bed.tasks.kernel("kernel", launch).submit()?;
            let long = bed.tasks.host("long", long).after(&task).submit()?;
            let has_begun = has_begun.recv_timeout(PATIENCE).is_ok();
            same("the long function has begun", &has_begun, &true)?;
            let task = bed.tasks.kernel("kernel", launch).submit()?;
            bed.tasks.host("beside it", move || Ok(ends.send(())?)).after(&task).submit()?;
            long.wait()?;
        }
        Ok(())
    })
}
