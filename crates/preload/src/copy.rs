//! One-dimensional copies between host and device, and the functions that all hooks of copies share.
#![allow(unsafe_code)] // the prototypes are the driver's
#![allow(non_snake_case)]

use std::ffi::c_void;

use abi::types::*;
use copies::copy::Request;
use hal::{DevicePtr, Stream};
use shim::{Call, Native, Passed};

use crate::hooks::Hook;
use crate::{catch, state};

/// Gives one copy to the layer if it is ready and `decode` makes a request of the arguments, and else to the driver.
///
/// # Safety
/// The ranges that `decode` returns come from the program's arguments to this entry point.
#[inline]
unsafe fn copy(hook: Hook, native: &Native<'_>, stream: Stream, decode: impl FnOnce() -> Option<Request>) -> CUresult {
    submit(hook, native, || {
        let Some(request) = decode() else {
            return leave_alone(native, stream);
        };
        let call = Call { requests: &[request], stream, caller: hook.caller, native };
        // SAFETY: the caller's promise, handed on.
        Some(unsafe { shim::copy(&call) })
    })
}

/// Has the driver make copies of which the layer makes nothing.
pub fn leave_alone(native: &Native<'_>, stream: Stream) -> Option<u32> {
    let _shared = shim::share(stream);
    shim::natively(|| native.answer());
    None
}

/// Hands a call to the layer if it is ready, and counts the call.
#[inline]
pub fn submit(hook: Hook, native: &Native<'_>, layer: impl FnOnce() -> Option<u32>) -> CUresult {
    if !state::ready() {
        hook.copy_passed_on(Passed::NotAwake);
        return CUresult(native.answer());
    }
    let outcome = catch::run(native, layer);
    if outcome.intercepted {
        hook.intercepted();
    } else {
        not_intercepted(hook, outcome.panicked);
    }
    outcome.result
}

#[cold]
fn not_intercepted(hook: Hook, panicked: bool) {
    if panicked {
        state::broken();
    }
    hook.copy_passed_on(if panicked { Passed::NotAwake } else { Passed::OtherKind });
}

/// The addresses alone say on which side of the bus each is.
fn by_address(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Option<Request> {
    (bytes > 0).then(|| Request::linear(DevicePtr(target), DevicePtr(source), bytes as u64))
}

fn to_device(target: CUdeviceptr, source: *const c_void, bytes: usize) -> Option<Request> {
    (bytes > 0).then(|| Request::htod(DevicePtr(target), source.cast(), bytes as u64))
}

fn to_host(target: *mut c_void, source: CUdeviceptr, bytes: usize) -> Option<Request> {
    (bytes > 0).then(|| Request::dtoh(target.cast(), DevicePtr(source), bytes as u64))
}

/// A copy that the program waits for, in the default stream of the entry point.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn blocking(
    hook: Hook,
    native: impl Fn() -> CUresult,
    decode: impl FnOnce() -> Option<Request>,
) -> CUresult {
    // SAFETY: the caller's promise, handed on.
    unsafe { copy(hook, &Native::blocking(&move || native().0), hook.default_stream(), decode) }
}

/// A copy in the program's stream.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn asynchronous(
    hook: Hook,
    native: impl Fn() -> CUresult,
    stream: CUstream,
    decode: impl FnOnce() -> Option<Request>,
) -> CUresult {
    // SAFETY: the caller's promise, handed on.
    unsafe { copy(hook, &Native::asynchronous(&move || native().0), hook.stream(stream), decode) }
}

pub unsafe fn cuMemcpy(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { blocking(hook, native, || by_address(target, source, bytes)) }
}

pub unsafe fn cuMemcpyAsync(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || by_address(target, source, bytes)) }
}

pub unsafe fn cuMemcpyHtoD_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { blocking(hook, native, || to_device(target, source, bytes)) }
}

pub unsafe fn cuMemcpyDtoH_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { blocking(hook, native, || to_host(target, source, bytes)) }
}

pub unsafe fn cuMemcpyHtoDAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: CUdeviceptr,
    source: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || to_device(target, source, bytes)) }
}

pub unsafe fn cuMemcpyDtoHAsync_v2(
    hook: Hook,
    native: impl Fn() -> CUresult,
    target: *mut c_void,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the program's own arguments.
    unsafe { asynchronous(hook, native, stream, || to_host(target, source, bytes)) }
}
