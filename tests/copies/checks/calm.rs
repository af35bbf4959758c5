//! Bulk goes natively while no urgent copy has gone for a while, as far as the next urgent copy may wait for it.

use hal::{Nanos, Stream};
use overtake::copy::{Plan, Reason};
use overtake::options::CalmOptions;

use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::raw;
use crate::rig::Rig;
use crate::streams::{Streams, URGENT_BYTES};

const BULK_BYTES: u64 = 512 << 10;
/// Longer than a loaded machine needs from one copy to the next.
const AFTER: Nanos = Nanos::from_ms(400);
const CALM: Plan = Plan::Native(Reason::WithinBudget);
const BY_KERNEL: Plan = Plan::Kernel { raises: false };

fn streams(rig: &Rig) -> Result<Streams<'_>, Failure> {
    let calm = CalmOptions { after: AFTER, bytes_max: Some(2 * BULK_BYTES) };
    let overtake = bed::open(rig, guard::options().with_profile(|profile| profile.calm = calm))?;
    let urgent = overtake.adopt(rig.stream()?, level(3))?;
    Streams::new(rig, overtake, urgent, 3 * BULK_BYTES)
}

impl Streams<'_> {
    fn calm_down(&self) {
        self.rig.driver().host().sleep(AFTER + Nanos::from_ms(20));
    }

    /// The plan of a bulk copy to the device that may still be under way.
    fn bulk(&self, bytes: u64) -> Result<Plan, Failure> {
        Ok(raw::htod(&self.bulk, self.device, &self.host, bytes)?.plan())
    }
}

/// A loaded machine may stop this thread, or the watcher, until the next calm has begun. A plan that was made so late
/// says nothing.
const SOON: Nanos = Nanos::from_ms(300);
const ATTEMPTS: usize = 20;

/// What an attempt comes to that took no longer than [`SOON`] from the time that it returns.
fn soon<T>(rig: &Rig, mut attempt: impl FnMut() -> Result<(Nanos, T), Failure>) -> Result<T, Failure> {
    let host = rig.driver().host();
    for _ in 0..ATTEMPTS {
        let (began, outcome) = attempt()?;
        if host.now().since(began) <= SOON {
            return Ok(outcome);
        }
    }
    Err(Failure::new(format_args!("each of {ATTEMPTS} attempts took longer than {SOON}: the machine is too busy")))
}

/// An urgent copy ends the calm of its engine and of no other; copies that are too large yield in the calm too.
pub fn ends_with_an_urgent_copy(rig: &Rig) -> Outcome {
    let host = rig.driver().host();
    let bed = soon(rig, || {
        let began = host.now();
        let bed = streams(rig)?;
        let plan = bed.bulk(BULK_BYTES)?;
        Ok((began, (bed, plan)))
    });
    let (bed, right_after) = bed?;
    same("bulk right after the opening", &right_after, &BY_KERNEL)?;
    bed.calm_down();
    same("bulk in the calm", &bed.bulk(BULK_BYTES)?, &CALM)?;
    bed.rest()?;
    same("bulk that is too large", &bed.bulk(3 * BULK_BYTES)?, &BY_KERNEL)?;
    bed.rest()?;
    raw::dtoh(&bed.urgent, &bed.host, bed.device, URGENT_BYTES)?;
    bed.urgent.synchronize()?;
    same("bulk after an urgent copy the other way", &bed.bulk(BULK_BYTES)?, &CALM)?;
    bed.rest()?;
    let mut calm_copies = 2;
    let after_urgent = soon(rig, || {
        let began = host.now();
        bed.urgent_plan()?;
        bed.rest()?; // its word is down
        let plan = bed.bulk(BULK_BYTES)?;
        calm_copies += u64::from(plan == CALM);
        bed.rest()?;
        Ok((began, plan))
    })?;
    same("bulk after an urgent copy", &after_urgent, &BY_KERNEL)?;
    same("copies counted", &bed.overtake.statistics().native[&Reason::WithinBudget].copies, &calm_copies)
}

/// Behind copies of the legacy stream no word gives other streams their turn, so none of them goes natively.
pub fn not_of_the_legacy_stream(rig: &Rig) -> Outcome {
    let bed = streams(rig)?;
    for handle in [Stream::DEFAULT, Stream::LEGACY] {
        let legacy = bed.overtake.adopt(handle, level(1))?;
        bed.calm_down();
        let copy = raw::htod(&legacy, bed.device, &bed.host, BULK_BYTES)?;
        same("bulk of the legacy stream in the calm", &copy.plan(), &BY_KERNEL)?;
        legacy.synchronize()?;
        bed.rest()?;
        same("bulk of another stream in the same calm", &bed.bulk(BULK_BYTES)?, &CALM)?;
        bed.rest()?;
    }
    Ok(())
}

/// Bulk that is queued in a calm lets an urgent copy have its turn.
pub fn is_a_short_wait(rig: &Rig) -> Outcome {
    let (bed, host) = (streams(rig)?, rig.driver().host());
    bed.calm_down();
    // As much as the link moves in 1.2 ms, in one go.
    let gate = rig.gate(bed.bulk.raw())?;
    for _ in 0..128 {
        same("bulk in the calm", &bed.bulk(BULK_BYTES)?, &CALM)?;
    }
    gate.open();
    host.sleep(Nanos::from_us(100));
    let began = host.now();
    bed.urgent_plan()?;
    let waited = host.now().since(began);
    ensure!(waited < Nanos::from_us(150), "{waited} behind a run of 4 MiB, which takes 80 us");
    bed.rest()
}
