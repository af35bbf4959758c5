//! Memory and semaphores of other APIs.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use hal::{Code, DevicePtr, ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, MemOp, Result, Stream};

use crate::foreign::{self, Thing};
use crate::gpu::SoftGpu;
use crate::mapping::Mapping;
use crate::model::{Caller, Failure, Model, Outcome, Work};
use crate::submit::{MANAGE, MEMOP};

fn open(descriptor: OwnedFd, thing: Thing) -> Outcome<Arc<Mapping>> {
    foreign::open(descriptor, thing).map_err(|text| Failure::new(Code::INVALID_VALUE, text))
}

pub(super) fn import_memory(gpu: &SoftGpu, descriptor: OwnedFd, bytes: u64) -> Result<ExternalMemory> {
    gpu.change("cuImportExternalMemory", MANAGE, |model, caller| {
        model.import_memory(caller, open(descriptor, Thing::Memory)?, bytes)
    })
}

pub(super) fn import_semaphore(
    gpu: &SoftGpu,
    descriptor: OwnedFd,
    kind: ExternalSemaphoreKind,
) -> Result<ExternalSemaphore> {
    gpu.change("cuImportExternalSemaphore", MANAGE, |model, caller| {
        model.import_semaphore(caller, &open(descriptor, Thing::Semaphore(kind))?, kind)
    })
}

pub(super) fn signal(gpu: &SoftGpu, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
    submit(gpu, "cuSignalExternalSemaphoresAsync", stream, |model, caller| model.signal_ops(caller, semaphore, value))
}

pub(super) fn wait(gpu: &SoftGpu, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
    submit(gpu, "cuWaitExternalSemaphoresAsync", stream, |model, caller| model.wait_ops(caller, semaphore, value))
}

fn submit(
    gpu: &SoftGpu,
    name: &'static str,
    stream: Stream,
    ops: impl FnOnce(&Model, Caller) -> Outcome<Vec<MemOp>>,
) -> Result<()> {
    gpu.submit(name, stream, MEMOP, |model, caller, key| {
        let ops = ops(model, caller)?;
        if !model.capture_node(key, || Work::Other("a signal or a wait of another API"))? {
            model.memops_submit(key, caller, &ops);
        }
        Ok(())
    })
}

pub(super) fn map(gpu: &SoftGpu, memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> Result<DevicePtr> {
    gpu.change("cuExternalMemoryGetMappedBuffer", MANAGE, |model, caller| {
        model.map_external(caller, memory, offset_bytes, bytes)
    })
}

pub(super) fn destroy_memory(gpu: &SoftGpu, memory: ExternalMemory) -> Result<()> {
    gpu.change("cuDestroyExternalMemory", MANAGE, |model, caller| model.destroy_external_memory(caller, memory))
}

pub(super) fn destroy_semaphore(gpu: &SoftGpu, semaphore: ExternalSemaphore) -> Result<()> {
    gpu.change("cuDestroyExternalSemaphore", MANAGE, |model, caller| {
        model.destroy_external_semaphore(caller, semaphore)
    })
}
