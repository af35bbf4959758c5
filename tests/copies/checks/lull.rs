//! Urgent copies go natively while no bulk is under way, and hold bulk off while some is.

use hal::Nanos;
use overtake::Options;
use overtake::copy::{Plan, Reason};
use overtake::options::CalmOptions;

use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::place::Side;
use crate::rig::Rig;
use crate::streams::{LONG, Streams, URGENT_BYTES};
use crate::{bed, raw};

const BULK_BYTES: u64 = 512 << 10;
const ALONE: Plan = Plan::Native(Reason::Alone);
const BY_KERNEL: Plan = Plan::Kernel { raises: false };

fn streams<'a>(rig: &'a Rig, change: impl FnOnce(&mut Options)) -> Result<Streams<'a>, Failure> {
    let mut options = guard::options().with_profile(|profile| profile.lull = true);
    change(&mut options);
    let overtake = bed::open(rig, options)?;
    let urgent = overtake.adopt(rig.stream()?, level(3))?;
    Streams::new(rig, overtake, urgent, BULK_BYTES)
}

impl Streams<'_> {
    fn bulk_plan(&self) -> Result<Plan, Failure> {
        Ok(raw::htod(&self.bulk, self.device, &self.host, BULK_BYTES)?.plan())
    }
}

/// Bulk ends the lull of its engine, and of no other. When it has ended there is one again.
pub fn ends_with_bulk(rig: &Rig) -> Outcome {
    let bed = streams(rig, |_| ())?;
    same("an urgent copy before any bulk", &bed.urgent_plan()?, &ALONE)?;
    for round in 0..3 {
        let gate = rig.gate(bed.bulk.raw())?;
        same("bulk", &bed.bulk_plan()?, &BY_KERNEL)?;
        rig.driver().host().sleep(LONG);
        same(&format!("an urgent copy beside bulk, round {round}"), &bed.urgent_plan()?, &Plan::Urgent)?;
        let back = raw::dtoh(&bed.urgent, &bed.host, bed.device, URGENT_BYTES)?.plan();
        same("an urgent copy the other way", &back, &ALONE)?;
        gate.open();
        bed.wait_for_lull()?;
        same("an urgent copy after bulk", &bed.urgent_plan()?, &ALONE)?;
    }
    ensure!(bed.overtake.statistics().urgent.copies == 3, "{:?}", bed.overtake.statistics());
    Ok(())
}

/// Bulk that goes natively in a calm ends a lull too, and an urgent copy in a lull ends a calm.
pub fn is_no_calm(rig: &Rig) -> Outcome {
    let after = Nanos::from_ms(400);
    let bed = streams(rig, |options| options.profile.calm = CalmOptions { after, bytes_max: Some(BULK_BYTES) })?;
    rig.driver().host().sleep(after + LONG);
    same("bulk in the calm", &bed.bulk_plan()?, &Plan::Native(Reason::WithinBudget))?;
    same("an urgent copy right after it", &bed.urgent_plan()?, &Plan::Urgent)?;
    bed.wait_for_lull()?;
    rig.driver().host().sleep(after);
    same("an urgent copy in the lull", &bed.urgent_plan()?, &ALONE)?;
    same("bulk after it", &bed.bulk_plan()?, &BY_KERNEL)?;
    bed.rest()
}

/// The urgent copies of a stream do not end its own calm: its bulk goes behind them in any case.
pub fn leaves_its_own_calm(rig: &Rig) -> Outcome {
    let after = Nanos::from_ms(400);
    let bed = streams(rig, |options| options.profile.calm = CalmOptions { after, bytes_max: Some(BULK_BYTES) })?;
    let mixed = bed.overtake.adopt_plain(rig.stream()?);
    let plan = |bytes, of| -> Result<Plan, Failure> {
        let (to, from) = ((Side::Device(bed.device), 0), (Side::Host(&bed.host), 0));
        Ok(raw::linear(&mixed, to, from, bytes, Some(level(of)))?.plan())
    };
    rig.driver().host().sleep(after + LONG);
    // Before the watcher has seen the urgent copy, and afterwards.
    for seen_after in [Nanos::ZERO, LONG] {
        same("an urgent copy", &plan(URGENT_BYTES, 3)?, &ALONE)?;
        rig.driver().host().sleep(seen_after);
        same("bulk of its stream", &plan(BULK_BYTES, 1)?, &Plan::Native(Reason::WithinBudget))?;
        mixed.synchronize()?;
        bed.wait_for_lull()?;
    }
    same("bulk of another stream", &bed.bulk_plan()?, &BY_KERNEL)?;
    bed.rest()
}

/// Without the option urgent copies hold bulk off that is still to come.
pub fn is_an_option(rig: &Rig) -> Outcome {
    let bed = streams(rig, |options| options.profile.lull = false)?;
    rig.driver().host().sleep(LONG);
    same("an urgent copy", &bed.urgent_plan()?, &Plan::Urgent)?;
    bed.rest()
}
