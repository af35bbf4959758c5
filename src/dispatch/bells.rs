//! The bells of the dispatcher's threads.

use threads::Bell;

/// The bells of the dispatcher's threads.
pub(crate) struct Bells {
    pub completion: Bell,
    /// One for each worker.
    pub workers: Vec<Bell>,
}
