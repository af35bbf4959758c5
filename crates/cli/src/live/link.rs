//! The limit of a device's link, as the system knows it.

use std::path::{Path, PathBuf};

/// The bytes a second that the link of a device can carry in each direction. `None` where the system does not tell, as
/// for the software GPU and for links that are not PCIe.
pub fn limit_bytes_per_s(pci: &str) -> Option<f64> {
    limit_of(Path::new("/sys/bus/pci/devices"), pci)
}

fn limit_of(devices: &Path, pci: &str) -> Option<f64> {
    if pci.is_empty() || pci.contains('/') {
        return None;
    }
    let device = devices.join(pci).canonicalize().ok()?;
    let own = end(&device)?;
    // A slot may be slower than the device. What is in use now says less: an idle device lowers its speed.
    let slot = device.parent().and_then(end).unwrap_or(own);
    Some(own.0.min(slot.0) * own.1.min(slot.1))
}

/// The bytes a second of one lane, and the number of lanes, at one end of the link.
fn end(device: &Path) -> Option<(f64, f64)> {
    let read = |name: &str| -> Option<f64> {
        let path: PathBuf = device.join(name);
        os::file::read_text(&path).ok()?.split_whitespace().next()?.parse().ok()
    };
    let (transfers, lanes) = (read("max_link_speed")?, read("max_link_width")?);
    // Up to 5 GT/s eight bits travel as ten, later 128 as 130.
    let share = if transfers > 5.0 { 128.0 / 130.0 } else { 0.8 };
    (lanes > 0.0).then_some((transfers * 1e9 * share / 8.0, lanes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn put(folder: &Path, speed: &str, width: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("max_link_speed"), speed).unwrap();
        fs::write(folder.join("max_link_width"), width).unwrap();
    }

    #[test]
    fn the_slower_end_of_a_link_is_its_limit() {
        let root = tempfile::tempdir().unwrap();
        let slot = root.path().join("0000:00:01.0");
        put(&slot, "16.0 GT/s PCIe\n", "16\n");
        put(&slot.join("0000:18:00.0"), "32.0 GT/s PCIe\n", "16\n");
        let near = |limit: Option<f64>, gbps: f64| limit.is_some_and(|limit| (limit / 1e9 - gbps).abs() < 0.01);
        assert!(near(limit_of(&slot, "0000:18:00.0"), 31.51), "{:?}", limit_of(&slot, "0000:18:00.0"));
        put(&slot, "32.0 GT/s PCIe\n", "8\n");
        assert!(near(limit_of(&slot, "0000:18:00.0"), 31.51), "half the lanes");
        put(&slot, "5.0 GT/s PCIe\n", "16\n");
        assert!(near(limit_of(&slot, "0000:18:00.0"), 8.0));
        assert_eq!(limit_of(&slot, "0000:19:00.0"), None);
        assert_eq!([limit_of(&slot, ""), limit_of(&slot, "../x")], [None, None]);
    }
}
