//! Every driver call on the way of a copy fails once: there is no hang, no leak, no wrong byte, no word left up, and
//! the next copy works.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::options::Transport;
use overtake::{Options, Overtake};
use softgpu::{Fault, SoftGpu};

use crate::bed;
use crate::checks::guard;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::lane::{Lane, level};
use crate::model::{Held, on};
use crate::raw;
use crate::rig::Rig;

const LANE_BYTES: u64 = 150_000;
const ROUNDS: usize = 4;
const RUNS_MAX: u64 = 8;
/// A program that makes more calls never ends: some call is repeated because it fails.
const CALLS_MAX: u64 = 5_000;

/// Calls that free something. If they fail, it stays.
const GIVING_BACK: [&str; 7] = [
    "stream_destroy",
    "event_destroy",
    "mem_free",
    "host_free",
    "host_unregister",
    "module_unload",
    "primary_context_release",
];

/// Accepts a failure if it was injected.
fn tolerate(outcome: Outcome) -> Outcome {
    match outcome {
        Err(failure) if !failure.to_string().contains(INJECTED) => Err(failure),
        _ => Ok(()),
    }
}

/// A few rounds of random copies, kernels and waits. A copy that fails has no effect, so the lanes' expectations
/// hold.
fn program(rig: &Rig, lanes: &mut [Lane], spin: hal::Function) -> Outcome {
    for round in 0..ROUNDS {
        for index in 0..lanes.len() {
            tolerate(lanes[index].copy_behind_kernels(rig.driver(), spin))?;
            if (round + index) % 2 == 0 {
                let waited = lanes[index].stream.wait_for(&lanes[(index + 2) % lanes.len()].stream);
                tolerate(waited.map_err(Failure::from))?;
            }
        }
    }
    Ok(())
}

/// Opens on the driver, runs the program while the `nth` of its calls fails, and checks everything. Returns the number
/// of calls.
fn once(gpu: &SoftGpu, rig: &Rig, faulty: &Arc<Faulty>, options: &Options, nth: u64) -> Result<u64, Failure> {
    let driver: Arc<dyn Driver> = Arc::clone(faulty) as Arc<dyn Driver>;
    let spin = rig.kernels()?.spin;
    let held = Held::by(gpu);
    let overtake = Overtake::open(&driver, Device(0), options.clone())?;
    let lanes = [1, 2, 3].map(|priority| Lane::new(rig, &overtake, priority, LANE_BYTES, 40 + u64::from(priority)));
    let mut lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
    faulty.fail(nth);
    program(rig, &mut lanes, spin)?;
    let calls = faulty.calls();
    faulty.fail(0);
    ensure!(nth == 0 || faulty.failed().is_some(), "call {nth} was never made");
    let at = |failure: Failure| Failure::from_text(format!("call {nth} ({:?}) failed: {failure}", faulty.failed()));
    after(rig, &overtake, &mut lanes).map_err(at)?;
    let statistics = overtake.statistics();
    ensure!(
        faulty.failed().is_none() || statistics.errors > 0 || is_asked_only(faulty.failed()),
        "no statistic counts that {:?} failed: {statistics:?}",
        faulty.failed()
    );
    let streams = lanes.len();
    drop((overtake, lanes));
    rig.driver().context_synchronize()?;
    let rigs = Held { allocations: held.allocations + 3 * streams, streams: held.streams + streams, ..held };
    same("the objects after closing", &Held::by(gpu), &rigs).map_err(at)?;
    Ok(calls)
}

/// Calls whose failure only changes the way of a copy, and calls that the application makes itself.
fn is_asked_only(call: Option<&str>) -> bool {
    let asks = [
        "pointer_info",
        "pointer_extent",
        "context_current",
        "stream_capture_status",
        "exchange_capture_mode",
        "event_create",
        "event_record",
    ];
    call.is_some_and(|call| asks.contains(&call) || call == "stream_wait_event")
}

fn after(rig: &Rig, overtake: &Overtake, lanes: &mut [Lane]) -> Outcome {
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    bed::at_rest(rig, overtake)?;
    lanes.iter_mut().try_for_each(Lane::bulk)?;
    lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
    bed::at_rest(rig, overtake)?;
    lanes.iter().try_for_each(|lane| lane.verify(rig))
}

/// The same with guarded bulk.
pub fn every_call_guarded() -> Outcome {
    every_call(&guard::options())
}

