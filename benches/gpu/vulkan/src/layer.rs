//! Our side by overtake: copies with a priority, in a stream that waits for the other API and signals it.
#![allow(unsafe_code)] // copies; this side owns their memory

use std::sync::Arc;

use overtake::copy::Request;
use overtake::hal::{
    Device, DevicePtr, Driver, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, HostAllocFlags,
};
use overtake::{Options, Overtake, Priority, PriorityStream};

use crate::sides::{Exported, Ours, Outcome, Round, Wait};

/// The priority of the copies of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    Bulk,
    Urgent,
}

pub struct Layer {
    stream: PriorityStream,
    /// Copies of the other priority are under way beside it, so that bulk has to give way.
    beside: PriorityStream,
    beside_memory: DevicePtr,
    beside_host: Pinned,
    memory: ExternalMemory,
    shared: DevicePtr,
    kind: ExternalSemaphoreKind,
    theirs: ExternalSemaphore,
    ours: ExternalSemaphore,
    up: Pinned,
    down: Pinned,
    overtake: Overtake,
}

impl Layer {
    /// Imports all that was exported. `bytes` of the memory are used.
    pub fn new(
        driver: &Arc<dyn Driver>,
        device: Device,
        exported: Exported,
        bytes: u64,
        urgency: Urgency,
    ) -> Outcome<Layer> {
        let overtake = Overtake::open(driver, device, Options::from_environment()?)?;
        let (bulk, urgent) = (Priority::LOWEST, overtake.priorities().highest());
        let (own, other) = if urgency == Urgency::Bulk { (bulk, urgent) } else { (urgent, bulk) };
        let memory = driver.external_memory_import(exported.memory, exported.memory_bytes, exported.is_dedicated)?;
        Ok(Layer {
            stream: overtake.stream(own)?,
            beside: overtake.stream(other)?,
            beside_memory: driver.mem_alloc(bytes)?,
            beside_host: Pinned::new(driver, bytes)?,
            memory,
            shared: driver.external_memory_map(memory, 0, bytes)?,
            kind: exported.kind,
            theirs: driver.external_semaphore_import(exported.theirs, exported.kind)?,
            ours: driver.external_semaphore_import(exported.ours, exported.kind)?,
            up: Pinned::new(driver, bytes)?,
            down: Pinned::new(driver, bytes)?,
            overtake,
        })
    }

    fn driver(&self) -> &dyn Driver {
        &**self.overtake.driver()
    }

    fn copies(&self, is_behind_wait: bool) -> Outcome<()> {
        let (down, up, bytes) = (&self.down, &self.up, self.up.bytes);
        let state = |request: Request| if is_behind_wait { request.ready(false) } else { request };
        // SAFETY: all of them have so many bytes, live as long as `self`, and are left alone until `seen`.
        unsafe {
            self.beside.memcpy_htod_async(self.beside_memory, self.beside_host.pointer, bytes)?;
            self.stream.memcpy_async(&state(Request::dtoh(down.pointer, self.shared, bytes)))?;
            self.beside.memcpy_dtoh_async(self.beside_host.pointer, self.beside_memory, bytes)?;
            self.stream.memcpy_async(&state(Request::htod(self.shared, up.pointer, bytes)))?;
        }
        Ok(())
    }
}

impl Ours for Layer {
    fn prepare(&mut self, round: Round) {
        self.up.write(&round.our_bytes(self.up.bytes as usize));
        self.down.write(&vec![0; self.down.bytes as usize]);
    }

    fn exchange(&mut self, round: Round, wait: Wait) -> Outcome<()> {
        let (raw, value) = (self.stream.raw(), round.value(self.kind));
        if wait == Wait::Before {
            self.driver().external_semaphore_wait(self.theirs, value, raw)?;
        }
        self.copies(wait == Wait::Before)?;
        self.driver().external_semaphore_signal(self.ours, value, raw)?;
        if wait == Wait::Behind {
            self.driver().external_semaphore_wait(self.theirs, value, raw)?;
        }
        Ok(())
    }

    fn seen(&mut self) -> Outcome<Vec<u8>> {
        self.stream.synchronize()?;
        self.beside.synchronize()?;
        Ok(self.down.read())
    }

    fn ways(&self) -> String {
        let counts = self.overtake.statistics();
        let native: u64 = counts.native.values().map(|class| class.copies).sum();
        let (kernel, engine) = (counts.kernel.copies, counts.engine.copies);
        format!("{} urgent, {kernel} by kernel, {engine} in chunks, {native} native", counts.urgent.copies)
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // Failures were reported before. All memory that this leaves is the driver's, and ends with the process.
        let _ = self.overtake.synchronize();
        let driver = self.driver();
        for semaphore in [self.theirs, self.ours] {
            let _ = driver.external_semaphore_destroy(semaphore);
        }
        let _ = driver.mem_free(self.shared);
        let _ = driver.external_memory_destroy(self.memory);
        let _ = driver.mem_free(self.beside_memory);
    }
}

/// Pinned memory of the host, which no copy uses while this side reads or writes it.
struct Pinned {
    driver: Arc<dyn Driver>,
    pointer: *mut u8,
    bytes: u64,
}

impl Pinned {
    fn new(driver: &Arc<dyn Driver>, bytes: u64) -> Outcome<Pinned> {
        let pointer = driver.host_alloc(bytes, HostAllocFlags::PORTABLE)?;
        Ok(Pinned { driver: Arc::clone(driver), pointer, bytes })
    }

    fn write(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len() as u64, self.bytes);
        // SAFETY: an allocation of so many bytes, and no copy uses it between rounds.
        unsafe { self.pointer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn read(&self) -> Vec<u8> {
        // SAFETY: an allocation of so many bytes, initialised by `write`, and its copies have completed.
        unsafe { std::slice::from_raw_parts(self.pointer, self.bytes as usize) }.to_vec()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: it came from `host_alloc`, and nothing refers to it any more: the layer has synchronised.
        let _ = unsafe { self.driver.host_free(self.pointer) };
    }
}
