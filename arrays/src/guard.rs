//! Guards: the contents of an array on the host, while no task changes them.
#![allow(unsafe_code)] // slices are made of addresses

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use bytemuck::Pod;
use graph::{Location, Mode, Priority};
use overtake_tasks::task::{Error, Fault, Handle, Reason};
use overtake_tasks::within::Held;

use crate::array::Array;
use crate::claim::Claim;
use crate::guards::{Asked, Open};
use crate::record::{Keeps, Memory, Node, Record};
use crate::right::{Place, Reads, Right, Writes};
use crate::submit::{Begun, Submission};
use crate::uses::Use;

/// The part of all guards that holds later tasks back.
pub(super) struct Hold {
    pub place: Place,
    /// It ends when the bytes are there.
    there: Handle,
    /// The node that later tasks wait for. Dropping this releases it, or gives it up if the program was to make the
    /// contents and never had the bytes.
    node: Handle,
    makes_contents: bool,
    /// Among those that are open.
    number: u64,
    has_come: AtomicBool,
    /// Its bytes, which are read on a device, are in the list of those that are frozen.
    is_frozen: bool,
    claim: Claim,
    /// Memory of a device, which may leave the array meanwhile.
    _kept: Keeps,
}

/// It stays in its thread, as the guard of a lock: what waits for it there would wait for ever.
pub(super) type InThread = PhantomData<MutexGuard<'static, ()>>;

/// Why the end of the arrays has left an access.
const LEFT: &str = "its arrays were dropped before the program had its elements: have them before, or end the access";

fn name_of(claim: &Claim, at: Location) -> &'static str {
    match (at, claim.mode.is_write()) {
        (Location::Device(_), true) => "write on the device",
        (Location::Device(_), false) => "frozen on the device",
        (Location::Host, true) => "write on the host",
        (Location::Host, false) => "read on the host",
    }
}

const LATE: &str = "the elements have not come within the time, because computations or accesses that use them \
                    and came before have not ended: wait longer, or end the accesses";

impl Hold {
    /// Waits until the bytes are there, and no task has them that must not. It fails with those alone whose results it
    /// needs, where the end of its arrays gives it up, or with its time; then it has written nothing.
    pub fn take(claim: Claim, elements: usize, at: Location, priority: Priority) -> Result<Hold, Error> {
        let (until, stays) = (claim.until, Some(claim.record.bytes));
        let hold = Hold::begin(claim, elements, at, priority, stays)?;
        // If the wait ends with an error, the hold is dropped here.
        if !hold.there.wait_until(until)? {
            return Err(Error::TimedOut { why: format!("{}: {LATE}", hold.node.name()) });
        }
        hold.enter()?;
        Ok(hold)
    }

    /// The same without the wait. Where it stays in its thread, that is known with the bytes of its array.
    pub fn begin(
        claim: Claim,
        elements: usize,
        at: Location,
        priority: Priority,
        stays: Option<u64>,
    ) -> Result<Hold, Error> {
        // The guard borrows the array, so it is no other view of it.
        let claims = [Claim { _view: None, ..claim }];
        let store = &claims[0].record.store;
        let priority = priority.max(store.least);
        let name = name_of(&claims[0], at);
        let access = Submission::of(store, name, priority, at, &claims);
        let shared = store.tasks.within();
        let Begun { order, memory, rank } = loop {
            access.settle()?;
            let begun = access.begin()?;
            // A reduction may have come meanwhile, and frozen bytes cannot be combined with it.
            if claims[0].record.partial_before(&claims[0]).is_none() {
                break begun;
            }
        };
        let mut held = order.enter(shared)?;
        let appended = access.transfers(&mut held, rank).and_then(|before| {
            // The first ends when the bytes are there, the second when the guard is dropped.
            let there = access.append(&mut held, store.tasks.join(name), &before)?;
            let makes_contents = claims[0].makes_contents();
            let node = access.append(&mut held, store.tasks.join(name).held(), std::slice::from_ref(&there))?;
            access.note_behind(&node);
            let asked: Option<Box<dyn Asked>> = Some(Box::new(Unasked::of(&claims[0], at, &there, makes_contents)));
            let number = store.guards.add(Open { stays, asked, ..Open::new(&node) });
            let is_frozen = at != Location::Host && !claims[0].mode.is_write();
            if is_frozen {
                hal::locks::lock(&claims[0].record.state).frozen.push((node.clone(), claims[0].bytes.clone()));
            }
            Ok((there, node, makes_contents, number, is_frozen))
        });
        held.rank_others_as(None);
        drop(order);
        shared.pump(held);
        let (there, node, makes_contents, number, is_frozen) = appended?;
        let Memory { addresses, kept: _kept } = memory;
        let (place, [claim]) = (Place { start: addresses[0], elements }, claims);
        let has_come = AtomicBool::new(false);
        Ok(Hold { place, there, node, makes_contents, number, has_come, is_frozen, claim, _kept })
    }

