//! The end of a set of arrays: work that can end does, the rest fails, and adopted memory gets its results.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use graph::{Access, Location, Mode, NodeId, Priority, Refused, Stage};
use hal::{Code, Nanos, Wait};
use overtake_tasks::task::{Error, Handle, Reason};
use overtake_tasks::within::Held;

use crate::record::{Node, Partial, Record};
use crate::resident::ROOM_WITHIN;
use crate::store::Store;

const DROPPED: &str = "its arrays were dropped while only the program could have started it: release it, and drop the \
                       guards that it waits for, before";

const OPEN: &str = "an access or a section that is open keeps results from adopted memory: end it before";

const INSIDE: &str = "a function of a task cannot wait for the others: end the arrays outside";

impl Store {
    /// Waits for all work that can end, and returns the first error of a write-back. Not in the function of a task,
    /// which others may wait for: tasks keep all that they use.
    pub fn drain(&self) -> Result<(), Error> {
        if self.is_inside() {
            return Err(Code::NOT_PERMITTED.at("overtake arrays finish").because(INSIDE).into());
        }
        self.leave_accesses()?;
        self.fail_the_stuck()?;
        let adopted = self.adopted();
        let (transfers, written) = self.write_all_back(&adopted);
        let ended = self.await_the_end();
        self.leave_accesses()?;
        let mut home = written.and_then(|()| are_home(&adopted, &transfers));
        // The transfer of an access that is left was to bring some, and has failed.
        if adopted.iter().any(|(record, home)| record.lacks_at(*home)) {
            let (transfers, written) = self.write_all_back(&adopted);
            // Only for these: what has not ended before is not waited for again.
            let deadline = self.tasks.within().driver().host().now() + ROOM_WITHIN;
            transfers.iter().for_each(|transfer| drop(transfer.wait_until(Some(deadline))));
            home = written.and_then(|()| are_home(&adopted, &transfers));
        }
        home.and(ended)
    }

