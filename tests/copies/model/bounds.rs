//! A case in which a real driver's answer is not defined: ranges of host memory outside any allocation.

use crate::checks::bounds;
use crate::failure::Outcome;
use crate::model::on;

/// Copies that leave pinned memory go to the driver, which refuses them.
pub fn beyond_host_memory() -> Outcome {
    on(|builder| builder, |_, rig| bounds::beyond_host_memory(rig))
}
