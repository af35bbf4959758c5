//! What a driver would have to be trusted with: ranges of host memory that nobody allocated.

use crate::checks::bounds;
use crate::failure::Outcome;
use crate::model::on;

/// Copies that leave pinned memory go to the driver, which refuses them.
pub fn beyond_host_memory() -> Outcome {
    on(|builder| builder, |_, rig| bounds::beyond_host_memory(rig))
}
