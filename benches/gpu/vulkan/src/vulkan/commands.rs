//! Command buffers, their submission, and the wait for their end.
#![allow(unsafe_code)] // calls of Vulkan; one thread uses the device

use std::rc::Rc;

use ash::vk;

use super::gpu::Gpu;
use crate::sides::{Outcome, Sentence};

/// Far more than a round takes.
const PATIENCE_NS: u64 = 20_000_000_000;

/// A few command buffers, each of which is recorded again once it has completed.
pub struct Commands {
    gpu: Rc<Gpu>,
    pool: vk::CommandPool,
    buffers: Vec<vk::CommandBuffer>,
    fence: vk::Fence,
}

/// A semaphore and its value, which is 0 for one that has none.
#[derive(Clone, Copy)]
pub struct Point(pub vk::Semaphore, pub u64);

impl Commands {
    pub fn new(gpu: &Rc<Gpu>, count: u32) -> Outcome<Commands> {
        let request = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER)
            .queue_family_index(gpu.family);
        // SAFETY: live requests, for a device and a pool that live as long as this.
        unsafe {
            let pool = gpu.device.create_command_pool(&request, None)?;
            let request = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(count);
            let buffers = gpu.device.allocate_command_buffers(&request)?;
            let fence = gpu.device.create_fence(&vk::FenceCreateInfo::default(), None)?;
            Ok(Commands { gpu: Rc::clone(gpu), pool, buffers, fence })
        }
    }

    /// Records the command buffer of this number, whose commands have completed.
    pub fn record(&self, number: usize, body: impl FnOnce(&ash::Device, vk::CommandBuffer)) -> Outcome<()> {
        let (device, buffer) = (&self.gpu.device, self.buffers[number]);
        let once = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: a command buffer of a pool that one thread uses, and that no queue has.
        unsafe {
            device.begin_command_buffer(buffer, &once)?;
            body(device, buffer);
            Ok(device.end_command_buffer(buffer)?)
        }
    }

    /// Submits the command buffer of this number between a wait and a signal; without a number, only these.
    /// [`Commands::finish`] waits for the `last` one, and so for all before it.
    pub fn submit(
        &self,
        number: Option<usize>,
        wait: Option<Point>,
        signal: Option<Point>,
        is_last: bool,
    ) -> Outcome<()> {
        let split = |point: Option<Point>| point.map(|Point(semaphore, value)| (semaphore, value)).into_iter().unzip();
        let (waits, wait_values): (Vec<_>, Vec<_>) = split(wait);
        let (signals, signal_values): (Vec<_>, Vec<_>) = split(signal);
        let stages = [vk::PipelineStageFlags::TRANSFER];
        let mut values = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&wait_values)
            .signal_semaphore_values(&signal_values);
        let request = vk::SubmitInfo::default()
            .command_buffers(number.map_or(&[], |number| &self.buffers[number..=number]))
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages[..waits.len()])
            .signal_semaphores(&signals)
            .push_next(&mut values);
        let fence = if is_last { self.fence } else { vk::Fence::null() };
        // SAFETY: a live request; the commands are recorded, and all that they use lives until they have completed.
        unsafe { self.gpu.device.queue_submit(self.gpu.queue, &[request], fence)? };
        Ok(())
    }

    /// Waits for the last submission.
    pub fn finish(&self) -> Outcome<()> {
        // SAFETY: a fence of this device, that is submitted once between two calls of this.
        let waited = unsafe { self.gpu.device.wait_for_fences(&[self.fence], true, PATIENCE_NS) };
        match waited {
            Err(vk::Result::TIMEOUT) => {
                Err(Sentence("commands of Vulkan have not completed in 20 s: a signal was lost".to_owned()))?
            }
            // SAFETY: it is signalled, so no queue has it.
            waited => Ok(waited.and_then(|()| unsafe { self.gpu.device.reset_fences(&[self.fence]) })?),
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        // SAFETY: the owner has waited for all commands.
        unsafe {
            self.gpu.device.destroy_fence(self.fence, None);
            self.gpu.device.destroy_command_pool(self.pool, None);
        }
    }
}

/// Transfers of the buffer before this come before those after it, or before reads of the host.
pub fn barrier(device: &ash::Device, commands: vk::CommandBuffer, buffer: vk::Buffer, change: Change, family: u32) {
    use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
    let transfers = Access::TRANSFER_READ | Access::TRANSFER_WRITE;
    let (before, after, stage, from, to) = match change {
        Change::None => (transfers, transfers, Stage::TRANSFER, vk::QUEUE_FAMILY_IGNORED, vk::QUEUE_FAMILY_IGNORED),
        Change::ToHost => {
            (transfers, Access::HOST_READ, Stage::HOST, vk::QUEUE_FAMILY_IGNORED, vk::QUEUE_FAMILY_IGNORED)
        }
        Change::ToOthers => (transfers, Access::empty(), Stage::BOTTOM_OF_PIPE, family, vk::QUEUE_FAMILY_EXTERNAL),
        Change::FromOthers => (Access::empty(), transfers, Stage::TRANSFER, vk::QUEUE_FAMILY_EXTERNAL, family),
    };
    let barrier = vk::BufferMemoryBarrier::default()
        .src_access_mask(before)
        .dst_access_mask(after)
        .src_queue_family_index(from)
        .dst_queue_family_index(to)
        .buffer(buffer)
        .size(vk::WHOLE_SIZE);
    // SAFETY: a command buffer that is being recorded, and a live buffer.
    unsafe {
        device.cmd_pipeline_barrier(
            commands,
            Stage::TRANSFER,
            stage,
            vk::DependencyFlags::empty(),
            &[],
            &[barrier],
            &[],
        );
    }
}

/// The owner of a buffer's memory after a barrier.
pub enum Change {
    None,
    ToHost,
    ToOthers,
    FromOthers,
}
