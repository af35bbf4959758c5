//! Bytes of an array on a device for external code: frozen bytes, which it reads until they are thawed (ST-05), and
//! lent bytes, which it changes.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use graph::Location;
use hal::DevicePtr;
use overtake_tasks::task::Error;

use crate::array::Array;
use crate::computation::Where;
use crate::guard::{Hold, InThread};
use crate::right::{Reads, Right, Writes};
use crate::uses::Use;

/// Elements of an array on a device, for external code that uses them by address: [`Frozen`] or [`Lent`].
#[must_use = "the elements are given back when this is dropped"]
pub struct OnDevice<'a, R: Right> {
    hold: Hold,
    array: PhantomData<&'a Array<R::Element>>,
    _thread: InThread,
}

/// Elements that external code reads. Computations that read them continue, and those that would write them are
/// refused. Dropping it thaws them: the external code must be done with them by then.
pub type Frozen<'a, T> = OnDevice<'a, Reads<T>>;

/// Elements that external code changes. Tasks that are submitted later and use them wait until this is dropped: the
/// work of the external code must be complete then.
pub type Lent<'a, T> = OnDevice<'a, Writes<T>>;

impl<'a, R: Right> Use<'a, R> {
    fn on_device(self, name: &str, device: u8) -> Result<OnDevice<'a, R>, Error> {
        let (claim, elements) = (self.claim(), self.count());
        let at = claim.record.store.place(name, Where::At(Location::Device(device)), &[])?;
        let hold = Hold::take(claim, elements, at, self.priority)?;
        Ok(OnDevice { hold, array: PhantomData, _thread: PhantomData })
    }
}

impl<'a, T: Pod> Use<'a, Reads<T>> {
    /// Waits until the elements are on this device, and keeps them there, unchanged, until the result is dropped.
    /// Functions of tasks must not call this.
    pub fn freeze(self, device: u8) -> Result<Frozen<'a, T>, Error> {
        self.on_device("freeze", device)
    }
}

impl<'a, T: Pod> Use<'a, Writes<T>> {
    /// Waits until no task uses the elements, and lends them to external code, on this device. Not for the functions of
    /// tasks.
    pub fn lend(self, device: u8) -> Result<Lent<'a, T>, Error> {
        self.on_device("lend", device)
    }
}

impl<R: Right> OnDevice<'_, R> {
    /// The address of the first element.
    #[must_use]
    pub fn address(&self) -> DevicePtr {
        DevicePtr(self.hold.place.start)
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hold.place.elements
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<R: Right> fmt::Debug for OnDevice<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDevice").field("address", &self.address()).field("elements", &self.len()).finish()
    }
}
