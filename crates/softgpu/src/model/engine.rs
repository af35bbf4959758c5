//! Copy engines: which copy runs next, which copies continue without arbitration, and which queue is committed ahead.
//! README.md beside this file explains all of it.

use std::collections::VecDeque;

use super::agenda::{Due, Ns};
use super::link::{FlowOwner, Link};
use super::op::{Lead, OpKind};
use super::{Model, OpKey, QueueKey};
use hal::MemOp;

/// The kind of an engine of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    /// To the device.
    H2d,
    /// To the host.
    D2h,
    /// On the device.
    D2d,
    /// To another device.
    Peer { target: usize },
}

/// The copy that an engine runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) op: OpKey,
    pub(crate) queue: QueueKey,
    /// Whether its turn ends with it, even if operations have come behind it meanwhile.
    is_alone: bool,
}

/// A queue that the engine is committed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation {
    queue: QueueKey,
    /// Whether its next copy belongs to the running segment, and does not begin a new one.
    continues: bool,
}

/// A copy engine.
pub(crate) struct Engine {
    pub(crate) device: usize,
    pub(crate) kind: EngineKind,
    pub(crate) link: Link,
    pub(crate) running: Option<Running>,
    /// Heads of queues that wait for their turn, in the order in which they became ready: copies, and writes behind
    /// copies.
    pub(crate) ready: VecDeque<OpKey>,
    /// The queue that the engine is committed to.
    pub(crate) reserved: Option<Reservation>,
    /// Until this time, bytes of stopped kernels occupy the link before a copy's bytes.
    pub(crate) drained_at: Ns,
    /// The queue of the last copy.
    last: Option<QueueKey>,
    /// While a completion is being worked off, nothing starts.
    completing: bool,
    /// The process whose slice is running, and the end of the slice.
    owner: usize,
    slice_ends: Ns,
    /// A fault holds the engine until this time.
    pub(crate) delayed_until: Ns,
    pub(crate) copies: u64,
    pub(crate) bytes: u64,
}

impl Engine {
    pub(crate) fn new(device: usize, kind: EngineKind, link: Link) -> Engine {
        Engine {
            device,
            kind,
            link,
            running: None,
            ready: VecDeque::new(),
            reserved: None,
            drained_at: 0,
            last: None,
            completing: false,
            owner: 0,
            slice_ends: 0,
            delayed_until: 0,
            copies: 0,
            bytes: 0,
        }
    }

    /// The name in reports.
    pub(crate) fn name(&self) -> String {
        match self.kind {
            EngineKind::H2d => format!("device {} H2D engine", self.device),
            EngineKind::D2h => format!("device {} D2H engine", self.device),
            EngineKind::D2d => format!("device {} D2D engine", self.device),
            EngineKind::Peer { target } => format!("device {} to device {target} engine", self.device),
        }
    }
}

impl Model {
    fn queue_of_ready(&self, op: OpKey) -> QueueKey {
        self.ops[op].queue.expect("a ready copy is the head of its queue")
    }

    /// A copy has come to the head of everything and asks for the engine.
    pub(crate) fn engine_request(&mut self, engine: usize, op: OpKey) {
        self.plan_slice(engine, op);
        let state = &self.engines[engine];
        let waits = state.running.is_some() && !state.completing;
        let mut behind = self.queues[self.queue_of_ready(op)].ops.iter().skip(1);
        let is_alone = waits && behind.all(|&behind| self.ops[behind].visible_at > self.now);
        if let OpKind::Copy(job) = &mut self.ops[op].kind {
            job.is_alone = is_alone;
        }
        self.engines[engine].ready.push_back(op);
        self.engine_dispatch(engine);
    }

