//! Fixed templates on the model: the time that their graphs take, their graphs' ends, and failures of each call.

use std::sync::Arc;

use hal::{Code, Driver, Nanos};
use overtake::Priority;
use overtake::dispatch::DispatchOptions;
use overtake::task::{Error, Handle, Lane, More, Recording, Template};
use softgpu::{Fault, SoftGpu};

use crate::bed::{self, Bed, Kernels};
use crate::checks::spans::Words;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::machine;
use crate::model::on;
use crate::raw;
use crate::rig::Rig;

/// So long that calls do not matter beside it.
const SPAN: Nanos = Nanos::from_ms(1);
/// A program that makes more calls never ends.
const CALLS_MAX: u64 = 2_000;

/// Kernels that take a while, beside each other, and one behind them.
fn branches(count: usize) -> Result<Template<Words>, Error> {
    let mut recording = Recording::<Words>::new();
    let spin = |lane: &mut Lane<'_>, (_, kernels): &Words| {
        raw::spin(lane, &kernels.spin, SPAN)?;
        Ok(More::Done)
    };
    let all: Vec<_> = (0..count).map(|_| recording.kernel("branch", &[], spin)).collect();
    recording.kernel("join", &all, spin);
    Ok(raw::fixed(recording.finish()?))
}

/// The time of replays that are submitted at once, behind some that have made the graphs.
fn time(rig: &Rig, bed: &Bed, template: &Template<Words>, replays: usize) -> Result<Nanos, Failure> {
    let words = rig.buffer(64)?;
    let run = || -> Result<Nanos, Failure> {
        let (host, begin) = (rig.driver().host(), rig.driver().host().now());
        let replay = |_| template.replay(&bed.tasks, (words, bed.kernels.clone())).submit();
        let handles = (0..replays).map(replay).collect::<Result<Vec<Handle>, _>>()?;
        handles.iter().try_for_each(Handle::wait)?;
        Ok(host.now().since(begin))
    };
    run()?;
    run()
}

/// Branches of a graph do not wait for each other.
pub fn branches_run_side_by_side() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let took = time(rig, &bed, &branches(3)?, 1)?;
        ensure!(took > Nanos(2 * SPAN.0) && took < Nanos(SPAN.0 * 5 / 2), "branches and their join took {took:?}");
        same("replays by calls", &bed.dispatcher.statistics().graph_fallbacks, &0)
    })
}

/// A graph follows itself on the device. So replays in two lanes have two.
pub fn replays_run_side_by_side() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let took = time(rig, &bed, &branches(2)?, 3)?;
        ensure!(took < Nanos(SPAN.0 * 5 / 2), "three replays took {took:?}");
        same("replays by calls", &bed.dispatcher.statistics().graph_fallbacks, &0)
    })
}

/// An urgent replay passes kernels that fill the device and have not begun.
pub fn kernels_have_the_priority_of_their_lanes() -> Outcome {
    on(|rig| {
        let bed = bed::open(rig)?;
        let (template, words) = (branches(2)?, rig.buffer(64)?);
        let replay = |priority| template.replay(&bed.tasks, (words, bed.kernels.clone())).priority(priority).submit();
        [Priority::LOWEST, bed::urgent()].into_iter().try_for_each(|priority| replay(priority)?.wait())?;
        let low = rig.stream_with(hal::StreamFlags::NON_BLOCKING, 0)?;
        let function = rig.kernels()?.spin;
        for _ in 0..8 {
            raw::occupy(rig.driver(), function, SPAN, low)?;
        }
        let begin = rig.driver().host().now();
        replay(bed::urgent())?.wait()?;
        let took = rig.driver().host().now().since(begin);
        ensure!(took < Nanos(5 * SPAN.0), "it waits for kernels of less priority: {took:?}");
        Ok(())
    })
}

/// No graph is left of a template that is dropped, and none of a dispatcher that is closed.
pub fn graphs_end_with_their_owners() -> Outcome {
    machine::on(
        |builder| builder,
        |gpu, rig| {
            let (bed, other) = (bed::open(rig)?, bed::open(rig)?);
            let (template, dropped) = (branches(2)?, branches(1)?);
            for (bed, template) in [(&bed, &template), (&other, &template), (&bed, &dropped)] {
                time(rig, bed, template, 3)?;
            }
            // One is captured for each of the three, and made ready in some lanes.
            let graphs = gpu.live().graphs;
            ensure!(graphs >= 6, "there are {graphs} graphs");
            drop(dropped);
            bed::eventually(rig, "the graphs of a template are gone", || gpu.live().graphs < graphs)?;
            let graphs = gpu.live().graphs;
            drop(bed);
            ensure!(gpu.live().graphs < graphs && gpu.live().graphs > 0, "the other dispatcher's stay");
            time(rig, &other, &template, 1)?;
            drop(other);
            same("graphs behind the last dispatcher", &gpu.live().graphs, &0)?;
            drop(template);
            same("graphs", &gpu.live().graphs, &0)
        },
    )
}

