#![allow(unsafe_code)] // registers memory of its own

use std::sync::Arc;

use hal::{Device, HostAllocFlags};
use softgpu::SoftGpu;

use super::*;

#[test]
fn parts_are_found_and_ended_ones_forgotten() {
    let gpu: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
    let context = gpu.primary_context_retain(Device(0)).unwrap();
    gpu.context_set_current(Some(context)).unwrap();
    let plain = vec![0_u8; 64 << 10];
    let start = plain.as_ptr() as u64;
    let (all, part) = (start..start + (64 << 10), (start + 4096) as *mut u8);
    assert!(!is_partly(&*gpu, &all));
    // SAFETY: the vector outlives the registration.
    unsafe { gpu.host_register(part, 4096, HostRegisterFlags::READ_ONLY).unwrap() };
    registered(start + 4096, 4096, HostRegisterFlags::READ_ONLY);
    assert!(is_partly(&*gpu, &all) && !is_partly(&*gpu, &(start..start + 4096)));
    assert!(is_read_only(start + 8191) && !is_read_only(start + 8192) && !is_read_only(start + 4095));
    gpu.host_unregister(part).unwrap();
    assert!(!is_partly(&*gpu, &all), "it has ended unseen");
    assert!(!is_read_only(start + 8191));
    // One that has ended unseen, beneath a new one that begins before it.
    registered(start + 4096, 4096, HostRegisterFlags(0));
    registered(start, 16 << 10, HostRegisterFlags::READ_ONLY);
    assert!(is_read_only(start + 5000) && is_read_only(start));
    let ended = unregistering(start).unwrap();
    assert!(!is_read_only(start));
    goes_on(start, ended);
    assert!(is_read_only(start), "the driver has refused to end it");
    unregistering(start);
    let pinned = gpu.host_alloc(4096, HostAllocFlags(3)).unwrap() as u64;
    assert!(is_partly(&*gpu, &(pinned + 4000..pinned + 4096)), "seen by its end");
}
