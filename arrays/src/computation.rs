//! Descriptions of computations, before they are submitted.
#![allow(unsafe_code)] // kernels and views use memory by its address

use std::sync::Arc;
use std::time::Duration;

use graph::{Location, Priority, Refused};
use hal::{DevicePtr, Nanos};
use overtake_tasks::task::{Error, Handle, Kernel, Lane, More, Shape, TaskBuilder, WorkResult};
use overtake_tasks::within::{Function, ONCE};

use crate::arguments::{Packed, Rights};
use crate::bound::{Bind, Calls, Keep, Runs};
use crate::claim::{self, Claim};
use crate::elsewhere::Travels;
use crate::record::{Addresses, Memory};
use crate::right::Place;
use crate::store::Store;
use crate::submit::Submission;

const TOKEN: &str = "a token has no memory for a kernel: use it beside, in a computation by `launch`";
const ELSEWHERE: &str =
    "its kernel was found through another driver than that of these arrays: find it through this one";

/// Waits for a computation that ends without a later call of this thread. Its handle tells the outcome.
fn wait_for_serial(store: &Store, task: &Handle) -> Result<(), Error> {
    let shared = store.tasks.within();
    if !shared.is_inside() && !shared.enter()?.graph().is_held(task.node()) {
        let _ended = task.wait();
    }
    Ok(())
}

/// The description of a computation. [`Computation::submit`] submits it; dropping it does nothing.
#[must_use = "a computation does nothing until it is submitted"]
pub struct Computation<'c> {
    store: &'c Arc<Store>,
    name: &'c str,
    place: Where,
    claims: Vec<Claim>,
    describe: Describe,
    priority: Priority,
    after: Vec<Handle>,
    references: u32,
    retries: u32,
    /// It may run on so many devices, from the first on.
    among: u8,
    goes_elsewhere: bool,
    /// The name of its times, if they are measured.
    measured: Option<String>,
}

/// Where a computation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// There.
    At(Location),
    /// On one of so many devices, from the first on.
    Chosen(u8),
}

/// The work of a computation, when the addresses are known.
pub(super) enum Describe {
    Launch(Box<dyn Bind>),
    Host(Box<dyn FnOnce(Addresses) -> Function>),
    /// The use is all that there is.
    Join,
}

impl Describe {
    pub fn kernel(kernel: Kernel, shape: Shape, packed: Packed) -> Describe {
        Describe::Launch(Box::new(Runs::new(kernel, shape, packed)))
    }

    pub fn launch(launch: impl FnMut(&mut Lane<'_>, &[DevicePtr]) -> WorkResult<More> + Send + 'static) -> Describe {
        Describe::Launch(Box::new(Calls::new(launch)))
    }

    pub fn host<R: Rights>(
        elements: Vec<usize>,
        run: impl for<'v> FnOnce(R::Views<'v>) -> WorkResult<()> + Send + 'static,
    ) -> Describe {
        Describe::Host(Box::new(move |addresses| {
            let places = addresses.into_iter().zip(elements);
            let places: Vec<Place> = places.map(|(start, elements)| Place { start, elements }).collect();
            // SAFETY: the memory lives as long as this function, and the graph keeps other users away as the rights of
            // the uses ask for; no two of them are of the same bytes, unless both read.
            Box::new(move || run(unsafe { R::views(&places) }))
        }))
    }
}

impl Store {
    /// The device of a computation with these claims.
    pub fn choose(&self, among: u8, claims: &[Claim]) -> Result<u8, Error> {
        if self.places.devices() == 1 {
            return Ok(0);
        }
        let held = self.tasks.within().enter()?;
        let uses = claim::uses(claims);
        drop(held);
        Ok(self.places.choose(&uses, among)?)
    }

    /// Where a computation with these claims runs.
    pub fn place(&self, name: &str, place: Where, claims: &[Claim]) -> Result<Location, Error> {
        match place {
            Where::At(Location::Device(device)) if device >= self.places.devices() => {
                Err(Error::Refused(Refused::NoDispatcher { task: name.to_owned() }))
            }
            Where::At(place) => Ok(place),
            Where::Chosen(among) => Ok(Location::Device(self.choose(among, claims)?)),
        }
    }
}

