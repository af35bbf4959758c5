//! Buffers: exported, imported, seen by the host, or of the device alone.
#![allow(unsafe_code)] // calls of Vulkan; a buffer owns its memory

use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;

use ash::vk;

use super::gpu::Gpu;
use crate::sides::{Outcome, Sentence};

const OPAQUE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

/// The place of a buffer's memory, and its other users.
pub enum Place {
    Device,
    /// Both the host and the device see it.
    Host,
    /// As `Device`, to be exported.
    Shared,
    /// That of a `Shared` buffer.
    Imported(OwnedFd),
}

pub struct Buffer {
    gpu: Rc<Gpu>,
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    bytes: u64,
    /// At least those of the buffer.
    pub memory_bytes: u64,
    pub is_dedicated: bool,
    /// Null unless the host sees it.
    mapped: *mut u8,
}

impl Buffer {
    pub fn new(gpu: &Rc<Gpu>, bytes: u64, place: Place) -> Outcome<Buffer> {
        let is_external = matches!(place, Place::Shared | Place::Imported(_));
        let is_host = matches!(place, Place::Host);
        let buffer = create(gpu, bytes, is_external)?;
        let (needs, is_dedicated) = requirements(gpu, buffer);
        // Only shared memory is worth an allocation of its own.
        let is_dedicated = is_external && is_dedicated;
        let memory = allocate(gpu, buffer, needs, is_dedicated, place)?;
        // SAFETY: memory as large as the buffer needs, of a type that it allows; the host's is mapped once.
        let mapped = unsafe {
            gpu.device.bind_buffer_memory(buffer, memory, 0)?;
            match is_host {
                true => gpu.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?.cast(),
                false => std::ptr::null_mut(),
            }
        };
        Ok(Buffer { gpu: Rc::clone(gpu), buffer, memory, bytes, memory_bytes: needs.size, is_dedicated, mapped })
    }

    /// A descriptor of its memory, for another API.
    pub fn export(&self) -> Outcome<OwnedFd> {
        let request = vk::MemoryGetFdInfoKHR::default().memory(self.memory).handle_type(OPAQUE);
        // SAFETY: memory that was allocated to be exported so. The descriptor is new, and the caller's.
        Ok(unsafe { OwnedFd::from_raw_fd(self.gpu.memory_fd().get_memory_fd(&request)?) })
    }

    /// The bytes of a buffer of the host, whose commands have completed.
    pub fn read(&self) -> Vec<u8> {
        assert!(!self.mapped.is_null(), "only buffers of the host are read");
        // SAFETY: mapped as long as the buffer lives, coherent, and no command uses it now.
        unsafe { std::slice::from_raw_parts(self.mapped, self.bytes as usize) }.to_vec()
    }

    /// Writes a buffer of the host, which no command uses now.
    pub fn write(&mut self, bytes: &[u8]) {
        assert!(!self.mapped.is_null() && bytes.len() as u64 == self.bytes, "only whole buffers of the host");
        // SAFETY: mapped, so many bytes, and no command uses it now.
        unsafe { self.mapped.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

fn create(gpu: &Gpu, bytes: u64, is_external: bool) -> Outcome<vk::Buffer> {
    let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OPAQUE);
    let mut request = vk::BufferCreateInfo::default()
        .size(bytes)
        .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST)
        .sharing_mode(vk::SharingMode::EXCLUSIVE);
    if is_external {
        request = request.push_next(&mut external);
    }
    // SAFETY: a live request.
    Ok(unsafe { gpu.device.create_buffer(&request, None)? })
}

/// The needs of a buffer's memory, and whether it had better be an allocation of its own.
fn requirements(gpu: &Gpu, buffer: vk::Buffer) -> (vk::MemoryRequirements, bool) {
    let mut dedicated = vk::MemoryDedicatedRequirements::default();
    let mut needs = vk::MemoryRequirements2::default().push_next(&mut dedicated);
    let about = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
    // SAFETY: a live buffer of this device, and a chain of structures of Vulkan 1.1.
    unsafe { gpu.device.get_buffer_memory_requirements2(&about, &mut needs) };
    let needs = needs.memory_requirements;
    (needs, dedicated.prefers_dedicated_allocation | dedicated.requires_dedicated_allocation != vk::FALSE)
}

fn allocate(
    gpu: &Gpu,
    buffer: vk::Buffer,
    needs: vk::MemoryRequirements,
    is_dedicated: bool,
    place: Place,
) -> Outcome<vk::DeviceMemory> {
    let flags = match place {
        Place::Host => vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT,
        _ => vk::MemoryPropertyFlags::DEVICE_LOCAL,
    };
    let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(OPAQUE);
    let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(OPAQUE);
    let mut own = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
    let mut request = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type(
        gpu,
        needs.memory_type_bits,
        flags,
    )?);
    let mut descriptor = None;
    match place {
        Place::Device | Place::Host => {}
        Place::Shared => request = request.push_next(&mut export),
        Place::Imported(theirs) => {
            import.fd = theirs.as_raw_fd();
            descriptor = Some(theirs);
            request = request.push_next(&mut import);
        }
    }
    if is_dedicated {
        request = request.push_next(&mut own);
    }
    // SAFETY: a live request; a descriptor in it is open.
    let memory = unsafe { gpu.device.allocate_memory(&request, None)? };
    // An accepted descriptor is Vulkan's.
    let _ = descriptor.map(IntoRawFd::into_raw_fd);
    Ok(memory)
}

/// Cached memory if there is such memory: the host reads other memory very slowly.
fn memory_type(gpu: &Gpu, allowed: u32, flags: vk::MemoryPropertyFlags) -> Outcome<u32> {
    let types = gpu.memory_types.memory_types_as_slice();
    let with = |flags: vk::MemoryPropertyFlags| {
        let fits = |one: &vk::MemoryType| one.property_flags.contains(flags);
        (0_u32..).zip(types).find(|(index, one)| allowed >> index & 1 == 1 && fits(one)).map(|(index, _)| index)
    };
    let is_host = flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE);
    let cached = is_host.then(|| with(flags | vk::MemoryPropertyFlags::HOST_CACHED)).flatten();
    let found = cached.or_else(|| with(flags));
    Ok(found.ok_or_else(|| Sentence(format!("no memory of the device has the flags {:#x}", flags.as_raw())))?)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: its owner has waited for all commands. Freeing the memory unmaps it.
        unsafe {
            self.gpu.device.destroy_buffer(self.buffer, None);
            self.gpu.device.free_memory(self.memory, None);
        }
    }
}
