//! Kernel launches.

use std::ffi::c_void;

use crate::{Function, Stream};

/// A kernel launch (`cuLaunchKernel`).
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub function: Function,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// The stream that the kernel runs in.
    pub stream: Stream,
    /// One pointer to each parameter, as many as the kernel declares.
    pub parameters: &'a [*mut c_void],
}
