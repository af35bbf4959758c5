//! Common steps of several checks: opening, kernels, expected transfers.

use std::sync::Arc;

use hal::{Device, Driver};
use overtake::data::{ArrayOptions, Arrays, DataStatistics};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::task::{Kernel, Tasks};
use overtake::{Options, Overtake, Priority};

use crate::failure::{Failure, Outcome, same};
use crate::rig::Rig;

/// Arrays on the first device, with the kernels of the suite.
pub struct Bed {
    pub arrays: Arrays,
    pub tasks: Tasks,
    pub dispatcher: Dispatcher,
    pub overtake: Arc<Overtake>,
    pub kernels: Kernels,
}

/// The kernels of the suite.
#[derive(Clone)]
pub struct Kernels {
    pub add: Kernel,
}

/// The most urgent of eight priorities.
pub fn urgent() -> Priority {
    Priority::new(8).expect("8 is a priority")
}

pub fn open(rig: &Rig) -> Result<Bed, Failure> {
    open_with(rig, rig.shared_driver(), ArrayOptions::default())
}

/// The same on a driver that stands before the rig's.
pub fn open_with(rig: &Rig, driver: &Arc<dyn Driver>, arrays: ArrayOptions) -> Result<Bed, Failure> {
    let work = rig.module(workloads::PTX.as_bytes())?;
    let kernels = Kernels { add: Kernel::find(rig.driver(), work, "work_add")? };
    let options = Options { priorities: overtake::Priorities::new(8).expect("8 is a count"), ..Options::default() };
    let overtake = Arc::new(Overtake::open(driver, Device(0), options)?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let (arrays, tasks) = (Arrays::open(&dispatcher, arrays)?, Tasks::new(&dispatcher));
    Ok(Bed { arrays, tasks, dispatcher, overtake, kernels })
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

impl From<overtake::task::Error> for Failure {
    #[track_caller]
    fn from(error: overtake::task::Error) -> Failure {
        Failure::new(error)
    }
}
