//! Stream capture, and the launch of captured graphs.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use abi::Flavour;
use abi::types::*;
use hal::{CaptureMode, CaptureStatus, Code, Driver, Graph, GraphExec};

use crate::answer::{Answer, Out, Refusal, refuse, require};
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

/// As in the driver, a null output ends the capture all the same and drops the graph.
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
    out.set(status_number(gpu.stream_capture_status(stream(flavour, h_stream))?));
    Ok(())
}

fn status_number(status: CaptureStatus) -> CUstreamCaptureStatus {
    match status {
        CaptureStatus::None => CU_STREAM_CAPTURE_STATUS_NONE,
        CaptureStatus::Active => CU_STREAM_CAPTURE_STATUS_ACTIVE,
        CaptureStatus::Invalidated => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    }
}

/// Status and number of a capture. The graph being made cannot be shown: requests for it are refused.
pub unsafe fn cuStreamGetCaptureInfo_v2(
    flavour: Flavour,
    h_stream: CUstream,
    capture_status_out: *mut CUstreamCaptureStatus,
    id_out: *mut cuuint64_t,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    num_dependencies_out: *mut usize,
) -> Answer {
    let (gpu, stream) = (gpu()?, stream(flavour, h_stream));
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(capture_status_out) }?;
    let status = gpu.stream_capture_status(stream)?;
    if status == CaptureStatus::Active {
        let plain = graph_out.is_null() && dependencies_out.is_null() && num_dependencies_out.is_null();
        require(plain, Code::NOT_SUPPORTED)?;
        let id = gpu.capture_id(stream)?.ok_or(Refusal(Code::UNKNOWN))?;
        if !id_out.is_null() {
            // SAFETY: the caller's promise for this output.
            unsafe { Out::new(id_out) }?.set(id);
        }
    }
    out.set(status_number(status));
    Ok(())
}

/// As the function above, with the data of edges, which belongs to the graph.
pub unsafe fn cuStreamGetCaptureInfo_v3(
    flavour: Flavour,
    h_stream: CUstream,
    capture_status_out: *mut CUstreamCaptureStatus,
    id_out: *mut cuuint64_t,
    graph_out: *mut CUgraph,
    dependencies_out: *mut *const CUgraphNode,
    edge_data_out: *mut *const CUgraphEdgeData,
    num_dependencies_out: *mut usize,
) -> Answer {
    // A request for edges is a request for dependencies. It is passed on as one and refused in the same cases.
    let wanted = if edge_data_out.is_null() { dependencies_out } else { edge_data_out.cast() };
    // SAFETY: the same promise; the callee looks at `wanted` for being null alone.
    unsafe {
        cuStreamGetCaptureInfo_v2(
            flavour,
            h_stream,
            capture_status_out,
            id_out,
            graph_out,
            wanted,
            num_dependencies_out,
        )
    }
}

pub unsafe fn cuThreadExchangeStreamCaptureMode(_: Flavour, mode: *mut CUstreamCaptureMode) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(mode) }?;
    // SAFETY: not null, as `out` shows; the caller's promise that it holds a mode.
    let next = capture_mode(unsafe { mode.read() })?;
    out.set(match gpu.exchange_capture_mode(next) {
        CaptureMode::Global => CU_STREAM_CAPTURE_MODE_GLOBAL,
        CaptureMode::ThreadLocal => CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CaptureMode::Relaxed => CU_STREAM_CAPTURE_MODE_RELAXED,
    });
    Ok(())
}

pub unsafe fn cuGraphDestroy(_: Flavour, h_graph: CUgraph) -> Answer {
    Ok(gpu()?.graph_destroy(Graph(number(h_graph)))?)
}

/// Allocations in graphs, and launches from the device, are not modelled. Nodes always have their streams' priorities.
const INSTANTIATE_FLAGS: c_ulonglong = 1 | 8;

pub unsafe fn cuGraphInstantiateWithFlags(
    _: Flavour,
    ph_graph_exec: *mut CUgraphExec,
    h_graph: CUgraph,
    flags: c_ulonglong,
) -> Answer {
    let gpu = gpu()?;
    // SAFETY: the caller's promise for this output.
    let out = unsafe { Out::new(ph_graph_exec) }?;
    require(flags & !INSTANTIATE_FLAGS == 0, Code::NOT_SUPPORTED)?;
    out.set(pointer(gpu.graph_instantiate(Graph(number(h_graph)))?.0));
    Ok(())
}

pub unsafe fn cuGraphLaunch(flavour: Flavour, h_graph: CUgraphExec, h_stream: CUstream) -> Answer {
    // SAFETY: the caller's promise about the memory of the captured operations.
    Ok(unsafe { gpu()?.graph_launch(GraphExec(number(h_graph)), stream(flavour, h_stream)) }?)
}

pub unsafe fn cuGraphExecDestroy(_: Flavour, h_graph_exec: CUgraphExec) -> Answer {
    Ok(gpu()?.graph_exec_destroy(GraphExec(number(h_graph_exec)))?)
}
