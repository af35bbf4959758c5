//! Properties of guarded copies that only a model can show: the hang is real, and rescues that fail are handled.

use std::sync::Arc;

use hal::{Code, Device, Driver, Nanos};
use overtake::Overtake;
use overtake::copy::{CopyHandle, Plan, Reason};
use softgpu::{Connections, SoftGpu};

use crate::bed;
use crate::checks::guard::{BYTES, Filled, options};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::lane::level;
use crate::model::{Held, on};
use crate::place::Side;
use crate::raw;
use crate::rig::Rig;

/// A program that makes more calls never ends: some call is repeated because it fails.
const CALLS_MAX: u64 = 2_000;

/// Unguarded, the copy kernel never begins, and the model proves that nothing ever will.
pub fn without_it_that_hangs() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let overtake = bed::open(rig, options().with_profile(|profile| profile.guard_bytes_min = None))?;
            let filled = Filled::new(rig, &overtake)?;
            filled.begin(1, 1)?;
            filled.release()?;
            ensure!(filled.stream.synchronize().is_err() && gpu.deadlock().is_some(), "it should have hung");
            filled.let_go()?;
            filled.end(1)
        },
    )
}

/// With one queue for all kernels, a waiting copy kernel holds up all others, so none is used.
pub fn one_queue_for_kernels() -> Outcome {
    on(
        |builder| builder.connections(Connections { max: Some(1), copy: Some(8) }),
        |_, rig| {
            let overtake = bed::open(rig, bed::with_queues(options(), 8))?;
            let filled = Filled::new(rig, &overtake)?;
            let bulk = filled.begin(1, 1)?;
            same("the plan", &bulk[0].plan(), &Plan::Native(Reason::NoKernel))?;
            filled.release()?;
            filled.end(1)
        },
    )
}

/// When the layer closes, the copy engine makes every copy that has not begun, before a stream waits for it.
pub fn closing_leaves_no_stream_waiting() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let mut options = options();
            // Too long for the rescuer to act by itself before the check has ended.
            options.guard.patience = Nanos::from_ms(500);
            let overtake = bed::open(rig, options)?;
            let filled = Filled::new(rig, &overtake)?;
            let bulk = filled.begin(2, 1)?;
            filled.release()?;
            drop(overtake);
            bulk.iter().try_for_each(CopyHandle::wait)?;
            filled.end(1)?;
            ensure!(rig.driver().host().now() < Nanos::from_ms(400), "it was overdue, so this shows nothing");
            let after = filled.bring_back()?;
            same("the plan", &after.plan(), &Plan::Native(Reason::StoodDown))?;
            Ok(after.wait()?)
        },
    )
}

/// A program that fills its multiprocessors again and again gets no more copy kernels.
pub fn enough_is_enough() -> Outcome {
    on(
        |builder| builder,
        |_, rig| {
            let overtake = bed::open(rig, options())?;
            let filled = Filled::new(rig, &overtake)?;
            let mut plans = Vec::new();
            for round in 0..8 {
                let bulk = filled.begin(1, round)?;
                filled.release()?;
                filled.end(round)?;
                plans.push(bulk[0].plan());
                rig.driver().host().sleep(Nanos::from_ms(30));
            }
            let natively = Plan::Native(Reason::NoKernel);
            let first = plans.iter().position(|plan| *plan == natively);
            same("rounds until it went natively", &first, &Some(4))?;
            ensure!(plans[4..].iter().all(|plan| *plan == natively), "{plans:?}");
            same("rescues", &overtake.statistics().guard_rescues, &4)?;
            // … until a pause is over.
            rig.driver().host().sleep(Nanos::from_ms(10_000));
            let bulk = filled.begin(1, 9)?;
            ensure!(matches!(bulk[0].plan(), Plan::Kernel { .. }), "{:?}", bulk[0].plan());
            filled.release()?;
            filled.stream.synchronize()?;
            let statistics = overtake.statistics();
            same("stood down, tried again", &(statistics.stand_downs, statistics.resumptions), &(1, 1))
        },
    )
}

