//! Guards: the contents of an array on the host, while no task changes them.
#![allow(unsafe_code)] // slices are made of addresses

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard};

use bytemuck::Pod;
use graph::{Location, Priority};
use overtake_tasks::task::{Error, Handle};

use crate::array::Array;
use crate::claim::Claim;
use crate::guards::Own;
use crate::record::Keeps;
use crate::right::{Place, Reads, Right, Writes};
use crate::store::Store;
use crate::submit::Submission;

/// The part of all guards that holds later tasks back.
pub(super) struct Hold {
    pub place: Place,
    /// The node that later tasks wait for. Dropping this releases it.
    node: Handle,
    store: Arc<Store>,
    /// Memory of a device, which may leave the array meanwhile.
    _kept: Keeps,
    /// It stays in its thread, as the guard of a lock: what waits for it there would wait for ever.
    _thread: PhantomData<MutexGuard<'static, ()>>,
}

impl Hold {
    /// Waits until the bytes are there, and no task has them that must not. It fails with those alone whose results it
    /// needs, or where the end of its arrays gives it up; then it has written nothing.
    pub fn take(claim: Claim, elements: usize, at: Location, priority: Priority) -> Result<Hold, Error> {
        let store = &Arc::clone(&claim.record.store);
        let claims = [claim];
        let priority = priority.max(store.least);
        let name = match at {
            Location::Device(_) => "frozen on the device",
            Location::Host if claims[0].mode.is_write() => "write on the host",
            Location::Host => "read on the host",
        };
        let access = Submission::of(store, name, priority, at, &claims);
        let shared = store.tasks.within();
        access.settle()?;
        let begun = access.begin()?;
        let mut held = begun.order.enter(shared)?;
        let appended = access.transfers(&mut held, begun.rank).and_then(|before| {
            // The first ends when the bytes are there, the second when the guard is dropped.
            let there = access.append(&mut held, store.tasks.join(name), &before)?;
            let after = [there.clone()];
            let node = access.append(&mut held, store.tasks.join(name).held(), &after)?;
            access.note_behind(&there, &node);
            store.guards.add(&node, Some(Own::of(claims[0].record.bytes)));
            let place = Place { start: begun.memory.addresses[0], elements };
            let hold = Hold { place, node, store: Arc::clone(store), _kept: begun.memory.kept, _thread: PhantomData };
            Ok((there, hold))
        });
        held.rank_others_as(None);
        drop(begun.order);
        shared.pump(held);
        let (there, hold) = appended?;
        // If the wait ends with an error, the hold is dropped here.
        there.wait().map(|()| hold)
    }
}

impl Hold {
    pub fn leaves_its_thread(&self) {
        self.store.guards.leaves_its_thread(&self.node);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // It is refused for a node that has failed or whose dispatcher is closed: then no task waits for it.
        if let Err(error) = self.node.release() {
            log::debug!("a guard of an array has nothing to release: {error}");
        }
        // Behind the end of its node: a drain would give that up.
        self.store.guards.remove(&self.node);
    }
}

/// The contents of an array on the host. Later tasks that write them wait until this is dropped; tasks that read them
/// do not. A thread that holds it must not wait for such a task.
pub struct ReadGuard<'a, T: Pod> {
    hold: Hold,
    array: PhantomData<&'a Array<T>>,
}

/// The contents of an array on the host, with write access. Later tasks that use them wait until this is dropped. A
/// thread that holds it must not wait for such a task.
pub struct WriteGuard<'a, T: Pod> {
    hold: Hold,
    array: PhantomData<&'a Array<T>>,
}

/// Threads may share it.
const _: fn() = || {
    fn is_shared<T: Sync>() {}
    is_shared::<ReadGuard<'_, u8>>();
};

impl<'a, T: Pod> ReadGuard<'a, T> {
    /// For a binding that lets another thread drop it: this one may wait for what waits for the guard.
    #[doc(hidden)]
    pub fn leaves_its_thread(&self) {
        self.hold.leaves_its_thread();
    }

    pub(super) fn open(claim: Claim, elements: usize, priority: Priority) -> Result<ReadGuard<'a, T>, Error> {
        Ok(ReadGuard { hold: Hold::take(claim, elements, Location::Host, priority)?, array: PhantomData })
    }
}

impl<'a, T: Pod> WriteGuard<'a, T> {
    /// As [`ReadGuard::leaves_its_thread`].
    #[doc(hidden)]
    pub fn leaves_its_thread(&self) {
        self.hold.leaves_its_thread();
    }

    pub(super) fn open(claim: Claim, elements: usize, priority: Priority) -> Result<WriteGuard<'a, T>, Error> {
        Ok(WriteGuard { hold: Hold::take(claim, elements, Location::Host, priority)?, array: PhantomData })
    }
}

impl<T: Pod> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the array has the memory, and is borrowed. Its bytes are up to date here, and tasks that write them
        // wait for the hold.
        unsafe { Reads::<T>::view(self.hold.place) }
    }
}

impl<T: Pod> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as for `deref_mut`.
        unsafe { Reads::<T>::view(self.hold.place) }
    }
}

impl<T: Pod> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the array has the memory, and is borrowed. All tasks and guards that use its bytes have ended or wait
        // for the hold, and this guard is borrowed by this call alone.
        unsafe { Writes::<T>::view(self.hold.place) }
    }
}

impl<T: Pod> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGuard").field("elements", &self.len()).finish_non_exhaustive()
    }
}

impl<T: Pod> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGuard").field("elements", &self.len()).finish_non_exhaustive()
    }
}
