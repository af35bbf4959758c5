//! The machine of a device, by what the driver and the system tell of it.

use contexts::CudaContext;
use hal::{Attribute, Device, Driver, Result};
use options::queues::copy_queues;
use options::{Machine, Options};

/// What it is; where nothing tells, as the machine of the measurements.
pub fn of(driver: &dyn Driver, device: Device, options: &Options) -> Machine {
    let attribute = |which, otherwise| driver.device_attribute(which, device).unwrap_or(otherwise);
    let told = || options.link_gbps.or_else(|| told_by_the_system(&pci(driver, device)));
    Machine {
        link_gbps: told().unwrap_or_else(|| of_its_age(attribute(Attribute::COMPUTE_CAPABILITY_MAJOR, 9))).max(1),
        multiprocessors: attribute(Attribute::MULTIPROCESSOR_COUNT, Machine::MEASURED.multiprocessors as i32) as u32,
    }
}

/// Gives the options the constants of the context's device, and the queues that CUDA's variables ask for.
#[inline(never)] // the drop-in is to be small
pub(crate) fn fit(context: &CudaContext, options: &mut Options) -> Result<()> {
    let machine = of(&**context.driver(), context.device()?, options);
    options.fit(machine);
    options.guard.copy_queues.get_or_insert_with(copy_queues);
    Ok(())
}

/// The place of a device in the system, as its folders name it; empty if the driver does not tell.
pub fn pci(driver: &dyn Driver, device: Device) -> String {
    let of = |attribute| driver.device_attribute(attribute, device);
    match [Attribute::PCI_DOMAIN_ID, Attribute::PCI_BUS_ID, Attribute::PCI_DEVICE_ID].map(of) {
        [Ok(domain), Ok(bus), Ok(device)] => format!("{domain:04x}:{bus:02x}:{device:02x}.0"),
        _ => String::new(),
    }
}

fn told_by_the_system(pci: &str) -> Option<u32> {
    os::pcie::limit_bytes_per_s(pci).map(copied)
}

/// The rate of a copy over a link of this limit. Of 16 lanes of PCIe 5, which carry 63 GB/s, copies were measured to
/// use 55.2; others have measured 24 to 27 of 31.5 (PCIe 4), and 12 to 13 of 15.8.
fn copied(bytes_per_s: u64) -> u32 {
    let percent = if bytes_per_s > 40_000_000_000 { 88 } else { 80 };
    (bytes_per_s * percent / 100_000_000_000).max(1) as u32
}

/// The rate over the 16 lanes that devices of this compute capability have.
fn of_its_age(major: i32) -> u32 {
    match major {
        ..=7 => 12,
        8 => 25,
        _ => 55,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_use_a_share_of_their_link() {
        assert_eq!([63_015, 31_507, 15_753, 7_876].map(|mbps| copied(mbps * 1_000_000)), [55, 25, 12, 6]);
    }
}
