//! Bytes of an array on a device for external code: frozen bytes, which it reads until they are thawed (ST-05), and
//! lent bytes, which it changes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use graph::Location;
use hal::DevicePtr;
use overtake_tasks::task::Error;

use crate::array::Array;
use crate::computation::Where;
use crate::guard::Hold;
use crate::record::Record;
use crate::right::{Reads, Writes};
use crate::uses::Use;

/// Elements of an array on a device, for code that reads them by address. Computations that read them continue, and
/// those that would write them are refused. Dropping it thaws them: the external code must be done with them by then.
#[must_use = "the elements are thawed when this is dropped"]
pub struct Frozen<'a, T: Pod> {
    // It goes first: a task that is submitted then comes after the hold.
    _mark: Mark,
    hold: Hold,
    elements: usize,
    array: PhantomData<&'a Array<T>>,
}

/// The bytes are in the list of those that are frozen.
struct Mark {
    record: Arc<Record>,
    bytes: Range<u64>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let frozen = &mut hal::locks::lock(&self.record.state).frozen;
        if let Some(place) = frozen.iter().position(|bytes| *bytes == self.bytes) {
            frozen.swap_remove(place);
        }
    }
}

impl<'a, T: Pod> Use<'a, Reads<T>> {
    /// Waits until the elements are on this device, and keeps them there, unchanged, until the result is dropped.
    /// Functions of tasks must not call this.
    pub fn freeze(self, device: u8) -> Result<Frozen<'a, T>, Error> {
        let (claim, elements) = (self.claim(), self.count());
        let at = claim.record.store.place("freeze", Where::At(Location::Device(device)), &[], &[])?;
        let (record, bytes) = (Arc::clone(&claim.record), claim.bytes.clone());
        let hold = Hold::take(claim, elements, at, self.priority)?;
        hal::locks::lock(&record.state).frozen.push(bytes.clone());
        Ok(Frozen { _mark: Mark { record, bytes }, hold, elements, array: PhantomData })
    }
}

/// Elements of an array on a device, for code that changes them by their address. Tasks that are submitted later and
/// use them wait until this is dropped: the work of the code outside must be complete then.
#[must_use = "the elements are given back when this is dropped"]
pub struct Lent<'a, T: Pod> {
    hold: Hold,
    array: PhantomData<&'a Array<T>>,
}

impl<'a, T: Pod> Use<'a, Writes<T>> {
    /// Waits until no task uses the elements, and lends them to external code, on this device. Not for the functions of
    /// tasks.
    pub fn lend(self, device: u8) -> Result<Lent<'a, T>, Error> {
        let (claim, elements) = (self.claim(), self.count());
        let at = claim.record.store.place("lend", Where::At(Location::Device(device)), &[], &[])?;
        Ok(Lent { hold: Hold::take(claim, elements, at, self.priority)?, array: PhantomData })
    }
}

impl<T: Pod> Lent<'_, T> {
    /// As that of [`crate::ReadGuard`].
    #[doc(hidden)]
    pub fn leaves_its_thread(&self) {
        self.hold.leaves_its_thread();
    }

    /// The address of the first element.
    #[must_use]
    pub fn address(&self) -> DevicePtr {
        DevicePtr(self.hold.place.start)
    }
}

impl<T: Pod> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl<T: Pod> Frozen<'_, T> {
    /// As that of [`crate::ReadGuard`].
    #[doc(hidden)]
    pub fn leaves_its_thread(&self) {
        self.hold.leaves_its_thread();
    }

    /// The address of the first element.
    #[must_use]
    pub fn address(&self) -> DevicePtr {
        DevicePtr(self.hold.place.start)
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }
}

impl<T: Pod> fmt::Debug for Frozen<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frozen").field("address", &self.address()).field("elements", &self.elements).finish()
    }
}
