//! Submission: a task and the transfers that it needs, appended together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::{Access, Kind, Location, Mode, Priority, Refused};
use overtake_tasks::dispatch::Candidate;
use overtake_tasks::task::{Error, Handle, Submitted, TaskBuilder};
use overtake_tasks::within::{Held, Rank};
use smallvec::SmallVec;

use crate::claim::Claim;
use crate::order::InOrder;
use crate::record::{Memory, Node};
use crate::store::Store;

const UNWRITTEN: &str = "it reads bytes of an array that no task has written: write them before, or use `discard` or \
                         `write` if it reads none";
const FROZEN: &str = "it writes bytes of an array that are frozen for code outside: thaw them before";
const ALIASED: &str =
    "it uses the same bytes of an array twice, and writes them: use disjoint parts, or the array once";

const FOREIGN: &str = "it uses an array of other `Arrays`, or of those around its section: lend it to the section, or \
                       copy it by way of the host";
const OVER: &str = "its section has ended: use the arrays around it, or begin another section";

const REDUCED: &str = "it reduces to a token, which has no elements: `relaxed` has no order among others";

const REPEATED: &str = "it would be repeated on bytes that it has changed: let it `read` and `discard` only";

/// A task that uses arrays in one place.
pub(super) struct Submission<'s> {
    pub store: &'s Arc<Store>,
    pub name: &'s str,
    pub priority: Priority,
    pub place: Location,
    pub claims: &'s [Claim],
    /// The tasks that it comes after besides.
    pub after: &'s [Handle],
    /// The time that it takes, as far as that is known; else 0.
    pub expected_ns: u64,
}

impl<'s> Submission<'s> {
    /// One behind no others, of which no time is known.
    pub fn of(
        store: &'s Arc<Store>,
        name: &'s str,
        priority: Priority,
        place: Location,
        claims: &'s [Claim],
    ) -> Submission<'s> {
        Submission { store, name, priority, place, claims, after: &[], expected_ns: 0 }
    }
}

