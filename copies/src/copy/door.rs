//! How a copy reaches the driver where it goes natively.

use hal::Result;

/// What a caller that stands between an application and the driver knows and wants. The default is a copy of our own.
#[derive(Clone, Copy, Default)]
pub struct Door<'a> {
    /// Makes the copy as the application asked for it; called at most once. `None`: the layer calls the driver itself.
    pub native: Option<&'a dyn Fn() -> Result<()>>,
    /// The copy has completed when the call returns, whichever way it goes.
    pub blocking: bool,
    /// No stream is being captured; saves asking the driver.
    pub no_captures: bool,
}
