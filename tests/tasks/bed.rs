//! Common steps of several checks: opening, kernels, waiting.

use std::sync::Arc;

use hal::{Device, Driver, Function, Module, Nanos};
use overtake::dispatch::{Candidate, DispatchOptions, Dispatcher};
use overtake::task::{Error, Kernel, Lane, Tasks};
use overtake::{Options, Overtake, Priority};

use crate::failure::{Failure, Outcome};
use crate::rig::{Rig, span};

/// A dispatcher on the first device, with the kernels of the suite.
pub struct Bed {
    pub dispatcher: Dispatcher,
    pub tasks: Tasks,
    pub overtake: Arc<Overtake>,
    pub kernels: Kernels,
}

/// The kernels of the suite.
#[derive(Clone)]
pub struct Kernels {
    pub add: Kernel,
    pub store: Kernel,
    pub spin: Kernel,
}

impl Kernels {
    pub fn find(rig: &Rig) -> Result<Kernels, Failure> {
        let loaded = rig.kernels()?;
        let module: Module = loaded.module;
        let of = |function: Function, name| Kernel::of(rig.driver(), function, name);
        let find = |name| of(rig.driver().module_function(module, name)?, name);
        Ok(Kernels { add: find("soft_atomic_add_u32")?, store: find("soft_store_u32")?, spin: find("soft_spin_ns")? })
    }
}

/// The most urgent of eight priorities.
pub fn urgent() -> Priority {
    Priority::new(8).expect("8 is a priority")
}

pub fn open(rig: &Rig) -> Result<Bed, Failure> {
    open_with(rig, DispatchOptions::default())
}

pub fn open_with(rig: &Rig, options: DispatchOptions) -> Result<Bed, Failure> {
    open_on(rig, rig.shared_driver(), options)
}

/// The same on a driver that stands before the rig's.
pub fn open_on(rig: &Rig, driver: &Arc<dyn Driver>, options: DispatchOptions) -> Result<Bed, Failure> {
    open_by(rig, driver, |overtake| Dispatcher::open(overtake, options))
}

/// The same with tasks ranked by this policy.
pub fn open_ranked(
    rig: &Rig,
    options: DispatchOptions,
    policy: impl Fn(&Candidate<'_>) -> u32 + Send + Sync + 'static,
) -> Result<Bed, Failure> {
    let open = |overtake: &_| Dispatcher::open_ranked(std::slice::from_ref(overtake), options, policy);
    open_by(rig, rig.shared_driver(), open)
}

fn open_by(
    rig: &Rig,
    driver: &Arc<dyn Driver>,
    open: impl FnOnce(&Arc<Overtake>) -> Result<Dispatcher, Error>,
) -> Result<Bed, Failure> {
    let kernels = Kernels::find(rig)?;
    let options_of_copies =
        Options { priorities: overtake::Priorities::new(8).expect("8 is a count"), ..Options::default() };
    let overtake = Arc::new(Overtake::open(driver, Device(0), options_of_copies)?);
    let dispatcher = open(&overtake)?;
    Ok(Bed { tasks: Tasks::new(&dispatcher), dispatcher, overtake, kernels })
}

/// Waits until the condition holds, which may take the dispatcher's lock.
#[track_caller]
pub fn eventually(rig: &Rig, what: &str, condition: impl Fn() -> bool) -> Outcome {
    let host = rig.driver().host();
    let end = host.now() + span(rig.driver());
    while !condition() {
        if host.now() >= end {
            return Err(Failure::new(format_args!("{what}: it did not come to that")));
        }
        host.sleep(Nanos::from_us(10));
    }
    Ok(())
}

/// Fails a launch that is not the first of its task.
pub fn ensure_first_turn(lane: &Lane<'_>) -> Result<(), String> {
    if lane.turn() == 0 { Ok(()) } else { Err(format!("its first turn has the number {}", lane.turn())) }
}
