//! The limit of a device's link, as the system knows it.

use std::path::Path;

/// Where the system keeps the devices.
const DEVICES: &str = "/sys/bus/pci/devices";

/// The bytes a second that the link of a device can carry in each direction. `None` where the system does not tell,
/// as for the software GPU and for links that are not PCIe.
#[must_use]
pub fn limit_bytes_per_s(pci: &str) -> Option<u64> {
    limit_of(DEVICES, pci)
}

fn limit_of(devices: &str, pci: &str) -> Option<u64> {
    if pci.is_empty() || pci.contains('/') {
        return None;
    }
    // The lanes in use say what the slot has. The speed in use says less: an idle device lowers its own.
    let lanes = |name| tenths_in(devices, pci, name).filter(|lanes| *lanes > 0);
    let lanes = lanes("/current_link_width").or_else(|| lanes("/max_link_width"))? / 10;
    let own = lane(devices, pci)?;
    // The place of a device is a link into the folder of its slot, which may be slower. That of a hypervisor names any
    // speed.
    let slot = [pci, "/.."].concat();
    let slot = lane(devices, &slot).filter(|_| !is_virtual(devices, &slot)).unwrap_or(own);
    Some(own.min(slot) * lanes)
}

/// Whether a slot is one of QEMU, VMware or Hyper-V, by the number of its vendor.
fn is_virtual(devices: &str, slot: &str) -> bool {
    let vendor = crate::file::read(Path::new(&[devices, "/", slot, "/vendor"].concat()), 64).unwrap_or_default();
    [&b"0x1b36"[..], b"0x15ad", b"0x1414"].iter().any(|of| vendor.starts_with(of))
}

/// The bytes a second of one lane, by the speed that one end of a link can have.
fn lane(devices: &str, pci: &str) -> Option<u64> {
    // Up to 5 GT/s eight bits travel as ten, later 128 as 130.
    let speed = tenths_in(devices, pci, "/max_link_speed")?;
    let bits = speed * 100_000_000;
    Some(if speed > 50 { bits / 130 * 128 } else { bits / 10 * 8 } / 8)
}

#[inline(never)] // the drop-in is to be small
fn tenths_in(devices: &str, pci: &str, name: &str) -> Option<u64> {
    let path = [devices, "/", pci, name].concat();
    tenths(&crate::file::read(Path::new(&path), 64).ok()?)
}

/// The number at the beginning of a text such as `2.5 GT/s PCIe` or `16`, in tenths.
fn tenths(text: &[u8]) -> Option<u64> {
    let (mut number, mut places) = (None, None);
    for letter in text.iter().copied().take(8) {
        match letter {
            b'0'..=b'9' => {
                number = Some(number.unwrap_or(0) * 10 + u64::from(letter - b'0'));
                places = places.map(|places| places + 1);
            }
            b'.' if places.is_none() => places = Some(0),
            _ => break,
        }
    }
    number.map(|number| if places == Some(1) { number } else { number * 10 })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_slower_end_of_a_link_is_its_limit() {
        let root = tempfile::tempdir().unwrap();
        let slot = root.path().join("devices/0000:00:01.0");
        let device = slot.join("0000:18:00.0");
        let put = |folder: &Path, name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        fs::create_dir_all(&device).unwrap();
        fs::create_dir(root.path().join("bus")).unwrap();
        symlink(&device, root.path().join("bus/0000:18:00.0")).unwrap();
        let bus = root.path().join("bus").display().to_string();
        let mbps = |pci| limit_of(&bus, pci).map(|limit| limit / 1_000_000);
        let here = || mbps("0000:18:00.0");
        put(&device, "max_link_speed", "32.0 GT/s PCIe\n");
        assert_eq!(here(), None, "no lanes");
        put(&device, "max_link_width", "16\n");
        assert_eq!(here(), Some(63_015), "by the device's own end");
        put(&device, "current_link_width", "0\n");
        assert_eq!(here(), Some(63_015), "no lanes are told to be in use");
        put(&device, "current_link_width", "8\n");
        assert_eq!(here(), Some(31_507), "half the lanes");
        put(&slot, "max_link_speed", "16.0 GT/s PCIe\n");
        assert_eq!(here(), Some(15_753), "in a slower slot");
        put(&slot, "vendor", "0x8086\n");
        assert_eq!(here(), Some(15_753));
        put(&slot, "vendor", "0x1b36\n");
        assert_eq!(here(), Some(31_507), "that of QEMU is not the real one");
        put(&slot, "vendor", "0x8086\n");
        put(&slot, "max_link_speed", "Unknown\n");
        assert_eq!(here(), Some(31_507));
        assert_eq!([mbps("0000:19:00.0"), mbps(""), mbps("../x")], [None; 3]);
    }
}
