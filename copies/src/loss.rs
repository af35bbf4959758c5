//! Copies that the layer had accepted and that neither a kernel nor the copy engine has made.
//!
//! The driver has refused again and again what would have made them. Whoever waits for such a copy is let go, because
//! nobody may wait for ever, and then its bytes are missing. So the context fails from then on, as it does natively
//! after a copy or a kernel that has failed on the device: with the same code, for good, in every call that goes
//! through the layer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hal::{Code, Error, Result};

/// Whether there is a loss in any context of the process.
static ANYWHERE: AtomicBool = AtomicBool::new(false);

/// Whether a copy has been lost in any context: one load, for calls that have nothing else to ask.
#[must_use]
pub fn is_any_copy_lost() -> bool {
    ANYWHERE.load(Ordering::Relaxed)
}

/// The copies that one context has lost.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    error: OnceLock<Error>,
    copies: AtomicU64,
}

impl Loss {
    /// So many copies cannot be made, because the driver says so.
    pub(crate) fn note(&self, copies: u64, why: &Error) {
        self.copies.fetch_add(copies, Ordering::Relaxed);
        let text = format!("a bulk copy that had been accepted could not be made: {why}; its bytes are missing");
        if self.error.set(Code::LAUNCH_FAILED.at("overtake copy").because(text)).is_ok() {
            log::error!(
                "{copies} bulk copies that had been accepted could not be made: {why}. Their bytes are missing, so \
                 every copy and synchronisation of this context that goes through overtake fails from now on, as after \
                 a kernel that has crashed. Let the program end, and run it with OVERTAKE=off if it happens again."
            );
        }
        ANYWHERE.store(true, Ordering::SeqCst);
    }

    /// How many there are.
    pub(crate) fn copies(&self) -> u64 {
        self.copies.load(Ordering::Relaxed)
    }

    /// What every call has to say from the first one on.
    pub(crate) fn check(&self) -> Result<()> {
        self.error.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}
