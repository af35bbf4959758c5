//! Pinned memory of the layer: mapped, faulted in, and only then pinned, because pinning holds system locks that other
//! processes wait for.

use std::sync::Arc;

use hal::{Code, Driver, Result};
use semaphores::Pages;

use super::pages::{Access, populate};

/// Pins fresh memory in the current context.
pub(crate) fn pin(driver: &Arc<dyn Driver>, bytes: u64) -> Result<Pages> {
    Pages::new(driver, bytes, |start| match populate(start as u64, bytes, Access::Write) {
        true => Ok(()),
        false => Err(Code::OUT_OF_MEMORY.at("madvise").because("the system gave no pages for staging")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_are_addresses_is_an_error_that_names_the_call() {
        let driver: Arc<dyn Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let refused = pin(&driver, 1 << 60).map(drop).unwrap_err();
        assert_eq!((refused.call(), refused.code()), ("mmap", Code::OUT_OF_MEMORY));
    }
}
