//! The real driver of the process.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use std::sync::Arc;

use hal::{Code, Result};
use once_cell::sync::OnceCell;

use crate::functions::Functions;
use crate::host::RealHost;
use crate::library::Library;

/// The one real driver of the process, once it is loaded.
static LOADED: OnceCell<Arc<CudaDriver>> = OnceCell::new();

/// The real CUDA driver.
#[derive(Debug)]
pub struct CudaDriver {
    pub(crate) functions: Functions,
    pub(crate) host: RealHost,
}

impl CudaDriver {
    /// The driver of this process, loaded and initialised by the first call that succeeds.
    pub fn get() -> Result<Arc<CudaDriver>> {
        LOADED.get_or_try_init(|| CudaDriver::open(Library::open_default()?).map(Arc::new)).cloned()
    }

    /// Initialises the driver of an open library.
    pub fn open(library: Library) -> Result<CudaDriver> {
        let functions = Functions::load(library)?;
        // SAFETY: the flags must be 0, and are.
        unsafe { functions.cuInit(0) }.map_err(|error| match error.code() {
            Code::NO_DEVICE => error.because(
                "the driver finds no GPU; start a container with its GPUs (docker run --gpus all), or look at \
                 CUDA_VISIBLE_DEVICES and nvidia-smi",
            ),
            _ => error,
        })?;
        Ok(CudaDriver { functions, host: RealHost::new() })
    }

    /// The driver's functions, for calls that the seam does not have.
    #[must_use]
    pub fn functions(&self) -> &Functions {
        &self.functions
    }
}
