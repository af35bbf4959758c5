//! The end of arrays: the work that can end does, the rest fails, and memory of the caller's gets its results.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::{Kind, Location, NodeId, Priority, Stage};
use hal::Wait;

use crate::data::record::Record;
use crate::data::resident::ROOM_WITHIN;
use crate::data::store::Store;
use crate::dispatch::body::Kinds;
use crate::dispatch::inside::is_inside;
use crate::dispatch::shared::Held;
use crate::work::fault::{Error, Reason};

const DROPPED: &str = "its arrays were dropped while only the program could have started it: release it, and drop the \
                       guards that it waits for, before";

impl Store {
    /// Waits for all work that can end. Not in the function of a task, which others may wait for: tasks keep all that
    /// they use.
    pub fn drain(&self) {
        let shared = self.tasks.shared();
        if is_inside(Arc::as_ptr(shared) as usize) || self.fail_the_stuck().is_err() {
            return;
        }
        if let Err(error) = self.write_back() {
            log::warn!("results of arrays do not reach the memory that was adopted: {error}");
        }
        self.await_the_end();
    }

    /// Fails the tasks that have references, and those that wait for guards, with all after them.
    fn fail_the_stuck(&self) -> Result<(), Error> {
        let shared = self.tasks.shared();
        let mut held = shared.enter_here()?;
        for node in self.stuck(&mut held) {
            if held.graph.stage(node) == Stage::Waiting {
                let cause = held.fault(node, Reason::Returned(DROPPED.to_owned()));
                held.graph.give_up(node, cause);
            }
        }
        shared.pump(held);
        Ok(())
    }

    fn stuck(&self, held: &mut Held<'_>) -> Vec<NodeId> {
        let set = self.tasks.set().id();
        let of_this_set = held.bodies.iter_mut().filter(|body| body.set == set);
        let nodes: Vec<(NodeId, Kinds)> = of_this_set.map(|body| (body.node, body.character.kind)).collect();
        let mut stuck = Vec::new();
        for (node, kind) in nodes.into_iter().filter(|(node, _)| held.graph.held(*node) > 0) {
            match kind {
                // That of a guard, which keeps its bytes as long as it is open.
                Kinds::One(Kind::Empty) => held.graph.successors(node, |next| stuck.push(next)),
                _ => stuck.push(node),
            }
        }
        stuck
    }

    /// Has the results of adopted arrays copied to the memory that was adopted.
    fn write_back(&self) -> Result<(), Error> {
        let shared = self.tasks.shared();
        let mut records: Vec<Arc<Record>> = self.residents.iter().flat_map(|device| device.records.records()).collect();
        records.extend(self.reduced.records());
        records.retain(|record| std::ptr::eq(&*record.store, self)); // not those of sections
        for record in records {
            let Some(home) = hal::locks::lock(&record.state).home() else { continue };
            record.settle("write back", Priority::LOWEST)?;
            if record.is_beyond(&hal::locks::lock(&record.state), home) {
                record.ensure(Location::Host)?;
            }
            let order = self.order.take();
            let mut held = order.enter(shared)?;
            let needs = record.needs(&(0..record.bytes), home);
            let fetched = record.fetch(&mut held, needs, home, ("write back", Priority::LOWEST));
            drop(order);
            shared.pump(held);
            fetched?;
        }
        Ok(())
    }

    /// Waits until no task is left but those of open guards.
    fn await_the_end(&self) {
        let (shared, set) = (self.tasks.shared(), self.tasks.set());
        let is_over = || set.pending() <= self.guards.load(Ordering::Acquire);
        while !is_over() {
            let Ok(mut held) = shared.enter_here() else { return };
            held.flush = true;
            shared.pump(held);
            let pending = set.pending();
            let end = shared.awaited(|host| {
                let deadline = host.now() + ROOM_WITHIN;
                host.wait_until(Some(deadline), &mut || is_over() || set.pending() < pending)
            });
            if end != Wait::Met {
                let task = self.tasks.oldest();
                return log::warn!(
                    "arrays were dropped, and task {task} does not end: it keeps the memory that it uses"
                );
            }
        }
    }
}

impl Record {
    /// Whether all bytes are up to date there, and no task uses them.
    pub fn is_at(&self, place: Location) -> Result<bool, Error> {
        let _held = self.store.tasks.shared().enter_here()?;
        let needs = self.needs(&(0..self.bytes), place);
        let is_combined = hal::locks::lock(&self.state).partials.is_empty();
        Ok(is_combined && needs.fetches.is_empty() && needs.arrivals.is_empty() && needs.lost.is_none())
    }
}
