//! Marks for work that no thread waits for.

use hal::Nanos;
use overtake::task::{Handle, Lane, More, Recording};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::model::on;
use crate::raw;
use crate::rig::Rig;

/// The time between two tasks of a stream.
const GAP: Nanos = Nanos::from_us(10);

/// Submits short kernels, which no thread waits for.
fn stream_of_tasks(rig: &Rig, bed: &Bed, tasks: u32) -> Outcome {
    for _ in 0..tasks {
        let spin = bed.kernels.spin.clone();
        let task = bed.tasks.kernel("short", move |lane: &mut Lane<'_>| {
            raw::spin(lane, &spin, Nanos::from_us(1))?;
            Ok(More::Done)
        });
        drop(task.submit()?);
        rig.driver().host().sleep(GAP);
    }
    Ok(())
}

fn nodes(bed: &Bed) -> u64 {
    u64::from(bed.dispatcher.graph_statistics().nodes)
}

/// No event stands between the tasks of a stream, and soon after its end all of them have ended.
pub fn none_in_a_stream() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        stream_of_tasks(rig, &bed, 100)?;
        same("marks in the stream", &bed.dispatcher.statistics().marks, &0)?;
        rig.driver().host().sleep(Nanos::from_us(700));
        same("nodes that are left", &nodes(&bed), &0)
    })
}

/// A stream without an end keeps the nodes of its last milliseconds.
pub fn some_in_a_long_stream() -> Outcome {
    on(|rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        let began = host.now();
        stream_of_tasks(rig, &bed, 2_000)?;
        let (took, marks) = (host.now().since(began), bed.dispatcher.statistics().marks);
        let left = nodes(&bed);
        ensure!(left < 300, "{left} nodes are left");
        // All eight lanes of a group are marked together.
        ensure!(marks <= 8 * (took.0 / 2_000_000 + 1), "{marks} marks in {took}");
        Ok::<(), Failure>(bed.tasks.wait()?)
    })
}

/// The end of a template of many tasks side by side is marked once in each lane. A function behind it begins as soon as
/// they have ended, although it came when none of them was launched.
pub fn few_at_the_end_of_a_template() -> Outcome {
    const TASKS: u64 = 16;
    on(|rig| {
        let (bed, host) = (bed::open(rig)?, rig.driver().host());
        let mut recording = Recording::<()>::new();
        for _ in 0..TASKS {
            let spin = bed.kernels.spin.clone();
            recording.kernel("short", &[], move |lane, ()| {
                raw::spin(lane, &spin, Nanos::from_us(1))?;
                Ok(More::Done)
            });
        }
        let template = recording.finish()?;
        template.replay(&bed.tasks, ()).submit()?.wait()?;
        let marks = bed.dispatcher.statistics().marks;
        ensure!(marks <= 8, "{marks} marks in eight lanes");
        let held = bed.tasks.join("held").held().submit()?;
        let end = template.replay(&bed.tasks, ()).after(&held).submit()?;
        let function = bed.tasks.host("behind", || Ok(())).after(&end).submit()?;
        let began = host.now();
        held.release()?;
        function.wait()?;
        let took = host.now().since(began);
        // All lanes are marked 200 us after their last task in any case.
        ensure!(took < Nanos::from_us(180), "the function behind it ended after {took}");
        same("nodes that are left", &nodes(&bed), &0)
    })
}

/// A kernel that takes so long, after these.
fn spin(bed: &Bed, task: &str, span: Nanos, after: &[&Handle]) -> Result<Handle, Failure> {
    let kernel = bed.kernels.spin.clone();
    let task = bed.tasks.kernel(task, move |lane: &mut Lane<'_>| {
        raw::spin(lane, &kernel, span)?;
        Ok(More::Done)
    });
    Ok(task.after(after.iter().copied()).submit()?)
}

/// A kernel, a long one behind it in its lane, and one in another lane that comes after the first. Returns the time
/// until that one has ended.
fn beside_a_long_one(rig: &Rig, bed: &Bed) -> Result<Nanos, Failure> {
    let began = rig.driver().host().now();
    let first = spin(bed, "first", Nanos::from_us(50), &[])?;
    drop(spin(bed, "long", Nanos::from_us(2_000), &[&first])?);
    spin(bed, "beside", Nanos::from_us(1), &[&first])?.wait()?;
    let took = rig.driver().host().now().since(began);
    bed.tasks.wait()?;
    Ok(took)
}

/// A lane that joins a point of another one when there is more work behind that waits for that work too, and has the
/// points of that lane marked early from then on: the next such join waits for its own point alone.
pub fn a_late_join_has_points_marked_early() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let late = beside_a_long_one(rig, &bed)?;
        ensure!(late > Nanos::from_us(2_000), "no mark could be before the long task: {late}");
        for round in 1..40 {
            let took = beside_a_long_one(rig, &bed)?;
            ensure!(took < Nanos::from_us(500), "round {round} took {took}");
        }
        Ok(())
    })
}

/// The point of a lane that is marked early is marked before the lane joins others: a lane that joins it does not wait
/// for those.
pub fn early_marks_come_before_joins() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        beside_a_long_one(rig, &bed)?;
        let began = rig.driver().host().now();
        let first = spin(&bed, "first", Nanos::from_us(50), &[])?;
        let long = spin(&bed, "long", Nanos::from_us(2_000), &[])?;
        drop(spin(&bed, "both", Nanos::from_us(1), &[&first, &long])?);
        spin(&bed, "beside", Nanos::from_us(1), &[&first])?.wait()?;
        let took = rig.driver().host().now().since(began);
        ensure!(took < Nanos::from_us(500), "the lane waited for what another one joins: {took}");
        Ok(bed.tasks.wait()?)
    })
}

/// Points are marked early for a while only, if no lane needs it any more.
pub fn early_marks_end() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        beside_a_long_one(rig, &bed)?;
        let marks = bed.dispatcher.statistics().marks;
        stream_of_tasks(rig, &bed, 100)?;
        let more = bed.dispatcher.statistics().marks - marks;
        ensure!((8..=16).contains(&more), "{more} marks in a stream that no lane joins");
        Ok(())
    })
}
