//! Counters that wrap, started just below their wrap. `docs/counters.md` lists them.

use overtake::copy::Plan;
use overtake::options::Transport;
use overtake::{Options, Overtake};

use super::guard::{self, BYTES, Filled};
use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::lane::{Lane, level};
use crate::raw;
use crate::rig::Rig;

/// Counts shortly before half the range, where signed comparisons change their sign, and before its end.
const EDGES: [u32; 2] = [i32::MAX as u32 - 3, u32::MAX - 3];

/// Opens just below each of them.
fn across(rig: &Rig, options: impl Fn() -> Options, check: impl Fn(&Overtake) -> Outcome) -> Outcome {
    for counters_from in EDGES {
        let overtake = bed::open(rig, options().with_profile(|profile| profile.counters_from = counters_from))?;
        let failed = |failure| Failure::from_text(format!("from {counters_from:#x}: {failure}"));
        check(&overtake).and_then(|()| bed::at_rest(rig, &overtake)).map_err(failed)?;
    }
    Ok(())
}

/// Guarded kernels copy, and none of them is mistaken for a cancelled one.
pub fn launches(rig: &Rig) -> Outcome {
    across(rig, guard::options, |overtake| {
        let (low, _high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
        let (there, back, between) = (rig.pinned(BYTES)?, rig.pinned(BYTES)?, rig.buffer(BYTES)?);
        for content in 1..9 {
            there.write(0, &vec![content; BYTES as usize]);
            let bulk = raw::htod(&low, between, &there, BYTES)?;
            same("the plan", &bulk.plan(), &Plan::Kernel { raises: false })?;
            raw::dtoh(&low, &back, between, BYTES)?;
            low.synchronize()?;
            same_bytes("the bytes that came back", &back.read_all(), &vec![content; BYTES as usize])?;
        }
        same("rescued copies", &overtake.statistics().guard_rescues, &0)
    })
}

/// A take-over of launches on both sides of the edge, and launches after it.
pub fn take_overs(rig: &Rig) -> Outcome {
    across(rig, guard::options, |overtake| {
        let filled = Filled::new(rig, overtake)?;
        filled.begin(6, 3)?;
        filled.release()?;
        filled.end(3)?;
        same("rescued copies", &overtake.statistics().guard_rescues, &6)?;
        rig.driver().host().sleep(hal::Nanos::from_ms(5));
        let again = filled.bring_back()?;
        same("the plan afterwards", &again.plan(), &Plan::Kernel { raises: false })?;
        filled.stream.synchronize()?;
        same_bytes("the bytes that came back", &filled.brought_back(), &vec![3; BYTES as usize])
    })
}

/// Fences of one slot, one after the other: none is done before its copy, and all stay done.
pub fn fences(rig: &Rig) -> Outcome {
    across(
        rig,
        || bed::small_options().with_profile(|profile| profile.fence_every = 1),
        |overtake| {
            let (_low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
            let (host, device) = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
            let mut earlier = Vec::new();
            for _ in 0..8 {
                let gate = rig.gate(high.raw())?;
                let copy = raw::htod(&high, device, &host, 40 << 10)?;
                same("the copy behind a gate is done", &copy.is_done()?, &false)?;
                gate.open();
                copy.wait()?;
                bed::at_rest(rig, overtake)?;
                earlier.push(copy);
                for copy in &earlier {
                    same("a copy that has completed is done", &copy.is_done()?, &true)?;
                }
            }
            Ok(())
        },
    )
}

/// A channel reports its progress again and again.
pub fn channel_operations(rig: &Rig) -> Outcome {
    across(
        rig,
        || bed::transport(Transport::Engine),
        |overtake| {
            let mut low = Lane::new(rig, overtake, 1, 4 * BYTES, 70)?;
            let _high = overtake.adopt(rig.stream()?, level(3))?;
            low.bulk()?;
            low.stream.synchronize()?;
            ensure!(overtake.statistics().chunks > 90, "{:?}", overtake.statistics());
            low.verify(rig)
        },
    )
}

/// Random copies of all streams, on every way that a copy can go.
pub fn bytes(rig: &Rig) -> Outcome {
    across(rig, guard::options, |overtake| {
        let lanes = [1, 2, 3].into_iter().zip(700..);
        let lanes = lanes.map(|(priority, seed)| Lane::new(rig, overtake, priority, 300_000, seed));
        let mut lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        for _ in 0..30 {
            lanes.iter_mut().try_for_each(Lane::copy)?;
        }
        lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
        lanes.iter().try_for_each(|lane| lane.verify(rig))
    })
}
