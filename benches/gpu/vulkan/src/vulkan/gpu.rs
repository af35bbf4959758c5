//! The loader, a device of it, and its queue.
#![allow(unsafe_code)] // calls of Vulkan

use std::ffi::CStr;
use std::rc::Rc;

use ash::{Device, Entry, Instance, khr, vk};

use crate::sides::{Outcome, Sentence};

/// Without these a device exports nothing.
const MEMORY: &CStr = khr::external_memory_fd::NAME;
const SEMAPHORES: &CStr = khr::external_semaphore_fd::NAME;

pub struct Gpu {
    pub device: Device,
    pub queue: vk::Queue,
    pub family: u32,
    pub memory_types: vk::PhysicalDeviceMemoryProperties,
    /// Whether semaphores can be exported.
    pub has_semaphores: bool,
    /// Its name, and that of its driver.
    pub name: String,
    instance: Instance,
    /// It holds the loader's library.
    _entry: Entry,
}

struct Found {
    physical: vk::PhysicalDevice,
    name: String,
    uuid: [u8; 16],
}

impl Gpu {
    /// Opens the device with this UUID, or the first one.
    pub fn open(wanted: Option<[u8; 16]>) -> Outcome<Rc<Gpu>> {
        // SAFETY: loads the system's loader, whose initialisers may run.
        let entry = unsafe { Entry::load() }
            .map_err(|error| Sentence(format!("there is no Vulkan loader ({error}): install libvulkan.so.1")))?;
        let about = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
        // SAFETY: a live request without layers or extensions.
        let instance =
            unsafe { entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&about), None)? };
        let found = devices(&instance)?;
        let chosen = found.iter().find(|found| wanted.is_none_or(|wanted| found.uuid == wanted));
        let chosen = chosen.ok_or_else(|| absent(&found))?;
        Gpu::begin(entry, instance, chosen).map(Rc::new)
    }

    fn begin(entry: Entry, instance: Instance, chosen: &Found) -> Outcome<Gpu> {
        let physical = chosen.physical;
        // SAFETY: a device of this instance.
        let (families, memory_types) = unsafe {
            let families = instance.get_physical_device_queue_family_properties(physical);
            (families, instance.get_physical_device_memory_properties(physical))
        };
        // Graphics and compute queues can transfer too. One that can only transfer may not fill.
        let fills = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
        let family = families.iter().position(|family| family.queue_flags.intersects(fills));
        let family = family.ok_or_else(|| Sentence("no queue of the device can fill memory".to_owned()))? as u32;
        let has_semaphores = extensions(&instance, physical)?.iter().any(|name| name == SEMAPHORES);
        let mut names = vec![MEMORY.as_ptr()];
        names.extend(has_semaphores.then_some(SEMAPHORES.as_ptr()));
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
        let mut timelines = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
        let request = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .push_next(&mut timelines);
        // SAFETY: a live request, whose names are constants.
        let device = unsafe { instance.create_device(physical, &request, None)? };
        // SAFETY: the device was made with one queue of this family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let name = chosen.name.clone();
        Ok(Gpu { device, queue, family, memory_types, has_semaphores, name, instance, _entry: entry })
    }

    pub fn memory_fd(&self) -> khr::external_memory_fd::Device {
        khr::external_memory_fd::Device::new(&self.instance, &self.device)
    }

    pub fn semaphore_fd(&self) -> khr::external_semaphore_fd::Device {
        khr::external_semaphore_fd::Device::new(&self.instance, &self.device)
    }

    /// Waits for all commands.
    pub fn idle(&self) -> Outcome<()> {
        // SAFETY: one thread uses the device and its queue.
        unsafe { self.device.device_wait_idle()? };
        Ok(())
    }
}

fn devices(instance: &Instance) -> Outcome<Vec<Found>> {
    // SAFETY: a live instance.
    let all = unsafe { instance.enumerate_physical_devices()? };
    let describe = |physical| {
        let (mut id, mut driver) =
            (vk::PhysicalDeviceIDProperties::default(), vk::PhysicalDeviceDriverProperties::default());
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut id).push_next(&mut driver);
        // SAFETY: a device of this instance, and a chain of structures of Vulkan 1.2.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let text = |text: Result<&CStr, _>| text.map_or("?".into(), |text| text.to_string_lossy().into_owned());
        let device = text(properties.properties.device_name_as_c_str());
        let name =
            format!("{device}, driver {} {}", text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str()));
        Found { physical, name, uuid: id.device_uuid }
    };
    Ok(all.into_iter().map(describe).collect())
}

fn extensions(instance: &Instance, physical: vk::PhysicalDevice) -> Outcome<Vec<std::ffi::CString>> {
    // SAFETY: a device of this instance.
    let all = unsafe { instance.enumerate_device_extension_properties(physical)? };
    Ok(all.iter().filter_map(|one| one.extension_name_as_c_str().ok()).map(CStr::to_owned).collect())
}

fn absent(found: &[Found]) -> Sentence {
    let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    Sentence(format!(
        "Vulkan does not find the device that CUDA has; it finds: {}. If its driver is not listed, name it, as by \
         VK_DRIVER_FILES=/usr/share/vulkan/icd.d/nvidia_icd.json",
        if names.is_empty() { "none".to_owned() } else { names.join("; ") }
    ))
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: all objects of the device hold an `Rc` of this, so they are gone.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
