//! Submits a batch of the copy service (`service/`), or of a program's call, as one copy of all its bytes.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::cell::Cell;
use std::sync::Arc;

use hal::{DevicePtr, MemoryKind, Result};
use priority::Direction;

use crate::cargo::Cargo;
use crate::handle::CopyHandle;
use crate::native::Native;
use crate::placement::Placement;
use crate::request::Request;
use crate::service::batch::Batch;
use crate::service::batches::Batches;
use crate::service::served::Served;
use crate::state::StreamState;
use crate::submit::asked::{Asked, Placed};
use crate::submit::finish::finish;

/// Submits a batch, which `whole` describes as one copy. If it goes natively, that call makes it, or one call for each
/// of its copies. Its memory goes back to `batches`, for a later batch when no launch reads it any more.
///
/// # Safety
/// As for [`super::submit`], for each of its copies; `native` makes all of them and nothing else.
pub(crate) unsafe fn submit_batch(
    stream: &Arc<StreamState>,
    batches: &Batches,
    batch: Batch,
    whole: &Request,
    native: Option<&Native<'_>>,
) -> Result<CopyHandle> {
    let (batch, was_launched) = (Arc::new(batch), Cell::new(false));
    let kernel = batches.kernel().filter(|_| batch.pieces().is_some());
    let served = kernel.map(|kernel| Served { batch: &batch, kernel, was_launched: &was_launched });
    // SAFETY: passed on to the caller.
    let one_by_one = || unsafe { batch.make_natively(&*stream.inner.driver, stream.stream) };
    let call = || one_by_one().map_or_else(|error| error.code().get(), |()| 0);
    let each = Native::asynchronous(&call);
    // SAFETY: passed on to the caller.
    let submitted = unsafe { submit_as_one(stream, &batch, served, whole, native.unwrap_or(&each)) };
    let fence = submitted.as_ref().ok().and_then(|handle| handle.fence);
    batches.keep(batch, was_launched.get(), fence);
    submitted
}

/// # Safety
/// As for [`submit_batch`].
unsafe fn submit_as_one(
    stream: &Arc<StreamState>,
    batch: &Batch,
    served: Option<Served<'_>>,
    whole: &Request,
    native: &Native<'_>,
) -> Result<CopyHandle> {
    let inner = &stream.inner;
    inner.records.standing.check()?;
    let priority = whole.priority.unwrap_or(stream.priority);
    let direction = whole.direction.unwrap_or(Direction::HostToDevice);
    inner.check(priority, "overtake CopyQueue::flush")?;
    if !stream.is_settled(direction, priority) {
        stream.announce(direction, priority);
    }
    let began = stream.began();
    let asked = Asked::new(stream, Cargo::One(whole), Some(native));
    let pieces = batch.pieces().map(|(address, _)| address).filter(|_| served.is_some());
    let mut placed = Placed { served, ..Placed::of_batch(asked, direction, pieces) };
    // SAFETY: passed on to the caller.
    let went = unsafe { placed.submit() };
    finish(stream, went, (priority, Some(direction), batch.bytes()), began)
}

impl<'a> Placed<'a> {
    /// The copies of a batch as one, where no allocation is asked for. Its kernel finds the `pieces` at that address.
    pub(super) fn of_batch(asked: Asked<'a>, direction: Direction, pieces: Option<DevicePtr>) -> Placed<'a> {
        let mut placed = Placed::new(asked);
        let kind = Some(MemoryKind::Pinned);
        (placed.known.is_served, placed.known.is_within) = (true, Some(true));
        placed.known.placement = Some(Placement { direction, kind, seen_by_device: pieces });
        placed
    }
}

/// The copies of a batch as one. Neither address is used: the batch has those of its copies.
pub(crate) fn as_one(direction: Direction, bytes: u64) -> Request {
    match direction {
        Direction::DeviceToHost => Request::dtoh(std::ptr::null_mut(), DevicePtr::NULL, bytes),
        _ => Request::htod(DevicePtr::NULL, std::ptr::null(), bytes),
    }
}
