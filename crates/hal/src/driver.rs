//! The driver trait: CUDA's nouns, one method each.
#![allow(unsafe_code)] // declares unsafe methods; this file holds no unsafe block

use std::os::fd::OwnedFd;

use crate::{
    Attribute, CaptureMode, CaptureStatus, Context, ContextFlags, Device, DevicePtr, Event, EventFlags, ExternalMemory,
    ExternalSemaphore, ExternalSemaphoreKind, Function, Graph, GraphExec, Host, HostAllocFlags, HostRegisterFlags,
    Launch, MemOp, Module, PointerExtent, PointerInfo, PriorityRange, Result, Shape, Stream, StreamFlags, Uuid,
};

/// A CUDA driver, real or modelled. The crate documentation is its contract.
pub trait Driver: Send + Sync {
    // --- the driver itself ---

    /// The name of the implementation: `cuda` or `soft`.
    fn backend(&self) -> &'static str;
    /// The CUDA version the driver speaks, as `1000 * major + 10 * minor`.
    fn version(&self) -> Result<i32>;
    /// The host's time and threads. All code above the seam uses these and no clock of its own.
    fn host(&self) -> &dyn Host;

    // --- devices ---

    /// The number of devices.
    fn device_count(&self) -> Result<i32>;
    /// The marketing name of a device.
    fn device_name(&self, device: Device) -> Result<String>;
    /// A device's UUID.
    fn device_uuid(&self, device: Device) -> Result<Uuid>;
    /// One attribute of a device.
    fn device_attribute(&self, attribute: Attribute, device: Device) -> Result<i32>;
    /// Memory of the device in bytes.
    fn device_total_memory(&self, device: Device) -> Result<u64>;
    /// Whether `device` can reach the memory of `peer`.
    fn device_can_access_peer(&self, device: Device, peer: Device) -> Result<bool>;

    // --- contexts ---

    /// Retains the primary context, making it if need be. Pair with a release.
    fn primary_context_retain(&self, device: Device) -> Result<Context>;
    /// Releases the primary context.
    fn primary_context_release(&self, device: Device) -> Result<()>;
    /// Makes a context of one's own. It becomes current, as `cuCtxCreate` has it.
    fn context_create(&self, device: Device) -> Result<Context>;
    /// Destroys a context of one's own.
    fn context_destroy(&self, context: Context) -> Result<()>;
    /// The calling thread's current context.
    fn context_current(&self) -> Result<Option<Context>>;
    /// Makes a context current on the calling thread, or none.
    fn context_set_current(&self, context: Option<Context>) -> Result<()>;
    /// The device of the current context.
    fn context_device(&self) -> Result<Device>;
    /// The flags of the current context.
    fn context_flags(&self) -> Result<ContextFlags>;
    /// Waits for all work of the current context.
    fn context_synchronize(&self) -> Result<()>;
    /// The stream priorities of the current context.
    fn priority_range(&self) -> Result<PriorityRange>;
    /// Lets the current context reach the memory of `peer`.
    fn enable_peer_access(&self, peer: Context) -> Result<()>;

    // --- streams ---

    /// Makes a stream. CUDA's priorities: lower is more urgent, out of range is clamped.
    fn stream_create(&self, flags: StreamFlags, priority: i32) -> Result<Stream>;
    /// Destroys a stream; work already in it still completes.
    fn stream_destroy(&self, stream: Stream) -> Result<()>;
    /// `true` when everything in the stream has completed.
    fn stream_query(&self, stream: Stream) -> Result<bool>;
    /// Waits for everything in the stream.
    fn stream_synchronize(&self, stream: Stream) -> Result<()>;
    /// The stream's priority, as clamped.
    fn stream_priority(&self, stream: Stream) -> Result<i32>;
    /// The stream's flags.
    fn stream_flags(&self, stream: Stream) -> Result<StreamFlags>;
    /// The stream's context.
    fn stream_context(&self, stream: Stream) -> Result<Context>;
    /// Later work in the stream waits for the work that the event captured; there is no wait if the event was never
    /// recorded.
    fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()>;
    /// Begins to capture the stream into a graph.
    fn stream_begin_capture(&self, stream: Stream, mode: CaptureMode) -> Result<()>;
    /// Ends the capture.
    fn stream_end_capture(&self, stream: Stream) -> Result<Graph>;
    /// Whether the stream captures.
    fn stream_capture_status(&self, stream: Stream) -> Result<CaptureStatus>;
    /// Sets how far captures of other threads restrict calls on the calling thread. Returns the mode before.
    fn exchange_capture_mode(&self, mode: CaptureMode) -> Result<CaptureMode>;
    /// Destroys a captured graph.
    fn graph_destroy(&self, graph: Graph) -> Result<()>;
    /// Makes a captured graph ready to be launched any number of times. The graph may be destroyed afterwards.
    fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec>;
    /// Launches a graph as one operation of the stream: its nodes run in their own order, after all earlier work of the
    /// stream and before all later work. Launches of one graph follow each other, in any streams.
    ///
    /// # Safety
    /// The ranges and the kernels of all captured operations are valid as at their capture, until the launch has
    /// completed.
    unsafe fn graph_launch(&self, graph: GraphExec, stream: Stream) -> Result<()>;
    /// Destroys a graph that can be launched. A launch under way still completes.
    fn graph_exec_destroy(&self, graph: GraphExec) -> Result<()>;

