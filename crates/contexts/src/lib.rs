//! CUDA contexts: own, primary or lent, made current on a thread for as long as a guard lives.
#![deny(clippy::print_stderr, clippy::print_stdout)] // messages go through `log`
#![cfg_attr(not(test), deny(clippy::disallowed_methods))] // clippy.toml has the list, with reasons
#![forbid(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use hal::{CaptureMode, Code, Context, Device, Driver, Error, Result};

const NO_CONTEXT: &str = "the calling thread has no current context: make one current before, by \
                          cuDevicePrimaryCtxRetain and cuCtxSetCurrent, or by a first call of the CUDA runtime or of \
                          PyTorch";

/// A CUDA context, and the duty to give it back: with the last clone a context of one's own is destroyed, a primary one
/// is released, and an adopted one stays its owner's.
///
/// # Threads
/// Any thread may use it. The current context is a property of a thread, so each thread enters for itself. A guard
/// stays on its thread, guards nest, and those of one thread end in the reverse order, as scopes do.
///
/// # Validity
/// A context ends before its clones when its owner destroys it, or when a call on the device fails in such a way that
/// every later call fails too. The first error that tells this is kept. From then on [`CudaContext::enter`] returns
/// it, with the name of the call that failed and the remedy, and calls the driver no more: an address or a handle of a
/// context that is gone may by then belong to another one.
///
/// # Example
/// ```
/// # use overtake_contexts as contexts;
/// use contexts::CudaContext;
/// use hal::{Device, Driver};
/// # let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(softgpu::SoftGpu::builder().build());
///
/// let context = CudaContext::primary(&driver, Device(0))?;
/// {
///     let _outer = context.enter()?;
///     let _inner = context.enter()?; // costs one question to the driver
///     driver.stream_query(hal::Stream::DEFAULT)?;
/// }
/// assert!(!context.is_current());
/// # Ok::<(), hal::Error>(())
/// ```
#[derive(Clone)]
pub struct CudaContext {
    held: Arc<Held>,
}

struct Held {
    driver: Arc<dyn Driver>,
    context: Context,
    hold: Hold,
    end: OnceLock<End>,
}

/// The way in which the context is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Created(Device),
    Retained(Device),
    Lent,
}

/// The end of a context before its clones.
#[derive(Clone, Debug)]
struct End {
    /// Whether its handle names nothing any more.
    is_gone: bool,
    error: Error,
}

impl CudaContext {
    /// Makes a context of one's own. The calling thread's current context stays as it is.
    pub fn create(driver: &Arc<dyn Driver>, device: Device) -> Result<CudaContext> {
        let before = driver.context_current()?;
        let context = hal::beside_captures(&**driver, || driver.context_create(device))?;
        // CUDA has put it on the thread's stack, from which this takes it.
        let _ = driver.context_set_current(None);
        if driver.context_current().unwrap_or(None) != before {
            set_again(&**driver, before);
        }
        Ok(CudaContext::of(driver, context, Hold::Created(device)))
    }

    /// Retains the device's primary context, which other libraries of the process share.
    pub fn primary(driver: &Arc<dyn Driver>, device: Device) -> Result<CudaContext> {
        let context = driver.primary_context_retain(device)?;
        Ok(CudaContext::of(driver, context, Hold::Retained(device)))
    }

    /// Borrows a context. Its owner destroys it after everything that was opened in it.
    pub fn adopt(driver: &Arc<dyn Driver>, context: Context) -> Result<CudaContext> {
        let adopted = CudaContext::of(driver, context, Hold::Lent);
        adopted.validity()?;
        Ok(adopted)
    }

    /// Borrows the calling thread's current context, as [`CudaContext::adopt`] does.
    pub fn adopt_current(driver: &Arc<dyn Driver>) -> Result<CudaContext> {
        let none = || Code::INVALID_CONTEXT.at("overtake context").because(NO_CONTEXT);
        Ok(CudaContext::of(driver, driver.context_current()?.ok_or_else(none)?, Hold::Lent))
    }