    /// The task that ends when the bytes are there.
    pub fn there(&self) -> &Handle {
        &self.there
    }

    /// The calling thread has the bytes from now on, if they are there: their address. It fails if the end of its
    /// arrays has given it up.
    pub fn enter(&self) -> Result<Option<u64>, Error> {
        let Record { store, state, .. } = &*self.claim.record;
        let begins = self.claim.mode.is_write() && !self.has_come.load(Ordering::Acquire);
        let shared = store.tasks.within();
        shared.may_enter()?;
        match self.there.outcome() {
            None if store.guards.is_left(self.number) => return Err(self.left()),
            None => return Ok(None),
            Some(there) => there?,
        }
        let held = begins.then(|| shared.enter()).transpose()?;
        if let Some(Err(error)) = self.node.outcome().filter(|_| begins) {
            return Err(error);
        }
        let comes = store.guards.comes(self.number);
        if comes && begins {
            hal::locks::lock(state).validity.begins(&self.claim.bytes, &Node(self.node.clone()));
        }
        drop(held);
        self.has_come.fetch_or(comes, Ordering::Release);
        if comes { Ok(Some(self.place.start)) } else { Err(self.left()) }
    }

    fn left(&self) -> Error {
        let (task, reason) = (self.node.name(), Reason::Returned(LEFT.to_owned()));
        Error::NotRun { fault: Arc::new(Fault { task: task.clone(), reason }), task, is_own: true }
    }

    fn leave(&self) -> Result<(), Error> {
        let shared = self.claim.record.store.tasks.within();
        let mut held = shared.enter()?;
        let left = self.claim.leaves(&mut held, &self.node, self.makes_contents, Reason::Cancelled);
        shared.pump(held);
        Ok(left?)
    }
}

/// An access whose bytes the program has not come to have.
struct Unasked {
    there: Handle,
    /// It is to write adopted memory, which would not get its results behind it.
    keeps_back: bool,
    makes_contents: bool,
    claim: Claim,
}

impl Unasked {
    fn of(claim: &Claim, at: Location, there: &Handle, makes_contents: bool) -> Unasked {
        let home = hal::locks::lock(&claim.record.state).home().filter(|_| claim.mode.is_write());
        let keeps_back = home.is_some_and(|home| home != at || claim.mode == Mode::Discard);
        Unasked { there: there.clone(), keeps_back, makes_contents, claim: claim.clone() }
    }
}

impl Asked for Unasked {
    fn is_in_the_way(&self) -> bool {
        // With the dispatcher's lock held its list keeps it: no record goes here.
        self.keeps_back || self.there.has_failed() || self.claim.record.partial_before(&self.claim).is_some()
    }

    fn leave(&self, held: &mut Held<'_>, node: &Handle) {
        let left = self.claim.leaves(held, node, self.makes_contents, Reason::Returned(LEFT.to_owned()));
        debug_assert!(left.is_ok(), "it is held: {left:?}");
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.claim.record.store.may_enter().is_err() {
            return;
        }
        // It goes first: a task that is submitted then comes after the hold.
        if self.is_frozen {
            self.claim.thaw(&self.node);
        }
        let left = if self.has_come.load(Ordering::Acquire) { self.node.release() } else { self.leave() };
        // It is refused for a node that has failed or whose dispatcher is closed: then no task waits for it.
        if let Err(error) = left {
            log::debug!("a guard of an array has nothing to release: {error}");
        }
        // Behind the end of its node: a drain would give that up.
        self.claim.record.store.guards.remove(self.number);
    }
}

