//! The lane of a task that is being launched, and the calls that submit its work there.
#![allow(unsafe_code)] // copies and launches are unsafe; the caller's promise is passed on

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use copies::copy::{CopyHandle, Request};
use copies::{Overtake, PriorityStream};
use graph::{NodeId, Priority};
use hal::{Code, Driver, Event, Stream};

use crate::work::fault::Error;
use crate::work::graphs::Graphs;
use crate::work::kernel::{Arguments, Kernel, Shape};

/// The dispatcher, as a launch sees it.
pub(crate) trait Inside {
    fn completes(&self, node: NodeId, other: NodeId) -> Result<(), Error>;
    fn sync_point(&self, node: NodeId) -> Result<(), Error>;
    /// A replay of a span (the steps of a template that are one task) in several lanes begins, or goes on. Returns
    /// whether its task comes after something that may not have ended, and a number for [`Inside::goes_on`].
    fn begin_span(&self, node: NodeId) -> (bool, u64);
    /// The number alone, for a replay in a single lane.
    fn visits(&self) -> u64;
    /// So many events for a replay of a span on this device. They are free for others when they are dropped.
    fn take_events(&self, device: u8, count: u32) -> hal::Result<Arc<[Event]>>;
    /// Whether nothing has come since that goes before the rest of a replay of this priority.
    fn goes_on(&self, priority: Priority, visits: &mut u64) -> bool;
    /// These lanes, a bit each, have work of a task that is in another lane of the graph.
    fn advance(&self, lanes: u64);
    /// The same, at the end of a call of a span's function, which has made these calls.
    fn end_span(&self, lanes: u64, calls: Calls);
    /// A replay of a fixed template is the launch of a graph, or goes by calls.
    fn note_fixed(&self, is_graph: bool);
    /// These graphs of a template end with the dispatcher, at the latest.
    fn keep_graphs(&self, graphs: &Arc<Graphs>);
    /// The copy layer of a device.
    fn layer_of(&self, device: u8) -> &Arc<Overtake>;
    /// The stream of a lane.
    fn stream(&self, lane: u8) -> &PriorityStream;
    /// Ends a capture that a function has left open. Returns the error of that function, if it has.
    fn end_capture(&self, call: &Call) -> Option<&'static str>;
    /// A call that keeps the order of the lanes has failed, for this task.
    fn lose(&self, node: NodeId, error: hal::Error);
    /// A launch of this task, in this lane, has failed, and may be repeated. Whether the device is there for it.
    fn may_run_again(&self, node: NodeId, lane: u8, error: &(dyn std::error::Error + Send + Sync)) -> bool;
}

/// What all launches of a thread on one device have in common.
pub(crate) struct Site<'l> {
    pub inside: &'l dyn Inside,
    pub driver: &'l Arc<dyn Driver>,
    /// The lanes whose streams functions have asked for, a bit each: they may have work that the dispatcher has not
    /// seen.
    pub lent: &'l AtomicU64,
    pub device: u8,
    /// The lanes of a group.
    pub of_a_group: u8,
}

impl Site<'_> {
    /// Whether a function has asked for the stream of this lane.
    #[inline]
    pub fn is_lent(&self, call: &Call) -> bool {
        let lent = self.lent.load(Ordering::Relaxed);
        lent != 0 && lent & call.bit() != 0
    }
}

/// The calls that a span has made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub launches: u64,
    pub waits: u64,
    pub records: u64,
}

/// The lanes beside that of a task in which it has work too.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Those that have work that the graph does not know of, a bit each.
    pub used: Cell<u64>,
    /// All later work waits for that ([`Lane::sync_point`]).
    pub is_synced: Cell<bool>,
    pub capture: Cell<Capture>,
}

/// Whether the steps of a span are being captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Capture {
    #[default]
    No,
    Yes,
    /// They were, until one did this, which a graph cannot repeat.
    Refused(&'static str),
}

/// The lanes of a group, from that of a task on.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    own: u8,
    count: u8,
    /// How many lanes there are from the task's to the end of the group, itself included. Computed once, by a division.
    left: u8,
}

impl Group {
    /// The number of the lane that comes `by` lanes after the task's, around the group. `by` is less than `count`.
    #[inline]
    pub fn number(self, by: u8) -> u8 {
        if by < self.left { self.own + by } else { self.own + by - self.count }
    }
}

