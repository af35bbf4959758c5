//! Bulk that stays whole on the engine, at its full rate, and urgent copies that go by guarded kernel beside it.

use hal::Nanos;
use overtake::Options;
use overtake::copy::{Plan, Reason};
use overtake::options::WHOLE_BULK_FROM;

use crate::checks::guard::{self, Filled};
use crate::checks::staging;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::level;
use crate::rig::Rig;
use crate::streams::{LONG, Streams, URGENT_BYTES};
use crate::{bed, raw};

const BULK_BYTES: u64 = 16 << 20;
const ALONE: Plan = Plan::Native(Reason::Alone);

/// The options of the drop-in with whole bulk, and small copies for large ones.
fn options() -> Options {
    Options { wait_budget: WHOLE_BULK_FROM, ..guard::options() }.with_profile(|profile| profile.lull = true)
}

fn streams(rig: &Rig) -> Result<Streams<'_>, Failure> {
    let overtake = bed::open(rig, options())?;
    let urgent = overtake.adopt(rig.stream()?, level(3))?;
    Streams::new(rig, overtake, urgent, BULK_BYTES)
}

impl Streams<'_> {
    fn whole(&self) -> Outcome {
        let plan = raw::htod(&self.bulk, self.device, &self.host, BULK_BYTES)?.plan();
        same("bulk", &plan, &Plan::Native(Reason::LeftAlone))
    }
}

/// A copy by kernel waits for none of the bulk that is queued; the same copy on the engine would wait for all of it.
pub fn is_passed_by_a_kernel(rig: &Rig) -> Outcome {
    let (bed, host) = (streams(rig)?, rig.driver().host());
    // 5 ms at the rate of the link, in one go.
    let gate = rig.gate(bed.bulk.raw())?;
    (0..16).try_for_each(|_| bed.whole())?;
    gate.open();
    host.sleep(Nanos::from_us(100));
    let began = host.now();
    same("an urgent copy beside bulk", &bed.urgent_plan()?, &Plan::UrgentKernel)?;
    let waited = host.now().since(began);
    ensure!(waited < Nanos::from_ms(1), "{waited} beside whole bulk of 5 ms");
    bed.rest()?;
    let statistics = bed.overtake.statistics();
    same("copies that a guard stood beside", &statistics.guarded.copies, &1)?;
    same("errors", &statistics.errors, &0)
}

/// An urgent copy that meets no bulk goes natively, however long ago the bulk that it meets was submitted.
pub fn lasts_until_bulk_has_ended(rig: &Rig) -> Outcome {
    let bed = streams(rig)?;
    same("an urgent copy before any bulk", &bed.urgent_plan()?, &ALONE)?;
    let gate = rig.gate(bed.bulk.raw())?;
    bed.whole()?;
    rig.driver().host().sleep(LONG);
    same("an urgent copy beside bulk", &bed.urgent_plan()?, &Plan::UrgentKernel)?;
    gate.open();
    bed.wait_for_lull()?;
    same("an urgent copy after bulk", &bed.urgent_plan()?, &ALONE)
}

/// A staged copy is made piece by piece on the engine, so an urgent copy waits for few pieces, and goes by no kernel.
pub fn is_not_what_is_staged(rig: &Rig) -> Outcome {
    let staged = Options { staging: true, staging_threads: 2, ..options() }
        .with_profile(|profile| profile.staging_bytes_min = 64 << 10);
    let overtake = bed::open(rig, staged)?;
    let buffer = rig.buffer(BULK_BYTES)?;
    staging::warm_up(rig, &overtake, (rig.stream()?, buffer))?;
    let loader = overtake.adopt(rig.stream()?, level(1))?;
    let urgent = overtake.adopt(rig.stream()?, level(3))?;
    let bed = Streams::new(rig, overtake, urgent, URGENT_BYTES)?;
    let before = bed.overtake.statistics().staged.copies;
    let loading = rig.spawn("loader", move |_| {
        let weights = vec![5; BULK_BYTES as usize];
        (0..4).try_for_each(|_| raw::htod_pageable(&loader, (buffer, 0), &weights).map(drop))?;
        Ok(loader)
    });
    let mut passed = 0;
    while bed.overtake.statistics().staged.copies < before + 4 {
        same("an urgent copy beside a staged one", &bed.urgent_plan()?, &ALONE)?;
        passed += 1;
    }
    let loader = rig.join(loading)?;
    loader.synchronize()?;
    ensure!(passed > 8, "{passed} urgent copies beside staged ones");
    let pinned = raw::htod(&loader, bed.device, &bed.host, URGENT_BYTES)?.plan();
    same("pinned bulk of that size", &pinned, &Plan::Native(Reason::LeftAlone))?;
    same("an urgent copy beside it", &bed.urgent_plan()?, &Plan::UrgentKernel)
}

/// A kernel fills every multiprocessor and waits for a word behind an urgent copy, which no kernel can make then.
pub fn ends_as_natively(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options().with_profile(|profile| profile.lull = false))?;
    let filled = Filled::with_copies_at(3, rig, &overtake)?;
    let copies = filled.begin(1, 7)?;
    same("the urgent copy", &copies[0].plan(), &Plan::UrgentKernel)?;
    filled.release()?;
    filled.end(7)?;
    same("rescued copies", &overtake.statistics().guard_rescues, &1)?;
    bed::at_rest(rig, &overtake)
}

/// More streams with urgent copies than there are carriers: the others are made by the engine, and all bytes arrive.
pub fn has_no_more_kernels_than_carriers(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, options().with_profile(|profile| profile.lull = false))?;
    let bulk = overtake.adopt(rig.stream()?, level(1))?;
    let streams = rig.streams(4)?;
    let urgent = streams.into_iter().map(|stream| overtake.adopt(stream, level(3)));
    let urgent = urgent.collect::<hal::Result<Vec<_>>>()?;
    let content: Vec<u8> = (0..URGENT_BYTES).map(|at| (at * 7 % 253) as u8).collect();
    let source = rig.pinned_of(&content)?;
    let targets = urgent.iter().map(|_| rig.buffer(URGENT_BYTES)).collect::<Result<Vec<_>, _>>()?;
    // All are under way until they open.
    let gates = urgent.iter().map(|stream| rig.gate(stream.raw())).collect::<Result<Vec<_>, _>>()?;
    let copies = urgent.iter().zip(&targets).map(|(stream, target)| raw::htod(stream, *target, &source, URGENT_BYTES));
    let plans = copies.map(|copy| Ok(copy?.plan())).collect::<Result<Vec<_>, Failure>>()?;
    let by_kernel = plans.iter().filter(|plan| **plan == Plan::UrgentKernel).count();
    ensure!(plans.iter().all(|plan| matches!(plan, Plan::UrgentKernel | Plan::Urgent)), "{plans:?}");
    same("copies by kernel", &(by_kernel as u32), &options().guard.carriers())?;
    gates.iter().for_each(|gate| gate.open());
    urgent.iter().try_for_each(|stream| stream.synchronize())?;
    for target in targets {
        same_bytes("what arrived", &rig.download(target, bulk.raw())?, &content)?;
    }
    Ok(())
}
