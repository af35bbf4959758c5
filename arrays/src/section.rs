//! Sections: nested scopes of arrays and computations, which are one computation to the outside (ST-03).

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::{DataId, Location, Mode, NodeId, Priority, Refused, Validity};
use hal::DevicePtr;
use overtake_tasks::task::{Error, Fault, Handle, Reason};
use overtake_tasks::within::Held;

use crate::arguments::HostUses;
use crate::array::LentArrays;
use crate::arrays::Arrays;
use crate::claim::Claim;
use crate::computation::Where;
use crate::guards::Open;
use crate::memory::HostMemory;
use crate::record::{Adopted, Memory, Record};
use crate::resident::Resident;
use crate::store::Store;
use crate::submit::Submission;

const TOKEN: &str = "a section is lent a token, which orders computations of one set of arrays: use one inside, or an \
                     array";
const REDUCED: &str = "a section is lent arrays to read or to write: reduce into one of its own, or into one that it \
                       writes";

/// The description of a section. [`Opening::open`] begins it; dropping it does nothing.
#[must_use = "a section does nothing until it is opened"]
pub struct Opening<'c, U> {
    store: &'c Arc<Store>,
    name: &'c str,
    uses: U,
    place: Where,
    priority: Priority,
}

impl Arrays {
    /// A section: computations on arrays of its own and on those that it is lent, which are one computation with these
    /// uses to the others. Arrays that are used by `read` are frozen in it. [`Opening::open`] begins it.
    pub fn section<'c, U: HostUses>(&'c self, name: &'c str, uses: U) -> Opening<'c, U> {
        let (place, priority) = (Where::Chosen(u8::MAX), Priority::LOWEST);
        Opening { store: &self.store, name, uses, place, priority }
    }
}

impl<'c, U: HostUses> Opening<'c, U> {
    /// Sets the device on which arrays are lent to it, by number. Otherwise the selection chooses one. Computations
    /// inside may run elsewhere.
    pub fn on(mut self, device: u8) -> Self {
        self.place = Where::At(Location::Device(device));
        self
    }

    /// Lends it the arrays on the host.
    pub fn on_host(mut self) -> Self {
        self.place = Where::At(Location::Host);
        self
    }

    /// Sets the priority of the transfers before it, which is the minimum for everything submitted inside.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Begins it, and returns the section and an array for each use. It does not wait: computations inside come after
    /// those whose results they use.
    pub fn open(self) -> Result<(Section, U::Arrays), Error> {
        let Opening { store, name, uses, place, priority } = self;
        let priority = priority.max(store.least);
        let claims = uses.claims();
        Submission::of(store, name, priority, Location::Host, &claims).refuse_foreign()?;
        let place = store.place(name, place, &claims)?;
        let asked = Submission::of(store, name, priority, place, &claims);
        asked.refuse_aliases()?;
        if claims.iter().any(|claim| claim.reducer.is_some()) {
            return Err(asked.refused(REDUCED));
        }
        if claims.iter().any(|claim| claim.record.is_token) {
            return Err(asked.refused(TOKEN));
        }
        let (mut section, memory) = Section::begin(&asked)?;
        section.lend(&asked, memory)?;
        let arrays = uses.arrays(&mut LentArrays::of(&section.lent));
        Ok((section, arrays))
    }
}

/// A nested scope of arrays and computations. Use it like [`Arrays`], also for sections inside it.
///
/// Outside computations that conflict with its uses wait until it has ended. [`Section::end`], or dropping it, ends it
/// once everything submitted to it has ended; nothing more can be submitted to it then.
#[must_use = "a section ends when this is dropped"]
pub struct Section {
    arrays: Arrays,
    name: String,
    place: Location,
    priority: Priority,
    /// The node that it is to the others. None when it has ended.
    node: Option<Handle>,
    /// Among the guards that are open.
    number: u64,
    /// The records of the arrays that it is lent.
    lent: Vec<Arc<Record>>,
    /// How they are used.
    modes: Vec<Mode>,
    outer: Arc<Store>,
}

/// The adopted memory that a section writes where it is at home.
fn written_at_home(asked: &Submission<'_>) -> Vec<DataId> {
    let is_home = |claim: &&Claim| hal::locks::lock(&claim.record.state).home() == Some(asked.place);
    asked.claims.iter().filter(|claim| claim.mode.is_write()).filter(is_home).map(|claim| claim.record.data).collect()
}

