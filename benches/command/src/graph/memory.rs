//! The memory of a program that is written by hand: for each array on the device and, pinned, on the host.
#![allow(unsafe_code)] // raw memory: it is made, filled, copied and freed here

use std::sync::Arc;

use hal::{DevicePtr, Driver, HostAllocFlags, Result, Stream};
use overtake_plan::dag::{Computation, Program};
use workloads::Kernels;

use super::content::{self, Step};

/// Both memories of each array. Its owner sees to it that all work has completed before it is dropped.
pub struct Memory {
    driver: Arc<dyn Driver>,
    kernels: Kernels,
    arrays: Vec<(*mut u8, DevicePtr, u64)>,
}

impl Memory {
    /// Memory for the arrays of a program.
    pub fn new(driver: &Arc<dyn Driver>, kernels: Kernels, program: &Program) -> Result<Memory> {
        let mut memory = Memory { driver: Arc::clone(driver), kernels, arrays: Vec::new() };
        for array in &program.arrays {
            let device = driver.mem_alloc(array.bytes)?;
            match driver.host_alloc(array.bytes, HostAllocFlags::PORTABLE) {
                Ok(host) => memory.arrays.push((host, device, array.bytes)),
                Err(error) => {
                    let _ = driver.mem_free(device);
                    return Err(error);
                }
            }
        }
        Ok(memory)
    }

    /// Writes the inputs of the program. No work uses them.
    pub fn fill(&self, program: &Program) {
        for (array, (host, _, bytes)) in self.arrays.iter().enumerate() {
            if content::is_input(program, array) {
                let words = content::input(array, *bytes);
                // SAFETY: the array has so many bytes, is aligned as memory of the driver is, and no work uses it.
                unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), host.cast(), words.len()) };
            }
        }
    }

    /// The words of an array on the host. No work uses them.
    #[must_use]
    pub fn words(&self, array: usize) -> Vec<u32> {
        let (host, _, bytes) = self.arrays[array];
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(host.cast::<u32>(), bytes as usize / 4) }.to_vec()
    }

    /// Copies an array to the device.
    pub fn upload(&self, array: usize, stream: Stream) -> Result<()> {
        let (host, device, bytes) = self.arrays[array];
        // SAFETY: both sides have so many bytes, and are there until all work has completed.
        unsafe { self.driver.copy_htod_async(device, host, bytes, stream) }
    }

    /// Copies an array to the host.
    pub fn download(&self, array: usize, stream: Stream) -> Result<()> {
        let (host, device, bytes) = self.arrays[array];
        // SAFETY: as above.
        unsafe { self.driver.copy_dtoh_async(host, device, bytes, stream) }
    }

    /// Launches a computation.
    pub fn launch(&self, computation: &Computation, steps: &[Step], stream: Stream) -> Result<()> {
        let arguments: Vec<DevicePtr> =
            computation.arguments.iter().map(|argument| self.arrays[argument.array].1).collect();
        launch(&*self.driver, &self.kernels, steps, &arguments, stream)
    }
}

/// Launches the steps of a computation with the memory of its arguments.
pub fn launch(
    driver: &dyn Driver,
    kernels: &Kernels,
    steps: &[Step],
    arguments: &[DevicePtr],
    stream: Stream,
) -> Result<()> {
    // SAFETY: a step stays within the bytes of its arrays, and these are there until the work has completed.
    steps.iter().try_for_each(|step| unsafe { kernels.launch(driver, &step.work(arguments), stream) })
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (host, device, _) in self.arrays.drain(..) {
            let _ = self.driver.mem_free(device);
            // SAFETY: it came from `host_alloc`, and all work has completed.
            let _ = unsafe { self.driver.host_free(host) };
        }
    }
}
