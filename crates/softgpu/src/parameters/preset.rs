//! The machines that are known by name: a device, and after `@` the release of its driver (`l4@550`).
//!
//! Only H100s were measured. Of the other devices the driver's answers are their own, and so is the rate of a copy, as
//! others have published it: 24 to 26 GB/s to an RTX 4090 and 26 to 27 from it (NVIDIA/nvbandwidth, issue 15), 56.3 and
//! 57.3 for a card on PCIe 5 (tinygrad/open-gpu-kernel-modules, issue 29). All else follows from an H100 and that rate.

use super::{Parameters, PeerParameters};

/// Copies on a device take about this part of its memory's bandwidth.
const OF_MEMORY: f64 = 0.4;

/// A device that is known by name.
struct Preset {
    name: &'static str,
    memory_gib: u64,
    multiprocessors: u32,
    compute_capability: [i32; 2],
    async_engines: i32,
    /// To the device and to the host.
    gbps: [f64; 2],
    memory_gbps: f64,
    has_nvlink: bool,
    /// The first release of the driver that knows the device.
    since: u32,
}

const fn preset(name: &'static str, memory_gib: u64, multiprocessors: u32, compute_capability: [i32; 2]) -> Preset {
    let (gbps, has_nvlink, since) = ([55.2, 55.0], true, 525);
    Preset {
        name,
        memory_gib,
        multiprocessors,
        compute_capability,
        async_engines: 3,
        gbps,
        memory_gbps: 3_250.0,
        has_nvlink,
        since,
    }
}

const PRESETS: [Preset; 6] = [
    preset("h100-sxm-pcie5", 80, 132, [9, 0]),
    Preset { has_nvlink: false, ..preset("h100-pcie5", 80, 132, [9, 0]) },
    Preset { gbps: [25.0, 26.0], memory_gbps: 2_039.0, ..preset("a100", 80, 108, [8, 0]) },
    Preset {
        gbps: [25.0, 26.0],
        memory_gbps: 300.0,
        async_engines: 2,
        has_nvlink: false,
        ..preset("l4", 24, 58, [8, 9])
    },
    Preset {
        gbps: [26.0, 27.0],
        memory_gbps: 1_008.0,
        async_engines: 2,
        has_nvlink: false,
        ..preset("rtx4090", 24, 128, [8, 9])
    },
    Preset { gbps: [56.3, 57.3], memory_gbps: 8_000.0, since: 570, ..preset("b200", 180, 148, [10, 0]) },
];

/// Releases of the driver, with the CUDA that each brought.
const RELEASES: [(u32, i32); 6] =
    [(525, 12_000), (530, 12_010), (535, 12_020), (550, 12_040), (570, 12_080), (580, 13_000)];

/// The names of the devices.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The releases of the driver that may follow a name.
pub(super) fn releases() -> impl Iterator<Item = u32> {
    RELEASES.iter().map(|(release, _)| *release)
}

/// The parameters of a name; none if it is not known. The error says why the driver does not know the device.
pub(super) fn of(name: &str) -> Option<Result<Parameters, String>> {
    let (device, release) = name.split_once('@').map_or((name, None), |(device, release)| (device, Some(release)));
    let preset = PRESETS.iter().find(|preset| preset.name == device)?;
    let (release, version) = match release {
        None => RELEASES[RELEASES.len() - 1],
        Some(release) => *RELEASES.iter().find(|(known, _)| known.to_string() == release)?,
    };
    if release < preset.since {
        return Some(Err(format!(
            "driver {release} does not know the {device}: {} is the first that does",
            preset.since
        )));
    }
    let mut parameters = preset.parameters();
    parameters.device.driver_version = version;
    Some(Ok(parameters))
}

impl Preset {
    fn parameters(&self) -> Parameters {
        let mut all = Parameters::default();
        let device = &mut all.device;
        device.name = format!("overtake software GPU ({})", self.name);
        device.memory_bytes = self.memory_gib << 30;
        device.multiprocessors = self.multiprocessors;
        device.compute_capability = self.compute_capability;
        device.async_engines = self.async_engines;
        (all.engine.d2d_gbps, all.kernel.d2d_gbps) = (self.memory_gbps * OF_MEMORY, self.memory_gbps * OF_MEMORY);
        if !self.has_nvlink {
            all.peer = PeerParameters::over_pcie();
        }
        let [to_device, to_host] = [self.gbps[0] / all.engine.h2d_gbps, self.gbps[1] / all.engine.d2h_gbps];
        all.over_link(to_device, to_host);
        all
    }
}

impl Parameters {
    /// The same machine with another link. The latencies stay, and so do the bytes that so many warps have in flight:
    /// they fill a slow link sooner, and occupy it for longer.
    fn over_link(&mut self, to_device: f64, to_host: f64) {
        let (engine, kernel, copy) = (&mut self.engine, &mut self.kernel, &mut self.copy_kernel);
        for gbps in [&mut engine.h2d_gbps, &mut kernel.h2d_gbps, &mut kernel.h2d_contended_gbps] {
            *gbps *= to_device;
        }
        for gbps in [&mut engine.d2h_gbps, &mut kernel.d2h_gbps, &mut kernel.d2h_contended_gbps] {
            *gbps *= to_host;
        }
        kernel.beside_short_gbps *= to_device.min(to_host);
        copy.h2d_drain_ns.iter_mut().for_each(|(_, ns)| *ns /= to_device);
        copy.d2h_drain_ns.iter_mut().for_each(|(_, ns)| *ns /= to_host);
        let peer = &mut self.peer;
        if peer.gbps == PeerParameters::over_pcie().gbps {
            peer.gbps *= to_device.min(to_host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_its_answers_and_its_link() {
        let a100 = Parameters::named("a100").unwrap();
        assert_eq!((a100.engine.h2d_gbps, a100.engine.d2h_gbps), (25.0, 26.0));
        assert_eq!((a100.device.multiprocessors, a100.device.driver_version), (108, 13_000));
        assert!(a100.kernel.h2d_gbps < 25.0 && a100.kernel.h2d_contended_gbps < 12.0);
        assert_eq!(Parameters::named("h100-sxm-pcie5").unwrap(), Parameters::default());
        assert!(names().all(|name| Parameters::named(name).unwrap().check().is_ok()));
    }

    #[test]
    fn a_release_of_the_driver_follows_the_device() {
        let version = |name| Parameters::named(name).map(|parameters| parameters.device.driver_version);
        assert_eq!([version("l4@550"), version("b200@570")], [Ok(12_040), Ok(12_080)]);
        assert_eq!(version("b200@550").unwrap_err(), "driver 550 does not know the b200: 570 is the first that does");
        assert!(version("l4@551").unwrap_err().contains("525"), "the releases are listed");
    }
}
