//! Contexts. The seam knows the current context; this file keeps the stack below it, per thread.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::cell::RefCell;

use abi::Flavour;
use abi::types::*;
use hal::{Code, Context, ContextFlags, Device, Driver};
use softgpu::SoftGpu;

use crate::answer::{Answer, Out, Refusal, require};
use crate::soft::{gpu, number, pointer};

thread_local! {
    /// The contexts beneath the current one, the topmost last.
    static BENEATH: RefCell<Vec<Context>> = const { RefCell::new(Vec::new()) };
}

/// The contexts below the current one on the calling thread; none on a thread that is ending.
fn beneath<T: Default>(body: impl FnOnce(&mut Vec<Context>) -> T) -> T {
    BENEATH.try_with(|contexts| body(&mut contexts.borrow_mut())).unwrap_or_default()
}

/// Makes `context` current. The former current context lies below it then.
fn push(gpu: &SoftGpu, context: Context) -> Answer {
    let before = gpu.context_current()?;
    gpu.context_set_current(Some(context))?;
    beneath(|contexts| contexts.extend(before));
    Ok(())
}

/// Makes the context below current. A context that another thread has destroyed meanwhile is skipped.
fn pop(gpu: &SoftGpu) -> Answer {
    while let Some(context) = beneath(Vec::pop) {
        if gpu.context_set_current(Some(context)).is_ok() {
            return Ok(());
        }
    }
    Ok(gpu.context_set_current(None)?)
}

/// Runs `body` with `context` current: the null handle means the one that is current already.
fn within<T>(gpu: &SoftGpu, context: CUcontext, body: impl FnOnce() -> hal::Result<T>) -> Answer<T> {
    if context.is_null() {
        return Ok(body()?);
    }
    let before = gpu.context_current()?;
    gpu.context_set_current(Some(Context(number(context))))?;
    let outcome = body();
    gpu.context_set_current(before)?;
    Ok(outcome?)
}

pub unsafe fn cuDevicePrimaryCtxRetain(_: Flavour, pctx: *mut CUcontext, dev: CUdevice) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pctx) }?;
    out.set(pointer(gpu.primary_context_retain(Device(dev))?.0));
    Ok(())
}

pub unsafe fn cuDevicePrimaryCtxRelease_v2(_: Flavour, dev: CUdevice) -> Answer {
    Ok(gpu()?.primary_context_release(Device(dev))?)
}

/// The flags are always 0, because this library does not act on them.
pub unsafe fn cuDevicePrimaryCtxGetState(_: Flavour, dev: CUdevice, flags: *mut c_uint, active: *mut c_int) -> Answer {
    let gpu = gpu()?;
    require((0..gpu.device_count()?).contains(&dev), Code::INVALID_DEVICE)?;
    // SAFETY: the caller's promise for these outputs.
    let (out_flags, out_active) = unsafe { (Out::new(flags)?, Out::new(active)?) };
    out_flags.set(0);
    out_active.set(c_int::from(gpu.primary_context_is_active(Device(dev))));
    Ok(())
}

/// The scheduling flags change how a real host waits; here they are kept and change nothing.
pub unsafe fn cuCtxCreate_v2(_: Flavour, pctx: *mut CUcontext, flags: c_uint, dev: CUdevice) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pctx) }?;
    require(flags & !CU_CTX_FLAGS_MASK == 0, Code::INVALID_VALUE)?;
    require(flags & CU_CTX_SYNC_MEMOPS == 0, Code::NOT_SUPPORTED)?;
    let before = gpu.context_current()?;
    let context = gpu.context_create_with(Device(dev), ContextFlags(flags))?;
    beneath(|contexts| contexts.extend(before));
    out.set(pointer(context.0));
    Ok(())
}

pub unsafe fn cuCtxCreate_v4(
    flavour: Flavour,
    pctx: *mut CUcontext,
    ctx_create_params: *mut CUctxCreateParams,
    flags: c_uint,
    dev: CUdevice,
) -> Answer {
    gpu()?;
    require(ctx_create_params.is_null(), Code::NOT_SUPPORTED)?;
    // SAFETY: the same promise.
    unsafe { cuCtxCreate_v2(flavour, pctx, flags, dev) }
}

pub unsafe fn cuCtxDestroy_v2(_: Flavour, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    let context = Context(number(ctx));
    let was_current = gpu.context_current()? == Some(context);
    gpu.context_destroy(context)?;
    beneath(|contexts| contexts.retain(|other| *other != context));
    if was_current { pop(gpu) } else { Ok(()) }
}

