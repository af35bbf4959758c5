use serde::{Deserialize, Serialize};

use super::check;

/// The device's answers about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceParameters {
    /// The marketing name.
    pub name: String,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Multiprocessors: the budget of concurrent kernels. 132 on an H100 SXM.
    pub multiprocessors: u32,
    /// Major and minor number of the compute capability.
    pub compute_capability: [i32; 2],
    /// CUDA version of the driver, as `1000 * major + 10 * minor`. The facts were taken with 13.0.
    pub driver_version: i32,
    /// The number of the most urgent stream priority (facts: -5).
    pub greatest_priority: i32,
    /// The value of `ASYNC_ENGINE_COUNT`.
    pub async_engines: i32,
}

impl Default for DeviceParameters {
    fn default() -> DeviceParameters {
        DeviceParameters {
            name: "overtake software GPU (h100-sxm-pcie5)".to_owned(),
            memory_bytes: 80 << 30,
            multiprocessors: 132,
            compute_capability: [9, 0],
            driver_version: 13_000,
            greatest_priority: -5,
            async_engines: 3,
        }
    }
}

impl DeviceParameters {
    pub(super) fn check(&self) -> Result<(), String> {
        check::counts(&[("device.multiprocessors", u64::from(self.multiprocessors))])
    }
}
