//! Stream memory operations. The queue's front end executes them without an engine.

use hal::{Code, MemOp, WaitCondition, Width};

use super::agenda::{Due, Ns};
use super::op::{Lead, MemopJob, OpKind, State};
use super::queue::Queue;
use super::stream::Route;
use super::{Caller, Failure, Model, OpKey, Outcome, QueueKey, StreamKey};
use crate::planted::Planted;

impl Model {
    /// Checks memory operations as the driver does, before any of them is queued.
    pub(crate) fn memops_check(&self, caller: Caller, ops: &[MemOp]) -> Outcome<()> {
        if ops.len() > 255 {
            let detail = format!("a batch holds at most 255 operations, not {}", ops.len());
            return Err(Failure::new(Code::INVALID_VALUE, detail));
        }
        for op in ops {
            let (address, width) = match *op {
                MemOp::Wait { address, width, .. } | MemOp::Write { address, width, .. } => (address, width),
            };
            self.processes[caller.process].space.word(address.0, width)?;
        }
        Ok(())
    }

    pub(crate) fn memops_submit(&mut self, stream: StreamKey, caller: Caller, ops: &[MemOp]) {
        self.counts.memory_operations += ops.len() as u64;
        self.submit(stream, caller.at, Route::Memop, OpKind::Memops(MemopJob::new(ops)));
    }

    fn memop_at(&self, key: OpKey) -> Option<(MemOp, usize, Lead)> {
        match &self.ops.get(key)?.kind {
            OpKind::Memops(job) => Some((job.ops[job.position], job.position, job.lead)),
            _ => None,
        }
    }

    pub(crate) fn memop_begin(&mut self, key: OpKey) {
        let Some((op, position, lead)) = self.memop_at(key) else { return };
        let now = self.now;
        match op {
            MemOp::Write { .. } if self.waits_for_turn(key) => {}
            MemOp::Write { .. } => self.write_begins(key),
            MemOp::Wait { .. } => match (position, lead) {
                (0, Lead::Satisfied) => self.wait_satisfied(key),
                (0, Lead::Again(at)) => self.plan_look(key, at.max(now)),
                _ => self.wait_look(key),
            },
        }
    }

    fn write_begins(&mut self, key: OpKey) {
        let Some((_, position, _)) = self.memop_at(key) else { return };
        let cost = if position == 0 { self.write_ns(key) } else { self.parameters.memop.batched_write_ns };
        if let OpKind::Memops(job) = &mut self.ops[key].kind {
            job.is_written = true;
        }
        self.agenda.push(self.now + cost, Due::Memop(key));
    }

    /// A write that has waited for its turn takes its time now, unless it has taken it before.
    pub(crate) fn write_has_turn(&mut self, key: OpKey) {
        match &self.ops[key].kind {
            OpKind::Memops(job) if job.is_written => self.agenda.push(self.now, Due::Memop(key)),
            _ => self.write_begins(key),
        }
    }

    /// Whether it is the last operation of its batch.
    pub(crate) fn is_last_memop(&self, key: OpKey) -> bool {
        matches!(&self.ops[key].kind, OpKind::Memops(job) if job.position + 1 == job.ops.len())
    }

    /// The time of a write. Its way to memory and the acknowledgement share the links with the engines' bytes.
    fn write_ns(&self, key: OpKey) -> Ns {
        let number = self.contexts[self.ops[key].context].device;
        let (memop, device) = (&self.parameters.memop, &self.devices[number]);
        let (reads_ns, writes_ns) = (memop.write_behind_reads_ns, memop.write_behind_writes_ns);
        let behind = |engine, span: Ns| memop.write_ns + self.behind_ns(engine, span.saturating_sub(memop.write_ns));
        let looks_ns = if self.is_looked_at(number) { memop.write_beside_looks_ns } else { 0 };
        behind(device.h2d, reads_ns).max(behind(device.d2h, writes_ns)).max(looks_ns)
    }

    /// Whether a kernel is looking at a word of the host's memory. It looks all the time, but the model sees it only
    /// at its steps.
    pub(crate) fn is_looked_at(&self, device: usize) -> bool {
        let look_ns = self.parameters.copy_kernel.look_ns;
        self.devices[device].looked_at.is_some_and(|at| self.now <= at + look_ns)
    }

    /// The delay of an operation behind an engine's bytes. A link that becomes idle meanwhile delays nothing any
    /// more.
    pub(crate) fn behind_ns(&self, engine: usize, span: Ns) -> Ns {
        let left = self.engines[engine].link.engine_flows_until(self.now).map_or(0, |end| end - self.now);
        span.min(left)
    }

    fn wait_satisfied(&mut self, key: OpKey) {
        let Some((MemOp::Wait { address, .. }, ..)) = self.memop_at(key) else { return };
        if let OpKind::Memops(job) = &mut self.ops[key].kind {
            job.look_at = None;
        }
        let memop = &self.parameters.memop;
        let space = &self.processes[self.ops[key].process].space;
        let on_device = space.region(address.0).is_some_and(|(_, region)| region.is_device());
        let cost = if on_device { memop.wait_device_ns } else { memop.wait_host_ns };
        self.agenda.push(self.now + cost, Due::Memop(key));
    }

