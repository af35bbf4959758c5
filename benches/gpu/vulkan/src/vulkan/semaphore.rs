//! Semaphores that other APIs can import.
#![allow(unsafe_code)] // calls of Vulkan; one thread uses the device

use std::os::fd::{FromRawFd, OwnedFd};
use std::rc::Rc;

use ash::vk;
use overtake::hal::ExternalSemaphoreKind;

use super::gpu::Gpu;
use crate::sides::Outcome;

const OPAQUE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;

pub struct Semaphore {
    gpu: Rc<Gpu>,
    pub semaphore: vk::Semaphore,
}

impl Semaphore {
    /// It can be exported if the device can do that at all.
    pub fn new(gpu: &Rc<Gpu>, kind: ExternalSemaphoreKind) -> Outcome<Semaphore> {
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(OPAQUE);
        let mut of_type = vk::SemaphoreTypeCreateInfo::default().semaphore_type(match kind {
            ExternalSemaphoreKind::Binary => vk::SemaphoreType::BINARY,
            ExternalSemaphoreKind::Timeline => vk::SemaphoreType::TIMELINE,
        });
        let mut request = vk::SemaphoreCreateInfo::default().push_next(&mut of_type);
        if gpu.has_semaphores {
            request = request.push_next(&mut export);
        }
        // SAFETY: a live request.
        let semaphore = unsafe { gpu.device.create_semaphore(&request, None)? };
        Ok(Semaphore { gpu: Rc::clone(gpu), semaphore })
    }

    /// A descriptor of it, for another API.
    pub fn export(&self) -> Outcome<OwnedFd> {
        let request = vk::SemaphoreGetFdInfoKHR::default().semaphore(self.semaphore).handle_type(OPAQUE);
        // SAFETY: a semaphore that was made to be exported so. The descriptor is new, and the caller's.
        Ok(unsafe { OwnedFd::from_raw_fd(self.gpu.semaphore_fd().get_semaphore_fd(&request)?) })
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: its owner has waited for all commands.
        unsafe { self.gpu.device.destroy_semaphore(self.semaphore, None) };
    }
}
