//! A software GPU for unit tests.

use std::sync::Arc;

use hal::{Device, Driver};
use semaphores::{Bank, Words};
use terms::{Direction, Priorities};

use crate::records::{Counters, Records, Standing, Tickets, Trace};

/// A new software GPU, with its primary context current.
pub(crate) fn driver() -> Arc<dyn Driver> {
    let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    driver
}

pub(crate) fn tickets(driver: &Arc<dyn Driver>) -> Tickets {
    Tickets::new(Words::new(driver, Tickets::WORDS).unwrap())
}

/// Records with these priorities on all engines.
pub(crate) fn records(driver: &Arc<dyn Driver>, priorities: Priorities) -> Records {
    let banks = [(); Direction::COUNT].map(|()| Arc::new(Bank::new(driver, priorities).unwrap()));
    Records::new(tickets(driver), Standing::new(banks), Counters::new(priorities), Trace::default(), false)
}
