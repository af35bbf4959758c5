//! The calibrations of this machine's devices, which `overtake info --calibrate` keeps and `overtake run` heeds.

use std::path::{Path, PathBuf};

use bench::calibrate::Calibration;
use console::failure::{Failure, Result};
use serde::{Deserialize, Serialize};

/// The calibration of a device under a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
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

impl Kept {
    /// The measured rate, if it differs from the assumed one by more than measurements do.
    pub fn corrected_gbps(&self) -> Option<u32> {
        let (assumed, measured) = (self.assumed_gbps, self.measured.link_gbps());
        (assumed.abs_diff(measured) * 10 > assumed).then_some(measured)
    }
}

/// The file, in the user's cache; none without a home.
pub fn file(lookup: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| lookup(name).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("overtake/calibration.json"))
}

/// All that are kept. A file that cannot be read has none: it is a cache.
pub fn read(file: &Path) -> Vec<Kept> {
    let text = os::file::read_text(file).ok();
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps these, in the place of earlier ones of their devices, whatever the driver was.
pub fn write(file: &Path, new: &[Kept]) -> Result<()> {
    let mut all = read(file);
    all.retain(|kept| new.iter().all(|new| new.uuid != kept.uuid));
    all.extend_from_slice(new);
    let failed = |error| Failure::File(file.to_owned(), error);
    file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    let json = serde_json::to_string_pretty(&all).expect("numbers and text serialise") + "\n";
    os::file::write_whole(file, json.as_bytes()).map_err(failed)
}

/// The rate that programs are to assume, where a calibration under this driver has corrected that of a device: the
/// lowest, because one value is for all of them.
pub fn corrected_gbps(kept: &[Kept], driver: &str) -> Option<u32> {
    let own = || kept.iter().filter(|kept| kept.driver == driver);
    own().find_map(Kept::corrected_gbps)?;
    own().map(|kept| kept.corrected_gbps().unwrap_or(kept.assumed_gbps)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(uuid: &str, driver: &str, assumed_gbps: u32, measured: f64) -> Kept {
        let measured = Calibration {
            engine_gbps: [measured; 2],
            kernel_gbps: None,
            small_us: [9.0; 2],
            pageable: Default::default(),
        };
        Kept {
            uuid: uuid.to_owned(),
            name: String::new(),
            driver: driver.to_owned(),
            assumed_gbps,
            multiprocessors: 58,
            measured,
        }
    }

    #[test]
    fn the_slowest_device_of_the_driver_counts_if_any_is_corrected() {
        let (near, far, old) = (kept("a", "580", 55, 51.0), kept("b", "580", 25, 12.4), kept("c", "550", 55, 3.0));
        assert_eq!(corrected_gbps(&[near.clone(), old.clone()], "580"), None);
        assert_eq!(corrected_gbps(&[near.clone(), far, old], "580"), Some(12));
        assert_eq!(corrected_gbps(&[near, kept("b", "580", 12, 25.0)], "580"), Some(25));
    }

    #[test]
    fn a_device_has_one_calibration_and_a_broken_file_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(|name| (name == "HOME").then(|| folder.path().to_owned())).unwrap();
        assert!(file.ends_with(".cache/overtake/calibration.json") && read(&file).is_empty());
        write(&file, &[kept("a", "550", 55, 9.0), kept("b", "550", 55, 8.0)]).unwrap();
        write(&file, &[kept("a", "580", 55, 7.0)]).unwrap();
        assert_eq!(read(&file), [kept("b", "550", 55, 8.0), kept("a", "580", 55, 7.0)]);
        std::fs::write(&file, "{").unwrap();
        assert!(read(&file).is_empty());
    }

    #[test]
    fn relative_folders_are_no_places() {
        assert_eq!(super::file(|_| Some("cache".into())), None);
        let both = |name: &str| Some(if name == "HOME" { "/own".into() } else { "/cache".into() });
        assert_eq!(super::file(both).unwrap(), Path::new("/cache/overtake/calibration.json"));
    }
}
