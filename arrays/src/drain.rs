//! The end of a set of arrays: work that can end does, the rest fails, and adopted memory gets its results.

use std::sync::Arc;

use graph::{Location, NodeId, Priority, Refused, Stage};
use hal::{Code, Wait};
use overtake_tasks::task::{Error, Handle, Reason};
use overtake_tasks::within::Held;

use crate::record::Record;
use crate::resident::ROOM_WITHIN;
use crate::store::Store;

const DROPPED: &str = "its arrays were dropped while only the program could have started it: release it, and drop the \
                       guards that it waits for, before";

const LEFT: &str =
    "its arrays were dropped before the program had its elements: end the access before, or ask for them";

const OPEN: &str = "an access or a section that is open has elements of adopted memory elsewhere: end it before";

const INSIDE: &str = "a function of a task cannot wait for the others: end the arrays outside";

impl Store {
    /// Waits for all work that can end, and returns the first error of a write-back. Not in the function of a task,
    /// which others may wait for: tasks keep all that they use.
    pub fn drain(&self) -> Result<(), Error> {
        if self.is_inside() {
            return Err(Code::NOT_PERMITTED.at("overtake arrays finish").because(INSIDE).into());
        }
        self.fail_the_stuck()?;
        let (adopted, mut transfers) = (self.adopted(), Vec::new());
        let mut written = Ok(());
        // Of all of them, also where some fail.
        for (record, home) in &adopted {
            written = written.and(self.write_back(record, *home, &mut transfers));
        }
        let ended = self.await_the_end();
        let kept = adopted.iter().try_for_each(|(record, home)| record.lost_at(*home));
        let arrived = transfers
            .iter()
            .try_for_each(|transfer| transfer.outcome().unwrap_or_else(|| Err(Error::Stuck { task: transfer.name() })));
        written.and(kept).and(arrived).and(ended)
    }

    /// Whether the calling thread runs a function of a task, which may not wait for others.
    pub fn is_inside(&self) -> bool {
        self.tasks.within().is_inside()
    }

    /// The arrays in memory of the caller's, with its places.
    fn adopted(&self) -> Vec<(Arc<Record>, Location)> {
        let home = |record: &Arc<Record>| hal::locks::lock(&record.state).home();
        let records = self.adopted.records();
        records.into_iter().filter_map(|record| home(&record).map(|home| (record, home))).collect()
    }

    /// Fails the tasks that have references, and those that wait for guards, with all after them.
    fn fail_the_stuck(&self) -> Result<(), Error> {
        let shared = self.tasks.within();
        let mut held = shared.enter()?;
        for node in self.stuck(&mut held) {
            if self.guards.is_asked(node) {
                held.give_up(node, Reason::Returned(LEFT.to_owned()));
                held.collect();
            } else if held.graph().stage(node) == Stage::Waiting {
                let cause = held.fault(node, Reason::Returned(DROPPED.to_owned()));
                held.graph().give_up(node, cause);
                // Before there are more failures than are kept.
                held.collect();
            }
        }
        shared.pump(held);
        Ok(())
    }

    fn stuck(&self, held: &mut Held<'_>) -> Vec<NodeId> {
        let mut stuck = Vec::new();
        for (node, is_empty) in held.pending_of(&self.tasks) {
            match held.graph().held(node) > 0 {
                // That of a guard, which keeps its bytes as long as it is open.
                true if is_empty && self.guards.is_asked(node) => stuck.push(node),
                true if is_empty && self.guards.has(node) => stuck.extend(held.graph().all_behind(node)),
                is_held => stuck.extend(is_held.then_some(node)),
            }
        }
        stuck
    }

    /// Has the results of an adopted array copied to the memory that was adopted. Where the dispatcher is full it waits
    /// for room.
    fn write_back(&self, record: &Arc<Record>, home: Location, transfers: &mut Vec<Handle>) -> Result<(), Error> {
        let host = self.tasks.within().driver().host();
        let deadline = host.now() + ROOM_WITHIN;
        loop {
            match self.try_write_back(record, home, transfers) {
                Err(Error::Refused(Refused::WouldBlock)) if host.now() < deadline => {
                    self.tasks.within().await_room(Some(deadline))?;
                }
                written => return written,
            }
        }
    }

    fn try_write_back(&self, record: &Arc<Record>, home: Location, transfers: &mut Vec<Handle>) -> Result<(), Error> {
        let shared = self.tasks.within();
        record.settle("write back", Priority::LOWEST)?;
        if record.is_beyond(&hal::locks::lock(&record.state), home) {
            record.ensure(Location::Host)?;
        }
        let order = self.order.take();
        let mut held = order.enter(shared)?;
        let mut needs = record.needs(&(0..record.bytes), home);
        transfers.extend(needs.arrivals.iter().map(|transfer| transfer.0.clone()));
        let all = needs.fetches.len();
        // A transfer behind an open guard would have no end.
        needs.fetches.retain(|fetch| !fetch.after.iter().any(|node| self.guards.has(node.0.node())));
        let is_open = needs.fetches.len() < all;
        let fetched = record.fetch(&mut held, needs, home, ("write back", Priority::LOWEST));
        drop(order);
        shared.pump(held);
        transfers.extend(fetched?);
        let refused = || Error::Refused(Refused::Data { task: "write back".to_owned(), fault: OPEN });
        if is_open { Err(refused()) } else { Ok(()) }
    }

    /// Waits until no task is left but those of open guards.
    fn await_the_end(&self) -> Result<(), Error> {
        let (shared, tasks) = (self.tasks.within(), &self.tasks);
        loop {
            let mut held = shared.enter()?;
            // With the lock both are of the same tasks.
            let pending = tasks.pending();
            if pending <= self.guards.pending() {
                return Ok(());
            }
            held.flush();
            shared.pump(held);
            let end = shared.awaited(|host| {
                let deadline = host.now() + ROOM_WITHIN;
                host.wait_until(Some(deadline), &mut || tasks.pending() < pending)
            });
            if end != Wait::Met {
                return Err(Error::Stuck { task: self.tasks.oldest() });
            }
        }
    }
}

impl Record {
    /// The failure of a task that should have written some of its bytes.
    fn lost_at(&self, place: Location) -> Result<(), Error> {
        let _held = self.store.tasks.within().enter()?;
        let lost = self.needs(&(0..self.bytes), place).lost;
        lost.and_then(|node| node.0.outcome()).unwrap_or(Ok(()))
    }

    /// Whether all bytes are up to date there, and no task uses them.
    pub fn is_at(&self, place: Location) -> Result<bool, Error> {
        let _held = self.store.tasks.within().enter()?;
        let needs = self.needs(&(0..self.bytes), place);
        let is_combined = hal::locks::lock(&self.state).partials.is_empty();
        let is_settled = needs.arrivals.is_empty() && needs.writers.is_empty() && needs.lost.is_none();
        Ok(is_combined && needs.fetches.is_empty() && is_settled)
    }
}
