//! [`hal::Driver`] on the real driver.
//!
//! # Safety of the calls
//!
//! Every function was resolved with its own prototype ([`crate::functions`]). The calls have three kinds of argument.
//! *Out parameters* are live locals of the type in the prototype; the call writes them before it returns. *Handles*
//! (streams, events, contexts, modules, graphs) and device addresses are numbers from the driver, which checks them
//! itself: that is the seam's contract, and its manual tells the answer for stale ones. *Host pointers* come with the
//! caller's promise, in the contract of the method that takes them.
#![allow(unsafe_code)]

use std::os::fd::OwnedFd;

use abi::types::*;
use hal::{
    Attribute, CaptureMode, CaptureStatus, Context, ContextFlags, Device, DevicePtr, Driver, Event, EventFlags,
    ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, Function, Graph, GraphExec, Host, HostAllocFlags,
    HostRegisterFlags, Launch, MemOp, Module, PointerExtent, PointerInfo, PriorityRange, Result, Shape, Stream,
    StreamFlags, Uuid,
};

use crate::handle::pointer;
use crate::loaded::CudaDriver;
use crate::out::{out, out_handle, ready};
use crate::{capture, copy, device, external, memop, memory, module};

impl Driver for CudaDriver {
    // --- the driver itself ---

    fn backend(&self) -> &'static str {
        "cuda"
    }

    fn version(&self) -> Result<i32> {
        // SAFETY: an out parameter.
        out(0, |value| unsafe { self.functions.cuDriverGetVersion(value) })
    }

    fn host(&self) -> &dyn Host {
        &self.host
    }

    // --- devices ---

    fn device_count(&self) -> Result<i32> {
        // SAFETY: an out parameter.
        out(0, |value| unsafe { self.functions.cuDeviceGetCount(value) })
    }

    fn device_name(&self, device: Device) -> Result<String> {
        device::name(&self.functions, device)
    }

    fn device_uuid(&self, device: Device) -> Result<Uuid> {
        device::uuid(&self.functions, device)
    }

    fn device_attribute(&self, attribute: Attribute, device: Device) -> Result<i32> {
        // SAFETY: an out parameter; the driver refuses numbers that it does not know.
        out(0, |value| unsafe {
            self.functions.cuDeviceGetAttribute(value, attribute.0 as CUdevice_attribute, device.0)
        })
    }

    fn device_total_memory(&self, device: Device) -> Result<u64> {
        // SAFETY: an out parameter.
        out(0_usize, |value| unsafe { self.functions.cuDeviceTotalMem_v2(value, device.0) }).map(|bytes| bytes as u64)
    }

    fn device_can_access_peer(&self, device: Device, peer: Device) -> Result<bool> {
        // SAFETY: an out parameter.
        out(0, |value| unsafe { self.functions.cuDeviceCanAccessPeer(value, device.0, peer.0) }).map(|can| can != 0)
    }

    // --- contexts ---

    fn primary_context_retain(&self, device: Device) -> Result<Context> {
        // SAFETY: an out parameter.
        out_handle(|value| unsafe { self.functions.cuDevicePrimaryCtxRetain(value, device.0) }).map(Context)
    }

    fn primary_context_release(&self, device: Device) -> Result<()> {
        // SAFETY: an ordinal by value.
        unsafe { self.functions.cuDevicePrimaryCtxRelease_v2(device.0) }
    }

    fn context_create(&self, device: Device) -> Result<Context> {
        device::context(&self.functions, device)
    }

    fn context_destroy(&self, context: Context) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuCtxDestroy_v2(pointer(context.0)) }
    }

    fn context_current(&self) -> Result<Option<Context>> {
        // SAFETY: an out parameter.
        let context = out_handle(|value| unsafe { self.functions.cuCtxGetCurrent(value) })?;
        Ok((context != 0).then_some(Context(context)))
    }

    fn context_set_current(&self, context: Option<Context>) -> Result<()> {
        // SAFETY: a handle by value, or null for none.
        unsafe { self.functions.cuCtxSetCurrent(pointer(context.map_or(0, |context| context.0))) }
    }

    fn context_device(&self) -> Result<Device> {
        // SAFETY: an out parameter.
        out(0, |value| unsafe { self.functions.cuCtxGetDevice(value) }).map(Device)
    }

    fn context_flags(&self) -> Result<ContextFlags> {
        // SAFETY: an out parameter.
        out(0, |value| unsafe { self.functions.cuCtxGetFlags(value) }).map(ContextFlags)
    }

    fn context_synchronize(&self) -> Result<()> {
        // SAFETY: no arguments.
        unsafe { self.functions.cuCtxSynchronize() }
    }

    fn priority_range(&self) -> Result<PriorityRange> {
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: two out parameters.
        unsafe { self.functions.cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }?;
        Ok(PriorityRange { least, greatest })
    }

    fn enable_peer_access(&self, peer: Context) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuCtxEnablePeerAccess(pointer(peer.0), 0) }
    }

    // --- streams ---

    fn stream_create(&self, flags: StreamFlags, priority: i32) -> Result<Stream> {
        // SAFETY: an out parameter.
        out_handle(|value| unsafe { self.functions.cuStreamCreateWithPriority(value, flags.0, priority) }).map(Stream)
    }

    fn stream_destroy(&self, stream: Stream) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuStreamDestroy_v2(pointer(stream.0)) }
    }

    fn stream_query(&self, stream: Stream) -> Result<bool> {
        // SAFETY: a handle by value.
        ready(unsafe { self.functions.cuStreamQuery(pointer(stream.0)) })
    }

    fn stream_synchronize(&self, stream: Stream) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuStreamSynchronize(pointer(stream.0)) }
    }

    fn stream_priority(&self, stream: Stream) -> Result<i32> {
        // SAFETY: an out parameter and a handle by value.
        out(0, |value| unsafe { self.functions.cuStreamGetPriority(pointer(stream.0), value) })
    }

    fn stream_flags(&self, stream: Stream) -> Result<StreamFlags> {
        // SAFETY: an out parameter and a handle by value.
        out(0, |value| unsafe { self.functions.cuStreamGetFlags(pointer(stream.0), value) }).map(StreamFlags)
    }

    fn stream_context(&self, stream: Stream) -> Result<Context> {
        // SAFETY: an out parameter and a handle by value.
        out_handle(|value| unsafe { self.functions.cuStreamGetCtx(pointer(stream.0), value) }).map(Context)
    }

    fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        // SAFETY: handles by value.
        unsafe { self.functions.cuStreamWaitEvent(pointer(stream.0), pointer(event.0), CU_EVENT_WAIT_DEFAULT) }
    }

    fn stream_begin_capture(&self, stream: Stream, mode: CaptureMode) -> Result<()> {
        capture::begin(&self.functions, stream, mode)
    }

    fn stream_end_capture(&self, stream: Stream) -> Result<Graph> {
        capture::end(&self.functions, stream)
    }

    fn stream_capture_status(&self, stream: Stream) -> Result<CaptureStatus> {
        capture::status(&self.functions, stream)
    }

    fn exchange_capture_mode(&self, mode: CaptureMode) -> Result<CaptureMode> {
        capture::exchange_mode(&self.functions, mode)
    }

    fn graph_destroy(&self, graph: Graph) -> Result<()> {
        capture::destroy(&self.functions, graph)
    }

    fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec> {
        capture::instantiate(&self.functions, graph)
    }

    unsafe fn graph_launch(&self, graph: GraphExec, stream: Stream) -> Result<()> {
        // SAFETY: handles by value, and the caller's promise about the captured operations.
        unsafe { self.functions.cuGraphLaunch(pointer(graph.0), pointer(stream.0)) }
    }

    fn graph_exec_destroy(&self, graph: GraphExec) -> Result<()> {
        capture::destroy_exec(&self.functions, graph)
    }

    // --- events ---

    fn event_create(&self, flags: EventFlags) -> Result<Event> {
        // SAFETY: an out parameter.
        out_handle(|value| unsafe { self.functions.cuEventCreate(value, flags.0) }).map(Event)
    }

    fn event_destroy(&self, event: Event) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuEventDestroy_v2(pointer(event.0)) }
    }

    fn event_record(&self, event: Event, stream: Stream) -> Result<()> {
        // SAFETY: handles by value.
        unsafe { self.functions.cuEventRecord(pointer(event.0), pointer(stream.0)) }
    }

    fn event_query(&self, event: Event) -> Result<bool> {
        // SAFETY: a handle by value.
        ready(unsafe { self.functions.cuEventQuery(pointer(event.0)) })
    }

    fn event_synchronize(&self, event: Event) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuEventSynchronize(pointer(event.0)) }
    }

    fn event_elapsed_ms(&self, start: Event, end: Event) -> Result<f32> {
        // SAFETY: an out parameter and handles by value.
        out(0.0, |value| unsafe { self.functions.cuEventElapsedTime(value, pointer(start.0), pointer(end.0)) })
    }

    // --- memory ---

    fn mem_alloc(&self, bytes: u64) -> Result<DevicePtr> {
        memory::alloc(&self.functions, bytes)
    }

    fn mem_free(&self, pointer: DevicePtr) -> Result<()> {
        // SAFETY: a device address by value.
        unsafe { self.functions.cuMemFree_v2(pointer.0) }
    }

    fn mem_alloc_async(&self, bytes: u64, stream: Stream) -> Result<DevicePtr> {
        memory::alloc_async(&self.functions, bytes, stream)
    }

    fn mem_free_async(&self, address: DevicePtr, stream: Stream) -> Result<()> {
        memory::free_async(&self.functions, address, stream)
    }

    fn mem_info(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two out parameters.
        unsafe { self.functions.cuMemGetInfo_v2(&mut free, &mut total) }?;
        Ok((free as u64, total as u64))
    }

    fn host_alloc(&self, bytes: u64, flags: HostAllocFlags) -> Result<*mut u8> {
        memory::host_alloc(&self.functions, bytes, flags.0)
    }

    unsafe fn host_free(&self, pointer: *mut u8) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemFreeHost(pointer.cast()) }
    }

    unsafe fn host_register(&self, pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemHostRegister_v2(pointer.cast(), bytes as usize, flags.0) }
    }

    fn host_unregister(&self, pointer: *mut u8) -> Result<()> {
        // SAFETY: the driver looks the address up among its registrations and does not follow it.
        unsafe { self.functions.cuMemHostUnregister(pointer.cast()) }
    }

    fn host_device_pointer(&self, pointer: *mut u8) -> Result<DevicePtr> {
        // SAFETY: an out parameter; the driver looks the address up among its registrations and does not follow it.
        out(0, |value| unsafe { self.functions.cuMemHostGetDevicePointer_v2(value, pointer.cast(), 0) }).map(DevicePtr)
    }

    fn pointer_info(&self, address: u64) -> Result<PointerInfo> {
        memory::pointer_info(&self.functions, address, memory::ALL)
    }

    fn pointer_kind(&self, address: u64) -> Result<PointerInfo> {
        memory::pointer_info(&self.functions, address, memory::KIND)
    }

    fn pointer_extent(&self, address: u64) -> Result<PointerExtent> {
        memory::pointer_extent(&self.functions, address)
    }

    // --- copies ---

    unsafe fn copy_htod(&self, target: DevicePtr, source: *const u8, bytes: u64) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemcpyHtoD_v2(target.0, source.cast(), bytes as usize) }
    }

    unsafe fn copy_dtoh(&self, target: *mut u8, source: DevicePtr, bytes: u64) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemcpyDtoH_v2(target.cast(), source.0, bytes as usize) }
    }

    unsafe fn copy_htod_async(&self, target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemcpyHtoDAsync_v2(target.0, source.cast(), bytes as usize, pointer(stream.0)) }
    }

    unsafe fn copy_dtoh_async(&self, target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise about the host memory is the one that the driver demands.
        unsafe { self.functions.cuMemcpyDtoHAsync_v2(target.cast(), source.0, bytes as usize, pointer(stream.0)) }
    }

    unsafe fn copy_dtod_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise about both ranges is the one that the driver demands.
        unsafe { self.functions.cuMemcpyDtoDAsync_v2(target.0, source.0, bytes as usize, pointer(stream.0)) }
    }

    unsafe fn copy_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise about both ranges is the one that the driver demands.
        unsafe { self.functions.cuMemcpyAsync(target.0, source.0, bytes as usize, pointer(stream.0)) }
    }

    unsafe fn copy_peer_async(
        &self,
        target: DevicePtr,
        target_context: Context,
        source: DevicePtr,
        source_context: Context,
        bytes: u64,
        stream: Stream,
    ) -> Result<()> {
        let (target_context, source_context) = (pointer(target_context.0), pointer(source_context.0));
        let (bytes, stream) = (bytes as usize, pointer(stream.0));
        // SAFETY: the caller's promise about both ranges is the one that the driver demands.
        unsafe { self.functions.cuMemcpyPeerAsync(target.0, target_context, source.0, source_context, bytes, stream) }
    }

    unsafe fn copy_shape_async(&self, shape: &Shape, stream: Stream) -> Result<()> {
        // SAFETY: the caller makes the same promise.
        unsafe { copy::shape_async(&self.functions, shape, stream) }
    }

    fn memset_d8_async(&self, target: DevicePtr, value: u8, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: a device address and a handle by value.
        unsafe { self.functions.cuMemsetD8Async(target.0, value, bytes as usize, pointer(stream.0)) }
    }

    fn memset_d32_async(&self, target: DevicePtr, value: u32, count: u64, stream: Stream) -> Result<()> {
        // SAFETY: a device address and a handle by value.
        unsafe { self.functions.cuMemsetD32Async(target.0, value, count as usize, pointer(stream.0)) }
    }

    fn memset_2d_d8_async(
        &self,
        target: DevicePtr,
        pitch_bytes: u64,
        value: u8,
        width_bytes: u64,
        height: u64,
        stream: Stream,
    ) -> Result<()> {
        let (pitch, width, height) = (pitch_bytes as usize, width_bytes as usize, height as usize);
        // SAFETY: a device address and a handle by value.
        unsafe { self.functions.cuMemsetD2D8Async(target.0, pitch, value, width, height, pointer(stream.0)) }
    }

    // --- stream memory operations ---

    fn mem_op(&self, stream: Stream, op: MemOp) -> Result<()> {
        memop::submit(&self.functions, stream, op)
    }

    fn mem_op_batch(&self, stream: Stream, ops: &[MemOp]) -> Result<()> {
        memop::submit_batch(&self.functions, stream, ops)
    }

    // --- memory and semaphores of other APIs ---

    fn external_memory_import(&self, descriptor: OwnedFd, bytes: u64, is_dedicated: bool) -> Result<ExternalMemory> {
        external::import_memory(&self.functions, descriptor, bytes, is_dedicated)
    }

    fn external_memory_map(&self, memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> Result<DevicePtr> {
        external::map(&self.functions, memory, offset_bytes, bytes)
    }

    fn external_memory_destroy(&self, memory: ExternalMemory) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuDestroyExternalMemory(pointer(memory.0)) }
    }

    fn external_semaphore_import(&self, descriptor: OwnedFd, kind: ExternalSemaphoreKind) -> Result<ExternalSemaphore> {
        external::import_semaphore(&self.functions, descriptor, kind)
    }

    fn external_semaphore_signal(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
        external::signal(&self.functions, semaphore, value, stream)
    }

    fn external_semaphore_wait(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
        external::wait(&self.functions, semaphore, value, stream)
    }

    fn external_semaphore_destroy(&self, semaphore: ExternalSemaphore) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuDestroyExternalSemaphore(pointer(semaphore.0)) }
    }

    // --- modules and kernels ---

    fn module_load(&self, image: &[u8]) -> Result<Module> {
        module::load(&self.functions, image)
    }

    fn module_unload(&self, module: Module) -> Result<()> {
        // SAFETY: a handle by value.
        unsafe { self.functions.cuModuleUnload(pointer(module.0)) }
    }

    fn module_function(&self, module: Module, name: &str) -> Result<Function> {
        module::function(&self.functions, module, name)
    }

    fn module_global(&self, module: Module, name: &str) -> Result<(DevicePtr, u64)> {
        module::global(&self.functions, module, name)
    }

    fn function_parameters(&self, function: Function) -> Result<Vec<u64>> {
        module::parameters(&self.functions, function)
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        // SAFETY: the caller makes the same promise.
        unsafe { module::launch(&self.functions, launch) }
    }
}
