//! Bad arguments: refused with the driver's code, and nothing changed.

use hal::{
    Attribute, CaptureMode, Code, Device, DevicePtr, Event, EventFlags, Graph, HostAllocFlags, Module, Shape, Side,
    Stream, StreamFlags,
};
use testkit::fixture::attempt;

use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::rig::Rig;

/// An address that no allocation holds.
const NOWHERE: DevicePtr = DevicePtr(0x0123_4567_8000);

/// Allocations of zero bytes, of too many, and of more than 64 bits can express.
pub fn allocation_sizes(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let total = driver.device_total_memory(Device(0))?;
    refused("nothing", driver.mem_alloc(0), &[Code::INVALID_VALUE])?;
    refused("twice the memory", driver.mem_alloc(2 * total), &[Code::OUT_OF_MEMORY])?;
    refused("all addresses", driver.mem_alloc(u64::MAX), &[Code::OUT_OF_MEMORY])?;
    let nothing = driver.host_alloc(0, HostAllocFlags::PORTABLE)?;
    ensure!(nothing.is_null(), "pinned memory of no size has the address {nothing:?}");
    let pinned = driver.host_alloc(u64::MAX, HostAllocFlags::PORTABLE);
    refused("all addresses, pinned", pinned, &[Code::OUT_OF_MEMORY])?;
    let buffer = rig.buffer_of(&[1; 16])?;
    same_bytes("an allocation after the refusals", &rig.dtoh_now((buffer, 0), 16)?, &[1; 16])
}

/// Frees of unknown addresses.
pub fn frees(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let pointer = driver.mem_alloc(4096)?;
    refused("inside an allocation", driver.mem_free(pointer.offset(256)), &[Code::INVALID_VALUE])?;
    driver.mem_free(pointer)?;
    refused("twice", driver.mem_free(pointer), &[Code::INVALID_VALUE])?;
    refused("nowhere", driver.mem_free(NOWHERE), &[Code::INVALID_VALUE])?;
    let mut local = [0_u8; 64];
    let pinned = rig.pinned(4096)?;
    refused("pinned", driver.mem_free(DevicePtr(pinned.address())), &[Code::INVALID_VALUE])?;
    refused("pageable", attempt::host_free(driver, local.as_mut_ptr()), &[Code::INVALID_VALUE])?;
    driver.mem_free(DevicePtr::NULL)?;
    Ok(attempt::host_free(driver, std::ptr::null_mut())?)
}

/// Registrations and their ends.
pub fn registrations(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let memory = rig.registered(8192)?;
    for (offset, bytes) in [(0, 8192), (4096, 4096)] {
        let again = attempt::register(driver, memory.pointer().wrapping_add(offset), bytes);
        refused("registered already", again, &[Code::HOST_MEMORY_ALREADY_REGISTERED])?;
    }
    refused("nothing", attempt::register(driver, memory.pointer(), 0), &[Code::INVALID_VALUE])?;
    refused("null", attempt::register(driver, std::ptr::null_mut(), 4096), &[Code::INVALID_VALUE])?;
    let mut local = [0_u8; 64];
    let unknown = driver.host_unregister(local.as_mut_ptr());
    refused("never registered", unknown, &[Code::HOST_MEMORY_NOT_REGISTERED])?;
    let pointer = driver.host_device_pointer(local.as_mut_ptr());
    refused("the device pointer of pageable memory", pointer, &[Code::INVALID_VALUE])?;
    let base = memory.pointer();
    rig.release_pinned(memory)?;
    let twice = driver.host_unregister(base);
    refused("unregistered twice", twice, &[Code::HOST_MEMORY_NOT_REGISTERED])
}

/// Pinned memory of one origin cannot be freed in the way of the other.
pub fn registered_is_not_allocated(rig: &Rig) -> Outcome {
    let (driver, codes) = (rig.driver(), &[Code::INVALID_VALUE]);
    let (registered, allocated) = (rig.registered(65_536)?, rig.pinned(65_536)?);
    refused("free of registered memory", attempt::host_free(driver, registered.pointer()), codes)?;
    let inside = driver.host_unregister(registered.pointer().wrapping_add(4096));
    refused("unregister inside", inside, codes)?;
    refused("unregister of allocated memory", driver.host_unregister(allocated.pointer()), codes)?;
    let again = attempt::register(driver, allocated.pointer(), 65_536);
    refused("register of allocated memory", again, codes)
}