    /// Whether the current wait is satisfied; `None` if its word is gone.
    pub(crate) fn wait_holds(&self, key: OpKey) -> Option<bool> {
        let (MemOp::Wait { address, value, width, condition }, ..) = self.memop_at(key)? else { return None };
        let space = &self.processes[self.ops[key].process].space;
        let (span, _) = space.word(address.0, width).ok()?;
        let word = span.load(0, width);
        Some(if self.is_planted(Planted::WaitComparesWrong) {
            let wide = space.span(address.0, 8).map(|(span, _)| span.to_vec());
            let wide = wide.and_then(|bytes| bytes.try_into().ok()).map_or(word, u64::from_le_bytes);
            wrong_holds(condition, if condition == WaitCondition::Eq { wide } else { word }, value, width)
        } else {
            condition.holds(word, value, width)
        })
    }

    /// The time of an unsatisfied wait's next look.
    pub(crate) fn next_look(&mut self) -> Ns {
        let spread = self.draw(2 * self.parameters.memop.wait_poll_spread_ns);
        let memop = &self.parameters.memop;
        self.now + memop.wait_poll_ns - memop.wait_poll_spread_ns + spread
    }

    fn plan_look(&mut self, key: OpKey, at: Ns) {
        if let OpKind::Memops(job) = &mut self.ops[key].kind {
            job.look_at = Some(at);
            self.agenda.push(at, Due::Poll(key));
        }
    }

    /// An unsatisfied wait looks again, unless it has looked since this was planned.
    pub(crate) fn look_due(&mut self, key: OpKey, at: Ns) {
        if self.looks_at(key) == Some(at) {
            self.wait_look(key);
        }
    }

    fn looks_at(&self, key: OpKey) -> Option<Ns> {
        match &self.ops.get(key)?.kind {
            OpKind::Memops(job) => job.look_at,
            _ => None,
        }
    }

    /// A wait looks at its word.
    fn wait_look(&mut self, key: OpKey) {
        match self.wait_holds(key) {
            Some(true) => self.wait_satisfied(key),
            Some(false) => {
                let again = self.next_look();
                self.plan_look(key, again);
            }
            None => self.poison_of(key, Code::ILLEGAL_ADDRESS),
        }
    }

    /// The next operation of a queue waits for something else, so the front end turns to the other queues of its
    /// class. Queues that hang at a wait look at once.
    pub(crate) fn others_look(&mut self, yielding: QueueKey) {
        let Some(Queue { class, context: Some(context), .. }) = self.queues.get(yielding) else { return };
        let (class, context) = (*class, *context);
        if !self.hangs(yielding) {
            return;
        }
        let others: Vec<QueueKey> = self.contexts[context].pools[class as usize].queues().to_vec();
        for other in others.into_iter().filter(|&other| other != yielding) {
            let Some(&head) = self.queues[other].ops.front() else { continue };
            if self.looks_at(head).is_some() && self.wait_holds(head) == Some(true) {
                self.wait_satisfied(head);
            }
        }
    }

    /// Whether a queue holds operations and cannot go on.
    fn hangs(&self, queue: QueueKey) -> bool {
        self.queues[queue].ops.front().is_some_and(|&head| self.ops[head].state == State::Pending)
    }

    /// A step is over: a write takes effect, and the next operation of the batch begins.
    pub(crate) fn memop_done(&mut self, key: OpKey) {
        let Some((op, ..)) = self.memop_at(key) else { return };
        if let MemOp::Write { address, value, width } = op {
            if self.waits_for_turn(key) {
                return;
            }
            if let Some(queue) = self.ops[key].queue {
                self.queues[queue].unflushed = None;
            }
            let process = self.ops[key].process;
            let Ok((span, _)) = self.processes[process].space.word(address.0, width) else {
                return self.poison_of(key, Code::ILLEGAL_ADDRESS);
            };
            span.store(0, width, value);
            self.effects += 1;
        }
        let OpKind::Memops(job) = &mut self.ops[key].kind else { return };
        (job.position, job.is_written) = (job.position + 1, false);
        if job.position == job.ops.len() { self.finish(key) } else { self.memop_begin(key) }
    }
}

/// The planted bug: GEQ signed instead of cyclic, EQ on 64 bits at every width.
fn wrong_holds(condition: WaitCondition, word: u64, value: u64, width: Width) -> bool {
    match (condition, width) {
        (WaitCondition::Geq, Width::W32) => word as i32 >= value as i32,
        (WaitCondition::Geq, Width::W64) => word as i64 >= value as i64,
        (WaitCondition::Eq, _) => word == value,
        _ => condition.holds(word, value, width),
    }
}
