//! Streams: a context has room for so many.

use hal::{Result, Stream, StreamFlags};

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