/// Copies from and to memory that was freed or never there.
pub fn copies_of_freed_memory(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (stream, pinned, live) = (rig.stream()?, rig.pinned_of(&[3; 4096])?, rig.buffer_of(&[4; 4096])?);
    let (large, small, keep) = (driver.mem_alloc(64 << 20)?, driver.mem_alloc(4096)?, rig.buffer(4096)?);
    driver.mem_free(large)?;
    driver.mem_free(small)?;
    let codes = &[Code::INVALID_VALUE];
    let places = [("freed", large), ("freed beside others", small), ("nowhere", NOWHERE), ("null", DevicePtr::NULL)];
    for (what, gone) in places {
        let host = pinned.address();
        refused(&format!("up, {what}"), attempt::htod(driver, gone, host, 4096, stream), codes)?;
        refused(&format!("down, {what}"), attempt::dtoh(driver, host, gone, 4096, stream), codes)?;
        refused(&format!("across to, {what}"), attempt::dtod(driver, gone, live.base, 4096, stream), codes)?;
        refused(&format!("across from, {what}"), attempt::dtod(driver, live.base, gone, 4096, stream), codes)?;
        refused(&format!("up at once, {what}"), attempt::htod_now(driver, gone, &[0; 16]), codes)?;
        refused(&format!("down at once, {what}"), attempt::dtoh_now(driver, &mut [0; 16], gone), codes)?;
    }
    // Any kind is possible: an unknown address may be pageable host memory, so only null is sure to be refused.
    let null = DevicePtr::NULL;
    refused("any kind to null", attempt::copy_any(driver, null, live.base, 4096, stream), codes)?;
    refused("any kind from null", attempt::copy_any(driver, live.base, null, 4096, stream), codes)?;
    rig.driver().memset_d8_async(keep.at(0), 1, 4096, stream)?;
    rig.settle(stream)?;
    same_bytes("the host", &pinned.read_all(), &[3; 4096])?;
    same_bytes("the device", &rig.download(live, stream)?, &[4; 4096])
}

/// Copies that go past the end of an allocation, or past 64 bits.
pub fn copies_past_the_end(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    for bytes in [4096, 32 << 20] {
        copies_past(rig, bytes)?;
    }
    let (stream, small, codes) = (rig.stream()?, rig.buffer(4096)?, &[Code::INVALID_VALUE]);
    refused("one byte set", driver.memset_d8_async(small.at(0), 1, 4097, stream), codes)
}

fn copies_past(rig: &Rig, bytes: u64) -> Outcome {
    let driver = rig.driver();
    let (stream, pinned) = (rig.stream()?, rig.pinned(2 * bytes)?);
    let buffer = rig.buffer(bytes)?;
    let (host, codes) = (pinned.address(), &[Code::INVALID_VALUE]);
    refused("one byte up", attempt::htod(driver, buffer.base, host, bytes + 1, stream), codes)?;
    refused("one byte down", attempt::dtoh(driver, host, buffer.base, bytes + 1, stream), codes)?;
    refused("all bytes up", attempt::htod(driver, buffer.base, host, u64::MAX, stream), codes)?;
    refused("all bytes down", attempt::dtoh(driver, host, buffer.base, u64::MAX, stream), codes)?;
    refused("from the middle", attempt::htod(driver, buffer.at(bytes / 2), host, bytes, stream), codes)?;
    let wrapped = attempt::dtod(driver, buffer.at(0), buffer.at(8), u64::MAX - 4, stream);
    refused("around all numbers", wrapped, codes)?;
    rig.htod((buffer, bytes - 4096), (&pinned, 0), 4096, stream)?;
    rig.settle(stream)
}

/// Null host memory.
pub fn null_host_memory(rig: &Rig) -> Outcome {
    let (driver, stream, buffer) = (rig.driver(), rig.stream()?, rig.buffer_of(&[6; 64])?);
    refused("up", attempt::htod(driver, buffer.base, 0, 64, stream), &[Code::INVALID_VALUE])?;
    refused("down", attempt::dtoh(driver, 0, buffer.base, 64, stream), &[Code::INVALID_VALUE])?;
    rig.settle(stream)?;
    same_bytes("the device", &rig.download(buffer, stream)?, &[6; 64])
}

/// 2D and 3D copies whose pitches are smaller than their rows.
pub fn shapes(rig: &Rig) -> Outcome {
    let (driver, stream) = (rig.driver(), rig.stream()?);
    let (pinned, buffer) = (rig.pinned(65_536)?, rig.buffer_of(&[2; 65_536])?);
    let (host, device) =
        (Side::host(pinned.address()).pitched(128, 1024), Side::device(buffer.base).pitched(128, 1024));
    let good = Shape { source: host, target: device, width_bytes: 100, rows: 4, depth: 1 };
    let codes = &[Code::INVALID_VALUE];
    let refuses = |what, shape: Shape| refused(what, attempt::copy_shape(driver, &shape, stream), codes);
    refuses("pitch under width", Shape { target: device.pitched(64, 1024), ..good })?;
    refuses("far too high", Shape { rows: 1 << 40, ..good })?;
    refuses("nowhere", Shape { target: Side::device(NOWHERE).pitched(128, 1024), ..good })?;
    let deep = Shape { depth: 2, ..good };
    refuses("3D, pitch under width", Shape { target: device.pitched(64, 512), ..deep })?;
    refuses("3D, slice under height", Shape { target: device.pitched(128, 256), ..deep })?;
    rig.settle(stream)?;
    same_bytes("the device", &rig.download(buffer, stream)?, &[2; 65_536])
}