impl Section {
    /// The two nodes that it is to the others: the first ends when its bytes are there, the second with it.
    fn begin(asked: &Submission<'_>) -> Result<(Section, Memory), Error> {
        let shared = asked.store.tasks.within();
        asked.settle()?;
        let begun = asked.begin()?;
        let mut held = begun.order.enter(shared)?;
        let appended = asked.transfers(&mut held, begun.rank).and_then(|before| {
            let there = asked.append(&mut held, asked.store.tasks.join(asked.name), &before)?;
            let node =
                asked.append(&mut held, asked.store.tasks.join(asked.name).held(), std::slice::from_ref(&there))?;
            asked.note(&node);
            let number = asked.store.guards.add(Open { lent: written_at_home(asked), ..Open::new(&node) });
            Ok((there, node, number, begun.memory))
        });
        held.rank_others_as(None);
        drop(begun.order);
        shared.pump(held);
        let (there, node, number, memory) = appended?;
        let inner = asked.store.inner(asked.priority, &there);
        let (arrays, name, outer) = (Arrays::inner(inner), asked.name.to_owned(), Arc::clone(asked.store));
        let (place, priority, lent) = (asked.place, asked.priority, Vec::new());
        let modes = asked.claims.iter().map(|claim| claim.mode).collect();
        let section = Section { arrays, name, place, priority, node: Some(node), number, lent, modes, outer };
        Ok((section, memory))
    }

    /// Makes the records of the arrays that it is lent.
    fn lend(&mut self, asked: &Submission<'_>, memory: Memory) -> Result<(), Error> {
        for (claim, (start, kept)) in asked.claims.iter().zip(memory.addresses.into_iter().zip(memory.kept)) {
            let memory = match self.place {
                Location::Host => Adopted::Host(HostMemory::adopted(start, Box::new(kept))),
                Location::Device(device) => {
                    Adopted::Device(device, Resident::adopted(DevicePtr(start), Box::new(kept)))
                }
            };
            let bytes = claim.bytes.end - claim.bytes.start;
            self.lent.push(Record::new(&self.arrays.store, bytes, Some(memory))?);
        }
        let claims = self.whole(Mode::Write);
        let begin = Submission { claims: &claims, ..self.submission() };
        let begun = begin.begin()?;
        let mut held = begun.order.enter(begin.store.tasks.within())?;
        let appended = begin.append(&mut held, begin.store.tasks.join(&self.name), &[]);
        if let Ok(node) = &appended {
            begin.note(node);
        }
        drop(begun);
        begin.store.tasks.within().pump(held);
        let node = appended?;
        for (claim, record) in asked.claims.iter().zip(&self.lent) {
            let mut state = hal::locks::lock(&record.state);
            match claim.mode {
                Mode::Read => state.frozen.push((node.clone(), 0..record.bytes)),
                Mode::Discard => state.validity = Validity::new(record.bytes, None),
                _ => {}
            }
        }
        Ok(())
    }

    /// A use of all that it is lent.
    fn whole(&self, mode: Mode) -> Vec<Claim> {
        self.lent.iter().map(|record| Claim::whole(Arc::clone(record), mode)).collect()
    }

