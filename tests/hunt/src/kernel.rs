//! The kernel that hunts put between copies, and the exit from a process that hangs.
#![allow(unsafe_code)] // a launch is unsafe, and so is leaving at once

use std::ffi::c_void;
use std::sync::Arc;

use hal::{Driver, Function, Launch, Result};
use overtake::PriorityStream;

/// A kernel that keeps a stream busy for a while.
pub struct Spin {
    driver: Arc<dyn Driver>,
    function: Function,
}

impl Spin {
    /// Loads it into the current context, where it stays.
    pub fn load(driver: &Arc<dyn Driver>) -> Result<Spin> {
        let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        let function = driver.module_function(module, "soft_spin_ns")?;
        Ok(Spin { driver: Arc::clone(driver), function })
    }

    /// Spins for `span_ns`.
    pub fn launch(&self, stream: &PriorityStream, span_ns: u64) -> Result<()> {
        let mut span_ns = span_ns;
        let parameters: [*mut c_void; 1] = [(&raw mut span_ns).cast()];
        let launch = Launch {
            function: self.function,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            stream: stream.raw(),
            parameters: &parameters,
        };
        // SAFETY: `soft_spin_ns` declares one 64-bit parameter, which the pointer leads to until the call returns; it
        // touches no memory.
        unsafe { self.driver.launch(&launch) }
    }
}

/// Ends the process at once. No destructor runs, because a hanging driver would keep it from ending.
pub fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes any code, touches no memory of the program and does not return.
    unsafe { libc::_exit(code) }
}