/// Null events and the streams that cannot be destroyed.
pub fn null_handles(rig: &Rig) -> Outcome {
    let (driver, stream, null) = (rig.driver(), rig.stream()?, Event(0));
    let codes = &[Code::INVALID_HANDLE];
    refused("record", driver.event_record(null, stream), codes)?;
    refused("wait", driver.stream_wait_event(stream, null), codes)?;
    refused("query", driver.event_query(null), codes)?;
    refused("synchronise", driver.event_synchronize(null), codes)?;
    refused("destroy", driver.event_destroy(null), codes)?;
    refused("destroy a graph", driver.graph_destroy(Graph(0)), &[Code::INVALID_VALUE])?;
    refused("unload a module", driver.module_unload(Module(0)), codes)?;
    for default in [Stream::DEFAULT, Stream::LEGACY, Stream::PER_THREAD] {
        refused(&format!("destroy {default:?}"), driver.stream_destroy(default), codes)?;
    }
    rig.settle(stream)
}

/// Flags that do not exist.
pub fn flags(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    refused("a stream", driver.stream_create(StreamFlags(0x8000), 0), &[Code::INVALID_VALUE])?;
    refused("an event", driver.event_create(EventFlags(0x8000)), &[Code::INVALID_VALUE])?;
    let pinned = driver.host_alloc(4096, HostAllocFlags(0x8000));
    refused("pinned memory", pinned, &[Code::INVALID_VALUE])
}

/// Devices and attributes that do not exist.
pub fn devices(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    for device in [Device(-1), Device(driver.device_count()?)] {
        let codes = &[Code::INVALID_DEVICE];
        refused("name", driver.device_name(device), codes)?;
        refused("memory", driver.device_total_memory(device), codes)?;
        refused("id", driver.device_uuid(device), codes)?;
        refused("peer", driver.device_can_access_peer(Device(0), device), codes)?;
        refused("retain", driver.primary_context_retain(device), codes)?;
        refused("an own context", driver.context_create(device), codes)?;
        refused("attribute", driver.device_attribute(Attribute::MULTIPROCESSOR_COUNT, device), codes)?;
    }
    let unknown = driver.device_attribute(Attribute(100_000), Device(0));
    refused("an unknown attribute", unknown, &[Code::INVALID_VALUE])
}

/// A refusal names its call.
pub fn errors_name_their_call(rig: &Rig) -> Outcome {
    let error = rig.driver().mem_alloc(0).expect_err("an allocation of nothing is refused");
    same("the call", &error.call(), &"cuMemAlloc_v2")?;
    same("the text", &error.to_string().contains("CUDA_ERROR_INVALID_VALUE"), &true)
}

/// Destroyed handles. CUDA leaves this undefined; a model need not.
pub fn stale_handles(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (stream, event) = (driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, driver.event_create(EventFlags(2))?);
    driver.stream_destroy(stream)?;
    driver.event_destroy(event)?;
    let live = rig.stream()?;
    let codes = &[Code::INVALID_HANDLE];
    refused("query a stream", driver.stream_query(stream), codes)?;
    refused("record into a stream", driver.event_record(rig.event()?, stream), codes)?;
    refused("destroy a stream twice", driver.stream_destroy(stream), codes)?;
    refused("query an event", driver.event_query(event), codes)?;
    refused("record an event", driver.event_record(event, live), codes)?;
    refused("destroy an event twice", driver.event_destroy(event), codes)?;
    refused("a stream from nowhere", driver.stream_query(Stream(0xdead_0000)), codes)?;
    let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
    driver.module_unload(module)?;
    refused("a kernel of an unloaded module", driver.module_function(module, "soft_noop"), codes)?;
    refused("unload a module twice", driver.module_unload(module), codes)?;
    driver.stream_begin_capture(live, CaptureMode::Relaxed)?;
    let graph = driver.stream_end_capture(live)?;
    driver.graph_destroy(graph)?;
    refused("destroy a graph twice", driver.graph_destroy(graph), &[Code::INVALID_VALUE])
}
