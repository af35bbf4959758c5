//! What a guarded launch copies: by its kernel, by the copy engine, or by a kernel without a guard.
#![allow(unsafe_code)] // copies and launches are unsafe; the caller's promise is passed on

use std::ops::Range;
use std::sync::Arc;

use channels::{Shape, copy_shape};
use hal::{Driver, Result, Stream};
use priority::Direction;

use crate::kernel::{CopyKernel, Descriptor, GUARDED_DESCRIPTORS, INLINE_DESCRIPTORS, Terms};
use crate::service::batch::Batch;
use crate::service::kernel::ServiceKernel;

/// The bytes of a launch.
#[derive(Clone)]
pub(crate) enum Load {
    /// Copies by the copy kernel.
    Shapes {
        /// With the driver's addresses.
        shapes: Vec<Shape>,
        /// The same for the kernel, with the device's addresses; as many as one launch takes.
        descriptors: Vec<Descriptor>,
    },
    /// A batch of the copy service, with its kernel.
    Batch(Arc<Batch>, Arc<ServiceKernel>),
}

impl Load {
    /// Whether it reads or writes this memory. Each side of a copy lies in one allocation.
    pub(super) fn touches(&self, memory: &Range<u64>) -> bool {
        let lies_there = |shape: &Shape| [shape.target, shape.source].iter().any(|side| memory.contains(&side.address));
        match self {
            Load::Shapes { shapes, .. } => shapes.iter().any(lies_there),
            Load::Batch(batch, _) => batch.touches(memory),
        }
    }

    /// Launches its kernel. One launch with a guard takes all of it.
    ///
    /// # Safety
    /// The ranges stay valid until the launch has completed, the device sees them at the addresses that its kernel
    /// gets, and the words of the handshake live as long.
    pub(super) unsafe fn launch(&self, copy: &CopyKernel, terms: Terms) -> Result<()> {
        let most = if terms.handshake.is_some() { GUARDED_DESCRIPTORS } else { INLINE_DESCRIPTORS };
        // SAFETY: passed on to the caller, in both arms.
        unsafe {
            match self {
                Load::Shapes { descriptors, .. } => {
                    descriptors.chunks(most).try_for_each(|some| copy.launch(some, terms))
                }
                Load::Batch(batch, kernel) => kernel.launch(batch, terms),
            }
        }
    }

    /// Has the copy engine make it.
    ///
    /// # Safety
    /// The ranges stay valid until the copies have completed.
    pub(super) unsafe fn copy_by_engine(
        &self,
        driver: &dyn Driver,
        direction: Direction,
        stream: Stream,
    ) -> Result<()> {
        match self {
            Load::Shapes { shapes, .. } => {
                // SAFETY: passed on to the caller.
                shapes.iter().try_for_each(|shape| unsafe { copy_shape(driver, direction, shape, stream) })
            }
            // SAFETY: passed on to the caller.
            Load::Batch(batch, _) => unsafe { batch.make_natively(driver, stream) },
        }
    }
}
