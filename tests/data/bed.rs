//! Common steps of several checks: opening, kernels, expected transfers.

use std::sync::Arc;

use contexts::CudaContext;
use hal::{Device, Driver, Module};
use overtake::data::{ArrayOptions, Arrays, DataStatistics};
use overtake::dispatch::{Candidate, DispatchOptions, Dispatcher};
use overtake::task::{Error, Kernel, Tasks};
use overtake::{Options, Overtake, Priority};

use crate::failure::{Failure, Outcome, same};
use crate::rig::Rig;

/// Arrays on the first devices, with the kernels of the suite.
pub struct Bed {
    pub arrays: Arrays,
    pub tasks: Tasks,
    pub dispatcher: Dispatcher,
    pub overtake: Arc<Overtake>,
    pub kernels: Kernels,
    pub devices: u8,
    _others: Vec<Loaded>,
}

/// The module of another device than the first.
struct Loaded {
    context: CudaContext,
    module: Module,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Err(error) = self.context.call(|driver| driver.module_unload(self.module)) {
            eprintln!("a module of another device is not unloaded: {error}");
        }
    }
}

/// The kernels of the suite.
#[derive(Clone)]
pub struct Kernels {
    pub add: Kernel,
    /// Adds to a word, atomically.
    pub count: Kernel,
}

const BUILTIN: &[u8] = softgpu::BUILTIN_PTX.as_bytes();
const COUNT: &str = "soft_atomic_add_u32";

/// The most urgent of eight priorities.
pub fn urgent() -> Priority {
    Priority::new(8).expect("8 is a priority")
}

pub fn open(rig: &Rig) -> Result<Bed, Failure> {
    open_with(rig, rig.shared_driver(), ArrayOptions::default())
}

/// The same on a driver that stands before the rig's.
pub fn open_with(rig: &Rig, driver: &Arc<dyn Driver>, arrays: ArrayOptions) -> Result<Bed, Failure> {
    open_on(rig, driver, 1, arrays)
}

/// The same on so many devices.
pub fn open_on(rig: &Rig, driver: &Arc<dyn Driver>, devices: u8, arrays: ArrayOptions) -> Result<Bed, Failure> {
    open_by(rig, driver, devices, arrays, |layers| Dispatcher::open_on(layers, DispatchOptions::default()))
}

/// The same on one device, with tasks ranked by this policy.
pub fn open_ranked(
    rig: &Rig,
    arrays: ArrayOptions,
    policy: impl Fn(&Candidate<'_>) -> u32 + Send + Sync + 'static,
) -> Result<Bed, Failure> {
    let options = DispatchOptions { lanes: 1, ..DispatchOptions::default() };
    open_by(rig, rig.shared_driver(), 1, arrays, |layers| Dispatcher::open_ranked(layers, options, policy))
}

fn open_by(
    rig: &Rig,
    driver: &Arc<dyn Driver>,
    devices: u8,
    arrays: ArrayOptions,
    open: impl FnOnce(&[Arc<Overtake>]) -> Result<Dispatcher, Error>,
) -> Result<Bed, Failure> {
    let work = rig.module(workloads::PTX.as_bytes())?;
    let (add, builtin) = (Kernel::find(rig.driver(), work, "work_add")?, rig.module(BUILTIN)?);
    let mut kernels = Kernels { add, count: Kernel::find(rig.driver(), builtin, COUNT)? };
    let options = Options { priorities: overtake::Priorities::new(8).expect("8 is a count"), ..Options::default() };
    let overtake = Arc::new(Overtake::open(driver, Device(0), options.clone())?);
    let (mut layers, mut others) = (vec![Arc::clone(&overtake)], Vec::new());
    for device in 1..devices {
        let context = CudaContext::primary(driver, Device(i32::from(device)))?;
        layers.push(Arc::new(Overtake::open_in(&context, options.clone())?));
        for (kernel, name, image) in
            [(&mut kernels.add, "work_add", workloads::PTX.as_bytes()), (&mut kernels.count, COUNT, BUILTIN)]
        {
            let module = context.call(|driver| driver.module_load(image))?;
            let other = context.call(|driver| Kernel::find(driver, module, name))?;
            *kernel = kernel.clone().and_on_next(&other)?;
            others.push(Loaded { context: context.clone(), module });
        }
    }
    let dispatcher = open(&layers)?;
    let (arrays, tasks) = (Arrays::open(&dispatcher, arrays)?, Tasks::new(&dispatcher));
    Ok(Bed { arrays, tasks, dispatcher, overtake, kernels, devices, _others: others })
}

impl Bed {
    /// Compares the transfers so far: to the device, to the host, and their bytes.
    #[track_caller]
    pub fn transfers(&self, what: &str, uploads: (u64, u64), downloads: (u64, u64)) -> Outcome {
        let it: DataStatistics = self.arrays.statistics();
        let seen = ((it.uploads, it.upload_bytes), (it.downloads, it.download_bytes));
        same(&format!("{what}: transfers and their bytes, up and down"), &seen, &(uploads, downloads))
    }
}