    /// Starts the next operation if the engine is free. A write that has its turn does not occupy the engine.
    pub(crate) fn engine_dispatch(&mut self, engine: usize) {
        while self.engine_is_free(engine) {
            self.engine_pass_slice(engine);
            let Some(place) = self.engine_next(engine) else { return };
            if self.is_for(engine, self.engines[engine].ready[place]) {
                let continues = self.engines[engine].reserved.is_some_and(|reserved| reserved.continues);
                self.engine_start(engine, place, continues);
            } else {
                self.engine_write(engine, place);
            }
        }
    }

    fn engine_is_free(&self, engine: usize) -> bool {
        let state = &self.engines[engine];
        state.running.is_none() && !state.completing && state.delayed_until <= self.now
    }

    /// The place of the next operation to have a turn. A committed engine waits for its queue.
    fn engine_next(&self, engine: usize) -> Option<usize> {
        let state = &self.engines[engine];
        state.ready.iter().position(|&op| match state.reserved {
            Some(reserved) => self.queue_of_ready(op) == reserved.queue,
            None => self.ops[op].process == state.owner || !self.is_for(engine, op),
        })
    }

    /// A write behind a copy has its turn. If a copy follows, its queue keeps the turn.
    fn engine_write(&mut self, engine: usize, place: usize) {
        let key = self.engines[engine].ready.remove(place).expect("the place was just found");
        let queue = self.queue_of_ready(key);
        self.queues[queue].unflushed = None;
        self.write_has_turn(key);
        if self.is_last_memop(key) && self.copy_follows(engine, queue, 0) {
            self.engines[engine].reserved = Some(Reservation { queue, continues: false });
        }
    }

    /// The first operation to wait for another process's engine waits for the rest of a slice. Slices pass even if no
    /// process waits, and out of step with the host, so the rest is drawn at random.
    fn plan_slice(&mut self, engine: usize, newcomer: OpKey) {
        let state = &self.engines[engine];
        let stranger = |op: &OpKey| self.ops[*op].process != state.owner;
        if stranger(&newcomer) && !state.ready.iter().any(stranger) {
            let rest = self.draw(self.parameters.engine.slice_ns);
            self.engines[engine].slice_ends = self.now + rest;
        }
    }

    /// Ends the owner's slice if another process waits and the time has come, or the owner has nothing to run.
    fn engine_pass_slice(&mut self, engine: usize) {
        let now = self.now;
        let slice_ends = now + self.parameters.engine.slice_ns;
        let state = &self.engines[engine];
        let process_of = |op: &OpKey| self.ops[*op].process;
        let owner_wants = state.ready.iter().any(|op| self.is_for(engine, *op) && process_of(op) == state.owner);
        let other = state.ready.iter().map(process_of).find(|&process| process != state.owner);
        let expired = now >= state.slice_ends;
        if let Some(next) = other.filter(|_| expired || (!owner_wants && state.reserved.is_none())) {
            let state = &mut self.engines[engine];
            (state.owner, state.slice_ends, state.reserved) = (next, slice_ends, None);
        }
    }

    /// Whether the owner's slice is over and another process waits.
    fn slice_over(&self, engine: usize) -> bool {
        let state = &self.engines[engine];
        self.now >= state.slice_ends && state.ready.iter().any(|op| self.ops[*op].process != state.owner)
    }

    fn engine_start(&mut self, engine: usize, place: usize, continues: bool) {
        let now = self.now;
        let op = self.engines[engine].ready.remove(place).expect("the place was just found");
        let queue = self.queue_of_ready(op);
        let OpKind::Copy(job) = &self.ops[op].kind else { unreachable!("only copies ask for an engine") };
        let (bytes, is_alone) = (job.bytes(), job.is_alone);
        let state = &mut self.engines[engine];
        state.running = Some(Running { op, queue, is_alone });
        // A commitment to the next segment outlasts the copies of this segment.
        state.reserved = state.reserved.filter(|reserved| continues && !reserved.continues);
        state.copies += 1;
        state.bytes += bytes;
        self.ops[op].started = now;
        let set_up = now + self.setup_ns(engine) + self.switch_ns(engine, queue);
        let begin = set_up.max(self.engines[engine].drained_at);
        self.engines[engine].last = Some(queue);
        self.flow_join(engine, FlowOwner::Engine, bytes, f64::INFINITY, begin);
        self.arrange_next_lead(queue);
    }