/// The contents of an array on the host: a [`ReadGuard`] or a [`WriteGuard`]. A thread that holds one must not wait for
/// a task that waits for it.
pub struct Guard<'a, R: Right> {
    hold: Hold,
    array: PhantomData<&'a Array<R::Element>>,
    _thread: InThread,
}

/// The contents of an array on the host. Later tasks that write them wait until this is dropped; tasks that read them
/// do not.
pub type ReadGuard<'a, T> = Guard<'a, Reads<T>>;

/// The contents of an array on the host, with write access. Later tasks that use them wait until this is dropped.
pub type WriteGuard<'a, T> = Guard<'a, Writes<T>>;

/// Threads may share it.
const _: fn() = || {
    fn is_shared<T: Sync>() {}
    is_shared::<ReadGuard<'_, u8>>();
};

impl<'a, R: Right> Use<'a, R> {
    /// Waits until the elements are on the host, and gives access to them ([`Array::read`], [`Array::change`],
    /// [`Array::overwrite`]).
    pub fn open(self) -> Result<Guard<'a, R>, Error> {
        let hold = Hold::take(self.claim(), self.count(), Location::Host, self.priority)?;
        Ok(Guard { hold, array: PhantomData, _thread: PhantomData })
    }
}

impl<R: Right> Deref for Guard<'_, R> {
    type Target = [R::Element];

    fn deref(&self) -> &[R::Element] {
        // SAFETY: the array has the memory, and is borrowed. Its bytes are up to date here, and tasks that write them
        // wait for the hold. A guard that writes is borrowed by this call.
        unsafe { Reads::<R::Element>::view(self.hold.place) }
    }
}

impl<T: Pod> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the array has the memory, and is borrowed. All tasks and guards that use its bytes have ended or wait
        // for the hold, and this guard is borrowed by this call alone.
        unsafe { Writes::<T>::view(self.hold.place) }
    }
}

impl<R: Right> fmt::Debug for Guard<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("elements", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use copies::{Options, Overtake};
    use overtake_memory::buffer::PinnedBuffer;
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};

    use super::*;
    use crate::{ArrayOptions, Arrays, discard, read_write, write};

    fn arrays() -> (Arc<Overtake>, Dispatcher, Arrays) {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
        (overtake, dispatcher, arrays)
    }

    /// Its thread takes it off the list later: an end of the arrays meanwhile must not lose what is behind it.
    #[test]
    fn an_access_that_has_just_ended_is_not_open() {
        let (overtake, _dispatcher, arrays) = arrays();
        let adopted = arrays.adopt(PinnedBuffer::<u32>::new(&overtake, 1).unwrap()).unwrap();
        let before = arrays.host("before", (discard(&adopted),), |_| Ok(())).held().submit().unwrap();
        let access = write(&adopted).open_at(Location::Device(0)).unwrap();
        let store = &adopted.record.store;
        let mut held = store.tasks.within().enter().unwrap();
        let [node] = store.guards.nodes(&mut held)[..] else { panic!("one access is open") };
        held.graph().release(node).unwrap();
        assert!(held.graph().stage(node) == graph::Stage::Waiting, "it ends when its elements are there");
        assert_eq!(store.guards.nodes(&mut held), []);
        assert!(store.guards.leave_asked(&mut held).is_empty(), "it would be released again");
        drop(held);
        drop(access);
        before.release().unwrap();
        arrays.wait().unwrap();
    }

    /// However many are left beside one that stays open.
    #[test]
    fn accesses_that_are_left_leave_no_copies() {
        let (_overtake, _dispatcher, arrays) = arrays();
        let array = arrays.array_of(&[1_u32]).unwrap();
        for way in [discard::<u32>, read_write::<u32>] {
            let mut open = way(&array).open_at(Location::Host).unwrap();
            for _ in 0..100 {
                let next = way(&array).open_at(Location::Host).unwrap();
                drop(std::mem::replace(&mut open, next));
            }
            let _held = array.record.store.tasks.within().enter().unwrap();
            let (mut looks, (from, to)) = (0, (Location::Device(0), Location::Host));
            let mut count = |node: &Node| {
                looks += 1;
                node.progress()
            };
            hal::locks::lock(&array.record.state).validity.needs_to_leave(&(0..4), (from, to), &mut count);
            assert!(looks < 20, "{looks} looks at writers");
        }
    }
}
