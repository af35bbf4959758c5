//! The configuration of a software GPU.

use crate::fault::Fault;
use crate::gpu::SoftGpu;
use crate::host::{Clock, Shared};
use crate::kernel::{KernelSpec, Registry};
use crate::model::{Model, Payload};
use crate::parameters::Parameters;
use crate::planted::Planted;

/// The variable that sets every pool of hardware queues.
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The variable that sets the pools of copy queues. There it takes precedence over [`MAX_CONNECTIONS`].
pub const MAX_COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";
/// The variable that has a launch return when its kernel is complete. The driver takes 0 for no.
pub const LAUNCH_BLOCKING: &str = "CUDA_LAUNCH_BLOCKING";
/// The variable that names a preset or a TOML file.
pub const PRESET: &str = "OVERTAKE_SOFT_PRESET";
/// The variable that plans faults; [`Fault::parse_all`] describes its format.
pub const FAULTS: &str = "OVERTAKE_SOFT_FAULTS";
/// The variable with the number of devices.
pub const DEVICES: &str = "OVERTAKE_SOFT_DEVICES";
/// The variable that says whether handles come again: `new` (the default) or `reused`.
pub const HANDLES: &str = "OVERTAKE_SOFT_HANDLES";

/// The numbers of hardware queues that the application's environment sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// `CUDA_DEVICE_MAX_CONNECTIONS`: queues of every class.
    pub max: Option<u32>,
    /// `CUDA_DEVICE_MAX_COPY_CONNECTIONS`: copy queues.
    pub copy: Option<u32>,
}

impl Connections {
    /// The driver takes 1 to 32 and clamps other numbers.
    fn apply(self, parameters: &mut Parameters) {
        let clamp = |count: u32| count.clamp(1, 32);
        let queue = &mut parameters.queue;
        if let Some(max) = self.max {
            queue.compute = clamp(max);
        }
        if let Some(copy) = self.copy.or(self.max).map(clamp) {
            (queue.h2d, queue.d2h, queue.d2d, queue.peer) = (copy, copy, copy, copy);
        }
    }
}

/// Configures a [`SoftGpu`]. The default is one device of the preset `h100-sxm-pcie5` under the stepped clock.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    parameters: Parameters,
    devices: usize,
    clock: Clock,
    connections: Connections,
    payload: Payload,
    kernels: Registry,
    faults: Vec<Fault>,
    planted: Vec<Planted>,
    trace: bool,
    reuses_handles: bool,
    launches_block: bool,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            parameters: Parameters::default(),
            devices: 1,
            clock: Clock::Stepped,
            connections: Connections::default(),
            payload: Payload::Real,
            kernels: Registry::default(),
            faults: Vec::new(),
            planted: Vec::new(),
            trace: false,
            reuses_handles: false,
            launches_block: false,
        }
    }
}

impl Builder {
    /// Takes the parameters of a preset, or of a TOML file.
    ///
    /// # Errors
    /// The errors of [`Parameters::named`].
    pub fn preset(mut self, name: &str) -> Result<Builder, String> {
        self.parameters = Parameters::named(name)?;
        Ok(self)
    }

    /// Takes these parameters.
    pub fn parameters(mut self, parameters: Parameters) -> Builder {
        self.parameters = parameters;
        self
    }

    /// Sets the number of devices, at most 64.
    pub fn devices(mut self, devices: usize) -> Builder {
        self.devices = devices.min(64);
        self
    }

