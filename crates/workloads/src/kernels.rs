//! The loaded kernels, and their launch.
#![allow(unsafe_code)] // launches are unsafe; the caller's promise is passed on

use std::ffi::c_void;

use hal::{Driver, Function, Launch, Module, Result, Stream};

use crate::work::{Argument, NAMES, Work};

/// PTX of all kernels, made from `workloads.cu` by nvcc.
pub const PTX: &str = include_str!("workloads.ptx");

/// All kernels, loaded into the context that is current.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    module: Module,
    functions: [Function; NAMES.len()],
}

impl Kernels {
    /// Loads them. On the software GPU this needs [`crate::register`].
    pub fn load(driver: &dyn Driver) -> Result<Kernels> {
        let module = driver.module_load(PTX.as_bytes())?;
        let mut functions = [Function(0); NAMES.len()];
        for (function, name) in functions.iter_mut().zip(NAMES) {
            *function = driver.module_function(module, name)?;
        }
        Ok(Kernels { module, functions })
    }

    /// The module, which the owner unloads.
    #[must_use]
    pub fn module(&self) -> Module {
        self.module
    }

    /// The kernel of this work.
    #[must_use]
    pub fn function(&self, work: &Work) -> Function {
        self.functions[work.index()]
    }

    /// Launches it.
    ///
    /// # Safety
    /// The addresses of the work are allocated, with as many bytes as its sizes say, until the kernel has completed.
    pub unsafe fn launch(&self, driver: &dyn Driver, work: &Work, stream: Stream) -> Result<()> {
        let mut values: Vec<u64> = work.arguments().into_iter().map(value).collect();
        let parameters: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        let (grid, block) = work.shape();
        let function = self.function(work);
        // SAFETY: one pointer for each parameter, each to 8 bytes of which the kernel's parameter has the first 4 or 8;
        // the caller vouches for the addresses among them.
        unsafe { driver.launch(&Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters }) }
    }
}

/// The bytes of an argument, at the front of eight.
fn value(argument: Argument) -> u64 {
    match argument {
        Argument::Address(address) => address,
        Argument::Number(number) => u64::from(number.to_le()),
    }
}
