//! The signatures of `hal::Driver`, for drivers that stand between another one and its caller.

/// Gives `$pass_on` the calls that such a driver passes on.
#[macro_export]
macro_rules! calls {
    ($pass_on:ident) => {
        $pass_on! { safe:
            device_count() -> i32;
            device_name(device: Device) -> String;
            device_uuid(device: Device) -> Uuid;
            device_attribute(attribute: Attribute, device: Device) -> i32;
            device_total_memory(device: Device) -> u64;
            device_can_access_peer(device: Device, peer: Device) -> bool;
            primary_context_retain(device: Device) -> Context;
            primary_context_release(device: Device) -> ();
            context_create(device: Device) -> Context;
            context_destroy(context: Context) -> ();
            context_set_current(context: Option<Context>) -> ();
            context_device() -> Device;
            context_flags() -> ContextFlags;
            context_synchronize() -> ();
            priority_range() -> PriorityRange;
            enable_peer_access(peer: Context) -> ();
            stream_create(flags: StreamFlags, priority: i32) -> Stream;
            stream_destroy(stream: Stream) -> ();
            stream_query(stream: Stream) -> bool;
            stream_synchronize(stream: Stream) -> ();
            stream_priority(stream: Stream) -> i32;
            stream_flags(stream: Stream) -> StreamFlags;
            stream_context(stream: Stream) -> Context;
            stream_begin_capture(stream: Stream, mode: CaptureMode) -> ();
            stream_end_capture(stream: Stream) -> Graph;
            exchange_capture_mode(mode: CaptureMode) -> CaptureMode;
            graph_destroy(graph: Graph) -> ();
            graph_instantiate(graph: Graph) -> GraphExec;
            graph_exec_destroy(graph: GraphExec) -> ();
            event_create(flags: EventFlags) -> Event;
            event_destroy(event: Event) -> ();
            event_synchronize(event: Event) -> ();
            event_elapsed_ms(start: Event, end: Event) -> f32;
            mem_alloc(bytes: u64) -> DevicePtr;
            mem_free(pointer: DevicePtr) -> ();
            mem_alloc_async(bytes: u64, stream: Stream) -> DevicePtr;
            mem_free_async(pointer: DevicePtr, stream: Stream) -> ();
            mem_info() -> (u64, u64);
            pointer_extent(address: u64) -> PointerExtent;
            host_alloc(bytes: u64, flags: HostAllocFlags) -> *mut u8;
            host_unregister(pointer: *mut u8) -> ();
            memset_d8_async(target: DevicePtr, value: u8, bytes: u64, stream: Stream) -> ();
            memset_d32_async(target: DevicePtr, value: u32, count: u64, stream: Stream) -> ();
            memset_2d_d8_async(
                target: DevicePtr, pitch_bytes: u64, value: u8, width_bytes: u64, height: u64, stream: Stream
            ) -> ();
            mem_op_batch(stream: Stream, ops: &[MemOp]) -> ();
            external_memory_import(descriptor: std::os::fd::OwnedFd, bytes: u64, is_dedicated: bool) -> ExternalMemory;
            external_memory_map(memory: ExternalMemory, offset_bytes: u64, bytes: u64) -> DevicePtr;
            external_memory_destroy(memory: ExternalMemory) -> ();
            external_semaphore_import(
                descriptor: std::os::fd::OwnedFd, kind: ExternalSemaphoreKind
            ) -> ExternalSemaphore;
            external_semaphore_signal(semaphore: ExternalSemaphore, value: u64, stream: Stream) -> ();
            external_semaphore_wait(semaphore: ExternalSemaphore, value: u64, stream: Stream) -> ();
            external_semaphore_destroy(semaphore: ExternalSemaphore) -> ();
            module_load(image: &[u8]) -> Module;
            module_unload(module: Module) -> ();
            module_function(module: Module, name: &str) -> Function;
            module_global(module: Module, name: &str) -> (DevicePtr, u64);
            function_parameters(function: Function) -> Vec<u64>;
        }
        $pass_on! { unsafe:
            host_free(pointer: *mut u8) -> ();
            host_register(pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> ();
            copy_htod(target: DevicePtr, source: *const u8, bytes: u64) -> ();
            copy_dtoh(target: *mut u8, source: DevicePtr, bytes: u64) -> ();
            copy_dtod_async(target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> ();
            copy_peer_async(
                target: DevicePtr, target_context: Context, source: DevicePtr, source_context: Context, bytes: u64,
                stream: Stream
            ) -> ();
            copy_shape_async(shape: &Shape, stream: Stream) -> ();
        }
    };
}

/// The same for the calls on the way of a copy or a task, which such a driver may answer itself.
#[macro_export]
macro_rules! calls_on_the_way {
    ($pass_on:ident) => {
        $pass_on! { safe:
            context_current() -> Option<Context>;
            event_query(event: Event) -> bool;
            stream_wait_event(stream: Stream, event: Event) -> ();
            stream_capture_status(stream: Stream) -> CaptureStatus;
            event_record(event: Event, stream: Stream) -> ();
            host_device_pointer(pointer: *mut u8) -> DevicePtr;
            pointer_info(address: u64) -> PointerInfo;
            mem_op(stream: Stream, op: MemOp) -> ();
        }
        $pass_on! { unsafe:
            copy_htod_async(target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> ();
            copy_dtoh_async(target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> ();
            copy_async(target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> ();
            graph_launch(graph: GraphExec, stream: Stream) -> ();
            launch(launch: &Launch<'_>) -> ();
        }
    };
}
