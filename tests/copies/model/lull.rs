//! Bulk whose submission takes longer than the wait for a lull.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::Overtake;
use overtake::copy::Plan;

use crate::checks::guard;
use crate::failure::{Outcome, same};
use crate::faulty::Faulty;
use crate::lane::level;
use crate::model::on;
use crate::raw;
use crate::streams::{LONG, Streams, URGENT_BYTES};

const BULK_BYTES: u64 = 512 << 10;

/// A lull begins meanwhile. The copy is under way when its submission ends, and so the lull is over.
pub fn is_over_behind_a_slow_submission() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let overtake =
                Overtake::open(&driver, Device(0), guard::options().with_profile(|profile| profile.lull = true))?;
            let urgent = overtake.adopt(rig.stream()?, level(3))?;
            let bed = Streams::new(rig, overtake, urgent, BULK_BYTES)?;
            raw::htod(&bed.urgent, bed.device, &bed.host, URGENT_BYTES)?.wait()?;
            // The watcher looks for the end of this one's lull when the next one comes.
            raw::htod(&bed.bulk, bed.device, &bed.host, BULK_BYTES)?.wait()?;
            let gate = rig.gate(bed.bulk.raw())?;
            faulty.slow_down("launch", LONG);
            let bulk = raw::htod(&bed.bulk, bed.device, &bed.host, BULK_BYTES)?;
            let urgent = raw::htod(&bed.urgent, bed.device, &bed.host, URGENT_BYTES)?;
            same("bulk", &bulk.plan(), &Plan::Kernel { raises: false })?;
            same("an urgent copy right behind its submission", &urgent.plan(), &Plan::Urgent)?;
            gate.open();
            bulk.wait()?;
            bed.rest()
        },
    )
}
