//! The driver that the suite runs on.

use std::sync::{Arc, OnceLock};

use driver::CudaDriver;
use hal::{Context, Device, Driver, Stream};

use crate::failure::Failure;
use crate::place::Side;
use crate::rig::{self, Rig};

/// The number of devices of a model: enough for copies between two.
const MODEL_DEVICES: i32 = 2;

/// A driver under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// A software GPU in this process, a fresh one for every trial, in virtual time.
    Soft,
    /// A `libcuda.so.1` behind the loader, one for the whole process: a real GPU's, or the software GPU's own.
    Cuda,
}

impl Arm {
    /// The arm that `OVERTAKE_BACKEND` selects; the software GPU by default.
    pub fn from_environment() -> Result<Arm, String> {
        match std::env::var("OVERTAKE_BACKEND").unwrap_or_default().as_str() {
            "" | "soft" => Ok(Arm::Soft),
            "cuda" => Ok(Arm::Cuda),
            "auto" => Ok(if shared_driver().is_ok() { Arm::Cuda } else { Arm::Soft }),
            other => Err(format!("OVERTAKE_BACKEND={other} is unknown: set it to soft, cuda or auto")),
        }
    }

    /// The arm's name in the names of trials.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Soft => "soft",
            Arm::Cuda => "cuda",
        }
    }

    /// A driver for one trial.
    pub fn driver(self) -> Result<Arc<dyn Driver>, Failure> {
        match self {
            Arm::Soft => Ok(Arc::new(softgpu::SoftGpu::builder().devices(MODEL_DEVICES as usize).build())),
            Arm::Cuda => shared_driver().clone().map_err(Failure::from_text),
        }
    }

    /// Whether the driver takes the descriptors of `softgpu::ForeignMemory`: the software GPU does.
    pub fn takes_foreign(self) -> bool {
        let is_software =
            |driver: &Arc<dyn Driver>| driver.device_name(Device(0)).is_ok_and(|name| name.contains("software"));
        self == Arm::Soft || shared_driver().as_ref().is_ok_and(is_software)
    }

    /// The number of devices. A driver that cannot be opened counts as one device: its trials then fail with the
    /// reason.
    pub fn devices(self) -> i32 {
        match self {
            Arm::Soft => MODEL_DEVICES,
            Arm::Cuda => shared_driver().as_ref().map_or(1, |driver| driver.device_count().unwrap_or(1)),
        }
    }
}

/// The driver behind the loader, opened once.
fn shared_driver() -> &'static Result<Arc<dyn Driver>, String> {
    static DRIVER: OnceLock<Result<Arc<dyn Driver>, String>> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let driver: Arc<dyn Driver> = CudaDriver::get().map_err(|error| error.to_string())?;
        keep_warm(&driver).map_err(|failure| failure.to_string())?;
        Ok(driver)
    })
}

/// Keeps the primary context for the life of the process, and uses once every feature that a driver may load lazily.
/// Loading can wait for the device, which must not happen while a check holds a stream.
fn keep_warm(driver: &Arc<dyn Driver>) -> Result<Context, Failure> {
    let context = driver.primary_context_retain(Device(0))?;
    rig::run(warm_up, driver)?;
    Ok(context)
}

fn warm_up(rig: &Rig) -> Result<(), Failure> {
    let (pinned, buffer, stream) = (rig.pinned(65_536)?, rig.buffer(65_536)?, rig.stream()?);
    rig.kernels()?;
    for stream in [stream, Stream::LEGACY, Stream::PER_THREAD] {
        rig.htod((buffer, 0), (&pinned, 0), 65_536, stream)?;
        rig.dtoh((&pinned, 0), (buffer, 0), 65_536, stream)?;
        for bytes in [4, 7, 512, 4_096, 30_000] {
            rig.dtod((buffer, 0), (buffer, 32_768), bytes, stream)?;
            rig.copy_any((Side::Device(buffer), 0), (Side::Host(&pinned), 0), bytes, stream)?;
            rig.driver().memset_d8_async(buffer.at(0), 1, bytes, stream)?;
            rig.driver().memset_d8_async(buffer.at(1), 1, bytes, stream)?;
        }
        rig.driver().memset_d32_async(buffer.at(0), 1, 1_000, stream)?;
        rig.driver().memset_2d_d8_async(buffer.at(0), 300, 1, 100, 20, stream)?;
        rig.settle(stream)?;
    }
    Ok(())
}
