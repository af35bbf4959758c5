//! The two steps of Vulkan in a round.
#![allow(unsafe_code)] // calls of Vulkan; this side owns its buffers

use std::rc::Rc;

use ash::vk;
use overtake::hal::ExternalSemaphoreKind;

use super::commands::{Change, Commands, Point, barrier};
use super::gpu::Gpu;
use super::memory::{Buffer, Place};
use super::semaphore::Semaphore;
use crate::sides::{Exported, Outcome, Round, Theirs, Wait};

/// Filled several times before the shared memory is written: a side that does not wait is early by this time.
const SLOW_BYTES: u64 = 128 << 20;
const SLOW_TIMES: usize = 32;

const WRITE: usize = 0;
const READ: usize = 1;

pub struct Vulkan {
    pub gpu: Rc<Gpu>,
    pub kind: ExternalSemaphoreKind,
    pub bytes: u64,
    pub shared: Buffer,
    pub theirs: Semaphore,
    pub ours: Semaphore,
    scratch: Buffer,
    read_back: Buffer,
    commands: Commands,
}

impl Vulkan {
    pub fn new(gpu: &Rc<Gpu>, kind: ExternalSemaphoreKind, bytes: u64) -> Outcome<Vulkan> {
        Ok(Vulkan {
            gpu: Rc::clone(gpu),
            kind,
            bytes,
            shared: Buffer::new(gpu, bytes, Place::Shared)?,
            theirs: Semaphore::new(gpu, kind)?,
            ours: Semaphore::new(gpu, kind)?,
            scratch: Buffer::new(gpu, SLOW_BYTES, Place::Device)?,
            read_back: Buffer::new(gpu, bytes, Place::Host)?,
            commands: Commands::new(gpu, 2)?,
        })
    }

    fn record_write(&self, word: u32) -> Outcome<()> {
        let (scratch, shared, family) = (self.scratch.buffer, self.shared.buffer, self.gpu.family);
        self.commands.record(WRITE, |device, commands| {
            for _ in 0..SLOW_TIMES {
                // SAFETY: a command buffer that is being recorded, and a buffer that lives until it has completed.
                unsafe { device.cmd_fill_buffer(commands, scratch, 0, vk::WHOLE_SIZE, word) };
                barrier(device, commands, scratch, Change::None, family);
            }
            barrier(device, commands, shared, Change::None, family);
            // SAFETY: as above.
            unsafe { device.cmd_fill_buffer(commands, shared, 0, vk::WHOLE_SIZE, word) };
            barrier(device, commands, shared, Change::ToOthers, family);
        })
    }

    fn record_read(&self) -> Outcome<()> {
        let (shared, target, family) = (self.shared.buffer, self.read_back.buffer, self.gpu.family);
        let all = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: self.bytes }];
        self.commands.record(READ, |device, commands| {
            barrier(device, commands, shared, Change::FromOthers, family);
            // SAFETY: a command buffer that is being recorded, and buffers of so many bytes.
            unsafe { device.cmd_copy_buffer(commands, shared, target, &all) };
            barrier(device, commands, target, Change::ToHost, family);
        })
    }
}

impl Theirs for Vulkan {
    fn export(&self) -> Outcome<Exported> {
        Ok(Exported {
            memory: self.shared.export()?,
            memory_bytes: self.shared.memory_bytes,
            is_dedicated: self.shared.is_dedicated,
            kind: self.kind,
            theirs: self.theirs.export()?,
            ours: self.ours.export()?,
        })
    }

    fn write(&mut self, round: Round) -> Outcome<()> {
        self.record_write(round.their_word())?;
        let signal = Point(self.theirs.semaphore, round.value(self.kind));
        self.commands.submit(Some(WRITE), None, Some(signal), false)
    }

    fn read(&mut self, round: Round, wait: Wait) -> Outcome<()> {
        self.record_read()?;
        let point = Point(self.ours.semaphore, round.value(self.kind));
        match wait {
            Wait::Before => self.commands.submit(Some(READ), Some(point), None, true),
            Wait::Behind => {
                self.commands.submit(Some(READ), None, None, false)?;
                self.commands.submit(None, Some(point), None, true)
            }
        }
    }

    fn seen(&mut self) -> Outcome<Vec<u8>> {
        self.commands.finish()?;
        Ok(self.read_back.read())
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // On an error there is nothing left to do but to destroy.
        let _ = self.gpu.idle();
    }
}
