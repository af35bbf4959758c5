//! A handle that outlives its dispatcher keeps the outcome, and nothing of the device.

use overtake::task::Error;

use crate::bed::{self, Bed};
use crate::failure::{Outcome, ensure, same};
use crate::machine::{Held, on};

pub fn a_handle_keeps_no_stream() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            // The rig loads a module for each bed, and keeps it.
            drop(bed::open(rig)?);
            let before = Held::by(gpu).sum();
            drop(bed::open(rig)?);
            let held = Held::by(gpu).sum();
            let bed = bed::open(rig)?;
            let done = bed.tasks.join("done").submit()?;
            let failed = bed.tasks.host("failed", || Err("no picture".into())).submit()?;
            let pending = bed.tasks.join("pending").held().submit()?;
            done.wait()?;
            ensure!(failed.wait().is_err(), "it fails");
            let Bed { dispatcher, tasks, overtake, kernels } = bed;
            drop((dispatcher, tasks, overtake, kernels));
            rig.driver().context_synchronize()?;
            same("the objects after closing", &Held::by(gpu).sum(), &(held + held - before))?;
            done.wait()?;
            ensure!(failed.wait().is_err_and(|error| error.to_string().contains("no picture")), "it keeps its failure");
            ensure!(pending.wait().is_err_and(|error| error.to_string().contains("closed")), "it has ended");
            let calls = [done.hold(), done.release(), done.precede(&pending), done.raise(bed::urgent())];
            ensure!(calls.iter().all(|call| matches!(call, Err(Error::Closed { .. }))), "{calls:?}");
            ensure!(done.is_launched() && !done.name().is_empty(), "it is done");
            Ok(())
        },
    )
}
