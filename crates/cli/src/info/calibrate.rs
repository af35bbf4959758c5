//! `overtake info --calibrate`: measures what the constants of copies depend on.

use std::fmt::Write as _;
use std::sync::Arc;

use backend::Opened;
use bench::calibrate::{Calibration, STEPS, measure};
use channels::chunk::{ENGINE_GAP, chunk_bytes};
use console::device::OpenDevice;
use console::failure::Result;
use console::progress::Progress;
use console::{Globals, version};
use hal::{Device, Driver};
use overtake::Options;
use overtake::options::{Machine, Profile};
use report::{Column, Table, format};
use serde::Serialize;

use super::collect::uuid;

/// The calibration of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// The UUID of the device.
    pub uuid: String,
    pub name: String,
    /// The release of the driver; empty if the system does not know it, as for the software GPU.
    pub driver: String,
    /// The rate that follows from the link or the age of the device.
    pub assumed_gbps: u32,
    pub multiprocessors: u32,
    pub measured: Calibration,
}

impl Calibrated {
    /// The measured rate, if it differs from the assumed one by more than measurements do.
    pub fn corrected_gbps(&self) -> Option<u32> {
        let (assumed, measured) = (self.assumed_gbps, self.measured.link_gbps());
        (assumed.abs_diff(measured) > assumed / 10).then_some(measured)
    }
}

/// Measures every device.
pub fn devices(globals: &Globals, opened: &Opened) -> Result<Vec<Calibrated>> {
    let driver = &opened.driver;
    let count = driver.device_count()?;
    let mut progress = Progress::new(globals.quiet, false, STEPS * count as usize);
    (0..count).map(|ordinal| device(driver, ordinal, &mut progress)).collect()
}

fn device(driver: &Arc<dyn Driver>, ordinal: i32, progress: &mut Progress) -> Result<Calibrated> {
    let _open = OpenDevice::open(driver, ordinal)?;
    let machine = assumed(driver, ordinal);
    let release = (driver.backend() == "cuda").then(version::driver_release).flatten();
    Ok(Calibrated {
        uuid: uuid(driver.device_uuid(Device(ordinal))?),
        name: driver.device_name(Device(ordinal))?,
        driver: release.unwrap_or_default(),
        assumed_gbps: machine.link_gbps,
        multiprocessors: machine.multiprocessors,
        measured: measure(driver, progress)?,
    })
}

/// What the layer takes a device for, without a calibration.
pub fn assumed(driver: &Arc<dyn Driver>, ordinal: i32) -> Machine {
    overtake::machine::of(&**driver, Device(ordinal), &Options::default())
}

/// As text.
pub fn render(found: &[Calibrated]) -> String {
    let mut text = String::new();
    for device in found {
        let driver = if device.driver.is_empty() { String::new() } else { format!(", driver {}", device.driver) };
        let _ = writeln!(text, "{} ({}{driver})", device.name, device.uuid);
        for line in table(&device.measured).to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
        text.push_str(&verdict(device));
    }
    text
}

fn table(measured: &Calibration) -> Table {
    let mut table =
        Table::new(vec![Column::words(""), Column::numbers("to the device"), Column::numbers("to the host")]);
    let gbps = |gbps: f64| format!("{gbps:.1} GB/s");
    let [to_device, to_host] = measured.engine_gbps.map(gbps);
    table.push(["copy engine, 64 MiB", &to_device, &to_host]);
    let [to_device, to_host] =
        measured.kernel_gbps.map_or(["none".to_owned(), "none".to_owned()], |rates| rates.map(gbps));
    table.push(["copy kernel, 64 MiB", &to_device, &to_host]);
    let [to_device, to_host] = measured.small_us.map(|us| format!("{us:.1} us"));
    table.push(["64 KiB, idle", &to_device, &to_host]);
    for (large, small) in measured.pageable[0].iter().zip(&measured.pageable[1]) {
        let of = |rate: &bench::calibrate::Pageable| format!("{:.1}, {:.1} GB/s", rate.driver_gbps, rate.staged_gbps);
        table.push([&format!("pageable {}: driver, staged", format::size(large.bytes)), &of(large), &of(small)]);
    }
    table
}

/// What follows from a link of this rate.
fn consequences(link_gbps: u32, multiprocessors: u32) -> String {
    let mut options = Options { profile: Profile::DROP_IN, ..Options::default() };
    options.fit(Machine { link_gbps, multiprocessors });
    let Profile { chunk_max, guard_bytes_min, kernel_h2d, kernel_d2h, .. } = options.profile;
    let chunk_bytes = chunk_bytes(chunk_max, u64::from(link_gbps) * 1_000_000_000, ENGINE_GAP);
    format!(
        "bulk goes by kernel from {} on, by {} warps to the device and {} to the host; chunks have {}",
        format::size(guard_bytes_min.unwrap_or_default()),
        kernel_h2d.blocks * kernel_h2d.warps,
        kernel_d2h.blocks * kernel_d2h.warps,
        format::size(chunk_bytes),
    )
}

/// What the measurement changes.
fn verdict(device: &Calibrated) -> String {
    let (assumed, measured) = (device.assumed_gbps, device.measured.link_gbps());
    let mut text = match device.corrected_gbps() {
        None => format!("  link: {measured} GB/s, and {assumed} are assumed: nothing changes\n"),
        Some(gbps) => format!(
            "  link: {gbps} GB/s, and {assumed} are assumed: set OVERTAKE_LINK_GBPS={gbps} for programs on this \
             device, or link_gbps in a configuration\n  then {}\n",
            consequences(gbps, device.multiprocessors)
        ),
    };
    let [to_device, to_host] = device.measured.staging_bytes_min().map(|bytes| match bytes {
        Some(bytes) => format!("from {} on", format::size(bytes)),
        None => "at no size".to_owned(),
    });
    if device.measured.pageable.iter().all(|rates| !rates.is_empty()) {
        let _ = writeln!(
            text,
            "  staging is faster to the device {to_device}, to the host {to_host}; by default it is from 2 MiB and 1 \
             MiB on"
        );
    }
    text
}
