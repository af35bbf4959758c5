//! The random programs on several devices.

use std::sync::Arc;

use hal::{Code, Device, Driver};
use overtake::data::{ArrayOptions, Bandwidth, Selection};

use crate::bed;
use crate::checks::random::{SMALL, Size, programs, run_all};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::faulty::Faulty;
use crate::rig::Rig;

const PROGRAMS_ON_SEVERAL: u64 = 300;
/// For each selection that chooses the device.
const PROGRAMS_WHERE_CHOSEN: u64 = 150;

fn programs_on_several(size: Size) -> Result<u64, Failure> {
    programs(if size.names_devices { PROGRAMS_ON_SEVERAL } else { PROGRAMS_WHERE_CHOSEN })
}

/// Runs programs on so many devices, if there are. Returns the tasks that have copied between two of them.
fn on_several(rig: &Rig, devices: u8, size: Size, options: ArrayOptions) -> Result<u64, Failure> {
    let driver = Faulty::new(rig.shared_driver(), Code::NOT_SUPPORTED);
    if !size.has_links {
        driver.refuse(&["device_can_access_peer"]);
    }
    let driver: Arc<dyn Driver> = driver;
    let bed = bed::open_on(rig, &driver, devices, options)?;
    run_all(&bed, size, programs_on_several(size)?)?;
    Ok(bed.arrays.statistics().between_devices)
}

/// As `random::values`, with two devices: each step names one.
pub fn values_on_two(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    // Without a link they go through the host.
    let has_links = rig.driver().device_can_access_peer(Device(0), Device(1))?;
    let size = Size { has_links, ..SMALL };
    let crossings = on_several(rig, 2, size, ArrayOptions::default())?;
    ensure!((crossings > programs_on_several(size)? / 20) == has_links, "{crossings} transfers between devices");
    Ok(())
}

/// The same with four.
pub fn values_on_four(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 4 {
        return Ok(());
    }
    on_several(rig, 4, SMALL, ArrayOptions::default()).map(drop)
}

/// The same with two devices that do not reach each other: all goes through the host.
pub fn values_without_links(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let size = Size { has_links: false, ..SMALL };
    same("transfers between devices", &on_several(rig, 2, size, ArrayOptions::default())?, &0)
}

/// The values are the same whichever selection chooses the devices.
pub fn values_where_chosen(rig: &Rig) -> Outcome {
    if rig.driver().device_count()? < 2 {
        return Ok(());
    }
    let text = "From,To,Bandwidth\n-1,0,12\n-1,1,12\n0,1,48\n";
    let bandwidth = Bandwidth::read(text, 2).map_err(|(_, fault)| Failure::from_text(fault))?;
    for (name, selection) in Selection::ALL {
        let options = ArrayOptions { selection, bandwidth: Some(bandwidth.clone()), ..ArrayOptions::default() };
        let size = Size { names_devices: false, ..SMALL };
        let run = on_several(rig, 2, size, options);
        run.map_err(|error| Failure::from_text(format!("selection {name}: {error}")))?;
    }
    Ok(())
}
