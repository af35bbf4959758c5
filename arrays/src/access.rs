//! Access of the host to arrays.

use bytemuck::Pod;
use graph::Location;
use overtake_memory::buffer::PinnedBuffer;
use overtake_tasks::task::{Error, Handle};

use crate::array::Array;
use crate::computation::{Computation, Describe, Where};
use crate::guard::{Hold, ReadGuard, WriteGuard};
use crate::memory::HostMemory;
use crate::right::Reads;
use crate::uses::{Use, discard, read, read_write};

impl<T: Pod> Array<T> {
    /// Waits until the contents are on the host, and gives read access to them. Later tasks that write them wait until
    /// the guard is dropped. Functions of tasks must not call this.
    pub fn read(&self) -> Result<ReadGuard<'_, T>, Error> {
        read(self).open()
    }

    /// Waits until the contents are on the host and no task uses them, and gives write access to them. Later tasks that
    /// use them wait until the guard is dropped. Functions of tasks must not call this.
    pub fn change(&self) -> Result<WriteGuard<'_, T>, Error> {
        read_write(self).open()
    }

    /// As [`Array::change`], but without the old contents: nothing is copied. All elements count as written.
    pub fn overwrite(&self) -> Result<WriteGuard<'_, T>, Error> {
        discard(self).open()
    }

    /// Waits until no task uses it and its contents are in the adopted memory, and returns that memory: the buffer, if
    /// it was made from one. Refused while there are views ([`Array::view`]), or computations that use it and have been
    /// described but not submitted. Functions of tasks must not call this.
    ///
    /// If the dispatcher has been closed, the results have to be there already; they are if all [`crate::Arrays`]
    /// were dropped before.
    pub fn release(self) -> Result<Option<PinnedBuffer<T>>, Error> {
        self.record.store.may_enter()?;
        if !self.is_sole() {
            let text = "it is a part of another array, or other views of it or computations that are not \
                        submitted are there: drop them before";
            return Err(hal::Code::INVALID_VALUE.at("overtake array release").because(text).into());
        }
        let home = hal::locks::lock(&self.record.state).home().unwrap_or(Location::Host);
        // Reading would do for the contents. Changing also waits for the tasks that read.
        let all = read_write(&self);
        match Hold::take(all.claim(), all.count(), home, all.priority) {
            Ok(hold) => drop(hold),
            Err(Error::Closed { .. }) if self.record.is_at(home)? => {}
            Err(error) => return Err(error),
        }
        let host = hal::locks::lock(&self.record.state).host.take();
        Ok(host.and_then(HostMemory::into_buffer))
    }
}

impl<T: Pod> Use<'_, Reads<T>> {
    /// Copies the elements to the first device, unless they are there, before a computation asks for them.
    pub fn to_device(self) -> Result<Handle, Error> {
        self.to(0)
    }

    /// The same for any device, by number.
    pub fn to(self, device: u8) -> Result<Handle, Error> {
        self.bring("bring to the device", Location::Device(device))
    }

    /// Copies the elements to the host, unless they are there, before the host accesses them.
    pub fn to_host(self) -> Result<Handle, Error> {
        self.bring("bring to the host", Location::Host)
    }

    fn bring(self, name: &str, place: Location) -> Result<Handle, Error> {
        let store = &self.array.record.store;
        let task = Computation::new(store, name, Where::At(place), vec![self.claim()], Describe::Join);
        task.priority(self.priority).submit()
    }
}