    /// Chooses how time moves.
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = clock;
        self
    }

    /// Sets the numbers of hardware queues, as the application's environment would.
    pub fn connections(mut self, connections: Connections) -> Builder {
        self.connections = connections;
        self
    }

    /// Whether copies move their bytes.
    pub fn payload(mut self, payload: Payload) -> Builder {
        self.payload = payload;
        self
    }

    /// Registers a kernel; PTX that names it can then be loaded.
    pub fn kernel(mut self, name: &str, spec: KernelSpec) -> Builder {
        self.kernels.add(name, spec);
        self
    }

    /// Plans a fault.
    pub fn fault(mut self, fault: Fault) -> Builder {
        self.faults.push(fault);
        self
    }

    /// Plants a bug, for tests that must find it.
    pub fn plant(mut self, bug: Planted) -> Builder {
        self.planted.push(bug);
        self
    }

    /// Keeps a trace of the executed operations.
    pub fn trace(mut self, keep: bool) -> Builder {
        self.trace = keep;
        self
    }

    /// Whether the handles of contexts, streams, events, modules, kernels and graphs that have ended come again for new
    /// ones, as addresses do in drivers. Without it a stale handle is an error in every call.
    pub fn reuse_handles(mut self, reuse: bool) -> Builder {
        self.reuses_handles = reuse;
        self
    }

    /// Whether a launch returns when its kernel is complete, as the application's environment may ask.
    pub fn launches_block(mut self, block: bool) -> Builder {
        self.launches_block = block;
        self
    }

    /// Takes the settings of the process's environment: the two connection variables of CUDA, `CUDA_LAUNCH_BLOCKING`,
    /// [`PRESET`], [`FAULTS`], [`DEVICES`] and [`HANDLES`].
    ///
    /// # Errors
    /// A variable of ours that does not parse. CUDA's variables are then ignored, as the driver ignores them.
    pub fn environment(self) -> Result<Builder, String> {
        self.environment_from(|name| std::env::var(name).ok())
    }

    /// As [`Builder::environment`], from any source of variables.
    ///
    /// # Errors
    /// As [`Builder::environment`].
    pub fn environment_from(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Builder, String> {
        let connections = |name| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
        self.connections.max = connections(MAX_CONNECTIONS).or(self.connections.max);
        self.connections.copy = connections(MAX_COPY_CONNECTIONS).or(self.connections.copy);
        let number = |text: String| text.trim().parse::<i64>().ok();
        self.launches_block |= variable(LAUNCH_BLOCKING).and_then(number).is_some_and(|number| number != 0);
        if let Some(name) = variable(PRESET) {
            self = self.preset(&name).map_err(|why| format!("{PRESET}: {why}"))?;
        }
        if let Some(text) = variable(FAULTS) {
            self.faults.extend(Fault::parse_all(&text).map_err(|why| format!("{FAULTS}: {why}"))?);
        }
        if let Some(text) = variable(DEVICES) {
            let devices = text.trim().parse().map_err(|_| format!("{DEVICES}: {text} is not a number"))?;
            self = self.devices(devices);
        }
        if let Some(text) = variable(HANDLES) {
            self.reuses_handles = match text.as_str() {
                "reused" => true,
                "new" => false,
                _ => return Err(format!("{HANDLES}: {text} is neither `reused` nor `new`")),
            };
        }
        Ok(self)
    }

    /// Makes the software GPU.
    #[must_use]
    pub fn build(self) -> SoftGpu {
        let mut parameters = self.parameters;
        self.connections.apply(&mut parameters);
        let mut model = Model::new(parameters, self.devices, self.kernels, self.planted);
        model.payload = self.payload;
        model.launches_block = self.launches_block;
        model.trace = self.trace.then(Vec::new);
        self.faults.into_iter().for_each(|fault| model.inject(fault));
        if self.reuses_handles {
            model.reuse_handles();
        }
        SoftGpu::from_shared(Shared::new(model, self.clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_sets_queues_and_refuses_nonsense() {
        let variables = |name: &str| match name {
            MAX_CONNECTIONS => Some("1".to_owned()),
            MAX_COPY_CONNECTIONS => Some("8".to_owned()),
            DEVICES => Some("2".to_owned()),
            _ => None,
        };
        let gpu = SoftGpu::builder().environment_from(variables).unwrap().build();
        let queue = gpu.parameters().queue;
        assert_eq!((queue.compute, queue.h2d, queue.d2h), (1, 8, 8));
        assert_eq!(hal::Driver::device_count(&gpu).unwrap(), 2);
        let faults = |name: &str| (name == FAULTS).then(|| "cuInit".to_owned());
        assert!(SoftGpu::builder().environment_from(faults).unwrap_err().contains(FAULTS));
        let handles = |name: &str| (name == HANDLES).then(|| "old".to_owned());
        assert!(SoftGpu::builder().environment_from(handles).unwrap_err().contains(HANDLES));
    }
}
