//! A batch in flight.

use std::cell::Cell;
use std::sync::Arc;

use super::batch::Batch;
use super::kernel::ServiceKernel;

/// A batch, and the kernel for it.
#[derive(Clone, Copy)]
pub(crate) struct Served<'a> {
    pub(crate) batch: &'a Arc<Batch>,
    pub(crate) kernel: &'a Arc<ServiceKernel>,
    pub(crate) was_launched: &'a Cell<bool>,
}
