//! Every driver call fails once, while tasks of every kind run: it ends, each error tells of that call, nothing leaks.

use std::sync::Arc;

use hal::{Code, Device, Driver, Nanos};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Error, Reason, Tasks};
use overtake::{Options, Overtake, Priorities};
use softgpu::{Fault, SoftGpu};

use super::scenario::Scenario;
use crate::bed::Kernels;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::{Faulty, INJECTED};
use crate::machine::{Held, on};
use crate::rig::Rig;

/// A program that makes more calls never ends: some call is repeated because it fails.
const CALLS_MAX: u64 = 5_000;

/// Calls that free something. If they fail, it stays.
const GIVING_BACK: [&str; 4] = ["stream_destroy", "event_destroy", "mem_free", "host_free"];

/// The end of the device's work after the failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It goes on.
    Goes,
    /// The device is lost, and all calls fail from then on.
    Dies,
}

fn open_copies(driver: &Arc<dyn Driver>) -> Result<Arc<Overtake>, Failure> {
    let options = Options { priorities: Priorities::new(8).expect("8 is a count"), ..Options::default() };
    Ok(Arc::new(Overtake::open(driver, Device(0), options)?))
}

fn faulty(gpu: &SoftGpu, rig: &Rig, then: Then) -> Arc<Faulty> {
    let code = if then == Then::Dies { Code::UNKNOWN } else { Code::OUT_OF_MEMORY };
    let faulty = Faulty::new(rig.shared_driver(), code);
    if then == Then::Dies {
        let gpu = gpu.clone();
        faulty.on_failure(move || gpu.inject(Fault::LoseDevice { device: 0 }));
    }
    faulty
}

/// A rig has words for so many runs.
const RUNS_MAX: u64 = 8;

/// Runs a check while no call fails, and then while each of those calls fails in turn. Returns their number. A machine
/// serves for several runs, until a call has failed that frees something: its layer's probe is most of the work.
fn each_call(check: impl Fn(&SoftGpu, &Rig, &Arc<Faulty>, u64) -> Result<u64, Failure>) -> Result<u64, Failure> {
    let (mut calls, mut nth) = (None, 0);
    while nth <= calls.unwrap_or(CALLS_MAX) {
        let serve = |gpu: &SoftGpu, rig: &Rig| {
            let faulty = faulty(gpu, rig, Then::Goes);
            let driver: Arc<dyn Driver> = Arc::clone(&faulty) as Arc<dyn Driver>;
            drop(open_copies(&driver)?);
            let (end, mut is_spared) = (nth + RUNS_MAX, false);
            while nth <= calls.unwrap_or(CALLS_MAX) && nth < end && !is_spared {
                faulty.forget();
                let made = check(gpu, rig, &faulty, nth);
                let made = made.map_err(|e| Failure::from_text(format!("call {nth} failed: {e}")))?;
                calls.get_or_insert(made);
                is_spared = faulty.failed().is_some_and(|call| GIVING_BACK.contains(&call));
                nth += 1;
            }
            Ok(())
        };
        on(|builder| builder, serve)?;
    }
    Ok(calls.unwrap_or(CALLS_MAX))
}

/// The error names a task, and the call that failed on purpose or that the dead device refused.
fn tells(error: &Error, then: Then, failed: &str) -> Outcome {
    let text = error.to_string();
    ensure!(
        !matches!(error, Error::Stuck { .. } | Error::Closed { .. }),
        "a task of a driver that failed in {failed}: {text}"
    );
    let is_named = error.fault().is_some_and(|fault| match &fault.reason {
        Reason::Driver(its) | Reason::Device(its) => its.to_string().contains(INJECTED) || then == Then::Dies,
        Reason::Returned(its) => its.contains(INJECTED) || then == Then::Dies,
        _ => false,
    });
    ensure!(is_named, "the error of a task does not tell of {failed}: {text}");
    ensure!(text.contains("task \"") || text.contains("task (any)"), "the error names no task: {text}");
    Ok(())
}

