//! Every constant of the model, each with the measurement that it was fitted to.
//!
//! `facts N` below is section N of the measurements on one H100 (SXM, PCIe Gen5 x16, driver 580). The rows are in
//! `facts.toml`, and `tests/fidelity` replays them. A file may override any subset of the keys; the others keep
//! the values of the preset.

mod check;
mod copy_kernel;
mod device;
mod engine;
mod host;
mod kernel;
mod memop;
mod peer;
mod preset;
mod queue;

use std::path::Path;

use os::fault::{Fault, Source};
use serde::{Deserialize, Serialize};

pub use copy_kernel::CopyKernelParameters;
pub use device::DeviceParameters;
pub use engine::EngineParameters;
pub use host::HostParameters;
pub use kernel::KernelParameters;
pub use memop::MemopParameters;
pub use peer::PeerParameters;
pub use queue::QueueParameters;

/// The parameters of a software GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The device's answers about itself.
    pub device: DeviceParameters,
    /// The host's cost of calls.
    pub host: HostParameters,
    /// Streams and hardware queues.
    pub queue: QueueParameters,
    /// Stream memory operations.
    pub memop: MemopParameters,
    /// Copy engines and links.
    pub engine: EngineParameters,
    /// Copies between devices.
    pub peer: PeerParameters,
    /// Kernels and memsets.
    pub kernel: KernelParameters,
    /// The copy kernel.
    pub copy_kernel: CopyKernelParameters,
}

impl Parameters {
    /// The preset that is taken where none is named.
    pub const DEFAULT: &'static str = "h100-sxm-pcie5";

    /// Names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        preset::names()
    }

    /// Releases of the driver that may follow the name of a preset and `@`.
    pub fn releases() -> impl Iterator<Item = u32> {
        preset::releases()
    }

    /// Reads TOML that overrides keys of the preset `h100-sxm-pcie5`.
    ///
    /// # Errors
    /// The parser's message: an unknown key is an error and not ignored.
    pub fn from_toml(text: &str) -> Result<Parameters, String> {
        Parameters::read(&Source { origin: "the parameters", text }).map_err(|fault| fault.to_string())
    }

    fn read(source: &Source<'_>) -> Result<Parameters, Fault> {
        let fault = |error: toml::de::Error| match error.span() {
            Some(span) => source.fault(span, error.message()),
            None => source.fault_of_all(error.message()),
        };
        let parameters: Parameters = toml::from_str(source.text).map_err(fault)?;
        parameters.check().map_err(|why| source.fault_of_all(why))?;
        Ok(parameters)
    }

    /// The preset of this name, such as `l4` or `l4@550` (with driver 550), or a TOML file if the name is a path.
    ///
    /// # Errors
    /// The name is neither, or the file does not parse.
    pub fn named(name: &str) -> Result<Parameters, String> {
        if let Some(preset) = preset::of(name) {
            return preset;
        }
        if Path::new(name).extension().is_none_or(|e| e != "toml") {
            let (devices, releases) = (Vec::from_iter(preset::names()), Vec::from_iter(preset::releases()));
            return Err(format!(
                "no preset {name}: there is {devices:?}, each with one of {releases:?} after an @ or without, or the \
                 path of a .toml file"
            ));
        }
        if os::variable::is_privileged() {
            return Err(format!(
                "{name} is not read, because this program runs with other rights than its caller: use a preset"
            ));
        }
        let text = os::file::read_text(Path::new(name)).map_err(|e| format!("{name}: {e}"))?;
        Parameters::read(&Source { origin: name, text: &text }).map_err(|fault| fault.to_string())
    }

    /// All parameters as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("plain numbers and strings always serialise")
    }

    fn check(&self) -> Result<(), String> {
        self.device.check()?;
        self.host.check()?;
        self.queue.check()?;
        self.memop.check()?;
        self.engine.check()?;
        self.peer.check()?;
        self.kernel.check(&self.engine)?;
        self.copy_kernel.check()
    }
}

/// The time of `bytes` at `gbps`, in nanoseconds (1 GB/s is 1 byte a nanosecond).
pub(crate) fn span_ns(bytes: u64, gbps: f64) -> u64 {
    (bytes as f64 / gbps).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_overrides_some_keys_and_no_unknown_ones() {
        let some = Parameters::from_toml("[engine]\nh2d_setup_ns = 7\n").unwrap();
        assert_eq!((some.engine.h2d_setup_ns, some.queue.h2d), (7, 4));
        assert!(Parameters::from_toml("[engine]\nset_up_ns = 7\n").unwrap_err().contains("set_up_ns"));
        assert!(Parameters::from_toml("[engine]\nh2d_gbps = 0.0\n").unwrap_err().contains("h2d_gbps"));
        let starving = "[kernel]\nd2h_contended_gbps = 60.0\n";
        assert!(Parameters::from_toml(starving).unwrap_err().contains("d2h_contended_gbps"));
    }

    #[test]
    #[cfg_attr(miri, ignore)] // it shares no memory, and takes an interpreter half a minute
    fn written_parameters_are_read_back() {
        let preset = Parameters::named("h100-sxm-pcie5").unwrap();
        assert_eq!(Parameters::from_toml(&preset.to_toml()).unwrap(), preset);
        assert!(Parameters::named("h200").unwrap_err().contains("h100-sxm-pcie5"));
    }
}