    fn of(driver: &Arc<dyn Driver>, context: Context, hold: Hold) -> CudaContext {
        let driver = Arc::clone(driver);
        CudaContext { held: Arc::new(Held { driver, context, hold, end: OnceLock::new() }) }
    }

    /// The driver's handle.
    #[must_use]
    pub fn raw(&self) -> Context {
        self.held.context
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.held.driver
    }

    /// Its device.
    pub fn device(&self) -> Result<Device> {
        match self.held.hold {
            Hold::Created(device) | Hold::Retained(device) => Ok(device),
            Hold::Lent => self.call(|driver| driver.context_device()),
        }
    }

    /// Whether it is the calling thread's current context.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.held.driver.context_current().is_ok_and(|current| current == Some(self.raw()))
    }

    /// Whether it is current and has not ended: then there is nothing to enter.
    #[inline]
    #[must_use]
    pub fn is_entered(&self) -> bool {
        self.held.end.get().is_none() && self.is_current()
    }

    /// Makes it current on the calling thread until the guard goes; then the context before is current again.
    pub fn enter(&self) -> Result<Entered<'_>> {
        if let Some(end) = self.held.end.get() {
            return Err(end.error.clone());
        }
        let (driver, raw) = (&*self.held.driver, self.raw());
        // Without an answer the context before could not be brought back.
        let before = driver.context_current().map_err(|error| self.note(error))?;
        let is_current = before == Some(raw);
        if !is_current {
            driver.context_set_current(Some(raw)).map_err(|error| self.note(error))?;
        }
        Ok(Entered { driver, restore: (!is_current).then_some(before), thread: PhantomData })
    }

    /// Makes a driver call in the context, beside captures of the application. An error with which the context ended
    /// is kept.
    pub fn call<T>(&self, call: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        let entered = self.enter()?;
        let result = hal::beside_captures(entered.driver, || call(entered.driver));
        drop(entered);
        self.check(result)
    }

    /// Passes on the result of a driver call that was made in the context. If the context ended with it, the error
    /// says so and is kept.
    pub fn check<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match may_end(error.code()) {
            // A call may fail by itself with such a code. One that ended the context fails all others.
            true if self.probe().is_err_and(|after| may_end(after.code())) => self.note(error),
            _ => error,
        })
    }

    /// An error if the context has ended: it was destroyed, or its device has failed. Asks the driver.
    pub fn validity(&self) -> Result<()> {
        if let Some(end) = self.held.end.get() {
            return Err(end.error.clone());
        }
        self.probe().map_err(|error| self.note(error))
    }

    /// A call that fails once the context has ended, and has no effect.
    fn probe(&self) -> Result<()> {
        self.visit(|| self.held.driver.mem_info()).map(drop)
    }

    /// Keeps an error with which the context ended, and gives it the remedy.
    fn note(&self, error: Error) -> Error {
        if !may_end(error.code()) {
            return error;
        }
        let is_gone = matches!(
            error.code(),
            Code::INVALID_CONTEXT | Code::INVALID_HANDLE | Code::CONTEXT_IS_DESTROYED | Code::DEINITIALIZED
        );
        let text = match is_gone {
            true => {
                "the context was destroyed before all that was opened in it, and its memory, streams and kernels went \
                 with it; drop what is left, and open again in a new context. Let the context's owner destroy it last"
            }
            false => {
                "the device has failed in this context, and every later call fails too; the contents of its memory are \
                 lost. Drop all that was opened in it, find the kernel or the copy at fault, and open again in a new \
                 process"
            }
        };
        self.held.end.get_or_init(|| End { is_gone, error: error.because(text) }).error.clone()
    }

    /// Runs `body` with the context current. If the context is gone, `body` gets errors, or another context, and so it
    /// frees no memory. So it is where the driver does not tell which context to bring back.
    #[doc(hidden)] // for the copy layer
    pub fn visit<T>(&self, body: impl FnOnce() -> T) -> T {
        let driver = &*self.held.driver;
        let Ok(before) = driver.context_current() else { return body() };
        let is_entered = before != Some(self.raw()) && driver.context_set_current(Some(self.raw())).is_ok();
        let _entered = Entered { driver, restore: is_entered.then_some(before), thread: PhantomData };
        body()
    }

    /// Makes it current until all that was made in it has ended, on a thread that may have another one and other work
    /// under way.
    #[doc(hidden)] // for the copy layer
    pub fn begin_to_go(&self) -> Going {
        let driver = Arc::clone(&self.held.driver);
        let capture_mode = driver.exchange_capture_mode(CaptureMode::Relaxed).ok();
        let before = driver.context_current().unwrap_or(None);
        let is_entered = before != Some(self.raw()) && driver.context_set_current(Some(self.raw())).is_ok();
        Going { driver, restore: is_entered.then_some(before), capture_mode }
    }
}

