//! The host side of the service kernel: loads it, and launches batches.
//!
//! nvcc compiles `service.cu` to `service.ptx`. A driver that refuses it can still load the copy kernel.
#![allow(unsafe_code)] // a launch is unsafe: the parameters are described here, next to their C declarations

use std::sync::Arc;

use hal::{DevicePtr, Driver, Function, Module, Result, StreamFlags};
use semaphores::Words;

use super::batch::Batch;
use crate::kernel::handshake::{self, Line};
use crate::kernel::{CopyKernel, Terms, Workers};

const SERVICE_PTX: &str = include_str!("service.ptx");

/// The loaded kernels of one context.
pub(crate) struct ServiceKernel {
    driver: Arc<dyn Driver>,
    module: Module,
    serve: Function,
    guarded: Function,
    /// Its mirror words serve all kernels of the context.
    copy: Arc<CopyKernel>,
    /// Of the first launches. To free them at once would wait for all work in the context.
    words: Arc<Words>,
}

impl ServiceKernel {
    /// Loads the kernels into the current context, and launches each once: if the driver loads modules lazily, a first
    /// launch may wait for all work in the context, and a flush must not.
    pub(super) fn load(driver: &Arc<dyn Driver>, copy: &Arc<CopyKernel>) -> Result<ServiceKernel> {
        let module = driver.module_load(SERVICE_PTX.as_bytes())?;
        let functions = driver.module_function(module, "overtake_serve").and_then(|serve| {
            let guarded = driver.module_function(module, "overtake_serve_guarded")?;
            Ok((serve, guarded))
        });
        let (serve, guarded) = functions.inspect_err(|_| drop(driver.module_unload(module)))?;
        let words = Words::new(driver, handshake::WORDS).inspect_err(|_| drop(driver.module_unload(module)))?;
        let words = Arc::new(words);
        let kernel =
            ServiceKernel { driver: Arc::clone(driver), module, serve, guarded, copy: Arc::clone(copy), words };
        kernel.warm_up()?;
        Ok(kernel)
    }

    fn warm_up(&self) -> Result<()> {
        let stream = self.driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let (empty, workers) = (Batch::without_table(), Workers { blocks: 1, warps: 1 });
        // No launch has a number below 0, so this one is cancelled before it begins.
        let handshake = Some(Line::new(&self.words, 0).handshake(0));
        let terms = Terms { workers, yields: None, handshake: None, stream };
        // SAFETY: these launches copy nothing, and end before the words do.
        let launched =
            unsafe { self.launch(&empty, terms).and_then(|()| self.launch(&empty, Terms { handshake, ..terms })) };
        let ended = self.driver.stream_synchronize(stream);
        launched.and(ended).and(self.driver.stream_destroy(stream))
    }

    /// Launches a batch.
    ///
    /// # Safety
    /// The ranges of its entries stay valid, and the batch unchanged, until the launch has completed; the words of the
    /// handshake live as long.
    pub(crate) unsafe fn launch(&self, batch: &Batch, terms: Terms) -> Result<()> {
        let (table, mut count) = batch.pieces().unwrap_or((DevicePtr::NULL, 0));
        let mut table = table.0;
        let kernel = if terms.handshake.is_some() { self.guarded } else { self.serve };
        // SAFETY: both kernels declare a pointer and a u32; the caller vouches for the batch and the words.
        unsafe { self.copy.launch_as(kernel, [(&raw mut table).cast(), (&raw mut count).cast()], terms) }
    }
}

impl Drop for ServiceKernel {
    fn drop(&mut self) {
        // An error means that the context is gone, and its modules with it.
        let _ = self.driver.module_unload(self.module);
    }
}