    /// A task of the section itself.
    fn submission(&self) -> Submission<'_> {
        Submission::of(&self.arrays.store, &self.name, self.priority, self.place, &[])
    }

    /// Ends the section once everything submitted to it has ended. The handle completes then, and fails if any
    /// computation of the section has.
    pub fn end(mut self) -> Result<Handle, Error> {
        self.close()
    }

    fn close(&mut self) -> Result<Handle, Error> {
        let Some(node) = self.node.take() else { return Err(Error::Closed { task: None }) };
        let shared = self.outer.tasks.within();
        shared.may_enter()?;
        // Then nothing inside has run, and the node fails with it.
        let is_lost = self.arrays.store.entry.as_ref().is_some_and(|there| there.has_failed());
        let ended = if is_lost { Ok(()) } else { self.before(&node) };
        if is_lost || ended.is_err() {
            // Where this fails it stays in the order, and the end of the arrays around it goes on without it.
            self.keep_order(&node)?;
        }
        let loss = match &ended {
            Err(error) => error.fault(),
            Ok(()) => self.arrays.store.tasks.loss(),
        };
        let failure = ended.as_ref().err().map(Error::to_string).or_else(|| loss.as_ref().map(ToString::to_string));
        let released = shared.enter().and_then(|mut held| {
            // It has failed already where the arrays that it is lent were lost.
            let mut released = Ok(());
            if let Some(text) = failure.filter(|_| !node.is_done()) {
                // One inside that was cancelled is no failure of those outside either.
                let cause = match loss.filter(|fault| matches!(fault.reason, Reason::Cancelled)) {
                    Some(fault) => held.keep(Fault::clone(&fault)),
                    None => held.fault(node.node(), Reason::Returned(text)),
                };
                held.graph().give_up(node.node(), cause);
            } else if !node.is_done() {
                released = held.graph().release(node.node());
            }
            shared.pump(held);
            Ok(released?)
        });
        // As for guards.
        self.outer.guards.remove(self.number);
        released.and(ended).map(|()| node)
    }

    /// Has all that was submitted to the section come before this node, and results where they were lent.
    fn before(&self, node: &Handle) -> Result<(), Error> {
        let inner = &self.arrays.store;
        let shared = inner.tasks.within();
        let order = loop {
            for record in &self.lent {
                record.settle(&self.name, self.priority)?;
                if record.is_beyond(&hal::locks::lock(&record.state), self.place) {
                    record.ensure(Location::Host)?;
                }
            }
            let order = inner.order.take();
            if self.lent.iter().all(|record| hal::locks::lock(&record.state).partials.is_empty()) {
                break order;
            }
        };
        inner.is_over.store(true, Ordering::Relaxed);
        let mut held = order.enter(shared)?;
        let joined = self.join(&mut held, node);
        drop(order);
        shared.pump(held);
        joined
    }

    fn join(&self, held: &mut Held<'_>, node: &Handle) -> Result<(), Error> {
        let inner = &self.arrays.store;
        let mut before = Vec::new();
        let written = self.lent.iter().zip(&self.modes).filter(|(_, mode)| **mode != Mode::Read);
        for (record, _) in written {
            let needs = record.needs(&(0..record.bytes), self.place);
            before.extend(needs.lost.iter().chain(&needs.arrivals).chain(&needs.writers).map(|node| node.0.clone()));
            before.extend(record.fetch(held, needs, self.place, (&self.name, self.priority))?);
        }
        let claims = self.whole(Mode::ReadWrite);
        let last = Submission { claims: &claims, ..self.submission() };
        let end = last.append(held, inner.tasks.join(&self.name).held(), &before)?;
        if end.is_done() {
            return end.outcome().unwrap_or(Err(Error::Closed { task: None }));
        }
        let mut ordered = self.put_behind_all(held, end.node());
        if ordered.is_ok() && !node.is_done() {
            ordered = held.graph().before_without_room(end.node(), node.node());
            held.want(end.node());
        }
        // Also where it is in no order: else it never ended.
        let released = held.graph().release(end.node());
        Ok(ordered.and(released)?)
    }

    /// Has nothing more be submitted to the section, which has failed, and its node come after all that was: those
    /// outside that conflict with it wait for what still runs inside.
    fn keep_order(&self, node: &Handle) -> Result<(), Error> {
        let (inner, shared) = (&self.arrays.store, self.outer.tasks.within());
        let order = inner.order.take();
        inner.is_over.store(true, Ordering::Relaxed);
        let mut held = order.enter(shared)?;
        let ordered = self.put_behind_all(&mut held, node.node());
        drop(order);
        shared.pump(held);
        Ok(ordered?)
    }

    /// All of the section that has not ended comes before this node: also where the dispatcher is full, for who waits
    /// for room may be the one that has to make it.
    fn put_behind_all(&self, held: &mut Held<'_>, node: NodeId) -> Result<(), Refused> {
        let mut before = BTreeSet::from([node]);
        held.graph().predecessors(node, |first| {
            before.insert(first);
        });
        let pending = held.pending_of(&self.arrays.store.tasks);
        for (first, _) in pending.into_iter().filter(|(node, _)| !before.contains(node)) {
            match held.graph().before_without_room(first, node) {
                Err(Refused::Finished { .. }) => continue,
                made => made?,
            }
            held.want(first);
        }
        Ok(())
    }
}

impl Deref for Section {
    type Target = Arrays;

    fn deref(&self) -> &Arrays {
        &self.arrays
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        if self.node.is_some()
            && let Err(error) = self.close()
        {
            log::debug!("section {} fails: {error}", self.name);
        }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").field("name", &self.name).finish_non_exhaustive()
    }
}
