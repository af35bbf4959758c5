//! The context in which all objects of the layer are made: a device's primary one, retained, or one that the caller
//! lends.

use std::sync::Arc;

use hal::{CaptureMode, Code, Context, Device, Driver, Result};

/// The context. Objects that were made in it are dropped first, so this is the last field of its owner.
pub(crate) struct Primary {
    driver: Arc<dyn Driver>,
    /// The device whose context is retained.
    retained: Option<Device>,
    context: Context,
    /// The context that was current on the thread that drops the layer, and becomes current again.
    restore: Option<Option<Context>>,
    /// That thread's capture mode, which may forbid calls.
    capture_mode: Option<CaptureMode>,
}

impl Primary {
    /// Retains the context and makes it current on the calling thread.
    pub(crate) fn retain(driver: &Arc<dyn Driver>, device: Device) -> Result<Primary> {
        let context = driver.primary_context_retain(device)?;
        let primary = Primary::of(driver, context, Some(device));
        driver.context_set_current(Some(context))?;
        Ok(primary)
    }

    /// Borrows the calling thread's current context from its owner.
    pub(crate) fn borrow(driver: &Arc<dyn Driver>) -> Result<Primary> {
        let none = || Code::INVALID_CONTEXT.at("overtake attach").because("the calling thread has no current context");
        Ok(Primary::of(driver, driver.context_current()?.ok_or_else(none)?, None))
    }

    fn of(driver: &Arc<dyn Driver>, context: Context, retained: Option<Device>) -> Primary {
        Primary { driver: Arc::clone(driver), retained, context, restore: None, capture_mode: None }
    }

    pub(crate) fn context(&self) -> Context {
        self.context
    }

    /// Runs `body` with the context current.
    pub(crate) fn visit<T>(&self, body: impl FnOnce() -> T) -> T {
        let before = self.driver.context_current().unwrap_or(None);
        if before == Some(self.context) {
            return body();
        }
        // An error means that the context is gone; `body` will get it too.
        let _ = self.driver.context_set_current(Some(self.context));
        let result = body();
        let _ = self.driver.context_set_current(before);
        result
    }

    /// Makes the context current on the calling thread until this is dropped, and lifts the prohibitions of captures.
    /// The thread that drops the last handle may have another context current, or none, and other work under way.
    pub(crate) fn begin_to_go(&mut self) {
        self.capture_mode = self.driver.exchange_capture_mode(CaptureMode::Relaxed).ok();
        let before = self.driver.context_current().unwrap_or(None);
        if before != Some(self.context) && self.driver.context_set_current(Some(self.context)).is_ok() {
            self.restore = Some(before);
        }
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // An error means that the context, or the driver itself, ended before the layer.
        if let Some(before) = self.restore {
            let _ = self.driver.context_set_current(before);
        }
        if let Some(device) = self.retained {
            let _ = self.driver.primary_context_release(device);
        }
        if let Some(mode) = self.capture_mode {
            let _ = self.driver.exchange_capture_mode(mode);
        }
    }
}
