//! Streams.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{Code, Driver, Event, Stream, StreamFlags};

use crate::answer::{Answer, Out, refuse, require};
use crate::soft::{gpu, number, pointer, stream};

pub unsafe fn cuStreamCreate(flavour: Flavour, ph_stream: *mut CUstream, flags: c_uint) -> Answer {
    // SAFETY: the same promise.
    unsafe { cuStreamCreateWithPriority(flavour, ph_stream, flags, 0) }
}

pub unsafe fn cuStreamCreateWithPriority(
    _: Flavour,
    ph_stream: *mut CUstream,
    flags: c_uint,
    priority: c_int,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(ph_stream) }?;
    require(flags <= StreamFlags::NON_BLOCKING.0, Code::INVALID_VALUE)?;
    out.set(pointer(gpu.stream_create(StreamFlags(flags), priority)?.0));
    Ok(())
}

pub unsafe fn cuStreamDestroy_v2(_: Flavour, h_stream: CUstream) -> Answer {
    Ok(gpu()?.stream_destroy(Stream(number(h_stream)))?)
}

pub unsafe fn cuStreamQuery(flavour: Flavour, h_stream: CUstream) -> Answer {
    let done = gpu()?.stream_query(stream(flavour, h_stream))?;
    require(done, Code::NOT_READY)
}

pub unsafe fn cuStreamSynchronize(flavour: Flavour, h_stream: CUstream) -> Answer {
    Ok(gpu()?.stream_synchronize(stream(flavour, h_stream))?)
}

pub unsafe fn cuStreamGetPriority(flavour: Flavour, h_stream: CUstream, priority: *mut c_int) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(priority) }?;
    out.set(gpu.stream_priority(stream(flavour, h_stream))?);
    Ok(())
}

pub unsafe fn cuStreamGetFlags(flavour: Flavour, h_stream: CUstream, flags: *mut c_uint) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(flags) }?;
    out.set(gpu.stream_flags(stream(flavour, h_stream))?.0);
    Ok(())
}

pub unsafe fn cuStreamGetCtx(flavour: Flavour, h_stream: CUstream, pctx: *mut CUcontext) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(pctx) }?;
    out.set(pointer(gpu.stream_context(stream(flavour, h_stream))?.0));
    Ok(())
}

/// Green contexts are not modelled: that output is always null.
pub unsafe fn cuStreamGetCtx_v2(
    flavour: Flavour,
    h_stream: CUstream,
    p_ctx: *mut CUcontext,
    p_green_ctx: *mut CUgreenCtx,
) -> Answer {
    // SAFETY: the caller's promise for this output.
    let green = unsafe { Out::new(p_green_ctx) }?;
    // SAFETY: the same promise.
    unsafe { cuStreamGetCtx(flavour, h_stream, p_ctx) }?;
    green.set(std::ptr::null_mut());
    Ok(())
}

pub unsafe fn cuStreamGetDevice(flavour: Flavour, h_stream: CUstream, device: *mut CUdevice) -> Answer {
    let context = gpu()?.stream_context(stream(flavour, h_stream))?;
    // SAFETY: the same promise for the output; the context was asked for just now.
    unsafe { crate::context::cuCtxGetDevice_v2(flavour, device, pointer(context.0)) }
}

pub unsafe fn cuStreamWaitEvent(flavour: Flavour, h_stream: CUstream, h_event: CUevent, flags: c_uint) -> Answer {
    let gpu = gpu()?;
    match flags {
        CU_EVENT_WAIT_DEFAULT => {}
        CU_EVENT_WAIT_EXTERNAL => return refuse(Code::NOT_SUPPORTED),
        _ => return refuse(Code::INVALID_VALUE),
    }
    Ok(gpu.stream_wait_event(stream(flavour, h_stream), Event(number(h_event)))?)
}
