//! The capture of streams, and graphs.

use hal::{CaptureMode, CaptureStatus, Graph, GraphExec, Result, Stream};

use crate::gpu::SoftGpu;
use crate::submit::{CAPTURE_STATUS, LAUNCH, MANAGE};

pub(super) fn begin(gpu: &SoftGpu, stream: Stream, mode: CaptureMode) -> Result<()> {
    gpu.change("cuStreamBeginCapture_v2", MANAGE, |model, caller| {
        let key = model.stream(caller, stream)?;
        model.capture_begin(caller, key, mode)
    })
}

pub(super) fn end(gpu: &SoftGpu, stream: Stream) -> Result<Graph> {
    gpu.change("cuStreamEndCapture", MANAGE, |model, caller| {
        let key = model.stream(caller, stream)?;
        model.capture_end(caller, key)
    })
}

pub(super) fn status(gpu: &SoftGpu, stream: Stream) -> Result<CaptureStatus> {
    gpu.look_up("cuStreamIsCapturing", CAPTURE_STATUS, |model, caller| {
        let key = model.stream(caller, stream)?;
        model.capture_status_of(key)
    })
}

pub(super) fn exchange_mode(gpu: &SoftGpu, mode: CaptureMode) -> Result<CaptureMode> {
    gpu.look_up("cuThreadExchangeStreamCaptureMode", CAPTURE_STATUS, |model, caller| {
        Ok(model.exchange_capture_mode(caller, mode))
    })
}

pub(super) fn instantiate(gpu: &SoftGpu, graph: Graph) -> Result<GraphExec> {
    gpu.change("cuGraphInstantiateWithFlags", MANAGE, |model, caller| model.graph_instantiate(caller, graph))
}

/// The call costs as much as the launch of a kernel. Not measured.
pub(super) fn launch(gpu: &SoftGpu, graph: GraphExec, stream: Stream) -> Result<()> {
    gpu.submit("cuGraphLaunch", stream, LAUNCH, |model, caller, key| model.graph_launch(caller, graph, key))
}
