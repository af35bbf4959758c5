//! Submissions that wait for room in a full dispatcher.

use std::sync::Arc;
use std::time::Duration;

use graph::{Graph, Refused};
use hal::{Nanos, Wait};

use super::TaskBuilder;
use crate::dispatch::inside::is_inside;
use crate::dispatch::shared::Shared;
use crate::task::handle::Handle;
use crate::work::fault::Error;
use crate::work::set::Set;

/// The time between two looks: others may have submitted as many tasks as have ended.
const LOOK_EVERY: Nanos = Nanos::from_ms(1);

impl TaskBuilder<'_, '_> {
    /// As [`TaskBuilder::submit`], but if the dispatcher is full it waits until tasks have ended. Tasks that a
    /// reference or an open group holds back do not make room.
    ///
    /// It does not wait in a task's function of the same dispatcher, because the others may be waiting for that one:
    /// [`Error::NoRoomInside`].
    pub fn submit_when_room(self) -> Result<Handle, Error> {
        let name = self.name;
        self.submit_by(None)?.ok_or_else(|| Error::NoRoomInside { task: format!("{name:?}") })
    }

    /// The same with a timeout in the host's time. If the dispatcher is still full then, or the caller must not wait,
    /// it drops the task and returns `None`.
    pub fn submit_within(self, span: Duration) -> Result<Option<Handle>, Error> {
        let deadline = self.shared.deadline(span);
        self.submit_by(Some(deadline))
    }

    pub(in crate::task) fn submit_by(mut self, deadline: Option<Nanos>) -> Result<Option<Handle>, Error> {
        let shared = self.shared;
        loop {
            let mut held = shared.enter_here()?;
            if shared.policy.is_some() && self.rank_given().is_none() {
                held = self.rank(held)?;
            }
            let appended = self.try_append(&mut held, &[]);
            let is_full = matches!(appended, Err(Error::Refused(Refused::WouldBlock)));
            if !is_full {
                held.dead.add_refused(&mut self.work);
            }
            shared.pump(held);
            if !is_full {
                return appended.map(Some).map_err(|error| self.naming(error));
            }
            let has_time = deadline.is_none_or(|deadline| shared.driver.host().now() < deadline);
            if !has_time || is_inside(Arc::as_ptr(shared).addr()) {
                return Ok(None);
            }
            shared.await_room(deadline)?;
        }
    }
}

impl Shared {
    /// Waits for a while, until a task has ended.
    pub fn await_room(self: &Arc<Shared>, deadline: Option<Nanos>) -> Result<(), Error> {
        self.await_room_for(deadline, |graph| graph.has_room(1, 1))
    }

    /// The same for more than one task.
    pub fn await_room_for(
        self: &Arc<Shared>,
        deadline: Option<Nanos>,
        has_room: impl Fn(&Graph) -> bool,
    ) -> Result<(), Error> {
        let mut held = self.enter_here()?;
        held.flush = true;
        let pending: Vec<(Arc<Set>, u64)> = held.sets.all().map(|set| (Arc::clone(set), set.pending())).collect();
        self.pump(held);
        let end = self.awaited(|host| {
            // In virtual time there is an end of all work, which no look must put off.
            let look = (!host.is_virtual()).then(|| host.now() + LOOK_EVERY);
            let next = look.into_iter().chain(deadline).min();
            host.wait_until(next, &mut || pending.iter().any(|(set, before)| set.pending() < *before))
        });
        // A task may have ended before this call.
        let has_room = || Ok::<_, Error>(has_room(&self.enter_here()?.graph));
        if end == Wait::Stuck && !has_room()? { Err(Refused::WouldBlock.into()) } else { Ok(()) }
    }
}
