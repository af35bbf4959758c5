//! Tasks that the submitting call launches itself.

use std::cell::Cell;
use std::sync::Arc;

use graph::{NodeId, Point};

use super::TaskBuilder;
use crate::dispatch::kit::{Kit, Launching};
use crate::dispatch::marks::add_join;
use crate::dispatch::state::State;
use crate::task::handle::Handle;
use crate::work::fault::Error;
use crate::work::lane::Call;

impl<'t> TaskBuilder<'t, '_> {
    /// Submits the task, and launches it behind the joins with the few tasks before it, if it may be launched now by
    /// this thread.
    #[inline(never)]
    pub(super) fn submit_here(self) -> Result<Handle, Error> {
        self.shared.may_enter()?;
        let mut held = self.shared.enter();
        if !self.is_usual() || !held.may_launch_at_once() {
            return self.submit_otherwise(held);
        }
        let State { graph, bodies, marks, kit, .. } = &mut *held;
        let joins = &mut kit.get_or_insert_with(Kit::boxed).joins;
        joins.clear();
        let join = |point: Point| add_join(joins, marks, point);
        let before = self.after.iter().map_while(|first| *first).map(|first| {
            Self::may_follow(first, |first| bodies.are_home_of(first.shared_outcome())).then(|| first.node())
        });
        let Some((node, lane, own)) = graph.append_running(&self.spec(&[]), before, join) else {
            return self.submit_otherwise(held);
        };
        let has_joins = own.is_some() || !joins.is_empty();
        let marks = &mut marks[usize::from(lane)];
        let can_begin = if has_joins { Some(false) } else { marks.can_begin };
        let own = marks.mark_own(own.is_some());
        let shared = self.shared;
        let (handle, launching) = self.into_launch(&mut held, node, lane, can_begin);
        shared.pump_from(&mut held, launching, own);
        Ok(handle)
    }

    /// The task has been handed out.
    #[inline(always)] // in one place
    fn into_launch(self, held: &mut State, node: NodeId, lane: u8, can_begin: Option<bool>) -> (Handle, Launching) {
        let (character, TaskBuilder { set, work, priority, .. }) = (self.character(), self);
        let body = held.bodies.add(node, set);
        body.character = character;
        let handle = Handle::new(node, Arc::clone(&body.outcome));
        held.expect(character);
        let (turn, can_begin) = (Cell::new(0), Cell::new(can_begin));
        (handle, Launching { call: Call { node, turn, lane, priority, can_begin }, work })
    }
}
