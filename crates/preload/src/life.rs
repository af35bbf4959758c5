//! Hooks other than copies: the start of the driver, creation and end of contexts and streams, calls that may block,
//! captures. The real call is always made with the program's arguments, and the program gets its result.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::ffi::{c_char, c_void};

use abi::types::*;
use hal::{Context, Device, DevicePtr, Event, HostRegisterFlags, Stream};

use crate::hooks::Hook;
use crate::{ahead, catch, launch, state};

/// Asks the layer, if it is ready.
#[inline]
pub fn ask<T>(layer: impl FnOnce() -> T) -> Option<T> {
    if !state::ready() {
        return None;
    }
    let answer = catch::ask(layer);
    if answer.is_none() {
        state::broken();
    }
    answer
}

/// Tells the layer, if it is ready.
#[inline]
pub fn tell(layer: impl FnOnce()) {
    ask(layer);
}

/// Makes the real call, then tells the layer if it succeeded.
#[inline]
fn after(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    hook.intercepted();
    let result = native();
    if result == CUresult::CUDA_SUCCESS {
        tell(layer);
    }
    result
}

/// Tells the layer, then makes the real call, which ends the thing that the layer hears of.
#[inline]
fn before(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    hook.intercepted();
    tell(layer);
    native()
}

fn context(handle: CUcontext) -> Context {
    Context(handle.addr() as u64)
}

fn event(handle: CUevent) -> Event {
    Event(handle.addr() as u64)
}

pub unsafe fn cuInit(hook: Hook, native: impl Fn() -> CUresult, _flags: c_uint) -> CUresult {
    hook.intercepted();
    let result = native();
    if result == CUresult::CUDA_SUCCESS {
        state::initialised();
    }
    result
}

