//! Contexts: a thread may lose its own when one ends.

use hal::{Context, ContextFlags, Device, Result, Stream};

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

pub(super) fn destroy(gpu: &SoftGpu, context: Context) -> Result<()> {
    gpu.call("cuCtxDestroy_v2", |turn| {
        let caller = gpu.pay(turn, MANAGE);
        let context = turn.model().own_context(caller, context)?;
        gpu.end_context(turn, context);
        Ok(())
    })
}

pub(super) fn device(gpu: &SoftGpu) -> Result<Device> {
    gpu.look_up("cuCtxGetDevice", LOOKUP, |model, caller| {
        let context = model.current(caller)?;
        Ok(Device(model.contexts[context].device as i32))
    })
}

pub(super) fn flags(gpu: &SoftGpu) -> Result<ContextFlags> {
    gpu.look_up("cuCtxGetFlags", LOOKUP, |model, caller| {
        let context = model.current(caller)?;
        Ok(model.contexts[context].flags)
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

impl SoftGpu {
    /// `cuCtxCreate` with flags, which tell how calls wait for the device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn context_create_with(&self, device: Device, flags: ContextFlags) -> Result<Context> {
        self.call("cuCtxCreate_v2", |turn| {
            let caller = self.pay(turn, MANAGE);
            let context = turn.model().context_create(caller, device, flags)?;
            turn.set_current(self.process, Some(context));
            Ok(Context(turn.model().contexts.handle(context, handles::CONTEXT)))
        })
    }

    /// `cuDevicePrimaryCtxReset`: ends the primary context of the device, however many references it has.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_context_reset(&self, device: Device) -> Result<()> {
        self.call("cuDevicePrimaryCtxReset_v2", |turn| {
            let caller = self.pay(turn, MANAGE);
            if let Some(context) = turn.model().primary_reset(caller, device)? {
                self.end_context(turn, context);
            }
            Ok(())
        })
    }

    /// `cuCtxGetId` of the current context: a number that no other context ever has.
    ///
    /// # Errors
    /// No context is current.
    pub fn context_id(&self) -> Result<u64> {
        self.look_up("cuCtxGetId", LOOKUP, |model, caller| Ok(model.current(caller)?.handle(handles::CONTEXT)))
    }

    /// `cuCtxAttach`: one more use of the current context, which it returns.
    ///
    /// # Errors
    /// No context is current.
    pub fn context_attach(&self) -> Result<Context> {
        self.change("cuCtxAttach", MANAGE, |model, caller| {
            let context = model.context_attach(caller)?;
            Ok(Context(model.contexts.handle(context, handles::CONTEXT)))
        })
    }

    /// `cuCtxDetach`: one use less of the current context, which ends with its last use.
    ///
    /// # Errors
    /// The context is not current, or is a primary one.
    pub fn context_detach(&self, context: Context) -> Result<()> {
        self.call("cuCtxDetach", |turn| {
            let caller = self.pay(turn, MANAGE);
            if let Some(context) = turn.model().context_detach(caller, context)? {
                self.end_context(turn, context);
            }
            Ok(())
        })
    }
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