    // --- events ---

    /// Makes an event.
    fn event_create(&self, flags: EventFlags) -> Result<Event>;
    /// Destroys an event. A pending record or wait of it still completes.
    fn event_destroy(&self, event: Event) -> Result<()>;
    /// Makes the event stand for all work that is in the stream now.
    fn event_record(&self, event: Event, stream: Stream) -> Result<()>;
    /// `true` when the work of the last record has completed, or when the event was never recorded.
    fn event_query(&self, event: Event) -> Result<bool>;
    /// Waits for the work of the last record.
    fn event_synchronize(&self, event: Event) -> Result<()>;
    /// Milliseconds from one recorded event to another.
    fn event_elapsed_ms(&self, start: Event, end: Event) -> Result<f32>;

    // --- memory ---

    /// Allocates device memory in the current context.
    fn mem_alloc(&self, bytes: u64) -> Result<DevicePtr>;
    /// Frees device memory. Waits for the device, as the driver does.
    fn mem_free(&self, pointer: DevicePtr) -> Result<()>;
    /// Allocates device memory for work that comes later in the stream, or after it. Does not wait for the device.
    fn mem_alloc_async(&self, bytes: u64, stream: Stream) -> Result<DevicePtr>;
    /// Frees device memory when the stream comes to this place. Does not wait for the device.
    fn mem_free_async(&self, pointer: DevicePtr, stream: Stream) -> Result<()>;
    /// Free and total bytes of the current context's device.
    fn mem_info(&self) -> Result<(u64, u64)>;
    /// Allocates pinned host memory.
    fn host_alloc(&self, bytes: u64, flags: HostAllocFlags) -> Result<*mut u8>;
    /// Frees pinned host memory.
    ///
    /// # Safety
    /// `pointer` came from [`Driver::host_alloc`] and nothing on the host refers to it any more.
    unsafe fn host_free(&self, pointer: *mut u8) -> Result<()>;
    /// Pins existing memory.
    ///
    /// # Safety
    /// The range is mapped and stays so until it is unregistered.
    unsafe fn host_register(&self, pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> Result<()>;
    /// Undoes a registration.
    fn host_unregister(&self, pointer: *mut u8) -> Result<()>;
    /// The address at which the device sees mapped host memory.
    fn host_device_pointer(&self, pointer: *mut u8) -> Result<DevicePtr>;
    /// The kind and the owner of the memory at an address. Unpinned host memory is no error but
    /// [`crate::MemoryKind::Pageable`].
    fn pointer_info(&self, address: u64) -> Result<PointerInfo>;
    /// As [`Driver::pointer_info`], but only the kind and the device pointer need be filled in: for copies in a
    /// hurry.
    fn pointer_kind(&self, address: u64) -> Result<PointerInfo> {
        self.pointer_info(address)
    }
    /// The same, and the bytes from the address to the end of its allocation; where pieces are mapped side by side
    /// (`cuMemMap`), to the end of the piece. There are none if the driver knows no allocation there, or cannot tell.
    /// Device memory of no context has a device pointer here only if kernels of the current one may read and write it.
    fn pointer_extent(&self, address: u64) -> Result<PointerExtent>;
    /// The bytes alone.
    fn pointer_bytes_left(&self, address: u64) -> Result<u64> {
        self.pointer_extent(address).map(|extent| extent.bytes)
    }

    // --- copies ---

    /// `cuMemcpyHtoD_v2`: synchronous.
    ///
    /// # Safety
    /// `source` is readable for `bytes`.
    unsafe fn copy_htod(&self, target: DevicePtr, source: *const u8, bytes: u64) -> Result<()>;
    /// `cuMemcpyDtoH_v2`: synchronous.
    ///
    /// # Safety
    /// `target` is writable for `bytes`.
    unsafe fn copy_dtoh(&self, target: *mut u8, source: DevicePtr, bytes: u64) -> Result<()>;
    /// `cuMemcpyHtoDAsync_v2`.
    ///
    /// # Safety
    /// `source` is readable for `bytes`, and if it is pinned it stays so, unchanged, until the copy has completed.
    unsafe fn copy_htod_async(&self, target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> Result<()>;
    /// `cuMemcpyDtoHAsync_v2`.
    ///
    /// # Safety
    /// `target` is writable for `bytes`, and if it is pinned it stays so, untouched, until the copy has completed.
    unsafe fn copy_dtoh_async(&self, target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()>;
    /// `cuMemcpyDtoDAsync_v2`.
    ///
    /// # Safety
    /// Both ranges stay allocated until the copy has completed.
    unsafe fn copy_dtod_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()>;
    /// `cuMemcpyAsync`: the kind follows from the addresses.
    ///
    /// # Safety
    /// As for the copy of that kind.
    unsafe fn copy_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()>;
    /// `cuMemcpyPeerAsync`.
    ///
    /// # Safety
    /// Both ranges stay allocated until the copy has completed.
    unsafe fn copy_peer_async(
        &self,
        target: DevicePtr,
        target_context: Context,
        source: DevicePtr,
        source_context: Context,
        bytes: u64,
        stream: Stream,
    ) -> Result<()>;
    /// `cuMemcpy2DAsync_v2` for one slice, else `cuMemcpy3DAsync_v2`. Slices that are no whole number of rows apart are
    /// refused (`INVALID_VALUE`), because that call cannot express them.
    ///
    /// # Safety
    /// As for the 1D copy of the same kind, for every row.
    unsafe fn copy_shape_async(&self, shape: &Shape, stream: Stream) -> Result<()>;
    /// `cuMemsetD8Async`. The driver checks the range, so a set past its allocation is an error and no danger.
    fn memset_d8_async(&self, target: DevicePtr, value: u8, bytes: u64, stream: Stream) -> Result<()>;
    /// `cuMemsetD32Async`: `count` words of 32 bits.
    fn memset_d32_async(&self, target: DevicePtr, value: u32, count: u64, stream: Stream) -> Result<()>;
    /// `cuMemsetD2D8Async`.
    fn memset_2d_d8_async(
        &self,
        target: DevicePtr,
        pitch_bytes: u64,
        value: u8,
        width_bytes: u64,
        height: u64,
        stream: Stream,
    ) -> Result<()>;

    // --- stream memory operations ---

    /// One wait or write.
    fn mem_op(&self, stream: Stream, op: MemOp) -> Result<()>;
    /// Several, in order, in one call (`cuStreamBatchMemOp_v2`).
    fn mem_op_batch(&self, stream: Stream, ops: &[MemOp]) -> Result<()>;

    // --- memory and semaphores of other APIs ---

    /// Imports memory that another API, such as Vulkan or OpenGL, has exported as an opaque descriptor: `bytes` as it
    /// was allocated, `is_dedicated` if that API says so. The driver takes the descriptor, a refused one too.
    fn external_memory_import(&self, descriptor: OwnedFd, bytes: u64, is_dedicated: bool) -> Result<ExternalMemory>;
    /// The address of a part of imported memory. It is freed by [`Driver::mem_free`], before the import is destroyed.
    fn external_memory_map(&self, memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> Result<DevicePtr>;
    /// Ends an import of memory. The other API keeps its own.
    fn external_memory_destroy(&self, memory: ExternalMemory) -> Result<()>;
    /// Imports a semaphore that another API has exported as an opaque descriptor. The driver takes the descriptor, a
    /// refused one too.
    fn external_semaphore_import(&self, descriptor: OwnedFd, kind: ExternalSemaphoreKind) -> Result<ExternalSemaphore>;
    /// Signals the semaphore when the stream comes to this place: a timeline with `value`, which is 0 for others.
    fn external_semaphore_signal(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()>;
    /// Later work in the stream waits for a signal, of a timeline for one of at least `value`.
    fn external_semaphore_wait(&self, semaphore: ExternalSemaphore, value: u64, stream: Stream) -> Result<()>;
    /// Ends an import of a semaphore. Its waits and signals have completed.
    fn external_semaphore_destroy(&self, semaphore: ExternalSemaphore) -> Result<()>;

    // --- modules and kernels ---

    /// Loads PTX text or a cubin into the current context.
    fn module_load(&self, image: &[u8]) -> Result<Module>;
    /// Unloads a module.
    fn module_unload(&self, module: Module) -> Result<()>;
    /// Finds a kernel.
    fn module_function(&self, module: Module, name: &str) -> Result<Function>;
    /// The address and the bytes of a global variable of a module. The memory is the module's.
    fn module_global(&self, module: Module, name: &str) -> Result<(DevicePtr, u64)>;
    /// The bytes of each parameter that a kernel declares.
    fn function_parameters(&self, function: Function) -> Result<Vec<u64>>;
    /// Launches a kernel.
    ///
    /// # Safety
    /// There are as many parameters as the kernel declares, each as large as declared. The kernel uses the addresses
    /// among them soundly.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()>;
}

/// Runs `body` beside captures of other threads: calls that would otherwise be prohibited, and would spoil a capture,
/// are permitted on this thread meanwhile. A library's own calls need this, because it does not know whether the
/// application is capturing.
pub fn beside_captures<T>(driver: &dyn Driver, body: impl FnOnce() -> T) -> T {
    let before = driver.exchange_capture_mode(CaptureMode::Relaxed);
    let result = body();
    if let Ok(before) = before {
        // A driver that accepted the first mode accepts the former one.
        let _ = driver.exchange_capture_mode(before);
    }
    result
}
