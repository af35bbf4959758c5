//! Tasks that are launched by the call that submits them.

use std::cell::Cell;
use std::sync::Arc;

use graph::NodeId;

use super::{FEW, TaskBuilder};
use crate::dispatch::kit::Launching;
use crate::dispatch::shared::Held;
use crate::dispatch::state::State;
use crate::task::handle::Handle;
use crate::work::lane::{Call, Submitted};

impl<'t> TaskBuilder<'t, '_> {
    /// The nodes of the few tasks before it, and how many they are, if it may be launched now by this thread.
    #[inline]
    pub(super) fn few_before(&self, held: &State) -> Option<([NodeId; FEW], usize)> {
        if !self.is_usual() || !held.may_launch_at_once() {
            return None;
        }
        let (mut nodes, mut count) = ([NodeId::NONE; FEW], 0);
        for (place, first) in nodes.iter_mut().zip(self.after.iter().map_while(|first| *first)) {
            if !Self::may_follow(first, |first| held.bodies.are_home_of(first.shared_outcome())) {
                return None;
            }
            *place = first.node();
            count += 1;
        }
        Some((nodes, count))
    }

    #[inline]
    pub(super) fn submit_running(self, held: &mut Held<'t>, node: NodeId, lane: u8) -> Handle {
        let can_begin = held.marks[usize::from(lane)].can_begin;
        let shared = self.shared;
        let (handle, launching) = self.into_launch(held, node, lane, can_begin);
        shared.pump_from(held, launching);
        handle
    }

    #[inline(never)]
    pub(super) fn submit_joining(self, held: &mut Held<'t>, node: NodeId, lane: u8) -> Handle {
        let has_joins = !held.graph.joins().is_empty();
        let can_begin = if has_joins { Some(false) } else { held.marks[usize::from(lane)].can_begin };
        let shared = self.shared;
        let (handle, launching) = self.into_launch(held, node, lane, can_begin);
        shared.pump_from_joining(held, launching);
        handle
    }

    /// The task has been handed out.
    #[inline(always)] // most of the launch is known to its callers
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