/// The lane of a task that is being launched. The context of the device is current.
pub struct Lane<'l> {
    pub(crate) site: &'l Site<'l>,
    pub(crate) stream: &'l PriorityStream,
    pub(crate) call: &'l Call,
    /// The copies so far that can be raised.
    pub(crate) copies: &'l mut Vec<CopyHandle>,
    /// It is one of several lanes of the task.
    pub(crate) beside: Option<&'l Beside>,
}

/// A call of a task's function.
pub(crate) struct Call {
    pub node: NodeId,
    pub turn: Cell<u32>,
    pub lane: u8,
    pub priority: Priority,
    /// Whether its next copy can begin when it is submitted, if that is known.
    pub can_begin: Cell<Option<bool>>,
}

impl Call {
    /// The bit of its lane.
    #[inline]
    pub fn bit(&self) -> u64 {
        1 << (u32::from(self.lane) % u64::BITS)
    }
}

impl Lane<'_> {
    /// The stream of the lane, for library calls. Work that is submitted to other streams is not part of the task.
    #[must_use]
    pub fn stream(&self) -> Stream {
        // The function may submit work that is not seen here.
        self.site.lent.fetch_or(self.call.bit(), Ordering::Relaxed);
        if self.call.can_begin.get() == Some(true) {
            self.call.can_begin.set(None);
        }
        self.stream.raw()
    }

    /// Ends a capture whose step does this.
    #[inline]
    pub(crate) fn refuse_capture(&self, what: &'static str) -> hal::Result<()> {
        match self.beside {
            Some(beside) if beside.capture.get() != Capture::No => Err(captured(beside, what)),
            _ => Ok(()),
        }
    }

    /// The lanes of the same group.
    pub(crate) fn group(&self) -> Group {
        let (own, count) = (self.call.lane, self.site.of_a_group);
        Group { own, count, left: count - own % count }
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        self.site.driver
    }

    /// How many times the function has already been called for this task (PX-09).
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.call.turn.get()
    }

    /// The number of the lane, from 0 up, for tests and traces.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.call.lane
    }

    /// The device, by its number among those of the dispatcher.
    #[must_use]
    pub fn device(&self) -> u8 {
        self.site.device
    }

    /// The task's priority, including what it has inherited.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.call.priority
    }

    /// Copies, at the priority of the task unless the request states another one.
    ///
    /// # Safety
    /// As for [`PriorityStream::memcpy_async`]. The function of a task lives until the task has completed, with
    /// everything that it owns.
    pub unsafe fn copy(&mut self, request: &Request) -> hal::Result<()> {
        self.refuse_capture("copies")?;
        let mut request = request.or_at(self.call.priority);
        if let Some(can_begin) = self.call.can_begin.take() {
            request = request.ready(can_begin);
        }
        // SAFETY: passed on to the caller.
        let copy = unsafe { self.stream.memcpy_async(&request)? };
        if copy.can_be_lifted() {
            self.copies.push(copy);
        }
        Ok(())
    }

    /// Launches a kernel, after checking that its arguments fit its parameters.
    ///
    /// # Safety
    /// The kernel accesses only memory that is there until it has completed, as its arguments and its shape say.
    #[inline]
    pub unsafe fn launch(&mut self, kernel: &Kernel, shape: &Shape, mut arguments: Arguments) -> hal::Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.launch_of(kernel, shape, &mut arguments) }
    }

    /// The same of arguments that are launched again.
    ///
    /// # Safety
    /// As for [`Lane::launch`].
    #[doc(hidden)]
    pub unsafe fn launch_of(&mut self, kernel: &Kernel, shape: &Shape, arguments: &mut Arguments) -> hal::Result<()> {
        self.call.can_begin.set(Some(false));
        // SAFETY: passed on to the caller.
        unsafe { kernel.launch(&**self.site.driver, (self.site.device, self.stream.raw()), shape, arguments) }
    }

    /// Makes everything submitted to the device later wait for everything submitted so far (PX-17).
    pub fn sync_point(&mut self) -> Result<(), Error> {
        self.refuse_capture("makes a sync point")?;
        if let Some(beside) = self.beside {
            self.site.inside.advance(beside.used.take());
            beside.is_synced.set(true);
        }
        self.site.inside.sync_point(self.call.node)
    }
}

#[cold]
fn captured(beside: &Beside, what: &'static str) -> hal::Error {
    beside.capture.set(Capture::Refused(what));
    Code::STREAM_CAPTURE_UNSUPPORTED.at("overtake template").because(format!("a step that is captured {what}"))
}
