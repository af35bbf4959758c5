//! Contexts: a thread may lose its own when one ends.

use hal::{Context, Device, Result, Stream};

use crate::gpu::SoftGpu;
use crate::model::handles;
use crate::submit::{LOOKUP, MANAGE};

pub(super) fn release_primary(gpu: &SoftGpu, device: Device) -> Result<()> {
    gpu.call("cuDevicePrimaryCtxRelease_v2", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        if let Some(context) = turn.model().primary_release(caller, device)? {
            gpu.end_context(turn, context);
        }
        Ok(())
    })
}

pub(super) fn create(gpu: &SoftGpu, device: Device) -> Result<Context> {
    gpu.call("cuCtxCreate_v2", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        let context = turn.model().context_create(caller, device)?;
        turn.set_current(gpu.process, Some(context));
        Ok(Context(context.handle(handles::CONTEXT)))
    })
}

pub(super) fn destroy(gpu: &SoftGpu, context: Context) -> Result<()> {
    gpu.call("cuCtxDestroy_v2", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        let context = turn.model().own_context(caller, context)?;
        gpu.end_context(turn, context);
        Ok(())
    })
}

pub(super) fn set_current(gpu: &SoftGpu, context: Option<Context>) -> Result<()> {
    gpu.call("cuCtxSetCurrent", |turn| {
        let caller = gpu.pay(turn, LOOKUP);
        let context = context.map(|context| turn.model().context(caller, context)).transpose()?;
        turn.set_current(gpu.process, context);
        Ok(())
    })
}

/// Refuses a copy between contexts that are not both the caller's, and one into a stream that is being captured.
pub(super) fn refuse_strangers(gpu: &SoftGpu, contexts: [Context; 2], stream: Stream) -> Result<()> {
    gpu.look_up(
        "cuMemcpyPeerAsync",
        |_| 0,
        |model, caller| {
            for context in contexts {
                model.context(caller, context)?;
            }
            let key = model.stream(caller, stream)?;
            model.refuse_on_capturing(key)
        },
    )
}