impl<'c> Computation<'c> {
    pub(super) fn new(
        store: &'c Arc<Store>,
        name: &'c str,
        place: Where,
        claims: Vec<Claim>,
        describe: Describe,
    ) -> Computation<'c> {
        let (priority, after) = (Priority::LOWEST, Vec::new());
        let among = if let Where::Chosen(among) = place { among } else { 0 };
        let measured = store.times.is_some().then(|| name.to_owned());
        let (references, retries, goes_elsewhere) = (0, 0, false);
        Computation {
            store,
            name,
            place,
            claims,
            describe,
            priority,
            after,
            references,
            retries,
            among,
            goes_elsewhere,
            measured,
        }
    }

    /// Its times are those of this kernel.
    pub(super) fn measured_as(mut self, kernel: &str) -> Computation<'c> {
        self.measured = self.measured.map(|_| kernel.to_owned());
        self
    }

    /// The bytes of its uses.
    fn bytes(&self) -> u64 {
        self.claims.iter().map(|claim| claim.bytes.end - claim.bytes.start).sum()
    }

    /// Sets its priority. The computations and transfers before it inherit it.
    pub fn priority(mut self, priority: Priority) -> Computation<'c> {
        self.priority = priority;
        self
    }

    /// Sets the device on which it runs, by its number among those of the dispatcher. Otherwise one is chosen
    /// ([`crate::ArrayOptions::selection`]). A host computation stays on the host.
    pub fn on(mut self, device: u8) -> Computation<'c> {
        if self.place != Where::At(Location::Host) {
            self.place = Where::At(Location::Device(device));
        }
        self
    }

    /// Orders it after these tasks as well as after those whose results it uses.
    pub fn after<'h>(mut self, tasks: impl IntoIterator<Item = &'h Handle>) -> Computation<'c> {
        self.after.extend(tasks.into_iter().cloned());
        self
    }

    /// Adds a reference: it does not start until [`Handle::release`] removes it.
    pub fn held(mut self) -> Computation<'c> {
        self.references += 1;
        self
    }

    /// As [`TaskBuilder::retries`]. It may only `read` and `discard` arrays: if it read bytes that it writes, it would
    /// find other bytes when it runs again.
    pub fn retries(mut self, most: u32) -> Computation<'c> {
        self.retries = most;
        self
    }

    /// If it still fails after all [`Computation::retries`], runs it on the other devices of its dispatcher, one after
    /// another, where its kernel is loaded: from its first turn, and with all its turns in a row. The arrays that it
    /// reads are copied there, and its results are copied back to the device for which it was submitted, where later
    /// computations expect them. The same uses are allowed as for `retries`.
    pub fn elsewhere(mut self) -> Computation<'c> {
        self.goes_elsewhere = true;
        self
    }

    /// Submits it and the transfers that it needs.
    pub fn submit(mut self) -> Result<Handle, Error> {
        self.try_submit(false)
    }

    /// The same, but if the dispatcher is full it waits until tasks have ended, as [`TaskBuilder::submit_when_room`].
    /// For room on a full device it waits as long as it takes too; [`Computation::submit`] waits 60 s for that.
    pub fn submit_when_room(self) -> Result<Handle, Error> {
        let name = self.name;
        self.submit_by(None)?.ok_or_else(|| Error::NoRoomInside { task: format!("{name:?}") })
    }

    /// The same with a timeout, as [`TaskBuilder::submit_within`]. If the device is still full then, it fails with
    /// [`Error::TimedOut`], and its function is dropped.
    pub fn submit_within(self, span: Duration) -> Result<Option<Handle>, Error> {
        let deadline = self.store.tasks.within().deadline(span);
        self.submit_by(Some(deadline))
    }

    fn submit_by(mut self, deadline: Option<Nanos>) -> Result<Option<Handle>, Error> {
        let until = Some(deadline.unwrap_or(Nanos(u64::MAX)));
        self.claims.iter_mut().for_each(|claim| claim.until = until);
        loop {
            match self.try_submit(true) {
                Err(Error::Refused(Refused::WouldBlock)) => {}
                submitted => return submitted.map(Some),
            }
            let shared = self.store.tasks.within();
            let has_time = deadline.is_none_or(|deadline| shared.driver().host().now() < deadline);
            if !has_time || self.store.is_inside() {
                return Ok(None);
            }
            shared.await_room(deadline)?;
        }
    }

    /// Submits it. If it `may_wait`, it stays as it is where the dispatcher is full.
    fn try_submit(&mut self, may_wait: bool) -> Result<Handle, Error> {
        self.store.may_enter()?;
        self.priority = self.priority.max(self.store.least);
        let store = self.store;
        self.unplaced().refuse_foreign()?;
        let place = store.place(self.name, self.place, &self.claims)?;
        let task = self.submit_at(place, may_wait)?;
        if store.is_serial {
            wait_for_serial(store, &task)?;
        }
        Ok(task)
    }

    /// The devices that it goes to where it fails in this place.
    fn others(&self, place: Location) -> Vec<u8> {
        let devices = if self.goes_elsewhere { self.among.min(self.store.places.devices()) } else { 0 };
        (0..devices).filter(|device| place != Location::Device(*device)).collect()
    }

    /// Submits it there.
    fn submit_at(&mut self, place: Location, may_wait: bool) -> Result<Handle, Error> {
        let (bytes, others) = (self.bytes(), self.others(place));
        let Computation { store, name, claims, describe, priority, after, references, retries, .. } = self;
        let (store, name, priority, references, retries) = (*store, *name, *priority, *references, *retries);
        let (claims, after, measured) = (&claims[..], &after[..], self.measured.as_deref());
        let times = store.times.as_ref().zip(measured);
        let expected_ns = match (times, place) {
            (Some((times, name)), Location::Device(device)) => times.expected_ns(name, bytes, device),
            _ => 0,
        };
        let asked = Submission { store, name, priority, place, claims, after, expected_ns };
        describe.refuse_misuse(&asked, retries > 0 || self.goes_elsewhere)?;
        loop {
            let own = asked.own()?;
            let submission = own.submission(&asked);
            let timer = times.map(|(times, name)| Box::new(times.timer(name, bytes)));
            let keep = Keep::new(store.places.begin(place), timer);
            let begun = submission.begin()?;
            if !own.is_current() {
                continue;
            }
            let describe = |memory| {
                let retries_in_all = retries.saturating_add(others.len() as u32);
                let work = std::mem::replace(describe, Describe::Join).travels(store, claims, (place, others), retries);
                let mut builder = work.builder(store, name, memory, keep);
                if retries_in_all > 0 {
                    builder = builder.retries(retries_in_all);
                }
                if let Location::Device(device) = place {
                    builder = builder.on(device);
                }
                (0..references).fold(builder, |builder, _| builder.held())
            };
            return match may_wait {
                true => submission.submit_if_room(begun, describe),
                false => submission.submit(begun, describe, || ()),
            };
        }
    }
}