/// Runs the scenario while the `nth` call fails, and checks everything. Returns the number of calls.
fn once(gpu: &SoftGpu, rig: &Rig, faulty: &Arc<Faulty>, then: Then, nth: u64) -> Result<u64, Failure> {
    let driver: Arc<dyn Driver> = Arc::clone(faulty) as Arc<dyn Driver>;
    let kernels = Kernels::find(rig)?;
    let held = Held::by(gpu);
    let (mut first, mut second) = (Scenario::new(rig, &kernels)?, Scenario::new(rig, &kernels)?);
    let overtake = open_copies(&driver)?;
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let tasks = Tasks::new(&dispatcher);
    // Its threads fall asleep.
    rig.driver().host().sleep(Nanos::from_ms(1));
    // It has to make its context current, and to take it back.
    rig.driver().context_set_current(None)?;
    faulty.fail(nth);
    first.submit(&tasks)?;
    let errors = first.errors();
    tasks.wait()?;
    let calls = faulty.calls();
    faulty.fail(0);
    ensure!(nth == 0 || faulty.failed().is_some(), "call {nth} was never made");
    let is_back = rig.driver().context_current()?.is_none();
    ensure!(is_back || faulty.failed() == Some("context_set_current"), "the caller has another context now");
    rig.driver().context_set_current(Some(rig.context()))?;
    let failed = faulty.failed().unwrap_or("none");
    errors.iter().try_for_each(|error| tells(error, then, failed))?;
    ensure!(faulty.failed().is_some() || errors.is_empty(), "{errors:?}");
    first.is_over(then == Then::Dies && nth > 0)?;
    same("nodes that are left", &dispatcher.graph_statistics().nodes, &0)?;
    // The next tasks run, unless the device is lost.
    second.submit(&tasks)?;
    let is_lost = dispatcher.statistics().is_device_lost;
    let errors = second.errors();
    errors.iter().try_for_each(|error| tells(error, then, failed))?;
    same("whether the next tasks fail", &!errors.is_empty(), &is_lost)?;
    let mine = first.allocations() + second.allocations();
    second.is_over(then == Then::Dies && nth > 0)?;
    drop((dispatcher, tasks, first, second, overtake));
    if then == Then::Goes {
        rig.driver().context_synchronize()?;
        same("the objects after closing", &Held::by(gpu), &Held { allocations: held.allocations + mine, ..held })?;
    }
    Ok(calls)
}

fn is_likely(calls: u64) -> Outcome {
    ensure!((100..CALLS_MAX).contains(&calls), "the scenario makes {calls} calls");
    Ok(())
}

/// Runs a check on a model that may die in it: its rig cannot free anything then.
fn on_a_mortal(check: impl FnOnce(&SoftGpu, &Rig) -> Outcome) -> Outcome {
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    check(&gpu, &Rig::new(&driver)?)
}

/// Fails every call of the scenario in turn.
pub fn every_call() -> Outcome {
    is_likely(each_call(|gpu, rig, faulty, nth| once(gpu, rig, faulty, Then::Goes, nth))?)
}

/// The same, and the device is lost with that call. Each has a machine of its own.
pub fn every_last_call() -> Outcome {
    let (mut calls, mut nth) = (CALLS_MAX, 0);
    while nth <= calls {
        on_a_mortal(|gpu, rig| {
            let made = once(gpu, rig, &faulty(gpu, rig, Then::Dies), Then::Dies, nth);
            let made = made.map_err(|e| Failure::from_text(format!("call {nth} failed: {e}")))?;
            calls = if nth == 0 { made } else { calls };
            Ok(())
        })?;
        nth += 1;
    }
    is_likely(calls)
}

/// Fails every call of opening a dispatcher in turn, those of its threads too: the result is an error without
/// leftovers, or a dispatcher that ends its tasks.
pub fn opening() -> Outcome {
    let calls = each_call(open_once)?;
    ensure!(calls > 100, "opening makes {calls} calls only");
    Ok(())
}

fn open_once(gpu: &SoftGpu, rig: &Rig, faulty: &Arc<Faulty>, nth: u64) -> Result<u64, Failure> {
    let driver: Arc<dyn Driver> = Arc::clone(faulty) as Arc<dyn Driver>;
    let kernels = Kernels::find(rig)?;
    let mut scenario = Scenario::new(rig, &kernels)?;
    let overtake = open_copies(&driver)?;
    let held = Held::by(gpu);
    faulty.fail(nth);
    let opened = Dispatcher::open(&overtake, DispatchOptions::default());
    // The threads make their first calls meanwhile.
    rig.driver().host().sleep(Nanos::from_ms(1));
    let calls = faulty.calls();
    faulty.fail(0);
    ensure!(nth == 0 || faulty.failed().is_some(), "call {nth} was never made");
    match opened {
        Ok(dispatcher) => {
            scenario.submit(&Tasks::new(&dispatcher))?;
            let errors = scenario.errors();
            errors.iter().try_for_each(|error| tells(error, Then::Goes, faulty.failed().unwrap_or("none")))?;
            scenario.is_over(false)?;
        }
        Err(error) => ensure!(error.to_string().contains(INJECTED), "{error}"),
    }
    drop(scenario);
    // Only objects that cannot be freed stay.
    let spared = faulty.failed().is_some_and(|call| GIVING_BACK.contains(&call));
    let (now, most) = (Held::by(gpu).sum(), held.sum() + usize::from(spared));
    ensure!(now <= most, "{now} objects after {:?} failed, and {} before", faulty.failed(), held.sum());
    Ok(calls)
}
