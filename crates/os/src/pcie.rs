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

/// The same by the device's own end alone, with the lanes in use. In a virtual machine the slot is not the real one,
/// and may be said to be slower.
#[must_use]
pub fn own_limit_bytes_per_s(pci: &str) -> Option<u64> {
    own_limit_of(DEVICES, pci)
}

fn limit_of(devices: &str, pci: &str) -> Option<u64> {
    if pci.is_empty() || pci.contains('/') {
        return None;
    }
    let own = end(devices, pci, "/max_link_width")?;
    // The place of a device is a link into the folder of its slot, which may be slower. What is in use now says less:
    // an idle device lowers its speed.
    let slot = end(devices, &[pci, "/.."].concat(), "/max_link_width").unwrap_or(own);
    Some(own.0.min(slot.0) * own.1.min(slot.1))
}

fn own_limit_of(devices: &str, pci: &str) -> Option<u64> {
    let (lane, lanes) = end(devices, pci, "/current_link_width")?;
    Some(lane * lanes)
}

/// The bytes a second of one lane, and the number of lanes, at one end of the link.
fn end(devices: &str, pci: &str, width: &str) -> Option<(u64, u64)> {
    let (speed, lanes) = (tenths_in(devices, pci, "/max_link_speed")?, tenths_in(devices, pci, width)? / 10);
    // Up to 5 GT/s eight bits travel as ten, later 128 as 130.
    let bits = speed * 100_000_000;
    let carried = if speed > 50 { bits / 130 * 128 } else { bits / 10 * 8 };
    (lanes > 0).then_some((carried / 8, lanes))
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

    fn put(folder: &Path, speed: &str, width: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("max_link_speed"), speed).unwrap();
        fs::write(folder.join("max_link_width"), width).unwrap();
    }

    #[test]
    fn numbers_are_read_in_tenths() {
        let read =
            ["32.0 GT/s PCIe\n", "2.5 GT/s", "8 GT/s", "16\n", "Unknown", ""].map(|text| tenths(text.as_bytes()));
        assert_eq!(read, [Some(320), Some(25), Some(80), Some(160), None, None]);
    }

    #[test]
    fn the_slower_end_of_a_link_is_its_limit() {
        let root = tempfile::tempdir().unwrap();
        let slot = root.path().join("devices/0000:00:01.0");
        put(&slot, "16.0 GT/s PCIe\n", "16\n");
        put(&slot.join("0000:18:00.0"), "32.0 GT/s PCIe\n", "16\n");
        fs::create_dir(root.path().join("bus")).unwrap();
        symlink(slot.join("0000:18:00.0"), root.path().join("bus/0000:18:00.0")).unwrap();
        let bus = root.path().join("bus").display().to_string();
        let mbps = |pci| limit_of(&bus, pci).map(|limit| limit / 1_000_000);
        assert_eq!(mbps("0000:18:00.0"), Some(31_507));
        put(&slot, "32.0 GT/s PCIe\n", "8\n");
        assert_eq!(mbps("0000:18:00.0"), Some(31_507), "half the lanes");
        put(&slot, "2.5 GT/s PCIe\n", "16\n");
        assert_eq!(mbps("0000:18:00.0"), Some(4_000));
        put(&slot, "Unknown\n", "16\n");
        assert_eq!(mbps("0000:18:00.0"), Some(63_015), "by the device's own end");
        let own = || own_limit_of(&bus, "0000:18:00.0").map(|limit| limit / 1_000_000);
        assert_eq!(own(), None, "no lanes are in use");
        put(&slot, "2.5 GT/s PCIe\n", "1\n");
        fs::write(slot.join("0000:18:00.0/current_link_width"), "4\n").unwrap();
        assert_eq!((mbps("0000:18:00.0"), own()), (Some(250), Some(15_753)), "whatever the slot is");
        assert_eq!([mbps("0000:19:00.0"), mbps(""), mbps("../x")], [None; 3]);
    }
}
