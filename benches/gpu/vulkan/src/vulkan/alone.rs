//! Our side by Vulkan: a check of the other side on a machine without CUDA.
#![allow(unsafe_code)] // calls of Vulkan; this side owns its buffers

use std::rc::Rc;

use ash::vk;
use overtake::hal::ExternalSemaphoreKind;

use super::commands::{Change, Commands, Point, barrier};
use super::gpu::Gpu;
use super::memory::{Buffer, Place};
use super::side::Vulkan;
use crate::sides::{Ours, Outcome, Round, Wait};

pub struct Alone {
    gpu: Rc<Gpu>,
    kind: ExternalSemaphoreKind,
    bytes: u64,
    /// The memory of the other side, by its descriptor.
    shared: Buffer,
    down: Buffer,
    up: Buffer,
    theirs: vk::Semaphore,
    ours: vk::Semaphore,
    commands: Commands,
}

impl Alone {
    /// Uses the semaphores of `other`, which has to live longer.
    pub fn new(other: &Vulkan) -> Outcome<Alone> {
        let (gpu, bytes) = (&other.gpu, other.bytes);
        Ok(Alone {
            gpu: Rc::clone(gpu),
            kind: other.kind,
            bytes,
            shared: Buffer::new(gpu, bytes, Place::Imported(other.shared.export()?))?,
            down: Buffer::new(gpu, bytes, Place::Host)?,
            up: Buffer::new(gpu, bytes, Place::Host)?,
            theirs: other.theirs.semaphore,
            ours: other.ours.semaphore,
            commands: Commands::new(gpu, 1)?,
        })
    }

    fn record(&self) -> Outcome<()> {
        let all = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: self.bytes }];
        let (shared, family) = (self.shared.buffer, self.gpu.family);
        self.commands.record(0, |device, commands| {
            barrier(device, commands, shared, Change::FromOthers, family);
            // SAFETY: a command buffer that is being recorded, and buffers of so many bytes.
            unsafe { device.cmd_copy_buffer(commands, shared, self.down.buffer, &all) };
            barrier(device, commands, shared, Change::None, family);
            // SAFETY: as above.
            unsafe { device.cmd_copy_buffer(commands, self.up.buffer, shared, &all) };
            barrier(device, commands, shared, Change::ToOthers, family);
            barrier(device, commands, self.down.buffer, Change::ToHost, family);
        })
    }
}

impl Ours for Alone {
    fn prepare(&mut self, round: Round) {
        self.up.write(&round.our_bytes(self.bytes as usize));
    }

    fn exchange(&mut self, round: Round, wait: Wait) -> Outcome<()> {
        self.record()?;
        let value = round.value(self.kind);
        let (theirs, ours) = (Point(self.theirs, value), Point(self.ours, value));
        match wait {
            Wait::Before => self.commands.submit(Some(0), Some(theirs), Some(ours), true),
            Wait::Behind => {
                self.commands.submit(Some(0), None, Some(ours), false)?;
                self.commands.submit(None, Some(theirs), None, true)
            }
        }
    }

    fn seen(&mut self) -> Outcome<Vec<u8>> {
        self.commands.finish()?;
        Ok(self.down.read())
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // On an error there is nothing left to do but to destroy.
        let _ = self.gpu.idle();
    }
}