/// Fails every call of the program in turn. A machine serves for several runs, until a call has failed that frees
/// something: its layer's probe is most of the work.
pub fn every_call(options: &Options) -> Outcome {
    let (mut calls, mut nth) = (CALLS_MAX, 0);
    while nth <= calls {
        let serve = |gpu: &SoftGpu, rig: &Rig| {
            let faulty = Faulty::new(rig.shared_driver(), Code::OUT_OF_MEMORY);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            drop(Overtake::open(&driver, Device(0), options.clone())?);
            let (end, mut is_spared) = (nth + RUNS_MAX, false);
            while nth <= calls && nth < end && !is_spared {
                faulty.forget();
                let made = once(gpu, rig, &faulty, options, nth)?;
                calls = if nth == 0 { made } else { calls };
                is_spared = faulty.failed().is_some_and(|call| GIVING_BACK.contains(&call));
                nth += 1;
            }
            Ok(())
        };
        on(|builder| builder, serve)?;
    }
    ensure!((50..CALLS_MAX).contains(&calls), "the program makes {calls} calls");
    Ok(())
}

/// Fails every call of opening in turn: the result is an error without leftovers, or a layer that works.
pub fn opening() -> Outcome {
    opening_with(&bed::small_options())
}

/// The same with carriers.
pub fn opening_guarded() -> Outcome {
    opening_with(&guard::options())
}

fn opening_with(options: &Options) -> Outcome {
    let mut last = 1;
    let mut nth = 0;
    while nth <= last {
        on(
            |builder| builder,
            |gpu, rig| {
                let faulty = Faulty::new(rig.shared_driver(), Code::INVALID_VALUE);
                let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
                let held = Held::by(gpu);
                faulty.fail(nth);
                let opened = Overtake::open(&driver, Device(0), options.clone());
                last = if nth == 0 { faulty.calls() } else { last };
                faulty.fail(0);
                match opened {
                    Ok(overtake) => {
                        ensure!(nth == 0 || faulty.failed().is_some(), "call {nth} was never made");
                        drop(overtake);
                    }
                    Err(error) => ensure!(error.to_string().contains(INJECTED), "call {nth}: {error}"),
                }
                let at = |e: Failure| Failure::from_text(format!("call {nth} ({:?}) failed: {e}", faulty.failed()));
                // Only objects that cannot be freed stay.
                let spared = faulty.failed().is_some_and(|call| GIVING_BACK.contains(&call));
                ensure!(Held::by(gpu).sum() <= held.sum() + usize::from(spared), "{}", at(Failure::new("it leaks")));
                same("the objects", &(Held::by(gpu) == held || spared), &true).map_err(at)
            },
        )?;
        nth += 1;
    }
    ensure!(last > 20, "opening makes {last} calls only");
    Ok(())
}

/// A copy fails in flight, and its context with it: every call reports that, none hangs, and closing works.
pub fn in_flight() -> Outcome {
    for transport in [Transport::Kernel, Transport::Engine, Transport::Auto] {
        for nth in [1, 2, 3, 5, 8, 13, 21] {
            dying(bed::transport(transport), nth)
                .map_err(|e| Failure::from_text(format!("{transport:?}, copy {nth} failed in flight: {e}")))?;
        }
    }
    Ok(())
}

/// The same with guarded bulk: no thread waits for a copy that will not be made.
pub fn in_flight_guarded() -> Outcome {
    [1, 2, 3, 5, 8].into_iter().try_for_each(|nth| dying(guard::options(), nth))
}

fn dying(options: Options, nth: u64) -> Outcome {
    const BYTES: u64 = 600 << 10;
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let rig = Rig::new(&driver)?;
    let overtake = bed::open(&rig, options)?;
    let (low, high) = (overtake.adopt(rig.stream()?, level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let memory = (rig.pinned(BYTES)?, rig.buffer(BYTES)?);
    gpu.inject(Fault::Copy { nth, code: Code::ILLEGAL_ADDRESS });
    let mut handles = Vec::new();
    let mut first = None;
    for round in 0..12 {
        let copies = [
            raw::htod(&low, memory.1, &memory.0, BYTES),
            raw::htod(&high, memory.1, &memory.0, 64 << 10),
            raw::dtoh(&high, &memory.0, memory.1, 64 << 10),
        ];
        for copy in copies {
            match copy {
                Ok(handle) => handles.push(handle),
                Err(error) => first = first.or(Some((round, error))),
            }
        }
        if round % 4 == 3 {
            let _ = high.synchronize();
        }
    }
    let dead = |code| code == Code::ILLEGAL_ADDRESS;
    for handle in &handles {
        if let Err(error) = handle.wait() {
            ensure!(dead(error.code()), "a handle says {error}");
            first = first.or(Some((12, error)));
        }
    }
    let Some((_, error)) = first else { return Err(Failure::new("no call reported that the context has failed")) };
    ensure!(dead(error.code()), "the first error was {error}");
    bed::eventually(&rig, "semaphores go down", || bed::raised(&overtake) == 0)?;
    let refused = raw::htod(&low, memory.1, &memory.0, BYTES).err();
    ensure!(refused.as_ref().is_some_and(|error| dead(error.code())), "a copy on a dead context: {refused:?}");
    drop((low, high, handles, overtake));
    Ok(())
}
