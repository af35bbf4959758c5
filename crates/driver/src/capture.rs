//! The capture of streams, and graphs.
#![allow(unsafe_code)] // as `cuda.rs`, whose comment holds the reasons

use abi::types::*;
use hal::{CaptureMode, CaptureStatus, Graph, GraphExec, Result, Stream};

use crate::functions::Functions;
use crate::handle::pointer;
use crate::out::{out, out_handle};

pub fn begin(functions: &Functions, stream: Stream, mode: CaptureMode) -> Result<()> {
    // SAFETY: a handle by value.
    unsafe { functions.cuStreamBeginCapture_v2(pointer(stream.0), number_of(mode)) }
}

pub fn end(functions: &Functions, stream: Stream) -> Result<Graph> {
    // SAFETY: an out parameter and a handle by value.
    out_handle(|value| unsafe { functions.cuStreamEndCapture(pointer(stream.0), value) }).map(Graph)
}

pub fn destroy(functions: &Functions, graph: Graph) -> Result<()> {
    // SAFETY: a handle by value.
    unsafe { functions.cuGraphDestroy(pointer(graph.0)) }
}

pub fn instantiate(functions: &Functions, graph: Graph) -> Result<GraphExec> {
    // SAFETY: an out parameter and a handle by value; no flags.
    out_handle(|value| unsafe { functions.cuGraphInstantiateWithFlags(value, pointer(graph.0), 0) }).map(GraphExec)
}

pub fn destroy_exec(functions: &Functions, graph: GraphExec) -> Result<()> {
    // SAFETY: a handle by value.
    unsafe { functions.cuGraphExecDestroy(pointer(graph.0)) }
}

/// The driver's number of a capture mode.
fn number_of(mode: CaptureMode) -> CUstreamCaptureMode {
    match mode {
        CaptureMode::Global => CU_STREAM_CAPTURE_MODE_GLOBAL,
        CaptureMode::ThreadLocal => CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CaptureMode::Relaxed => CU_STREAM_CAPTURE_MODE_RELAXED,
    }
}

pub fn status(functions: &Functions, stream: Stream) -> Result<CaptureStatus> {
    // SAFETY: an out parameter and a handle by value.
    let status = out(0, |value| unsafe { functions.cuStreamIsCapturing(pointer(stream.0), value) })?;
    Ok(match status {
        CU_STREAM_CAPTURE_STATUS_NONE => CaptureStatus::None,
        CU_STREAM_CAPTURE_STATUS_ACTIVE => CaptureStatus::Active,
        _ => CaptureStatus::Invalidated,
    })
}

/// Sets the thread's mode, and returns its earlier mode.
pub fn exchange_mode(functions: &Functions, mode: CaptureMode) -> Result<CaptureMode> {
    let mut exchanged = number_of(mode);
    // SAFETY: the call reads and writes the live local that it is given.
    unsafe { functions.cuThreadExchangeStreamCaptureMode(&mut exchanged)? };
    Ok(match exchanged {
        CU_STREAM_CAPTURE_MODE_GLOBAL => CaptureMode::Global,
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => CaptureMode::ThreadLocal,
        _ => CaptureMode::Relaxed,
    })
}
