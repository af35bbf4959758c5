//! A software GPU for unit tests.

use std::sync::Arc;

use hal::{Device, Driver};
use priority::{Direction, Priorities};
use semaphores::{Bank, Words};

use crate::records::{Counters, Fences, Records, Standing, Trace};

/// A new software GPU, with its primary context current.
pub(crate) fn driver() -> Arc<dyn Driver> {
    let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    driver
}

pub(crate) fn fences(driver: &Arc<dyn Driver>) -> Fences {
    Fences::new(Words::new(driver, Fences::WORDS).unwrap())
}

/// Records with these priorities on all engines.
pub(crate) fn records(driver: &Arc<dyn Driver>, priorities: Priorities) -> Records {
    let banks = [(); Direction::COUNT].map(|()| Arc::new(Bank::new(driver, priorities).unwrap()));
    Records::new(fences(driver), Standing::new(banks), Counters::new(priorities), Trace::default(), false)
}
