//! Trials that need the model: they judge spans of virtual time.

mod urgency;

use std::sync::Arc;

use hal::Driver;

use crate::failure::{Failure, Outcome};
use crate::rig::Rig;

pub type OnModel = fn() -> Outcome;

/// Checks that need the model.
pub const ALL: &[(&str, OnModel)] = &[
    ("urgency::overtakes_bulk", urgency::overtakes_bulk),
    ("urgency::a_copy_that_waits_holds_nothing_off", urgency::a_copy_that_waits_holds_nothing_off),
    ("urgency::bulk_alone_goes_natively", urgency::bulk_alone_goes_natively),
];

/// Runs a check on a fresh software GPU.
fn on<T>(check: impl FnOnce(&Rig) -> Result<T, Failure>) -> Result<T, Failure> {
    let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    let rig = Rig::new(&driver)?;
    let result = check(&rig);
    let end = rig.finish();
    result.and_then(|value| end.map(|()| value))
}
