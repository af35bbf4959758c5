//! Arrays for code that only knows addresses: libraries, and programs in other languages.
#![allow(unsafe_code)] // memory of the caller's is used by its address

use std::marker::PhantomData;

use bytemuck::Pod;
use graph::Location;
use hal::{Code, DevicePtr};
use overtake_tasks::task::{Error, Handle, WorkResult};

use crate::arguments::KernelArguments;
use crate::array::Array;
use crate::arrays::Arrays;
use crate::computation::{Computation, Describe, Where};
use crate::guard::Hold;
use crate::memory::HostMemory;
use crate::record::Adopted;
use crate::resident::Resident;
use crate::right::Right;
use crate::uses::Use;

impl Arrays {
    /// An array in memory that the caller owns, with its contents, on the host or on a device of the dispatcher. Host
    /// memory has to be pinned. Other places that use the array get their own memory. The results are in this memory
    /// after [`Array::release`], and when all `Arrays` have been dropped. `owner` is dropped when no task uses the
    /// memory any more.
    ///
    /// # Safety
    /// The memory has as many elements as the shape says, is aligned for them, and lives as long as `owner`. All work
    /// that writes it is complete. Meanwhile nothing else uses it, except by a guard, [`crate::Frozen`] or
    /// [`crate::Lent`].
    pub unsafe fn adopt_at<T: Pod>(
        &self,
        at: Location,
        start: u64,
        shape: &[usize],
        owner: impl Send + Sync + 'static,
    ) -> Result<Array<T>, Error> {
        let memory = match at {
            Location::Host => Adopted::Host(HostMemory::adopted(start, Box::new(owner))),
            Location::Device(device) if device < self.store.places.devices() => {
                Adopted::Device(device, Resident::adopted(DevicePtr(start), Box::new(owner)))
            }
            Location::Device(device) => {
                let text = format!("device {device} is none of the dispatcher's {}", self.store.places.devices());
                return Err(Code::INVALID_VALUE.at("overtake arrays adopt").because(text).into());
            }
        };
        Array::new(&self.store, shape, Some(memory))
    }

    /// As [`Arrays::host`], for any number of uses: `run` gets the address of the first element of each.
    pub fn host_at<'c>(
        &'c self,
        name: &'c str,
        uses: impl KernelArguments,
        run: impl FnOnce(&[u64]) -> WorkResult<()> + Send + 'static,
    ) -> Computation<'c> {
        let describe = Describe::Host(Box::new(move |addresses| Box::new(move || run(&addresses))));
        Computation::new(&self.store, name, Where::At(Location::Host), uses.claims(), describe)
    }
}

/// An access of code that knows addresses: a guard, [`crate::Frozen`] or [`crate::Lent`] which is waited for later, and
/// which any thread may drop.
#[must_use = "the elements are given back when this is dropped"]
pub struct AccessAt<'a> {
    hold: Hold,
    array: PhantomData<&'a ()>,
}

impl<'a, R: Right> Use<'a, R> {
    /// As [`Use::open`], [`Use::freeze`] or [`Use::lend`], without the wait for the elements. On a device it waits for
    /// room.
    pub fn open_at(self, at: Location) -> Result<AccessAt<'a>, Error> {
        let (claim, elements) = (self.claim(), self.count());
        let at = claim.record.store.place("access", Where::At(at), &[])?;
        let hold = Hold::begin(claim, elements, at, self.priority, None)?;
        Ok(AccessAt { hold, array: PhantomData })
    }
}

impl AccessAt<'_> {
    /// The task that ends when the elements are there.
    #[must_use]
    pub fn there(&self) -> &Handle {
        self.hold.there()
    }

    /// The address of the first element, if the elements are there. An access that is dropped before this was asked
    /// leaves the array as it was.
    pub fn address(&self) -> Result<Option<u64>, Error> {
        self.hold.enter()
    }
}
