//! Marks for work that no thread waits for.

use hal::Nanos;
use overtake::task::{Lane, More};

use crate::bed::{self, Bed};
use crate::doors;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::model::on;
use crate::rig::Rig;

/// The time between two tasks of a stream.
const GAP: Nanos = Nanos::from_us(10);

/// Submits short kernels, which no thread waits for.
fn stream_of_tasks(rig: &Rig, bed: &Bed, tasks: u32) -> Outcome {
    for _ in 0..tasks {
        let spin = bed.kernels.spin.clone();
        let task = bed.tasks.kernel("short", move |lane: &mut Lane<'_>| {
            doors::spin(lane, &spin, Nanos::from_us(1))?;
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
