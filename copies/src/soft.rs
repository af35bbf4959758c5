//! A software GPU for unit tests.

use std::sync::Arc;

use hal::{Device, Driver};

/// A fresh one, its primary context current.
pub(crate) fn driver() -> Arc<dyn Driver> {
    let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    driver
}