impl Computation<'_> {
    /// Refuses what a check of a kernel does not see ([`crate::Arrays::call`]).
    pub(super) fn refuse_for_call(&self, kernel: &Kernel) -> Result<(), Error> {
        let asked = self.unplaced();
        asked.refuse_aliases()?;
        if self.claims.iter().any(|claim| claim.record.is_token) {
            return Err(asked.refused(TOKEN));
        }
        if !kernel.is_of(&**self.store.tasks.within().driver()) {
            return Err(asked.refused(ELSEWHERE));
        }
        Ok(())
    }

    /// What it uses, before a place is chosen for it.
    fn unplaced(&self) -> Submission<'_> {
        Submission::of(self.store, self.name, self.priority, Location::Host, &self.claims)
    }
}

impl Describe {
    /// Refuses uses that the work cannot have.
    fn refuse_misuse(&self, asked: &Submission<'_>, is_repeated: bool) -> Result<(), Error> {
        if asked.place == Location::Host {
            asked.refuse_aliases()?;
        }
        if is_repeated {
            asked.refuse_repeats()?;
            if !matches!(self, Describe::Launch(_)) {
                return Err(asked.refused(ONCE));
            }
        }
        Ok(())
    }

    /// The same, which goes to these devices where it has failed so often in its place.
    fn travels(
        self,
        store: &Arc<Store>,
        claims: &[Claim],
        (place, others): (Location, Vec<u8>),
        retries: u32,
    ) -> Describe {
        match (self, place) {
            (Describe::Launch(launch), Location::Device(home)) if !others.is_empty() => {
                Describe::Launch(Box::new(Travels::new(launch, store, claims, (home, others), retries)))
            }
            (describe, _) => describe,
        }
    }

    /// The task, which keeps its memory.
    fn builder<'c>(self, store: &'c Store, name: &'c str, memory: Memory, keep: Keep) -> TaskBuilder<'c, 'c> {
        match self {
            Describe::Launch(mut launch) => {
                launch.bind(memory, keep);
                store.tasks.kernel_of(name, launch)
            }
            Describe::Host(describe) => {
                let (run, kept) = (describe(memory.addresses), memory.kept);
                store.tasks.host(name, move || {
                    let ended = run();
                    drop((kept, keep));
                    ended
                })
            }
            Describe::Join => store.tasks.join(name),
        }
    }
}