/// Whether a call may fail with this code because its context, its device or the driver has ended.
fn may_end(code: Code) -> bool {
    // 710 to 721: assertions, exceptions of the hardware, failed launches.
    let is_exception = matches!(code.get(), 710 | 714..=721);
    is_exception
        || matches!(
            code,
            Code::DEINITIALIZED
                | Code::INVALID_CONTEXT
                | Code::INVALID_HANDLE
                | Code::CONTEXT_IS_DESTROYED
                | Code::ECC_UNCORRECTABLE
                | Code::ILLEGAL_ADDRESS
                | Code::LAUNCH_TIMEOUT
                | Code::UNKNOWN
        )
}

/// Makes a context current again, at the second attempt if the first call fails alone. If the context has been
/// destroyed since, none is.
fn set_again(driver: &dyn Driver, before: Option<Context>) {
    let set = || driver.context_set_current(before);
    if set().or_else(|_| set()).is_err() {
        let _ = driver.context_set_current(None);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_gone = self.end.get().is_some_and(|end| end.is_gone);
        // An error means that the context, or the driver itself, ended first.
        let _ = hal::beside_captures(&*self.driver, || match self.hold {
            Hold::Created(_) if !is_gone => self.driver.context_destroy(self.context),
            Hold::Retained(device) => self.driver.primary_context_release(device),
            _ => Ok(()),
        });
    }
}

impl fmt::Debug for CudaContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Held { context, hold, end, .. } = &*self.held;
        f.debug_struct("CudaContext").field("raw", context).field("hold", hold).field("end", &end.get()).finish()
    }
}

/// A context is current on the thread of this guard until it goes.
///
/// It stays on its thread:
/// ```compile_fail,E0277
/// # use overtake_copies as overtake;
/// fn is_sent<T: Send>() {}
/// is_sent::<overtake_contexts::Entered<'static>>();
/// ```
#[must_use = "the context is current until this is dropped"]
pub struct Entered<'a> {
    driver: &'a dyn Driver,
    /// The context that becomes current again.
    restore: Option<Option<Context>>,
    thread: PhantomData<*const ()>,
}

impl Entered<'_> {
    /// The driver, whose calls are made in the context.
    #[must_use]
    pub fn driver(&self) -> &dyn Driver {
        self.driver
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.restore {
            set_again(self.driver, before);
        }
    }
}

impl fmt::Debug for Entered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").field("restore", &self.restore).finish_non_exhaustive()
    }
}

/// The same while the owner of objects in the context goes. The prohibitions of captures are lifted meanwhile.
#[doc(hidden)] // for the copy layer
pub struct Going {
    driver: Arc<dyn Driver>,
    restore: Option<Option<Context>>,
    capture_mode: Option<CaptureMode>,
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(before) = self.restore {
            set_again(&*self.driver, before);
        }
        if let Some(mode) = self.capture_mode {
            // A driver that accepted the first mode accepts the former one.
            let _ = self.driver.exchange_capture_mode(mode);
        }
    }
}

#[cfg(test)]
mod tests;
