//! The software GPU behind the seam: each method takes the turn, asks the model, and pays. Methods of several steps
//! are in the file of their noun.
#![allow(unsafe_code)] // implements unsafe methods; `Lent` and `Backing` carry their callers' promises

mod capture;
mod context;
mod device;
mod external;
mod kernel;
mod mapped;
mod memory;
mod stream;
mod wait;

use std::os::fd::OwnedFd;

use hal::{
    Attribute, CaptureMode, CaptureStatus, Context, ContextFlags, Device, DevicePtr, Event, EventFlags, ExternalMemory,
    ExternalSemaphore, ExternalSemaphoreKind, Function, Graph, GraphExec, Host, HostAllocFlags, HostRegisterFlags,
    Launch, MemOp, Module, PointerExtent, PointerInfo, PriorityRange, Result, Shape, Stream, StreamFlags, Uuid,
};

use crate::attribute;
use crate::gpu::SoftGpu;
use crate::model::{Declared, FillJob, FillValue, handles};
use crate::shape::{flat, shaped};
use crate::submit::{EVENT_RECORD, LOOKUP, MANAGE, MEMOP, POINTER, QUERY};

impl hal::Driver for SoftGpu {
    // --- the driver itself ---

    fn backend(&self) -> &'static str {
        "soft"
    }

    fn version(&self) -> Result<i32> {
        self.look_up("cuDriverGetVersion", LOOKUP, |model, _| Ok(model.parameters.device.driver_version))
    }

    fn host(&self) -> &dyn Host {
        &*self.shared
    }

    // --- devices ---

    fn device_count(&self) -> Result<i32> {
        self.look_up("cuDeviceGetCount", LOOKUP, |model, _| Ok(model.device_count() as i32))
    }

    fn device_name(&self, device: Device) -> Result<String> {
        device::name(self, device)
    }

    fn device_uuid(&self, device: Device) -> Result<Uuid> {
        self.look_up("cuDeviceGetUuid_v2", LOOKUP, |model, _| Ok(attribute::uuid(model.device(device)?)))
    }

    fn device_attribute(&self, which: Attribute, device: Device) -> Result<i32> {
        device::attribute(self, which, device)
    }

    fn device_total_memory(&self, device: Device) -> Result<u64> {
        self.look_up("cuDeviceTotalMem_v2", LOOKUP, |model, _| {
            model.device(device)?;
            Ok(model.parameters.device.memory_bytes)
        })
    }

    fn device_can_access_peer(&self, device: Device, peer: Device) -> Result<bool> {
        self.look_up("cuDeviceCanAccessPeer", LOOKUP, |model, _| Ok(model.device(device)? != model.device(peer)?))
    }

    // --- contexts ---

    fn primary_context_retain(&self, device: Device) -> Result<Context> {
        self.change("cuDevicePrimaryCtxRetain", MANAGE, |model, caller| {
            let context = model.primary_retain(caller, device)?;
            Ok(Context(model.contexts.handle(context, handles::CONTEXT)))
        })
    }

    fn primary_context_release(&self, device: Device) -> Result<()> {
        context::release_primary(self, device)
    }

    fn context_create(&self, device: Device) -> Result<Context> {
        self.context_create_with(device, ContextFlags::DEFAULT)
    }

    fn context_destroy(&self, context: Context) -> Result<()> {
        context::destroy(self, context)
    }

    fn context_current(&self) -> Result<Option<Context>> {
        self.look_up("cuCtxGetCurrent", LOOKUP, |model, caller| {
            Ok(caller.context.map(|context| Context(model.contexts.handle(context, handles::CONTEXT))))
        })
    }

    fn context_set_current(&self, context: Option<Context>) -> Result<()> {
        context::set_current(self, context)
    }

    fn context_device(&self) -> Result<Device> {
        context::device(self)
    }

    fn context_flags(&self) -> Result<ContextFlags> {
        context::flags(self)
    }

    fn context_synchronize(&self) -> Result<()> {
        wait::for_context(self)
    }

    fn priority_range(&self) -> Result<PriorityRange> {
        self.look_up("cuCtxGetStreamPriorityRange", LOOKUP, |model, caller| {
            model.current(caller)?;
            Ok(PriorityRange { least: 0, greatest: model.parameters.device.greatest_priority })
        })
    }

    fn enable_peer_access(&self, peer: Context) -> Result<()> {
        self.change("cuCtxEnablePeerAccess", MANAGE, |model, caller| model.enable_peer(caller, peer))
    }

    // --- streams ---

    fn stream_create(&self, flags: StreamFlags, priority: i32) -> Result<Stream> {
        stream::create(self, flags, priority)
    }

    fn stream_destroy(&self, stream: Stream) -> Result<()> {
        self.change("cuStreamDestroy_v2", MANAGE, |model, caller| model.stream_destroy(caller, stream))
    }

    fn stream_query(&self, stream: Stream) -> Result<bool> {
        self.look_up("cuStreamQuery", QUERY, |model, caller| {
            let key = model.stream(caller, stream)?;
            model.refuse_on_capturing(key)?;
            model.refuse_while_capturing(caller)?;
            Ok(model.stream_idle(key))
        })
    }

    fn stream_synchronize(&self, stream: Stream) -> Result<()> {
        wait::for_stream(self, stream)
    }

    fn stream_priority(&self, stream: Stream) -> Result<i32> {
        self.look_up("cuStreamGetPriority", LOOKUP, |model, caller| {
            let key = model.stream(caller, stream)?;
            Ok(model.streams[key].priority)
        })
    }

    fn stream_flags(&self, stream: Stream) -> Result<StreamFlags> {
        self.look_up("cuStreamGetFlags", LOOKUP, |model, caller| {
            let key = model.stream(caller, stream)?;
            model.refuse_to_capture(key).map(|()| model.streams[key].flags)
        })
    }

    fn stream_context(&self, stream: Stream) -> Result<Context> {
        self.look_up("cuStreamGetCtx", LOOKUP, |model, caller| {
            let key = model.stream(caller, stream)?;
            Ok(Context(model.contexts.handle(model.streams[key].context, handles::CONTEXT)))
        })
    }

    fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        self.wait_for_event(stream, event)
    }

    fn stream_begin_capture(&self, stream: Stream, mode: CaptureMode) -> Result<()> {
        capture::begin(self, stream, mode)
    }

    fn stream_end_capture(&self, stream: Stream) -> Result<Graph> {
        capture::end(self, stream)
    }

    fn stream_capture_status(&self, stream: Stream) -> Result<CaptureStatus> {
        capture::status(self, stream)
    }

    fn exchange_capture_mode(&self, mode: CaptureMode) -> Result<CaptureMode> {
        capture::exchange_mode(self, mode)
    }

    fn graph_destroy(&self, graph: Graph) -> Result<()> {
        self.change("cuGraphDestroy", MANAGE, |model, caller| model.graph_destroy(caller, graph))
    }

    fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec> {
        capture::instantiate(self, graph)
    }

    unsafe fn graph_launch(&self, graph: GraphExec, stream: Stream) -> Result<()> {
        capture::launch(self, graph, stream)
    }

    fn graph_exec_destroy(&self, graph: GraphExec) -> Result<()> {
        self.change("cuGraphExecDestroy", MANAGE, |model, caller| model.graph_exec_destroy(caller, graph))
    }

    // --- events ---

    fn event_create(&self, flags: EventFlags) -> Result<Event> {
        self.change("cuEventCreate", MANAGE, |model, caller| model.event_create(caller, flags))
    }

    fn event_destroy(&self, event: Event) -> Result<()> {
        self.change("cuEventDestroy_v2", MANAGE, |model, caller| model.event_destroy(caller, event))
    }

    fn event_record(&self, event: Event, stream: Stream) -> Result<()> {
        self.submit("cuEventRecord", stream, EVENT_RECORD, |model, caller, key| {
            let event = model.event(caller, event)?;
            model.event_record(caller, event, key)
        })
    }

    fn event_query(&self, event: Event) -> Result<bool> {
        self.look_up("cuEventQuery", QUERY, |model, caller| {
            let event = model.event(caller, event)?;
            model.event_query(caller, event)
        })
    }

    fn event_synchronize(&self, event: Event) -> Result<()> {
        wait::for_event(self, event)
    }

    fn event_elapsed_ms(&self, start: Event, end: Event) -> Result<f32> {
        self.look_up("cuEventElapsedTime", LOOKUP, |model, caller| {
            let (start, end) = (model.event(caller, start)?, model.event(caller, end)?);
            model.event_elapsed_ms(start, end)
        })
    }

    // --- memory ---

    fn mem_alloc(&self, bytes: u64) -> Result<DevicePtr> {
        memory::allocate(self, bytes)
    }

    fn mem_free(&self, pointer: DevicePtr) -> Result<()> {
        memory::free(self, pointer)
    }

    fn mem_alloc_async(&self, bytes: u64, stream: Stream) -> Result<DevicePtr> {
        memory::allocate_in_order(self, bytes, stream)
    }

    fn mem_free_async(&self, pointer: DevicePtr, stream: Stream) -> Result<()> {
        memory::free_in_order(self, pointer, stream)
    }

    fn mem_info(&self) -> Result<(u64, u64)> {
        self.look_up("cuMemGetInfo_v2", LOOKUP, |model, caller| model.mem_info(caller))
    }

    fn host_alloc(&self, bytes: u64, flags: HostAllocFlags) -> Result<*mut u8> {
        memory::allocate_host(self, bytes, flags)
    }

    unsafe fn host_free(&self, pointer: *mut u8) -> Result<()> {
        memory::free_host(self, pointer)
    }

    unsafe fn host_register(&self, pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> Result<()> {
        // SAFETY: the caller makes the same promise.
        unsafe { memory::register(self, pointer, bytes, flags) }
    }

    fn host_unregister(&self, pointer: *mut u8) -> Result<()> {
        memory::unregister(self, pointer)
    }

    fn host_device_pointer(&self, pointer: *mut u8) -> Result<DevicePtr> {
        memory::seen_by_device(self, pointer)
    }

    fn pointer_info(&self, address: u64) -> Result<PointerInfo> {
        self.look_up("cuPointerGetAttributes", POINTER, |model, caller| Ok(model.pointer_info(caller, address)))
    }

    fn pointer_extent(&self, address: u64) -> Result<PointerExtent> {
        self.look_up("cuPointerGetAttributes", POINTER, |model, caller| Ok(model.pointer_extent(caller, address)))
    }

    // --- copies ---

    unsafe fn copy_htod(&self, target: DevicePtr, source: *const u8, bytes: u64) -> Result<()> {
        // SAFETY: the caller promises that the source is readable, and a device address is never
        // touched.
        let request = unsafe { flat((target.0, Declared::Device), (source as u64, Declared::Host), bytes) };
        self.copy("cuMemcpyHtoD_v2", request, Stream::LEGACY, true)
    }

    unsafe fn copy_dtoh(&self, target: *mut u8, source: DevicePtr, bytes: u64) -> Result<()> {
        // SAFETY: the caller promises that the target is writable.
        let request = unsafe { flat((target as u64, Declared::Host), (source.0, Declared::Device), bytes) };
        self.copy("cuMemcpyDtoH_v2", request, Stream::LEGACY, true)
    }

    unsafe fn copy_htod_async(&self, target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller promises that the source is readable.
        let request = unsafe { flat((target.0, Declared::Device), (source as u64, Declared::Host), bytes) };
        self.copy("cuMemcpyHtoDAsync_v2", request, stream, false)
    }

    unsafe fn copy_dtoh_async(&self, target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller promises that the target is writable.
        let request = unsafe { flat((target as u64, Declared::Host), (source.0, Declared::Device), bytes) };
        self.copy("cuMemcpyDtoHAsync_v2", request, stream, false)
    }

    unsafe fn copy_dtod_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: neither side can turn out to be pageable: both are declared to be the device's.
        let request = unsafe { flat((target.0, Declared::Device), (source.0, Declared::Device), bytes) };
        self.copy("cuMemcpyDtoDAsync_v2", request, stream, false)
    }

    unsafe fn copy_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller keeps the rules for this kind of copy, pageable sides included.
        let request = unsafe { flat((target.0, Declared::Any), (source.0, Declared::Any), bytes) };
        self.copy("cuMemcpyAsync", request, stream, false)
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
        context::refuse_strangers(self, [target_context, source_context], stream)?;
        // SAFETY: neither side can turn out to be pageable: both are declared to be the device's.
        let request = unsafe { flat((target.0, Declared::Device), (source.0, Declared::Device), bytes) };
        self.copy("cuMemcpyPeerAsync", request, stream, false)
    }

    unsafe fn copy_shape_async(&self, shape: &Shape, stream: Stream) -> Result<()> {
        // SAFETY: the caller promises every row.
        let request = unsafe { shaped(shape) };
        let name = if shape.depth == 1 { "cuMemcpy2DAsync_v2" } else { "cuMemcpy3DAsync_v2" };
        self.copy(name, request, stream, false)
    }

    fn memset_d8_async(&self, target: DevicePtr, value: u8, bytes: u64, stream: Stream) -> Result<()> {
        let job = FillJob::line(self.process, target, bytes, FillValue::Byte(value));
        self.fill("cuMemsetD8Async", stream, Some(job))
    }

    fn memset_d32_async(&self, target: DevicePtr, value: u32, count: u64, stream: Stream) -> Result<()> {
        let bytes = count.checked_mul(4).filter(|_| target.0.is_multiple_of(4));
        let job = bytes.map(|bytes| FillJob::line(self.process, target, bytes, FillValue::Word(value)));
        self.fill("cuMemsetD32Async", stream, job)
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
        let value = FillValue::Byte(value);
        let job = FillJob { process: self.process, target: target.0, pitch_bytes, width_bytes, height, value };
        self.fill("cuMemsetD2D8Async", stream, Some(job))
    }

    // --- stream memory operations ---

    fn mem_op(&self, stream: Stream, op: MemOp) -> Result<()> {
        self.memops(stream::name_of(op), stream, &[op], MEMOP)
    }

    fn mem_op_batch(&self, stream: Stream, ops: &[MemOp]) -> Result<()> {
        let count = ops.len() as u64;
        self.memops("cuStreamBatchMemOp_v2", stream, ops, |host| host.batch_ns + count * host.batch_each_ns)
    }

    // --- memory and semaphores of other APIs ---

    fn external_memory_import(&self, descriptor: OwnedFd, bytes: u64, _is_dedicated: bool) -> Result<ExternalMemory> {
        external::import_memory(self, descriptor, bytes)
    }

    fn external_memory_map(&self, memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> Result<DevicePtr> {
        external::map(self, memory, offset_bytes, bytes)
    }

    fn external_memory_destroy(&self, memory: ExternalMemory) -> Result<()> {
        external::destroy_memory(self, memory)
    }

    fn external_semaphore_import(&self, descriptor: OwnedFd, kind: ExternalSemaphoreKind) -> Result<ExternalSemaphore> {
        external::import_semaphore(self, descriptor, kind)
    }

    fn external_semaphore_signal(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
        external::signal(self, semaphore, value, stream)
    }

    fn external_semaphore_wait(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()> {
        external::wait(self, semaphore, value, stream)
    }

    fn external_semaphore_destroy(&self, semaphore: ExternalSemaphore) -> Result<()> {
        external::destroy_semaphore(self, semaphore)
    }

    // --- modules and kernels ---

    fn module_load(&self, image: &[u8]) -> Result<Module> {
        self.change("cuModuleLoadData", MANAGE, |model, caller| model.module_load(caller, image))
    }

    fn module_unload(&self, module: Module) -> Result<()> {
        self.change("cuModuleUnload", MANAGE, |model, caller| model.module_unload(caller, module))
    }

    fn module_function(&self, module: Module, name: &str) -> Result<Function> {
        self.look_up("cuModuleGetFunction", LOOKUP, |model, caller| model.module_function(caller, module, name))
    }

    fn module_global(&self, module: Module, name: &str) -> Result<(DevicePtr, u64)> {
        self.look_up("cuModuleGetGlobal_v2", LOOKUP, |model, caller| model.module_global(caller, module, name))
    }

    fn function_parameters(&self, function: Function) -> Result<Vec<u64>> {
        kernel::parameters(self, function)
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        // SAFETY: the caller makes the same promise.
        unsafe { kernel::launch(self, launch) }
    }
}
