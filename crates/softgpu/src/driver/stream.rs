//! Streams: a context has room for so many.

use hal::{MemOp, Result, Stream, StreamFlags, Width};

use crate::gpu::SoftGpu;
use crate::host::Await;
use crate::submit::MANAGE;

pub(super) fn create(gpu: &SoftGpu, flags: StreamFlags, priority: i32) -> Result<Stream> {
    gpu.call("cuStreamCreateWithPriority", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        if let Some(context) = turn.model().full_of_streams(caller)? {
            gpu.block_alone(turn, Await::Idle(context))?;
            turn.model().make_room_for_streams(context);
        }
        let caller = turn.caller(gpu.process);
        turn.model().stream_create(caller, flags, priority)
    })
}

/// The driver's call of an operation alone.
pub(super) fn name_of(op: MemOp) -> &'static str {
    match op {
        MemOp::Wait { width: Width::W32, .. } => "cuStreamWaitValue32_v2",
        MemOp::Wait { width: Width::W64, .. } => "cuStreamWaitValue64_v2",
        MemOp::Write { width: Width::W32, .. } => "cuStreamWriteValue32_v2",
        MemOp::Write { width: Width::W64, .. } => "cuStreamWriteValue64_v2",
    }
}