/// Two branches and a join, each of which adds to a word.
fn adding() -> Result<Template<Words>, Error> {
    let mut recording = Recording::<Words>::new();
    let add = |word: u64| {
        move |lane: &mut Lane<'_>, (words, kernels): &Words| {
            raw::word(lane, &kernels.add, words.at(4 * word), 1)?;
            Ok(More::Done)
        }
    };
    let both = [0, 1].map(|word| recording.kernel("both", &[], add(word)));
    recording.kernel("last", &both, add(2));
    Ok(raw::fixed(recording.finish()?))
}

/// Replays a template while the `nth` call fails, and ends everything. Returns that call.
fn once(gpu: &SoftGpu, rig: &Rig, dies: bool, nth: u64) -> Result<Option<&'static str>, Failure> {
    const REPLAYS: u32 = 4;
    let faulty = Faulty::new(rig.shared_driver(), if dies { Code::UNKNOWN } else { Code::OUT_OF_MEMORY });
    if dies {
        let gpu = gpu.clone();
        faulty.on_failure(move || gpu.inject(Fault::LoseDevice { device: 0 }));
    }
    let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
    Kernels::find(rig)?;
    let held = machine::Held::by(gpu);
    let bed = bed::open_on(rig, &driver, DispatchOptions::default())?;
    let (template, words) = (adding()?, rig.buffer_of(&[0; 64])?);
    faulty.fail(nth);
    let replay = |_| Ok(template.replay(&bed.tasks, (words, bed.kernels.clone())).submit()?.wait());
    let ends = (0..REPLAYS).map(replay).collect::<Result<Vec<Result<(), Error>>, Failure>>()?;
    faulty.fail(0);
    let Some(failed) = faulty.failed() else { return Ok(None) };
    for error in ends.iter().filter_map(|end| end.as_ref().err()) {
        ensure!(dies || error.to_string().contains(INJECTED), "after {failed}: {error}");
    }
    let statistics = bed.dispatcher.statistics();
    let failures = ends.iter().filter(|end| end.is_err()).count();
    let is_of_capture = ["stream_begin_capture", "stream_end_capture", "graph_instantiate"].contains(&failed);
    if is_of_capture && !dies {
        same("failures, where a graph cannot be made once", &failures, &0)?;
        same("replays by calls", &statistics.graph_fallbacks, &1)?;
    }
    if failed == "graph_launch" && !dies {
        same("failures, where a launch fails", &failures, &1)?;
    }
    if failures == 0 {
        let seen = rig.download(words, rig.stream()?)?;
        let seen: Vec<u32> =
            seen.chunks(4).take(3).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        same("the words", &seen, &vec![REPLAYS; 3])?;
        same("replays", &(statistics.graph_launches + statistics.graph_fallbacks), &u64::from(REPLAYS))?;
    }
    ensure!(failures == 0 || failures == 1 || statistics.is_device_lost, "{failures} failures after {failed}");
    drop((bed, template));
    if !dies {
        rig.driver().context_synchronize()?;
        let graphs = machine::Held::by(gpu).graphs;
        let is_spared = ["graph_destroy", "graph_exec_destroy"].contains(&failed);
        ensure!(graphs <= held.graphs + usize::from(is_spared), "{graphs} graphs are left after {failed}");
    }
    Ok(Some(failed))
}

fn every_call_then(dies: bool) -> Outcome {
    let mut failed = std::collections::BTreeSet::new();
    for nth in 1..CALLS_MAX {
        let run = |gpu: &SoftGpu, rig: &Rig| {
            once(gpu, rig, dies, nth).map_err(|error| Failure::from_text(format!("call {nth} failed: {error}")))
        };
        let call = if dies { on_a_mortal(run)? } else { machine::on(|builder| builder, run)? };
        let Some(call) = call else {
            let new = ["stream_begin_capture", "stream_end_capture", "graph_instantiate", "graph_launch"];
            ensure!(new.iter().all(|name| failed.contains(name)), "only these failed: {failed:?}");
            return Ok(());
        };
        failed.insert(call);
    }
    Err(Failure::new("the program makes calls without end"))
}

/// Runs a check on a model that may die in it.
fn on_a_mortal<T>(check: impl FnOnce(&SoftGpu, &Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    check(&gpu, &Rig::new(&driver)?)
}

/// Each call fails once: a graph that cannot be made is none, and a launch that fails fails its replay.
pub fn every_call() -> Outcome {
    every_call_then(false)
}

/// The same, and the device is lost with that call: every replay ends.
pub fn every_last_call() -> Outcome {
    every_call_then(true)
}