macro_rules! handlers {
    ($($when:ident $($symbol:ident)* ($hook:ident $(, $argument:ident: $type:ty)*) $layer:block)*) => {
        $(handlers! { @ $when [$($symbol)*] $hook ($($argument: $type),*) $layer })*
    };
    (@ $when:ident [$($symbol:ident)*] $hook:ident $arguments:tt $layer:block) => {
        $(handlers! { # $when $symbol $hook $arguments $layer })*
    };
    (# $when:ident $symbol:ident $hook:ident ($($argument:ident: $type:ty),*) $layer:block) => {
        #[allow(clippy::too_many_arguments)] // the prototypes are the driver's
        pub unsafe fn $symbol($hook: Hook, native: impl Fn() -> CUresult, $($argument: $type),*) -> CUresult {
            $when($hook, native, || $layer)
        }
    };
}

handlers! {
    after cuCtxCreate_v2 (hook, context: *mut CUcontext, _flags: c_uint, _device: CUdevice) { made(context) }
    after cuCtxCreate_v4 (
        hook, context: *mut CUcontext, _parameters: *mut CUctxCreateParams, _flags: c_uint, _device: CUdevice
    ) { made(context) }
    ends cuCtxDestroy cuCtxDestroy_v2 (hook, ctx: CUcontext) { shim::context_going(context(ctx)) }
    after cuCtxAttach (hook, attached: *mut CUcontext, _flags: c_uint) {
        // SAFETY: the driver has just written the context there, or refused a null pointer.
        shim::context_attached(context(unsafe { *attached }));
    }
    ends cuCtxDetach (hook, ctx: CUcontext) { shim::context_detaching(context(ctx)) }
    ends cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 (hook, device: CUdevice) {
        shim::primary_releasing(Device(device))
    }
    ends cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 (hook, device: CUdevice) {
        shim::primary_resetting(Device(device))
    }
    before cuEventDestroy cuEventDestroy_v2 (hook, ended: CUevent) { shim::event_going(event(ended)) }
    before cuStreamDestroy cuStreamDestroy_v2 (hook, stream: CUstream) { stream_going(hook.stream(stream)) }
    blocks cuStreamCreate (hook, _made: *mut CUstream, _flags: c_uint) {}
    blocks cuStreamCreateWithPriority (hook, _made: *mut CUstream, _flags: c_uint, _priority: c_int) {}
    began cuStreamBeginCapture (hook, stream: CUstream) { hook.stream(stream) }
    began cuStreamBeginCapture_v2 (hook, stream: CUstream, _mode: CUstreamCaptureMode) { hook.stream(stream) }
    began cuStreamBeginCaptureToCig (hook, stream: CUstream, _params: *mut c_void) { hook.stream(stream) }
    began cuStreamBeginCaptureToGraph (
        hook, stream: CUstream, _graph: CUgraph, _nodes: *const CUgraphNode, _edges: *const CUgraphEdgeData,
        _count: usize, _mode: CUstreamCaptureMode
    ) { hook.stream(stream) }
    began cuStreamBeginRecaptureToGraph (
        hook, stream: CUstream, _mode: CUstreamCaptureMode, _graph: CUgraph, _callback: *mut c_void,
        _user: *mut c_void
    ) { hook.stream(stream) }
    waits cuCtxSynchronize (hook) { shim::context_awaited() }
    tells cuCtxSynchronize_v2 (hook, _context: CUcontext) {}
    tells cuStreamQuery (hook, _stream: CUstream) {}
    waits cuStreamSynchronize (hook, stream: CUstream) { shim::stream_awaited(hook.stream(stream)) }
    tells cuEventQuery (hook, _event: CUevent) {}
    waits cuEventSynchronize (hook, event: CUevent) { shim::event_awaited(self::event(event)) }
    follows cuStreamWaitEvent (hook, stream: CUstream, _event: CUevent, _flags: c_uint) {
        shim::stream_works(hook.stream(stream))
    }
    records cuEventRecord (hook, event: CUevent, stream: CUstream) {
        shim::event_recorded(self::event(event), hook.stream(stream))
    }
    records cuEventRecordWithFlags (hook, event: CUevent, stream: CUstream, _flags: c_uint) {
        shim::event_recorded(self::event(event), hook.stream(stream))
    }
    blocks cuMemAlloc_v2 (hook, _pointer: *mut CUdeviceptr, _bytes: usize) {}
    blocks cuMemAllocPitch_v2 (
        hook, _pointer: *mut CUdeviceptr, _pitch: *mut usize, _width: usize, _height: usize, _element: c_uint
    ) {}
    blocks cuMemAllocManaged (hook, _pointer: *mut CUdeviceptr, _bytes: usize, _flags: c_uint) {}
    frees cuMemFree_v2 (hook, _pointer: CUdeviceptr) {}
    frees_later cuMemFreeAsync (hook, pointer: CUdeviceptr, _stream: CUstream) { shim::freeing(DevicePtr(pointer)) }
    frees cuMemFreeHost (hook, _start: *mut c_void) {}
    brings cuModuleLoad (hook, module: *mut CUmodule, _name: *const c_char) { module_here(module) }
    brings cuModuleLoadData cuModuleLoadFatBinary (hook, module: *mut CUmodule, _image: *const c_void) {
        module_here(module)
    }
    brings cuModuleLoadDataEx (
        hook, module: *mut CUmodule, _image: *const c_void, _count: c_uint, _options: *mut CUjit_option,
        _values: *mut *mut c_void
    ) { module_here(module) }
    blocks cuModuleGetFunction (hook, _function: *mut CUfunction, _module: CUmodule, _name: *const c_char) {}
    blocks cuModuleGetGlobal_v2 (
        hook, _pointer: *mut CUdeviceptr, _bytes: *mut usize, _module: CUmodule, _name: *const c_char
    ) {}
    unloads cuModuleUnload (hook, _module: CUmodule) {}
    blocks cuArrayDestroy (hook, _array: *mut c_void) {}
    blocks cuMipmappedArrayDestroy (hook, _array: *mut c_void) {}
    blocks cuMemUnmap (hook, _start: CUdeviceptr, _bytes: usize) {}
    blocks cuMemRelease (hook, _memory: c_ulonglong) {}
    blocks cuMemAddressFree (hook, _start: CUdeviceptr, _bytes: usize) {}
    blocks cuMemPoolDestroy (hook, _pool: CUmemoryPool) {}
    blocks cuMemPoolTrimTo (hook, _pool: CUmemoryPool, _bytes: usize) {}
    blocks cuDeviceGraphMemTrim (hook, _device: CUdevice) {}
    blocks cuIpcCloseMemHandle (hook, _start: CUdeviceptr) {}
    blocks cuMulticastUnbind (hook, _object: c_ulonglong, _device: CUdevice, _offset: usize, _bytes: usize) {}
    blocks cuGraphicsUnregisterResource (hook, _resource: *mut c_void) {}
    blocks cuDestroyExternalMemory (hook, _memory: CUexternalMemory) {}
    blocks cuGreenCtxDestroy (hook, _green: *mut c_void) {}
    blocks cuCtxDisablePeerAccess (hook, _peer: CUcontext) {}
    brings cuLibraryLoadData (
        hook, library: *mut *mut c_void, _code: *const c_void, _jit: *mut CUjit_option, _jit_values: *mut *mut c_void,
        _jit_count: c_uint, _options: *mut c_uint, _values: *mut *mut c_void, _count: c_uint
    ) { library_here(library) }
    brings cuLibraryLoadFromFile (
        hook, library: *mut *mut c_void, _name: *const c_char, _jit: *mut CUjit_option, _jit_values: *mut *mut c_void,
        _jit_count: c_uint, _options: *mut c_uint, _values: *mut *mut c_void, _count: c_uint
    ) { library_here(library) }
    unloads cuLibraryUnload (hook, _library: *mut c_void) {}
    blocks cuLibraryGetModule (hook, _module: *mut CUmodule, _library: *mut c_void) {}
    blocks cuKernelGetFunction (hook, _function: *mut CUfunction, _kernel: *mut c_void) {}
    blocks cuFuncLoad (hook, _function: CUfunction) {}
    blocks cuGraphInstantiateWithFlags (hook, _exec: *mut CUgraphExec, _graph: CUgraph, _flags: c_ulonglong) {}
    blocks cuGraphInstantiateWithParams (hook, _exec: *mut CUgraphExec, _graph: CUgraph, _parameters: *mut c_void) {}
    blocks cuGraphUpload (hook, _exec: CUgraphExec, _stream: CUstream) {}
    pinned cuMemAllocHost_v2 (hook, _pointer: *mut *mut c_void, _bytes: usize) {}
    pinned cuMemHostAlloc (hook, _pointer: *mut *mut c_void, _bytes: usize, _flags: c_uint) {}
    pinned cuMemHostRegister cuMemHostRegister_v2 (hook, start: *mut c_void, bytes: usize, flags: c_uint) {
        shim::registered(start.addr() as u64, bytes as u64, HostRegisterFlags(flags))
    }
}

/// Default streams never end.
fn stream_going(stream: Stream) {
    if !stream.is_default() {
        shim::stream_going(stream);
    }
}

fn module_here(module: *mut CUmodule) {
    // SAFETY: the driver has just written the module there, or refused a null pointer.
    ahead::module(unsafe { *module });
}

fn library_here(library: *mut *mut c_void) {
    // SAFETY: as for a module.
    ahead::library(unsafe { *library });
}

fn made(context_made: *mut CUcontext) {
    // SAFETY: the driver has just written the context there, or refused a null pointer.
    shim::context_made(context(unsafe { *context_made }));
}

/// Pinning succeeds only after the driver's start, so it stands for a `cuInit` that no hook has seen.
fn pinned(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    let result = blocks(hook, native, || ());
    if result == CUresult::CUDA_SUCCESS {
        state::initialised();
        tell(layer);
    }
    result
}

/// A call in which the driver may wait for the device and keep other threads out. The device must not wait for a copy
/// of the layer meanwhile, so the layer takes none over during the call.
pub fn blocks(hook: Hook, native: impl Fn() -> CUresult, _layer: impl FnOnce()) -> CUresult {
    announced(hook, native, shim::about_to_block)
}

/// As [`blocks`], for a call that brings kernels, which the layer may load ahead of their first launch.
fn brings(hook: Hook, native: impl Fn() -> CUresult, kernels: impl FnOnce()) -> CUresult {
    hook.intercepted();
    let stood_back = ask(shim::about_to_block);
    let result = native();
    if result == CUresult::CUDA_SUCCESS {
        tell(kernels);
    }
    tell(|| drop(stood_back));
    result
}

/// As [`blocks`], for a first launch.
pub fn loads(hook: Hook, native: impl Fn() -> CUresult) -> CUresult {
    announced(hook, native, shim::about_to_load)
}

fn announced(hook: Hook, native: impl Fn() -> CUresult, announce: fn() -> shim::Blocked) -> CUresult {
    hook.intercepted();
    let stood_back = ask(announce);
    let result = native();
    tell(|| drop(stood_back));
    result
}

/// A call that reports the progress of the device. It must not report success if the layer has lost a copy.
fn tells(hook: Hook, native: impl Fn() -> CUresult, _layer: impl FnOnce()) -> CUresult {
    hook.intercepted();
    unless_lost(native())
}

/// As [`tells`], for a call that waits: the layer hears of it before.
fn waits(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce() -> Option<shim::Waiting>) -> CUresult {
    let waiting = ask(layer).flatten();
    let result = tells(hook, native, || ());
    if let Some(waiting) = waiting.filter(|_| result == CUresult::CUDA_SUCCESS) {
        tell(|| waiting.ended());
    }
    result
}

/// A call that orders a stream behind another one. Only a drop-in that watches hears of it.
fn follows(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    hook.passed_on();
    if shim::watches() {
        tell(layer);
    }
    native()
}

/// As [`before`], for a call that most rules take no notice of.
fn records(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    hook.passed_on();
    tell(layer);
    native()
}

/// As [`blocks`], for a call that waits for the device and so reports its progress.
fn frees(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    unless_lost(blocks(hook, native, layer))
}

/// The layer hears of the end before the real call, so that it takes no new registration for this one.
pub unsafe fn cuMemHostUnregister(hook: Hook, native: impl Fn() -> CUresult, start: *mut c_void) -> CUresult {
    let start = start.addr() as u64;
    let ended = ask(|| shim::unregistering(start)).flatten();
    let result = blocks(hook, native, || ());
    if let Some(ended) = ended.filter(|_| result != CUresult::CUDA_SUCCESS) {
        tell(|| shim::goes_on(start, ended));
    }
    unless_lost(result)
}

/// As [`before`], for a call that fails in a context that has failed.
fn frees_later(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    unless_lost(before(hook, native, layer))
}

/// The result of a call, or the error of a context that has lost a copy: the driver knows of none.
fn unless_lost(result: CUresult) -> CUresult {
    if result != CUresult::CUDA_SUCCESS {
        return result;
    }
    ask(shim::lost).flatten().map_or(result, CUresult)
}

/// As [`before`], for a call that may end a context, and its kernels with it.
fn ends(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    launch::forget();
    before(hook, native, layer)
}

/// As [`blocks`], for a call that unloads kernels: their handles may come to mean other kernels.
fn unloads(hook: Hook, native: impl Fn() -> CUresult, layer: impl FnOnce()) -> CUresult {
    let result = blocks(hook, native, layer);
    launch::forget();
    result
}

/// A capture begins. The layer hears of it before the real call, so that no copy of the capture is taken for an
/// ordinary one.
fn began(hook: Hook, native: impl Fn() -> CUresult, stream: impl FnOnce() -> Stream) -> CUresult {
    hook.intercepted();
    let stream = stream();
    tell(|| shim::capture_began(stream));
    let result = native();
    if result != CUresult::CUDA_SUCCESS {
        tell(|| shim::capture_ended(stream));
    }
    result
}

pub unsafe fn cuStreamEndCapture(
    hook: Hook,
    native: impl Fn() -> CUresult,
    stream: CUstream,
    _graph: *mut CUgraph,
) -> CUresult {
    ends_capture(hook, native, stream)
}

pub unsafe fn cuStreamEndCaptureToCig(hook: Hook, native: impl Fn() -> CUresult, stream: CUstream) -> CUresult {
    ends_capture(hook, native, stream)
}

/// A call that ends a capture. It may do so and fail: a capture that is invalid, or has not been joined, is over. The
/// driver says whether it is.
fn ends_capture(hook: Hook, native: impl Fn() -> CUresult, stream: CUstream) -> CUresult {
    hook.intercepted();
    let result = native();
    match result {
        CUresult::CUDA_SUCCESS => tell(|| shim::capture_ended(hook.stream(stream))),
        // The call has found no capture to end. The per-thread stream of another thread may have one.
        CUresult::CUDA_ERROR_ILLEGAL_STATE => {}
        _ => tell(|| shim::capture_end_refused(hook.stream(stream))),
    }
    result
}

pub unsafe fn cuDevicePrimaryCtxRetain(
    hook: Hook,
    native: impl Fn() -> CUresult,
    retained: *mut CUcontext,
    device: CUdevice,
) -> CUresult {
    after(hook, native, || {
        // SAFETY: the driver has just written the context through this pointer.
        shim::primary_retained(Device(device), context(unsafe { *retained }));
    })
}