/// Making a stream, memory or an event may wait for the device, and a copy must not.
pub fn copies_make_nothing() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let overtake = bed::open(rig, options())?;
            let lanes = [1, 1, 3, 3].into_iter().map(|priority| Ok(overtake.adopt(rig.stream()?, level(priority))?));
            let lanes = lanes.collect::<Result<Vec<_>, Failure>>()?;
            let plain = (0..8).map(|_| Ok(overtake.adopt_plain(rig.stream()?))).collect::<Result<Vec<_>, Failure>>()?;
            let (memory, gate) = ((rig.pinned(BYTES)?, rig.buffer(BYTES)?), rig.gate(lanes[2].raw())?);
            let held = Held::by(gpu);
            for lane in &lanes {
                raw::htod(lane, memory.1, &memory.0, if lane.priority() == level(1) { BYTES } else { 40 << 10 })?;
            }
            // More streams with urgent copies than shadows: their copies are made and tracked nevertheless.
            let (to, from) = ((Side::Device(memory.1), 0), (Side::Host(&memory.0), 0));
            let urgent = plain.iter().map(|stream| raw::linear(stream, to, from, 40 << 10, Some(level(3))));
            let handles = urgent.collect::<Result<Vec<_>, _>>()?;
            same("the objects after copying", &Held::by(gpu), &held)?;
            gate.open();
            handles.iter().try_for_each(|handle| handle.wait())?;
            lanes.iter().try_for_each(|lane| lane.synchronize())?;
            bed::at_rest(rig, &overtake)
        },
    )
}

/// Carriers, their words and their events are freed with the layer.
pub fn leaves_nothing() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let held = Held::by(gpu);
            let overtake = bed::open(rig, options())?;
            let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
            let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
            for _ in 0..10 {
                raw::htod(&low, memory.1, &memory.0, BYTES)?;
                raw::htod(&high, memory.1, &memory.0, 64 << 10)?;
            }
            drop((low, high, overtake));
            rig.driver().context_synchronize()?;
            let mine = Held { allocations: held.allocations + 2, streams: held.streams + 2, ..held };
            same("the objects after closing", &Held::by(gpu), &mine)
        },
    )
}

/// Every driver call of the hanging program fails once, those of the rescuer included: it ends, with the right bytes.
pub fn every_call_of_a_rescue() -> Outcome {
    let (mut calls, mut nth) = (CALLS_MAX, 0);
    while nth <= calls {
        on(
            |builder| builder,
            |gpu, rig| {
                let made = rescue_failing(gpu, rig, nth)?;
                if nth == 0 {
                    calls = made;
                }
                Ok(())
            },
        )?;
        nth += 1;
    }
    ensure!((20..CALLS_MAX).contains(&calls), "the program makes {calls} calls");
    Ok(())
}

/// A copy that neither its kernel nor the copy engine can make any more: its bytes are missing, so no call may report
/// success, and no thread may wait for ever.
pub fn a_lost_copy_is_an_error() -> Outcome {
    on(
        |builder| builder,
        |gpu, rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            let overtake = Overtake::open(&driver, Device(0), options())?;
            let filled = Filled::new(rig, &overtake)?;
            let bulk = filled.begin(2, 1)?;
            filled.release()?;
            faulty.refuse(&["copy_htod_async", "launch"]);
            let lost = |what: &str, result: hal::Result<()>| match result {
                Err(error) => same(what, &error.code(), &Code::LAUNCH_FAILED),
                Ok(()) => Err(Failure::new(format_args!("{what} reports success"))),
            };
            lost("the stream", filled.stream.synchronize())?;
            faulty.refuse(&[]);
            bulk.iter().try_for_each(|copy| lost("the handle", copy.wait()))?;
            lost("the context", overtake.synchronize())?;
            lost("whether it is done", bulk[0].is_done().map(drop))?;
            let (other, memory) = (overtake.adopt(rig.stream()?, level(3))?, (rig.buffer(BYTES)?, rig.pinned(BYTES)?));
            lost("another stream's copy", raw::htod(&other, memory.0, &memory.1, 64 << 10).map(drop))?;
            ensure!(gpu.deadlock().is_none(), "it hung");
            let statistics = overtake.statistics();
            same("lost copies", &(statistics.lost, statistics.stood_down), &(2, false))
        },
    )
}

fn rescue_failing(gpu: &SoftGpu, rig: &Rig, nth: u64) -> Result<u64, Failure> {
    let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    let overtake = Overtake::open(&driver, Device(0), options())?;
    let filled = Filled::new(rig, &overtake)?;
    faulty.fail(nth);
    let at = |failure: Failure| Failure::from_text(format!("call {nth} ({:?}) failed: {failure}", faulty.failed()));
    let outcome = filled.begin(2, 1).and_then(|_| filled.release()).and_then(|()| filled.end(1));
    let calls = faulty.calls();
    faulty.fail(0);
    match outcome {
        // A copy that the driver refuses at once is an error of the application, as it is natively.
        Err(failure) if failure.to_string().contains(INJECTED) => {
            filled.release().map_err(at)?;
            filled.stream.synchronize()?;
        }
        other => other.map_err(at)?,
    }
    ensure!(gpu.deadlock().is_none(), "{}", at(Failure::new("it hung")));
    bed::at_rest(rig, &overtake).map_err(at)?;
    drop((filled, overtake));
    Ok(calls)
}
