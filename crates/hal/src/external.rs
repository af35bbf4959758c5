//! Memory and semaphores of other APIs.

/// The kind of a semaphore that another API has exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalSemaphoreKind {
    /// It is signalled or not, and a wait takes the signal.
    Binary,
    /// It has a value, which signals raise and waits leave as it is.
    Timeline,
}
