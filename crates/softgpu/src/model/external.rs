//! Imported memory and semaphores.
//!
//! Imported memory has its addresses when it is mapped. A semaphore is a word that stream memory operations wait for
//! and write, and so orders streams as their own words do.

use std::sync::Arc;

use hal::{Code, DevicePtr, ExternalSemaphoreKind, MemOp, WaitCondition, Width};

use super::memory::RegionKind;
use super::{Caller, ContextKey, Failure, Model, Outcome, SlabKey, handles};
use crate::foreign::{HEADER_BYTES, WORD_AT};
use crate::mapping::Mapping;
use crate::raw::Backing;

/// Imported memory.
pub(crate) struct ExternalMemory {
    process: usize,
    context: ContextKey,
    mapping: Arc<Mapping>,
    bytes: u64,
}

/// An imported semaphore.
pub(crate) struct ExternalSemaphore {
    process: usize,
    context: ContextKey,
    kind: ExternalSemaphoreKind,
    /// The address of its word.
    word: DevicePtr,
}

impl Model {
    pub(crate) fn import_memory(
        &mut self,
        caller: Caller,
        mapping: Arc<Mapping>,
        bytes: u64,
    ) -> Outcome<hal::ExternalMemory> {
        let context = self.current(caller)?;
        let there = mapping.bytes() - HEADER_BYTES;
        if bytes == 0 || bytes > there {
            let detail = format!("{bytes} bytes are imported, and the other API has allocated {there}");
            return Err(Failure::new(Code::INVALID_VALUE, detail));
        }
        let key = self.external_memories.insert(ExternalMemory { process: caller.process, context, mapping, bytes });
        Ok(hal::ExternalMemory(key.handle(handles::EXTERNAL_MEMORY)))
    }

    fn external_memory(&self, caller: Caller, handle: hal::ExternalMemory) -> Outcome<SlabKey<ExternalMemory>> {
        let key = SlabKey::from_handle(handle.0, handles::EXTERNAL_MEMORY);
        let known = |key: &SlabKey<ExternalMemory>| {
            self.external_memories.get(*key).is_some_and(|memory| memory.process == caller.process)
        };
        key.filter(known).ok_or_else(|| Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no import")))
    }

    pub(crate) fn map_external(
        &mut self,
        caller: Caller,
        handle: hal::ExternalMemory,
        offset: u64,
        bytes: u64,
    ) -> Outcome<DevicePtr> {
        let memory = &self.external_memories[self.external_memory(caller, handle)?];
        if offset.checked_add(bytes).is_none_or(|end| end > memory.bytes) {
            let detail = format!("{bytes} bytes from {offset} on are no part of {}", memory.bytes);
            return Err(Failure::new(Code::INVALID_VALUE, detail));
        }
        let mapping = Arc::clone(&memory.mapping);
        let backing = || Some(Backing::mapped(&mapping, HEADER_BYTES + offset, bytes));
        self.place_on_device(caller, bytes, RegionKind::Device, backing)
    }

    /// Ends an import. Parts that are mapped stay until they are freed.
    pub(crate) fn destroy_external_memory(&mut self, caller: Caller, handle: hal::ExternalMemory) -> Outcome<()> {
        let key = self.external_memory(caller, handle)?;
        self.external_memories.remove(key);
        Ok(())
    }

    pub(crate) fn import_semaphore(
        &mut self,
        caller: Caller,
        mapping: &Arc<Mapping>,
        kind: ExternalSemaphoreKind,
    ) -> Outcome<hal::ExternalSemaphore> {
        let context = self.current(caller)?;
        let backing = Backing::mapped(mapping, WORD_AT, Width::W64.bytes());
        let word = DevicePtr(backing.address());
        self.add_host_region(caller, context, Width::W64.bytes(), RegionKind::Semaphore, backing);
        let semaphore = ExternalSemaphore { process: caller.process, context, kind, word };
        let key = self.external_semaphores.insert(semaphore);
        Ok(hal::ExternalSemaphore(key.handle(handles::EXTERNAL_SEMAPHORE)))
    }

    fn external_semaphore(
        &self,
        caller: Caller,
        handle: hal::ExternalSemaphore,
    ) -> Outcome<SlabKey<ExternalSemaphore>> {
        let key = SlabKey::from_handle(handle.0, handles::EXTERNAL_SEMAPHORE);
        let known = |key: &SlabKey<ExternalSemaphore>| {
            self.external_semaphores.get(*key).is_some_and(|semaphore| semaphore.process == caller.process)
        };
        key.filter(known).ok_or_else(|| Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no import")))
    }

    /// The memory operation of a signal.
    pub(crate) fn signal_ops(&self, caller: Caller, handle: hal::ExternalSemaphore, value: u64) -> Outcome<Vec<MemOp>> {
        let ExternalSemaphore { kind, word, .. } = self.external_semaphores[self.external_semaphore(caller, handle)?];
        Ok(match kind {
            ExternalSemaphoreKind::Binary => vec![MemOp::write64(word, 1)],
            ExternalSemaphoreKind::Timeline => vec![MemOp::write64(word, value)],
        })
    }

    /// The memory operations of a wait. That for a binary semaphore takes the signal.
    pub(crate) fn wait_ops(&self, caller: Caller, handle: hal::ExternalSemaphore, value: u64) -> Outcome<Vec<MemOp>> {
        let ExternalSemaphore { kind, word, .. } = self.external_semaphores[self.external_semaphore(caller, handle)?];
        Ok(match kind {
            ExternalSemaphoreKind::Binary => {
                vec![MemOp::wait64(word, 1, WaitCondition::Eq), MemOp::write64(word, 0)]
            }
            ExternalSemaphoreKind::Timeline => vec![MemOp::wait64(word, value, WaitCondition::Geq)],
        })
    }

    pub(crate) fn destroy_external_semaphore(&mut self, caller: Caller, handle: hal::ExternalSemaphore) -> Outcome<()> {
        let key = self.external_semaphore(caller, handle)?;
        if let Some(semaphore) = self.external_semaphores.remove(key) {
            self.processes[semaphore.process].space.remove(semaphore.word.0);
        }
        Ok(())
    }

    /// Ends the imports of a context. Its regions go with it.
    pub(crate) fn drop_imports(&mut self, context: ContextKey) {
        for memory in self.external_memories.keys_where(|memory| memory.context == context) {
            self.external_memories.remove(memory);
        }
        for semaphore in self.external_semaphores.keys_where(|semaphore| semaphore.context == context) {
            self.external_semaphores.remove(semaphore);
        }
    }

    pub(crate) fn imports(&self) -> usize {
        self.external_memories.len() + self.external_semaphores.len()
    }
}