    fn setup_ns(&self, engine: usize) -> Ns {
        let parameters = &self.parameters.engine;
        match self.engines[engine].kind {
            EngineKind::H2d => parameters.h2d_setup_ns,
            EngineKind::D2h => parameters.d2h_setup_ns,
            EngineKind::D2d => parameters.d2d_setup_ns,
            EngineKind::Peer { .. } => self.parameters.peer.setup_ns,
        }
    }

    /// The time to turn from a queue that still holds work to another queue.
    fn switch_ns(&self, engine: usize, queue: QueueKey) -> Ns {
        let left = self.engines[engine].last.filter(|&last| last != queue);
        let busy = left.and_then(|last| self.queues.get(last)).is_some_and(|last| !last.ops.is_empty());
        if busy { self.parameters.engine.switch_ns } else { 0 }
    }

    /// The engine's copy has moved its bytes.
    pub(crate) fn engine_done(&mut self, engine: usize) {
        let Some(running) = self.engines[engine].running.take() else { return };
        self.engines[engine].completing = true;
        self.copy_bytes(running.op);
        if let Some(queue) = self.queues.get_mut(running.queue) {
            queue.unflushed = Some(engine);
        }
        if self.ops.get(running.op).is_some() {
            self.finish(running.op);
        }
        self.engines[engine].completing = false;
        self.engine_release(engine, running);
    }

    /// After a completion, the same queue goes on if its head is a copy that is ready, or that only the bookkeeping
    /// of its stream precedes. A committed engine waits for its queue. Otherwise the waiting operations have their
    /// turns.
    fn engine_release(&mut self, engine: usize, done: Running) {
        let Running { queue, is_alone, .. } = done;
        let state = &self.engines[engine];
        let is_next = |&op: &OpKey| self.is_for(engine, op) && self.queue_of_ready(op) == queue;
        let turn_ends = is_alone && !state.ready.iter().all(is_next);
        if turn_ends || state.delayed_until > self.now || self.slice_over(engine) {
            return self.engine_dispatch(engine);
        }
        match state.ready.iter().position(is_next) {
            Some(place) => self.engine_start(engine, place, true),
            None => {
                if state.reserved.is_none() && self.copy_behind_bookkeeping(engine, queue) {
                    self.engines[engine].reserved = Some(Reservation { queue, continues: true });
                }
                self.engine_dispatch(engine);
            }
        }
    }

    /// Whether a write has to wait for its turn: one behind a copy is done when the engine is idle, and other copies
    /// may come before that.
    pub(crate) fn waits_for_turn(&mut self, key: OpKey) -> bool {
        let Some(queue) = self.ops[key].queue else { return false };
        let busy = |engine: &usize| {
            let state = &self.engines[*engine];
            state.running.is_some() || (state.completing && !state.ready.is_empty())
        };
        match self.queues[queue].unflushed.filter(busy) {
            Some(engine) => {
                self.engines[engine].ready.push_back(key);
                true
            }
            None => false,
        }
    }

    /// Whether the operation is a copy for this engine. Peer engines share queues, so a queue's next copy may be for
    /// another engine. Committing to that copy would leave this engine waiting for ever.
    fn is_for(&self, engine: usize, key: OpKey) -> bool {
        matches!(&self.ops[key].kind, OpKind::Copy(job) if job.engine == engine)
    }

