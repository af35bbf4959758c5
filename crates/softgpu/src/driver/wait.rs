//! Calls that wait for the device.

use hal::{Event, Result, Stream};

use crate::gpu::SoftGpu;
use crate::host::Await;
use crate::submit::SYNCHRONIZE;

pub(super) fn for_context(gpu: &SoftGpu) -> Result<()> {
    gpu.call("cuCtxSynchronize", |turn| {
        let caller = turn.caller(gpu.process);
        let context = turn.model().current(caller)?;
        turn.model().refuse_in_capturing(context)?;
        gpu.block(turn, Await::Idle(context))
    })
}

pub(super) fn for_stream(gpu: &SoftGpu, stream: Stream) -> Result<()> {
    gpu.call("cuStreamSynchronize", |turn| {
        let caller = turn.caller(gpu.process);
        let key = turn.model().stream(caller, stream)?;
        turn.model().refuse_on_capturing(key)?;
        turn.model().refuse_while_capturing(caller)?;
        if let Some(op) = turn.model().last_to_wait_for(caller, key) {
            gpu.block(turn, Await::Op(op))?;
        } else {
            gpu.pay(turn, SYNCHRONIZE);
        }
        Ok(())
    })
}

pub(super) fn for_event(gpu: &SoftGpu, event: Event) -> Result<()> {
    gpu.call("cuEventSynchronize", |turn| {
        let caller = turn.caller(gpu.process);
        let event = turn.model().event(caller, event)?;
        turn.model().event_query(caller, event)?;
        if let Some(op) = turn.model().event_op(event) {
            turn.model().event_awaited(event);
            gpu.block(turn, Await::Op(op))?;
        } else {
            gpu.pay(turn, SYNCHRONIZE);
        }
        Ok(())
    })
}
