//! The driver's staging memory for copies to pageable memory: one copy of a process at a time has it.

use super::agenda::Due;
use super::copy::Place;
use super::queue::Class;
use super::stream::{Role, Stream};
use super::{Caller, Model, Ns, Outcome, Request, StreamKey};
use crate::planted::Planted;

/// The staging memory of a process, and the threads that want it.
#[derive(Default)]
pub(crate) struct StagingMemory {
    is_held: bool,
    waiting: u32,
    free_since: Ns,
    /// How often a thread that waits has been too late in a row.
    lost: u64,
}

impl Model {
    /// The way of a copy that the driver makes in pieces; `None` for any other.
    pub(crate) fn class_in_pieces(&mut self, caller: Caller, request: &Request) -> Outcome<Option<Class>> {
        let (target, source) =
            (self.place(caller, &request.target, request)?, self.place(caller, &request.source, request)?);
        let is_large = request.bytes() > self.parameters.host.pageable_queued_bytes_max;
        Ok(match (target, source) {
            _ if request.shaped || self.is_planted(Planted::PageableReadLate) => None,
            (Place::Device(_), Place::Pageable) if is_large => Some(Class::H2d),
            (Place::Pageable, Place::Device(_)) => Some(Class::D2h),
            _ => None,
        })
    }

    /// Whether no copy goes in pieces in this stream, or in one that is ordered with it: the driver keeps the calls of
    /// other threads from coming between the pieces.
    pub(crate) fn has_no_pieces(&self, key: StreamKey) -> bool {
        let Some(stream) = self.streams.get(key) else { return true };
        let Some(context) = self.contexts.get(stream.context) else { return true };
        let is_ordered = |other: &StreamKey| {
            let other_stream = self.streams.get(*other);
            let legacy_and_blocking = |a: &Stream, b: &Stream| a.role == Role::Legacy && b.blocking();
            *other == key
                || other_stream.is_some_and(|it| legacy_and_blocking(it, stream) || legacy_and_blocking(stream, it))
        };
        !context.in_pieces.iter().any(is_ordered)
    }

    /// A copy of this stream begins to go in pieces.
    pub(crate) fn pieces_begin(&mut self, key: StreamKey) {
        let context = self.streams[key].context;
        self.contexts[context].in_pieces.push(key);
    }

    /// A thread begins to wait for the end of such a copy, or waits no more.
    pub(crate) fn pieces_await(&mut self, process: usize, begins: bool) {
        let awaited = &mut self.processes[process].pieces_awaited;
        *awaited = if begins { *awaited + 1 } else { *awaited - 1 };
    }

    /// It has ended, or its stream has. Returns whether a thread waits for that.
    pub(crate) fn pieces_end(&mut self, caller: Caller, key: StreamKey) -> bool {
        for context in self.contexts.values_mut() {
            if let Some(place) = context.in_pieces.iter().position(|other| *other == key) {
                context.in_pieces.swap_remove(place);
                break;
            }
        }
        self.agenda.push(caller.at, Due::Wake);
        self.processes[caller.process].pieces_awaited > 0
    }

    /// Takes the staging memory, if it is free, and not promised to a thread that has waited for long.
    pub(crate) fn staging_take(&mut self, process: usize, has_waited: bool) -> bool {
        let races_max = self.parameters.host.pageable_races_max;
        let staging = &mut self.processes[process].staging;
        let is_promised = staging.waiting > 0 && staging.lost >= races_max;
        if staging.is_held || (is_promised && !has_waited) {
            return false;
        }
        staging.is_held = true;
        staging.lost = if has_waited { 0 } else { staging.lost };
        true
    }

    /// A thread begins to wait for the staging memory, or waits no more.
    pub(crate) fn staging_wait(&mut self, process: usize, begins: bool) {
        let waiting = &mut self.processes[process].staging.waiting;
        *waiting = if begins { *waiting + 1 } else { *waiting - 1 };
    }

    /// Has a thread look at that time.
    pub(crate) fn wake_at(&mut self, at: Ns) {
        self.agenda.push(at, Due::Wake);
    }

    /// The caller gives the staging memory back.
    pub(crate) fn staging_free(&mut self, caller: Caller) {
        let staging = &mut self.processes[caller.process].staging;
        (staging.is_held, staging.free_since) = (false, caller.at);
        if staging.waiting == 0 {
            return;
        }
        staging.lost += 1;
        self.agenda.push(caller.at + self.parameters.host.pageable_wake_ns, Due::Wake);
    }

    /// Whether a thread that waits for the staging memory has been woken, and finds it free.
    pub(crate) fn staging_is_free(&self, process: usize) -> bool {
        let staging = &self.processes[process].staging;
        !staging.is_held && self.now >= staging.free_since + self.parameters.host.pageable_wake_ns
    }
}