    /// Whether the head of the queue is a copy that waits only for event records and satisfied event waits.
    fn copy_behind_bookkeeping(&self, engine: usize, queue: QueueKey) -> bool {
        let Some(&head) = self.queues.get(queue).and_then(|queue| queue.ops.front()) else { return false };
        let certain = |key: OpKey| {
            let op = &self.ops[key];
            op.dependencies == 0 && op.visible_at <= self.now
        };
        let bookkeeping = |key: OpKey| matches!(self.ops[key].kind, OpKind::Record(_) | OpKind::Join);
        let mut before = self.streams[self.ops[head].stream].ops.iter().take_while(|&&key| key != head);
        self.is_for(engine, head) && certain(head) && before.all(|&key| bookkeeping(key) && certain(key))
    }

    // --- the wait behind a running copy ---

    fn engine_running(&self, queue: QueueKey) -> Option<usize> {
        let &head = self.queues[queue].ops.front()?;
        let OpKind::Copy(job) = &self.ops.get(head)?.kind else { return None };
        self.engines[job.engine].running.is_some_and(|running| running.op == head).then_some(job.engine)
    }

    /// Whether the operation is a wait, second in its queue, with only the running copy before it in its stream.
    fn leads(&self, queue: QueueKey, key: OpKey) -> bool {
        let ops = &self.queues[queue].ops;
        let (Some(&head), Some(&second)) = (ops.front(), ops.get(1)) else { return false };
        let op = &self.ops[key];
        let waits_first = matches!(op.kind.first_memop(), Some(MemOp::Wait { .. }));
        second == key
            && waits_first
            && op.dependencies == 0
            && self.streams[op.stream].ops.get(1) == Some(&second)
            && self.ops[head].stream == op.stream
    }

    /// Plans the early look at a wait that has just been queued.
    pub(crate) fn arrange_lead(&mut self, queue: QueueKey, key: OpKey) {
        let Some(engine) = self.engine_running(queue) else { return };
        if self.leads(queue, key) {
            let end = self.engines[engine].link.engine_end().unwrap_or(self.now);
            let look = end.saturating_sub(self.parameters.memop.wait_lead_ns);
            let at = look.max(self.ops[key].visible_at).max(self.now);
            if at < end {
                self.agenda.push(at, Due::Lead(key));
            }
        }
    }

    fn arrange_next_lead(&mut self, queue: QueueKey) {
        if let Some(&second) = self.queues[queue].ops.get(1) {
            self.arrange_lead(queue, second);
        }
    }

    /// Looks at the wait behind a running copy before that copy ends. If it is satisfied, a copy follows, and no
    /// other operation waits for the engine, the engine becomes committed.
    pub(crate) fn lead_due(&mut self, key: OpKey) {
        let Some(queue) = self.ops.get(key).and_then(|op| op.queue) else { return };
        let Some(engine) = self.engine_running(queue) else { return };
        if !self.leads(queue, key) {
            return;
        }
        let satisfied = self.wait_holds(key).unwrap_or(false);
        let again = self.next_look();
        let OpKind::Memops(job) = &mut self.ops[key].kind else { return };
        job.lead = if satisfied { Lead::Satisfied } else { Lead::Again(again) };
        let single = job.ops.len() == 1;
        let state = &self.engines[engine];
        if satisfied
            && single
            && state.ready.is_empty()
            && state.reserved.is_none()
            && self.copy_follows(engine, queue, 1)
        {
            self.engines[engine].reserved = Some(Reservation { queue, continues: false });
        }
    }

    /// Whether the next operation in the queue, after the one in this place, is a copy of the same stream that waits
    /// only for that one. Both have the same place in their stream as well.
    fn copy_follows(&self, engine: usize, queue: QueueKey, place: usize) -> bool {
        let ops = &self.queues[queue].ops;
        let (Some(&before), Some(&copy)) = (ops.get(place), ops.get(place + 1)) else { return false };
        let op = &self.ops[copy];
        let next_in_stream = self.streams[op.stream].ops.get(place + 1) == Some(&copy);
        let same = op.stream == self.ops[before].stream && next_in_stream;
        same && op.dependencies == 0 && op.visible_at <= self.now && self.is_for(engine, copy)
    }
}
