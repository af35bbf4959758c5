//! A driver in which a chosen call fails on purpose.
#![allow(unsafe_code)] // the copies are passed on, with the caller's own promise

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hal::{
    Attribute, CaptureMode, CaptureStatus, Code, Context, Device, DevicePtr, Driver, Event, EventFlags, Function,
    Graph, Host, HostAllocFlags, HostRegisterFlags, Launch, MemOp, Module, PointerInfo, PriorityRange, Result, Shape,
    Stream, StreamFlags, Uuid,
};

/// Queries that are counted.
const QUERIES_MAX: u64 = 20;

/// The detail of the injected error.
pub const INJECTED: &str = "failed on purpose";

/// A driver that counts calls, and fails one of them.
pub struct Faulty {
    inner: Arc<dyn Driver>,
    calls: AtomicU64,
    fails: AtomicU64,
    queries: AtomicU64,
    code: Code,
    failed: Mutex<Option<&'static str>>,
    refused: Mutex<&'static [&'static str]>,
}

impl Faulty {
    /// A driver in which no call fails yet. Later failures have this code.
    pub fn new(inner: &Arc<dyn Driver>, code: Code) -> Arc<Faulty> {
        let none = || AtomicU64::new(0);
        let (calls, fails, queries) = (none(), none(), none());
        Arc::new(Faulty {
            inner: Arc::clone(inner),
            calls,
            fails,
            queries,
            code,
            failed: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// Fails the `nth` call from now on; 0 fails none.
    pub fn fail(&self, nth: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.fails.store(nth, Ordering::SeqCst);
    }

    /// Fails every call of these names from now on.
    pub fn refuse(&self, names: &'static [&'static str]) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The number of calls since then.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The call that failed, if one did.
    pub fn failed(&self) -> Option<&'static str> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, name: &'static str) -> Result<()> {
        if self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
            return Err(self.code.at(name).because(INJECTED));
        }
        // A polling thread makes as many calls as the wait lasts: only the first of them are counted.
        if name == "stream_query" && self.queries.fetch_add(1, Ordering::SeqCst) >= QUERIES_MAX {
            return Ok(());
        }
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call != self.fails.load(Ordering::SeqCst) {
            return Ok(());
        }
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        Err(self.code.at(name).because(INJECTED))
    }
}

macro_rules! pass_on {
    (safe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            self.enter(stringify!($name))?;
            self.inner.$name($($argument),*)
        })+
    };
    (unsafe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(unsafe fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            self.enter(stringify!($name))?;
            // SAFETY: the inner driver makes the same demands as this one.
            unsafe { self.inner.$name($($argument),*) }
        })+
    };
}

impl Driver for Faulty {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn version(&self) -> Result<i32> {
        self.inner.version()
    }

    fn host(&self) -> &dyn Host {
        self.inner.host()
    }

    pass_on! { safe:
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
        context_current() -> Option<Context>;
        context_set_current(context: Option<Context>) -> ();
        context_device() -> Device;
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
        stream_wait_event(stream: Stream, event: Event) -> ();
        stream_begin_capture(stream: Stream, mode: CaptureMode) -> ();
        stream_end_capture(stream: Stream) -> Graph;
        stream_capture_status(stream: Stream) -> CaptureStatus;
        exchange_capture_mode(mode: CaptureMode) -> CaptureMode;
        graph_destroy(graph: Graph) -> ();
        event_create(flags: EventFlags) -> Event;
        event_destroy(event: Event) -> ();
        event_record(event: Event, stream: Stream) -> ();
        event_query(event: Event) -> bool;
        event_synchronize(event: Event) -> ();
        event_elapsed_ms(start: Event, end: Event) -> f32;
        mem_alloc(bytes: u64) -> DevicePtr;
        mem_free(pointer: DevicePtr) -> ();
        mem_alloc_async(bytes: u64, stream: Stream) -> DevicePtr;
        mem_free_async(pointer: DevicePtr, stream: Stream) -> ();
        mem_info() -> (u64, u64);
        host_alloc(bytes: u64, flags: HostAllocFlags) -> *mut u8;
        host_unregister(pointer: *mut u8) -> ();
        host_device_pointer(pointer: *mut u8) -> DevicePtr;
        pointer_info(address: u64) -> PointerInfo;
        pointer_bytes_left(address: u64) -> u64;
        memset_d8_async(target: DevicePtr, value: u8, bytes: u64, stream: Stream) -> ();
        memset_d32_async(target: DevicePtr, value: u32, count: u64, stream: Stream) -> ();
        memset_2d_d8_async(
            target: DevicePtr, pitch_bytes: u64, value: u8, width_bytes: u64, height: u64, stream: Stream
        ) -> ();
        mem_op(stream: Stream, op: MemOp) -> ();
        mem_op_batch(stream: Stream, ops: &[MemOp]) -> ();
        module_load(image: &[u8]) -> Module;
        module_unload(module: Module) -> ();
        module_function(module: Module, name: &str) -> Function;
        module_global(module: Module, name: &str) -> (DevicePtr, u64);
        function_parameters(function: Function) -> Vec<u64>;
    }

    pass_on! { unsafe:
        host_free(pointer: *mut u8) -> ();
        host_register(pointer: *mut u8, bytes: u64, flags: HostRegisterFlags) -> ();
        copy_htod(target: DevicePtr, source: *const u8, bytes: u64) -> ();
        copy_dtoh(target: *mut u8, source: DevicePtr, bytes: u64) -> ();
        copy_htod_async(target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> ();
        copy_dtoh_async(target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> ();
        copy_dtod_async(target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> ();
        copy_async(target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> ();
        copy_peer_async(
            target: DevicePtr, target_context: Context, source: DevicePtr, source_context: Context, bytes: u64,
            stream: Stream
        ) -> ();
        copy_shape_async(shape: &Shape, stream: Stream) -> ();
        launch(launch: &Launch<'_>) -> ();
    }
}
