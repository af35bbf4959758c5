//! Checks in real time: threads run beside each other, and a thread that waits looks at the device itself.

use overtake::task::{Lane, More};

use crate::bed;
use crate::checks::{beside, threads};
use crate::failure::{Outcome, same};
use crate::model::on_real_time;

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
