//! The data of `overtake info --json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use backend::Opened;
use console::device::OpenDevice;
use console::failure::Result;
use console::{environment, version};
use hal::{Attribute, Device, Driver};
use serde::Serialize;

use super::calibrate::assumed;
use super::drop_in::{DropIn, drop_in};
use super::warnings::{Warning, environment_warnings};

/// All data that `info` shows.
#[derive(Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// Commit it was built from.
    pub commit: &'static str,
    /// The number of the product: runs of different products must not be compared.
    pub product: u32,
    /// The driver, and the reason for its choice.
    pub backend: Backend,
    /// CUDA version that the driver speaks.
    pub driver: String,
    /// The release of the driver, if the system knows it.
    pub driver_release: Option<String>,
    /// The variables that set the number of copy queues; `null` if unset.
    pub connections: BTreeMap<&'static str, Option<String>>,
    /// All relevant variables that are set.
    pub environment: BTreeMap<String, String>,
    /// The behaviour of `overtake run` here.
    pub drop_in: DropIn,
    pub devices: Vec<DeviceReport>,
    /// Settings that should be changed.
    pub warnings: Vec<Warning>,
}

/// The driver, and the reason for its choice.
#[derive(Debug, Serialize)]
pub struct Backend {
    /// `cuda` or `soft`.
    pub name: &'static str,
    /// The reason for its choice.
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// Counted from 0.
    pub ordinal: i32,
    /// The driver's name for it.
    pub name: String,
    /// In the form of `nvidia-smi -L`.
    pub uuid: String,
    pub memory_bytes: u64,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
    pub multiprocessors: i32,
    /// The number of copy engines that work at the same time, as the driver counts them.
    pub copy_engines: i32,
    /// The rate of its link that the layer assumes, in GB/s.
    pub link_gbps: u32,
    /// CUDA's stream priorities, least urgent and most urgent.
    pub stream_priorities: Option<(i32, i32)>,
    /// Whether atomics of the device on host memory are atomic against the CPU.
    pub host_atomics: bool,
}

/// Collects all data. A probe that fails is a warning and no failure, because people run `info` when something is
/// wrong.
pub fn collect(opened: &Opened) -> Result<Report> {
    let driver = &opened.driver;
    let environment = environment::relevant(environment::variables());
    let connections = environment::CONNECTIONS.map(|name| (name, environment.get(name).cloned()));
    let (drop_in, complaints) = drop_in(&environment);
    let mut warnings: Vec<Warning> = opened.absent.as_ref().map(Warning::no_gpu).into_iter().collect();
    warnings.extend(environment_warnings(&environment));
    warnings.extend(complaints);
    let mut report = Report {
        version: overtake::VERSION,
        commit: overtake::COMMIT,
        product: report::PRODUCT,
        backend: Backend { name: driver.backend(), reason: opened.reason.clone() },
        driver: version::driver_version(driver.version()?),
        driver_release: (driver.backend() == "cuda").then(version::driver_release).flatten(),
        connections: connections.into(),
        warnings,
        environment,
        drop_in,
        devices: Vec::new(),
    };
    for ordinal in 0..driver.device_count()? {
        let device = device_report(driver, ordinal, &mut report.warnings)?;
        report.devices.push(device);
    }
    Ok(report)
}

fn device_report(driver: &Arc<dyn Driver>, ordinal: i32, warnings: &mut Vec<Warning>) -> Result<DeviceReport> {
    let device = Device(ordinal);
    let attribute = |attribute| driver.device_attribute(attribute, device);
    let major = attribute(Attribute::COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::COMPUTE_CAPABILITY_MINOR)?;
    let mut report = DeviceReport {
        ordinal,
        name: driver.device_name(device)?,
        uuid: uuid(driver.device_uuid(device)?),
        memory_bytes: driver.device_total_memory(device)?,
        compute_capability: format!("{major}.{minor}"),
        multiprocessors: attribute(Attribute::MULTIPROCESSOR_COUNT)?,
        copy_engines: attribute(Attribute::ASYNC_ENGINE_COUNT)?,
        link_gbps: assumed(driver, ordinal).link_gbps,
        stream_priorities: None,
        host_atomics: attribute(Attribute::HOST_NATIVE_ATOMIC_SUPPORTED)? != 0,
    };
    if let Err(error) = probe_device(driver, &mut report, warnings) {
        warnings.push(Warning::probe_failed(ordinal, "the device", &error));
    }
    Ok(report)
}

fn probe_device(driver: &Arc<dyn Driver>, report: &mut DeviceReport, warnings: &mut Vec<Warning>) -> hal::Result<()> {
    let _open = OpenDevice::open(driver, report.ordinal)?;
    let range = driver.priority_range()?;
    report.stream_priorities = Some((range.least, range.greatest));
    if let Err(error) = overtake::kernel::check(driver) {
        let cuda = version::driver_version(driver.version()?);
        warnings.push(Warning::no_kernel(report.ordinal, &cuda, &error));
    }
    Ok(())
}

/// The form of `nvidia-smi -L`.
pub fn uuid(uuid: hal::Uuid) -> String {
    let hex: String = uuid.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_look_as_everywhere_else() {
        let bytes = std::array::from_fn(|index| index as u8);
        assert_eq!(uuid(hal::Uuid(bytes)), "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