impl Submission<'_> {
    /// Has memory for all that it uses. The submitting thread makes it, without a lock.
    pub fn ensure(&self) -> Result<(), Error> {
        match self.place {
            Location::Host => Ok(self.claims.iter().try_for_each(|claim| claim.record.ensure(self.place))?),
            Location::Device(device) => self.store.make_room(self.claims, device, self.priority),
        }
    }

    /// All memory that it uses, if there is some. Asked with the order of submissions held: then it stays so until that
    /// is let go of.
    fn memory(&self) -> Option<Memory> {
        let mut memory = Memory::default();
        self.claims.iter().all(|claim| claim.has_memory(self.place, &mut memory)).then_some(memory)
    }

    /// Refuses two views of the same bytes, of which one is mutable.
    pub fn refuse_aliases(&self) -> Result<(), Error> {
        let mut pairs = self.claims.iter().enumerate().flat_map(|(at, one)| {
            let others = &self.claims[at + 1..];
            others.iter().map(move |other| (one, other))
        });
        if pairs.any(|(one, other)| one.aliases(other)) { Err(self.refused(ALIASED)) } else { Ok(()) }
    }

    /// Refuses to repeat a task that reads bytes that it writes: they are others when it runs again.
    pub fn refuse_repeats(&self) -> Result<(), Error> {
        let is_safe = |claim: &Claim| matches!(claim.mode, Mode::Read | Mode::Discard);
        if !self.claims.iter().all(is_safe) {
            return Err(self.refused(REPEATED));
        }
        self.refuse_aliases()
    }

    pub fn refused(&self, fault: &'static str) -> Error {
        Error::Refused(Refused::Data { task: self.name.to_owned(), fault })
    }

    /// Appends the transfers that it needs. Returns the tasks whose results it needs: these, transfers of others, and
    /// those that write bytes which are there; or one that has failed to write them.
    pub fn transfers(&self, held: &mut Held<'_>, rank: Option<Rank>) -> Result<Vec<Handle>, Error> {
        let found = self.look()?;
        if let Some(cause) = found.lost {
            return Ok(vec![cause]);
        }
        let mut before = found.writers;
        if found.is_there {
            return Ok(before);
        }
        held.rank_others_as(rank);
        for claim in self.claims.iter().filter(|claim| claim.needs_bytes()) {
            // Those of a claim before may have brought bytes of this one.
            let needs = claim.record.needs(&claim.bytes, self.place);
            hal::locks::lock(&self.store.counts).shared += u64::from(!needs.arrivals.is_empty());
            if let Some(rank) = rank {
                needs.arrivals.iter().for_each(|node| rank.raise(held.graph(), node.0.node()));
            }
            before.extend(needs.arrivals.iter().map(|node| node.0.clone()));
            before.extend(claim.record.fetch(held, needs, self.place, (self.name, self.priority))?);
        }
        Ok(before)
    }

    /// Refuses a task that must not have its bytes. Returns one that should have written some of them, and has failed.
    /// Asked with the dispatcher's lock held.
    pub fn lost(&self) -> Result<Option<Handle>, Error> {
        Ok(self.look()?.lost)
    }

    fn look(&self) -> Result<Found, Error> {
        let mut found = Found { lost: None, is_there: true, writers: Vec::new() };
        for claim in self.claims {
            let mut state = hal::locks::lock(&claim.record.state);
            if claim.is_frozen(&state) {
                return Err(self.refused(FROZEN));
            }
            if !claim.needs_bytes() {
                continue;
            }
            let needs = claim.record.needs_in_state(&mut state, &claim.bytes, self.place);
            if needs.is_unwritten && claim.needs_contents() {
                return Err(self.refused(UNWRITTEN));
            }
            found.is_there &= needs.fetches.is_empty() && needs.arrivals.is_empty();
            let is_relaxed = claim.mode == Mode::Relaxed;
            let writers = if is_relaxed { needs.writers_of_relaxed } else { needs.writers };
            found.writers.extend(writers.into_iter().map(|node| node.0));
            found.lost = found.lost.or(needs.lost.map(|node| node.0));
        }
        Ok(found)
    }

    /// Appends the task itself, behind these.
    pub fn append(
        &self,
        held: &mut Held<'_>,
        builder: TaskBuilder<'_, '_>,
        before: &[Handle],
    ) -> Result<Handle, Error> {
        let accesses: SmallVec<[Access; 4]> = self.claims.iter().map(Claim::access).collect();
        let first = before.iter().chain(self.after).chain(&self.store.entry);
        builder.priority(self.priority).after(first).append_in(held, &accesses)
    }

    /// Refuses the task where there is no room for it behind these.
    fn refuse_full(&self, held: &mut Held<'_>, before: &[Handle]) -> Result<(), Error> {
        let shared = self.store.tasks.within();
        let own = before.iter().chain(self.after).chain(&self.store.entry).filter(|task| shared.has(task));
        let nodes: Vec<_> = own.map(Handle::node).collect();
        let accesses: Vec<Access> = self.claims.iter().map(Claim::access).collect();
        let edges = held.graph().would_follow(&nodes, &accesses)?.len();
        if held.graph().has_room(1, edges) { Ok(()) } else { Err(Refused::WouldBlock.into()) }
    }

    /// The task has been appended: from now on its bytes are where it has them.
    pub fn note(&self, handle: &Handle) {
        let used = self.store.next_use();
        for claim in self.claims {
            let (mut state, place) = (hal::locks::lock(&claim.record.state), claim.record.place(self.place));
            state.used = used;
            match claim.mode {
                Mode::Read => {}
                Mode::Relaxed => state.validity.relaxes(&claim.bytes, place, &Node(handle.clone())),
                _ => state.validity.writes(&claim.bytes, place, &Node(handle.clone())),
            }
        }
    }

    /// The same of an access of the program: if it never has its bytes, they are where they were.
    pub fn note_behind(&self, handle: &Handle) {
        let (used, node) = (self.store.next_use(), Node(handle.clone()));
        for claim in self.claims {
            let (mut state, place) = (hal::locks::lock(&claim.record.state), claim.record.place(self.place));
            state.used = used;
            if claim.mode.is_write() {
                state.validity.may_write(&claim.bytes, place, &node, Node::progress);
            }
        }
    }

    /// Refuses arrays of others, whose order is not known here.
    pub fn refuse_foreign(&self) -> Result<(), Error> {
        let is_own = |claim: &Claim| Arc::ptr_eq(&claim.record.store, self.store);
        if !self.claims.iter().all(is_own) {
            return Err(self.refused(FOREIGN));
        }
        let is_reduced = |claim: &Claim| claim.reducer.is_some() && claim.record.is_token;
        if self.claims.iter().any(is_reduced) { Err(self.refused(REDUCED)) } else { Ok(()) }
    }

    /// Its rank, if a policy ranks tasks: asked without a lock.
    fn rank(&self) -> Result<Option<Rank>, Error> {
        let shared = self.store.tasks.within();
        let Some(policy) = shared.policy() else { return Ok(None) };
        let mut held = shared.enter()?;
        let after: Vec<_> = self.after.iter().filter(|task| shared.has(task)).map(Handle::node).collect();
        let accesses: Vec<Access> = self.claims.iter().map(Claim::access).collect();
        // The graph refuses it when it is submitted.
        let before = held.graph().would_follow(&after, &accesses).unwrap_or_default();
        let depth = held.depth_behind(before);
        drop(held);
        let (kind, device) = match self.place {
            Location::Host => (Kind::Host, 0),
            Location::Device(device) => (Kind::Kernel, device),
        };
        let bytes = self.claims.iter().map(|claim| claim.bytes.end - claim.bytes.start).sum();
        let candidate = Candidate::new(self.name, kind, self.priority, device);
        Ok(Some(Rank::ask(policy, &candidate.with(depth, bytes, self.expected_ns))))
    }

    /// Has memory, and the order of submissions.
    pub fn begin(&self) -> Result<Begun<'_>, Error> {
        self.refuse_foreign()?;
        let rank = self.rank()?;
        loop {
            let order = self.store.order.take();
            if self.store.is_over.load(Ordering::Relaxed) {
                return Err(self.refused(OVER));
            }
            if let Some(memory) = self.memory() {
                return Ok(Begun { order, memory, rank });
            }
            drop(order);
            // Another thread may need the room before the next look.
            self.ensure()?;
        }
    }

    /// Submits a task that has begun ([`Submission::begin`]): `describe` gets its memory, which the task keeps; `then`
    /// is called with the order still held.
    pub fn submit<'b>(
        &self,
        Begun { order, memory, rank }: Begun<'_>,
        describe: impl FnOnce(Memory) -> TaskBuilder<'b, 'b>,
        then: impl FnOnce(),
    ) -> Result<Handle, Error> {
        let builder = describe(memory).ranked(rank);
        self.submit_described(order, rank, false, || builder, then)
    }

    /// The same, but `describe` is not called where the dispatcher is full. It calls no code of others.
    pub fn submit_if_room<'b>(
        &self,
        Begun { order, memory, rank }: Begun<'_>,
        describe: impl FnOnce(Memory) -> TaskBuilder<'b, 'b>,
    ) -> Result<Handle, Error> {
        self.submit_described(order, rank, true, || describe(memory).ranked(rank), || ())
    }

    fn submit_described<'b>(
        &self,
        order: InOrder<'_>,
        rank: Option<Rank>,
        asks_for_room: bool,
        describe: impl FnOnce() -> TaskBuilder<'b, 'b>,
        then: impl FnOnce(),
    ) -> Result<Handle, Error> {
        // It has work of the user's: it goes behind the locks if it is refused.
        let mut describe = Some(describe);
        let (shared, order) = (self.store.tasks.within(), order);
        let mut held = order.enter(shared)?;
        if asks_for_room {
            held.collect();
        }
        let appended = self.transfers(&mut held, rank).and_then(|before| {
            if asks_for_room {
                self.refuse_full(&mut held, &before)?;
            }
            let describe = describe.take().expect("it is appended once");
            let handle = self.append(&mut held, describe(), &before)?;
            self.note(&handle);
            then();
            Ok(handle)
        });
        held.rank_others_as(None);
        drop(order);
        // Transfers may have been appended before a refusal.
        shared.pump(held);
        appended
    }
}

/// A submission that has memory, and the order of submissions.
pub(super) struct Begun<'s> {
    pub order: InOrder<'s>,
    pub memory: Memory,
    pub rank: Option<Rank>,
}

/// The bytes of a submission, as they are.
struct Found {
    /// A task that should have written some, and has failed.
    lost: Option<Handle>,
    /// No transfer is needed.
    is_there: bool,
    /// Those that write bytes which are there.
    writers: Vec<Handle>,
}
