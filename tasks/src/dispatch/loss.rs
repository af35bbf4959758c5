//! The loss of the device, and the closing of the dispatcher. In both cases every node ends, but not while the device
//! still works for it: the body of a node owns the memory of that work.

use std::sync::Arc;

use copies::copy::CopyHandle;
use graph::{Cause, Stage};
use hal::Host;

use crate::dispatch::faults::Origin;
use crate::dispatch::marks::Marks;
use crate::dispatch::rest::{LOOK_SPAN, rest};
use crate::dispatch::shared::Shared;
use crate::dispatch::state::State;
use crate::work::fault::{Error, Fault, Reason};
use crate::work::set::SetId;

impl State {
    /// The device has failed, in this call.
    pub fn lose_device(&mut self, error: hal::Error) {
        let cause =
            self.faults.keep(Origin::Unknown, Fault { task: "(any)".to_owned(), reason: Reason::Device(error) });
        self.lose(cause);
    }

    /// No work is submitted from now on. The nodes end when the lanes are at rest ([`State::lost`]): a call may fail
    /// while the device goes on.
    pub fn lose(&mut self, cause: Cause) {
        if !self.statistics.is_device_lost {
            self.statistics.is_device_lost = true;
            (self.losing, self.sleepers.has_news) = (Some(cause), true);
        }
    }

    /// The lanes are at rest: the nodes of a device that is lost end.
    pub fn lost(&mut self) {
        if let Some(cause) = self.losing.take() {
            self.graph.fail(cause);
            self.marks.iter_mut().for_each(Marks::clear);
        }
    }

    /// Launched nodes with a copy that could not be made fail: its bytes are missing. So do those after them, launched
    /// or not.
    #[cold]
    pub fn fail_lost(&mut self) {
        let State { bodies, graph, dead, .. } = self;
        let mut lost = Vec::new();
        for body in bodies.iter_mut().filter(|body| graph.stage(body.node) == Stage::Launched) {
            let loss = |(number, copy): (usize, &CopyHandle)| copy.loss().map(|error| (number, error));
            let Some((number, error)) = body.copies.iter().enumerate().find_map(loss) else { continue };
            lost.push((body.node, body.work.step_of_copy(number).to_owned(), error));
            // It fails once.
            dead.add_copies(std::mem::take(&mut body.copies));
        }
        for (node, step, error) in lost {
            let fault = self.fault_of_step(node, &step, Reason::Driver(error));
            let reported = self.graph.failed(node, fault);
            debug_assert!(reported.is_ok(), "it was launched: {reported:?}");
        }
    }

    /// The lanes are at rest, and no thread takes steps any more: launched nodes have completed, unless the device is
    /// lost, and the others fail.
    pub fn end(&mut self) {
        self.lost();
        for (lane, marks) in (0..).zip(&self.marks) {
            let reported = self.graph.complete(lane, marks.submitted);
            debug_assert!(reported.is_ok(), "so much has been submitted: {reported:?}");
        }
        self.collect();
        let (graph, dead, sets) = (&self.graph, &mut self.dead, &mut self.sets);
        for body in self.bodies.iter_mut() {
            let task = graph.label(body.node).to_string();
            body.outcome.keep_name(graph.name(body.node));
            let fault = Arc::new(Fault { task, reason: Reason::Closed });
            let set = std::mem::replace(&mut body.set, SetId::NONE);
            body.fail(Error::Failed(fault), sets.get(set));
            sets.ended(set, 1);
            body.bury(true, dead);
        }
    }
}

impl Shared {
    /// The nodes of a lost device end as soon as its lanes are at rest, and no thread is about to submit work.
    pub fn end_lost(self: &Arc<Shared>, host: &dyn Host) {
        let mut held = self.enter();
        if !held.turn.begin() {
            drop(held);
            return host.sleep(LOOK_SPAN);
        }
        drop(held);
        // The context may be the very thing that could not be made current on this thread.
        if let Err(error) = self.at_home(|| rest(&*self.driver, &self.lanes)) {
            log::warn!("the device of the dispatcher is dead: {error}");
        }
        let mut held = self.enter();
        held.lost();
        held.turn.end();
        self.pump(held);
    }
}
