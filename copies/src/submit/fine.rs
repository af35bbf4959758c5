//! A program's call of many small copies to the device, as batches of the copy service: one launch takes thousands of
//! them. The driver spends 2 to 5 us on each, and so moves 2 to 7 GB/s; a launch moves 6 to 37 (`reports/batches`). To
//! the host the driver is fast enough by itself.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use hal::{DevicePtr, Result};
use priority::{Direction, Priority};

use crate::cargo::{Cargo, INLINE_BYTES_MAX};
use crate::decide::Plan;
use crate::handle::CopyHandle;
use crate::inner::Inner;
use crate::native::Native;
use crate::request::{Request, sum_of_bytes};
use crate::service::batch::Batch;
use crate::service::batches::Batches;
use crate::service::entry::{Entry, PIECE_BYTES, SERVED_BYTES_MAX};
use crate::service::places::{Places, Way};
use crate::state::StreamState;
use crate::submit::asked::{Asked, Placed};
use crate::submit::served::{as_one, submit_batch};

/// The driver puts the bytes of such copies into its commands. It has an engine copy larger ones, which is as fast.
const AVERAGE_BYTES_MAX: u64 = INLINE_BYTES_MAX;

/// Fewer copies take the driver no longer than a guarded launch.
const COPIES_MIN: usize = 32;

/// A launch has so many copies at most. The copy engine takes a launch over that cannot begin, by one call for each
/// copy, and a stream has room for a thousand calls that cannot be carried out yet.
const COPIES_A_LAUNCH: usize = 900;

/// The pieces of such a launch, and the launches of which the device may read the pieces at once.
const PIECES_MAX: usize = COPIES_A_LAUNCH * (SERVED_BYTES_MAX / PIECE_BYTES) as usize;
const LAUNCHES_MAX: usize = 12;

/// Loads the kernel, and makes memory for the pieces, where programs that know nothing of the layer make such calls.
/// Later a load could wait for the program's work.
pub(crate) fn prepare(inner: &Inner) {
    if inner.guard.is_none() {
        return;
    }
    match inner.make_calls() {
        Ok(Some(calls)) => inner.at_home(|| calls.batches.provide(LAUNCHES_MAX, PIECES_MAX)),
        Ok(None) => {}
        Err(error) => log::warn!("batches of small copies go to the driver: {error}"),
    }
}

/// Submits such a call. `None` if its copies go as those of any other call do.
///
/// # Safety
/// As for [`super::submit`], for each; `native` makes all of them and nothing else.
pub(super) unsafe fn submit(
    stream: &Arc<StreamState>,
    requests: &[Request],
    native: &Native<'_>,
) -> Option<Result<CopyHandle>> {
    let inner = &*stream.inner;
    if !is_fine(requests) || native.is_blocking() || inner.is_of_parent() {
        return None;
    }
    let calls = inner.calls()?;
    let (batches, replaced) = (&calls.batches, inner.records.counters.guard_rescues.get());
    let is_paused = calls.are_paused(replaced, inner.driver.host().now());
    if is_paused || !goes_by_kernel(stream, requests, native) || !is_idle(inner, stream) {
        return None;
    }
    let first = batches.spare(PIECES_MAX)?;
    let Some(entries) = entries(inner, requests) else {
        batches.give(first);
        return None;
    };
    let call = Call { stream, batches, priority: requests[0].priority, native };
    // SAFETY: passed on to the caller.
    Some(unsafe { call.launch_all(first, &entries) })
}

/// Whether it is many small copies, as far as their number and sizes tell.
fn is_fine(requests: &[Request]) -> bool {
    let (copies, bytes) = (requests.len(), sum_of_bytes(requests));
    copies >= COPIES_MIN && (1..=AVERAGE_BYTES_MAX * copies as u64).contains(&bytes)
}

/// Whether the copies go by kernel as a batch, and meet none that are less urgent. A kernel may wait for a
/// multiprocessor, and the driver's commands need none.
fn goes_by_kernel(stream: &Arc<StreamState>, requests: &[Request], native: &Native<'_>) -> bool {
    let (direction, priority) = (Direction::HostToDevice, requests[0].priority);
    let whole = Request { priority, ..as_one(direction, sum_of_bytes(requests)) };
    let asked = Asked::new(stream, Cargo::One(&whole), Some(native));
    Placed::of_batch(asked, direction, Some(DevicePtr::NULL)).plan().0 == Plan::Kernel { raises: false }
}

/// Whether no earlier work of the stream is pending. A launch behind such work could not be taken over before that has
/// completed, and calls of other threads would wait for it.
fn is_idle(inner: &Inner, stream: &StreamState) -> bool {
    hal::beside_captures(&*inner.driver, || inner.driver.stream_query(stream.stream)) == Ok(true)
}

/// The copies with their ways. `None` if a kernel cannot make all of them, or one goes another way than to the device.
fn entries(inner: &Inner, requests: &[Request]) -> Option<Vec<(Entry, Way)>> {
    let (driver, home, mut places) = (&*inner.driver, &inner.home, Places::default());
    let entry =
        |request| places.entry(driver, home, request).filter(|(_, way)| way.direction == Direction::HostToDevice);
    requests.iter().filter(|request| request.bytes() > 0).map(entry).collect()
}

/// A call whose copies share launches.
struct Call<'a> {
    stream: &'a Arc<StreamState>,
    batches: &'a Batches,
    priority: Option<Priority>,
    native: &'a Native<'a>,
}

impl Call<'_> {
    /// # Safety
    /// As for [`submit`].
    unsafe fn launch_all(&self, first: Batch, entries: &[(Entry, Way)]) -> Result<CopyHandle> {
        let (mut spare, mut last) = (Some(first), None);
        // The program's call makes all copies, so it stands for a launch only if that has all of them.
        let native = (entries.len() <= COPIES_A_LAUNCH).then_some(self.native);
        for some in entries.chunks(COPIES_A_LAUNCH) {
            let spare = spare.take().or_else(|| self.batches.spare(PIECES_MAX));
            // Without memory for their pieces the driver makes them one by one.
            let mut batch = spare.unwrap_or_else(Batch::without_table);
            some.iter().for_each(|(entry, way)| batch.add(*entry, way.target_shift, way.source_shift));
            let whole = Request { priority: self.priority, ..as_one(Direction::HostToDevice, batch.bytes()) };
            // SAFETY: passed on to the caller.
            last = Some(unsafe { submit_batch(self.stream, self.batches, batch, &whole, native)? });
        }
        Ok(last.expect("a fine call has bytes"))
    }
}
