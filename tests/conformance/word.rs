//! Words that host and device share, and gates made of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{DevicePtr, MemOp, WaitCondition};

use crate::memory::Pinned;

/// A word in mapped host memory.
#[derive(Clone)]
pub struct Word {
    memory: Arc<Pinned>,
    offset: u64,
    /// The address at which the device sees it.
    pub address: DevicePtr,
}

impl Word {
    /// The word at `offset` of mapped memory that the device sees at `base`; its 64 bits are set to 0.
    pub fn new(memory: Arc<Pinned>, base: DevicePtr, offset: u64) -> Word {
        let word = Word { memory, offset, address: base.offset(offset) };
        word.store64(0);
        word
    }

    pub fn load(&self) -> u32 {
        self.memory.word32(self.offset).load(Ordering::Acquire)
    }

    /// Stores 32 bits: a plain store, no driver call.
    pub fn store(&self, value: u32) {
        self.memory.word32(self.offset).store(value, Ordering::Release);
    }

    pub fn load64(&self) -> u64 {
        self.memory.word64(self.offset).load(Ordering::Acquire)
    }

    /// Stores 64 bits: a plain store, no driver call.
    pub fn store64(&self, value: u64) {
        self.memory.word64(self.offset).store(value, Ordering::Release);
    }
}

/// A word that holds streams until it is opened.
#[derive(Clone)]
pub struct Gate {
    word: Word,
}

impl Gate {
    /// A gate at this word, closed.
    pub fn new(word: Word) -> Gate {
        Gate { word }
    }

    /// The operation that makes a stream wait.
    pub fn wait(&self) -> MemOp {
        MemOp::wait32(self.word.address, 1, WaitCondition::Geq)
    }

    /// Releases the streams by a plain store: any thread may do it at any time.
    pub fn open(&self) {
        self.word.store(1);
    }
}