    /// Has the results of these arrays copied to their places: of all of them, also where some fail.
    fn write_all_back(&self, adopted: &[(Arc<Record>, Location)]) -> (Vec<Handle>, Result<(), Error>) {
        let deadline = self.tasks.within().driver().host().now() + ROOM_WITHIN;
        let (mut transfers, mut written) = (Vec::new(), Ok(()));
        for (record, home) in adopted {
            written = written.and(self.write_back(record, *home, &mut transfers, deadline));
        }
        (transfers, written)
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

    /// Leaves the accesses that the program has not come to have, where others wait for them or they are lost, as the
    /// program would.
    fn leave_accesses(&self) -> Result<(), Error> {
        let shared = self.tasks.within();
        let mut held = shared.enter()?;
        let left = self.guards.leave_asked(&mut held);
        left.iter().for_each(|(node, asked)| asked.leave(&mut held, node));
        held.collect();
        shared.pump(held);
        Ok(())
    }

    /// Fails the tasks that have references, and those that wait for guards, with all after them.
    fn fail_the_stuck(&self) -> Result<(), Error> {
        let shared = self.tasks.within();
        let mut held = shared.enter()?;
        // Guards keep their bytes as long as they are open.
        let guards = self.guards.nodes(&mut held);
        let mut stuck = held.graph().all_behind(guards.iter().copied());
        let guards = BTreeSet::from_iter(guards);
        for (node, _) in held.pending_of(&self.tasks) {
            if held.graph().held(node) > 0 && !guards.contains(&node) {
                stuck.insert(node);
            }
        }
        for node in stuck {
            if held.graph().stage(node) == Stage::Waiting {
                let cause = held.fault(node, Reason::Returned(DROPPED.to_owned()));
                held.graph().give_up(node, cause);
                // Before there are more failures than are kept.
                held.collect();
            }
        }
        shared.pump(held);
        Ok(())
    }

    /// Has the results of an adopted array copied to the memory that was adopted. Where the dispatcher is full it waits
    /// for room.
    fn write_back(
        &self,
        record: &Arc<Record>,
        home: Location,
        transfers: &mut Vec<Handle>,
        deadline: Nanos,
    ) -> Result<(), Error> {
        let shared = self.tasks.within();
        loop {
            match self.try_write_back(record, home, transfers) {
                Err(Error::Refused(Refused::WouldBlock)) if shared.driver().host().now() < deadline => {
                    shared.await_room(Some(deadline))?;
                }
                written => return written,
            }
        }
    }

    fn try_write_back(&self, record: &Arc<Record>, home: Location, transfers: &mut Vec<Handle>) -> Result<(), Error> {
        let shared = self.tasks.within();
        let combined = self.combine_before(record, transfers);
        if let Err(Error::Refused(Refused::WouldBlock)) = combined {
            return combined;
        }
        if record.is_beyond(&hal::locks::lock(&record.state), home) {
            record.ensure(Location::Host)?;
        }
        let order = self.order.take();
        let mut held = order.enter(shared)?;
        let mut needs = record.needs(&(0..record.bytes), home);
        transfers.extend(needs.arrivals.iter().map(|transfer| transfer.0.clone()));
        let (all, behind) = (needs.fetches.len(), self.behind_own(&mut held));
        needs.fetches.retain(|it| !record.is_among(&behind, &mut held, &it.bytes, Mode::Read, &it.after));
        let is_open = needs.fetches.len() < all;
        let fetched = record.fetch(&mut held, needs, home, ("write back", Priority::LOWEST));
        drop(order);
        shared.pump(held);
        transfers.extend(fetched?);
        combined.and(if is_open { Err(open()) } else { Ok(()) })
    }

    /// Combines the results of reductions with the bytes, but for those that would wait for an access of this thread.
    /// Returns the first error, also where results stay away: these, or those of a section. Where the dispatcher is
    /// full it goes no further.
    fn combine_before(&self, record: &Arc<Record>, transfers: &mut Vec<Handle>) -> Result<(), Error> {
        let shared = self.tasks.within();
        let partials = hal::locks::lock(&record.state).partials.clone();
        let mut held = shared.enter()?;
        let (is_lent, own) = (self.guards.have_lent(&mut held, record.data), self.behind_own(&mut held));
        let is_behind = |it: &Partial| record.is_among(&own, &mut held, &it.bytes, Mode::ReadWrite, &[]);
        let (behind, before): (Vec<_>, Vec<_>) = partials.into_iter().partition(is_behind);
        shared.pump(held);
        let mut combined = if is_lent || !behind.is_empty() { Err(open()) } else { Ok(()) };
        for partial in before {
            match record.combine(&partial, "write back", Priority::LOWEST) {
                Ok(task) => transfers.extend(task),
                Err(Error::Refused(Refused::WouldBlock)) => return Err(Refused::WouldBlock.into()),
                Err(error) => combined = combined.and(Err(error)),
            }
        }
        combined
    }

    /// The accesses that this thread has open, and all that waits for them: in vain.
    fn behind_own(&self, held: &mut Held<'_>) -> BTreeSet<NodeId> {
        let own = self.guards.own_nodes(held);
        let mut behind = held.graph().all_behind(own.iter().copied());
        behind.extend(own);
        behind
    }

    /// Waits until no task is left but those of open guards.
    fn await_the_end(&self) -> Result<(), Error> {
        let (shared, tasks) = (self.tasks.within(), &self.tasks);
        loop {
            let mut held = shared.enter()?;
            // With the lock both are of the same tasks.
            let pending = tasks.pending();
            if pending <= self.guards.nodes(&mut held).len() as u64 {
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

/// Whether all results are there, where these transfers bring them.
fn are_home(adopted: &[(Arc<Record>, Location)], transfers: &[Handle]) -> Result<(), Error> {
    adopted.iter().try_for_each(|(record, home)| record.lost_at(*home))?;
    transfers
        .iter()
        .try_for_each(|transfer| transfer.outcome().unwrap_or_else(|| Err(Error::Stuck { task: transfer.name() })))
}

fn open() -> Error {
    Error::Refused(Refused::Data { task: "write back".to_owned(), fault: OPEN })
}

impl Record {
    /// Whether a task that uses these bytes so, and needs these, would come behind one of `nodes`.
    fn is_among(
        &self,
        nodes: &BTreeSet<NodeId>,
        held: &mut Held<'_>,
        bytes: &Range<u64>,
        mode: Mode,
        after: &[Node],
    ) -> bool {
        if nodes.is_empty() {
            return false;
        }
        let after: Vec<_> = after.iter().map(|node| node.0.node()).collect();
        let access = Access { data: self.data, range: Some(bytes.clone()), mode };
        let before = held.graph().would_follow(&after, &[access]).unwrap_or_default();
        before.iter().any(|node| nodes.contains(node))
    }

    /// Whether bytes are not there, nor on their way to there, though they are elsewhere.
    fn lacks_at(&self, place: Location) -> bool {
        self.store.tasks.within().enter().is_ok_and(|_held| !self.needs(&(0..self.bytes), place).fetches.is_empty())
    }

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

#[cfg(test)]
mod tests {
    use copies::{Options, Overtake};
    use overtake_memory::buffer::PinnedBuffer;
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};

    use super::*;
    use crate::{ArrayOptions, Arrays, Sum, reduce};

    /// Also where no copy follows, because the bytes are at home.
    #[test]
    fn results_are_not_home_before_they_are_combined() {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let arrays = Arrays::open(&dispatcher, ArrayOptions::default()).unwrap();
        let adopted = arrays.adopt(PinnedBuffer::<u32>::new(&overtake, 1).unwrap()).unwrap();
        let adds = arrays.host("adds", (reduce(&adopted, Sum),), |_| Ok(())).held().submit().unwrap();
        let store = &adopted.record.store;
        let all = store.adopted();
        let (transfers, written) = store.write_all_back(&all);
        written.unwrap();
        assert!(matches!(are_home(&all, &transfers), Err(Error::Stuck { .. })));
        adds.release().unwrap();
        arrays.wait().unwrap();
        are_home(&all, &transfers).unwrap();
    }
}