/// Primary contexts are reset and keep their references. The flags of each device stay, as they are always 0.
pub unsafe fn cuDevicePrimaryCtxReset_v2(_: Flavour, dev: CUdevice) -> Answer {
    Ok(gpu()?.primary_context_reset(Device(dev))?)
}

pub unsafe fn cuCtxAttach(_: Flavour, pctx: *mut CUcontext, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pctx) }?;
    require(flags == 0, Code::INVALID_VALUE)?;
    out.set(pointer(gpu.context_attach()?.0));
    Ok(())
}

/// As [`cuCtxDestroy_v2`], after the last use.
pub unsafe fn cuCtxDetach(_: Flavour, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    let context = Context(number(ctx));
    gpu.context_detach(context)?;
    if gpu.context_current()?.is_some() {
        return Ok(());
    }
    beneath(|contexts| contexts.retain(|other| *other != context));
    pop(gpu)
}

pub unsafe fn cuCtxPushCurrent_v2(_: Flavour, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    require(!ctx.is_null(), Code::INVALID_VALUE)?;
    push(gpu, Context(number(ctx)))
}

pub unsafe fn cuCtxPopCurrent_v2(_: Flavour, pctx: *mut CUcontext) -> Answer {
    let gpu = gpu()?;
    let popped = gpu.context_current()?.ok_or(Refusal(Code::INVALID_CONTEXT))?;
    pop(gpu)?;
    if !pctx.is_null() {
        // SAFETY: the caller's promise for this output.
        unsafe { Out::new(pctx) }?.set(pointer(popped.0));
    }
    Ok(())
}

/// Null removes the top of the stack, as the manual says.
pub unsafe fn cuCtxSetCurrent(_: Flavour, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    if ctx.is_null() {
        return pop(gpu);
    }
    Ok(gpu.context_set_current(Some(Context(number(ctx))))?)
}

pub unsafe fn cuCtxGetCurrent(_: Flavour, pctx: *mut CUcontext) -> Answer {
    let current = gpu()?.context_current()?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(pctx) }?.set(pointer(current.map_or(0, |context| context.0)));
    Ok(())
}

pub unsafe fn cuCtxGetDevice(flavour: Flavour, device: *mut CUdevice) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuCtxGetDevice_v2(flavour, device, std::ptr::null_mut()) }
}

pub unsafe fn cuCtxGetDevice_v2(_: Flavour, device: *mut CUdevice, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    let found = within(gpu, ctx, || gpu.context_device())?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(device) }?.set(found.0);
    Ok(())
}

pub unsafe fn cuCtxGetFlags(_: Flavour, flags: *mut c_uint) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(flags) }?;
    out.set(gpu.context_flags()?.0);
    Ok(())
}

pub unsafe fn cuCtxSynchronize(flavour: Flavour) -> Answer {
    // SAFETY: null means the current context.
    unsafe { cuCtxSynchronize_v2(flavour, std::ptr::null_mut()) }
}

pub unsafe fn cuCtxSynchronize_v2(_: Flavour, ctx: CUcontext) -> Answer {
    let gpu = gpu()?;
    within(gpu, ctx, || gpu.context_synchronize())
}

pub unsafe fn cuCtxGetId(_: Flavour, ctx: CUcontext, ctx_id: *mut c_ulonglong) -> Answer {
    let gpu = gpu()?;
    let id = within(gpu, ctx, || gpu.context_id())?;
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(ctx_id) }?.set(id);
    Ok(())
}

/// Either output may be null.
pub unsafe fn cuCtxGetStreamPriorityRange(
    _: Flavour,
    least_priority: *mut c_int,
    greatest_priority: *mut c_int,
) -> Answer {
    let range = gpu()?.priority_range()?;
    for (place, value) in [(least_priority, range.least), (greatest_priority, range.greatest)] {
        if !place.is_null() {
            // SAFETY: the caller's promise for this output.
            unsafe { Out::new(place) }?.set(value);
        }
    }
    Ok(())
}

pub unsafe fn cuCtxEnablePeerAccess(_: Flavour, peer_context: CUcontext, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    require(flags == 0, Code::INVALID_VALUE)?;
    Ok(gpu.enable_peer_access(Context(number(peer_context)))?)
}
