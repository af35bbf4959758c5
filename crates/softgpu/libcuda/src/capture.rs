//! Stream capture. Graphs can be made and destroyed; they cannot be launched.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::cell::Cell;

use abi::Flavour;
use abi::types::*;
use hal::{CaptureMode, CaptureStatus, Code, Driver, Graph};

use crate::answer::{Answer, Out, refuse};
use crate::soft::{gpu, number, pointer, stream};

fn capture_mode(mode: CUstreamCaptureMode) -> Answer<CaptureMode> {
    match mode {
        CU_STREAM_CAPTURE_MODE_GLOBAL => Ok(CaptureMode::Global),
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => Ok(CaptureMode::ThreadLocal),
        CU_STREAM_CAPTURE_MODE_RELAXED => Ok(CaptureMode::Relaxed),
        _ => refuse(Code::INVALID_VALUE),
    }
}

pub unsafe fn cuStreamBeginCapture_v2(flavour: Flavour, h_stream: CUstream, mode: CUstreamCaptureMode) -> Answer {
    let gpu = gpu()?;
    Ok(gpu.stream_begin_capture(stream(flavour, h_stream), capture_mode(mode)?)?)
}

/// As the driver does it, a null output ends the capture all the same and drops the graph.
pub unsafe fn cuStreamEndCapture(flavour: Flavour, h_stream: CUstream, ph_graph: *mut CUgraph) -> Answer {
    let gpu = gpu()?;
    let graph = gpu.stream_end_capture(stream(flavour, h_stream))?;
    if ph_graph.is_null() {
        return Ok(gpu.graph_destroy(graph)?);
    }
    // SAFETY: the caller's promise for this output.
    unsafe { Out::new(ph_graph) }?.set(pointer(graph.0));
    Ok(())
}

pub unsafe fn cuStreamIsCapturing(
    flavour: Flavour,
    h_stream: CUstream,
    capture_status: *mut CUstreamCaptureStatus,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(capture_status) }?;
    out.set(match gpu.stream_capture_status(stream(flavour, h_stream))? {
        CaptureStatus::None => CU_STREAM_CAPTURE_STATUS_NONE,
        CaptureStatus::Active => CU_STREAM_CAPTURE_STATUS_ACTIVE,
        CaptureStatus::Invalidated => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    });
    Ok(())
}

thread_local! {
    /// The calling thread's capture mode.
    static MODE: Cell<CUstreamCaptureMode> = const { Cell::new(CU_STREAM_CAPTURE_MODE_GLOBAL) };
}

/// The mode is kept and handed back. It lifts no prohibition, because the software GPU prohibits by stream alone.
pub unsafe fn cuThreadExchangeStreamCaptureMode(_: Flavour, mode: *mut CUstreamCaptureMode) -> Answer {
    gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(mode) }?;
    // SAFETY: not null, as `out` shows; the caller's promise that it holds a mode.
    let next = unsafe { mode.read() };
    capture_mode(next)?;
    out.set(MODE.replace(next));
    Ok(())
}

pub unsafe fn cuGraphDestroy(_: Flavour, h_graph: CUgraph) -> Answer {
    Ok(gpu()?.graph_destroy(Graph(number(h_graph)))?)
}
