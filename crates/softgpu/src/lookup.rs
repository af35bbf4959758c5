//! What the C ABI has to know and the seam does not tell.

use crate::gpu::SoftGpu;
use crate::host::Turn;

impl SoftGpu {
    /// How many parameters a kernel of the current context declares: C's launch passes no count.
    ///
    /// # Errors
    /// No context is current, or the handle names no kernel of it.
    pub fn parameter_count(&self, function: hal::Function) -> hal::Result<usize> {
        let mut turn = Turn::begin(&self.shared);
        let caller = turn.caller(self.process);
        let outcome = turn.model().function(caller, function).map(|(_, parameter_bytes)| parameter_bytes.len());
        turn.end();
        outcome.map_err(|failure| failure.at("cuLaunchKernel"))
    }
}
