//! Faults: planned failures, and the effect of a failure on a context.

use std::collections::BTreeMap;

use hal::Code;

use super::link::FlowOwner;
use super::op::{OpKind, State};
use super::{Caller, ContextKey, Failure, Model, OpKey, Outcome};
use crate::fault::Fault;

/// The planned failures.
#[derive(Default)]
pub(crate) struct Faults {
    calls: Vec<(String, u64, Code)>,
    seen: BTreeMap<&'static str, u64>,
    copies: Vec<(u64, Code)>,
    copies_done: u64,
}

impl Model {
    /// Plans a fault.
    pub(crate) fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Call { name, nth, code } => {
                let seen = self.faults.seen.iter().find(|(seen, _)| **seen == name).map_or(0, |(_, count)| *count);
                self.faults.calls.push((name, seen + nth.max(1), code));
            }
            Fault::Copy { nth, code } => self.faults.copies.push((self.faults.copies_done + nth.max(1), code)),
            Fault::LoseDevice { device } => self.lose_device(device),
            Fault::MemoryLimit { device, bytes } => {
                if let Some(device) = self.devices.get_mut(device) {
                    device.memory_limit = bytes;
                }
            }
            Fault::DelayEngine { device, direction, span_ns } => {
                if device < self.devices.len() {
                    let engine = self.engine_for(device, direction);
                    let until = self.now + span_ns;
                    self.engines[engine].delayed_until = until;
                    self.agenda.push(until, super::agenda::Due::Engine(engine));
                }
            }
        }
    }

    /// Counts a call, and fails it if that was planned. Counting costs a map lookup, so it happens only while
    /// failures are planned.
    pub(crate) fn call_fault(&mut self, name: &'static str) -> Outcome<()> {
        if self.faults.calls.is_empty() {
            return Ok(());
        }
        let count = self.faults.seen.entry(name).or_insert(0);
        *count += 1;
        let count = *count;
        let planned = self.faults.calls.iter().position(|(call, nth, _)| call == name && *nth == count);
        match planned {
            Some(place) => {
                let (_, _, code) = self.faults.calls.remove(place);
                Err(Failure::new(code, format!("injected into call {count} of {name}")))
            }
            None => Ok(()),
        }
    }

    /// Counts a completed copy. Returns the code that it must fail with, if any.
    pub(crate) fn take_copy_fault(&mut self) -> Option<Code> {
        self.faults.copies_done += 1;
        let done = self.faults.copies_done;
        let place = self.faults.copies.iter().position(|(nth, _)| *nth == done)?;
        Some(self.faults.copies.remove(place).1)
    }

    fn lose_device(&mut self, device: usize) {
        let Some(state) = self.devices.get_mut(device) else { return };
        state.lost = Some(Code::UNKNOWN);
        for context in self.contexts.keys_where(|context| context.device == device) {
            self.poison(context, Code::UNKNOWN);
        }
    }

    /// An operation has failed, and its context with it.
    pub(crate) fn poison_of(&mut self, op: OpKey, code: Code) {
        if let Some(op) = self.ops.get(op) {
            self.poison(op.context, code);
        }
    }

    pub(crate) fn poison(&mut self, context: ContextKey, code: Code) {
        if self.contexts[context].sticky.is_none() {
            self.contexts[context].sticky = Some(code);
            self.purge(context);
            self.effects += 1;
        }
    }

    /// The sticky error of the caller's context, for waits that ended because of it.
    pub(crate) fn verdict(&self, caller: Caller) -> Outcome<()> {
        match caller.context.and_then(|key| self.contexts.get(key)) {
            Some(context) => context.healthy(),
            None => Ok(()),
        }
    }

    /// Drops every unfinished operation of a context, at any stage.
    pub(crate) fn purge(&mut self, context: ContextKey) {
        let dependents = self.drop_ops(context);
        let alive = |ops: &mut std::collections::VecDeque<OpKey>, model: &super::Slab<super::Op>| {
            ops.retain(|op| model.get(*op).is_some());
        };
        for queue in self.queues.keys_where(|queue| !queue.ops.is_empty()) {
            alive(&mut self.queues[queue].ops, &self.ops);
        }
        for engine in &mut self.engines {
            alive(&mut engine.ready, &self.ops);
        }
        for stream in self.streams.keys_where(|stream| stream.context == context) {
            alive(&mut self.streams[stream].ops, &self.ops);
            self.streams[stream].queued = [0; super::queue::Class::COUNT];
            self.stream_drained(stream);
        }
        self.contexts[context].unfinished = 0;
        self.release_dependents(dependents);
        for queue in self.queues.keys_where(|queue| !queue.ops.is_empty()) {
            self.touch_head(queue);
        }
        for device in 0..self.devices.len() {
            self.admit_kernels(device);
        }
        for engine in 0..self.engines.len() {
            self.engine_dispatch(engine);
        }
    }

    /// Drops the unfinished operations of a context from engines and multiprocessors, and returns the operations that
    /// depend on them.
    fn drop_ops(&mut self, context: ContextKey) -> Vec<OpKey> {
        let mut dependents = Vec::new();
        for key in self.ops.keys_where(|op| op.context == context) {
            let op = self.ops.remove(key).expect("the key was just found");
            dependents.extend(op.dependents);
            match op.kind {
                OpKind::Copy(job) => self.engine_forget(job.engine, key),
                OpKind::Kernel(job) => {
                    if let Some(engine) = job.moving {
                        self.engine_forget(engine, key);
                    }
                    if op.state == State::Begun {
                        let device = &mut self.devices[job.device];
                        device.waiting_kernels.retain(|op| *op != key);
                        device.growing_kernels.retain(|op| *op != key);
                        self.free_parts(job.device, job.has_parts);
                    }
                }
                _ => {}
            }
            self.counts.dropped += 1;
        }
        dependents
    }

    /// Removes a dropped operation from an engine.
    fn engine_forget(&mut self, engine: usize, key: OpKey) {
        let state = &mut self.engines[engine];
        state.reserved = None;
        let owner = if state.running.is_some_and(|running| running.op == key) {
            state.running = None;
            FlowOwner::Engine
        } else {
            FlowOwner::Kernel(key)
        };
        self.flow_leave(engine, owner);
    }
}
