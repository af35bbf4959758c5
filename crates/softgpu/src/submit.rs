//! The mechanics of calls: their cost, the waits in them, and the operations that they put into streams.

use hal::{Code, Event, MemOp, Result, Stream};

use crate::gpu::SoftGpu;
use crate::host::{Await, HostTurn};
use crate::model::{
    Caller, Class, ContextKey, Failure, FillJob, Model, Ns, OpKey, Outcome, Request, StreamKey, Work, scatter,
};
use crate::parameters::HostParameters;

/// The cost of a kind of call.
pub(crate) type Cost = fn(&HostParameters) -> Ns;

pub(crate) const LOOKUP: Cost = |host| host.lookup_ns;
pub(crate) const MANAGE: Cost = |host| host.manage_ns;
pub(crate) const COPY: Cost = |host| host.copy_ns;
pub(crate) const CAPTURE_STATUS: Cost = |host| host.capture_status_ns;
pub(crate) const EVENT_RECORD: Cost = |host| host.event_record_ns;
pub(crate) const LAUNCH: Cost = |host| host.launch_ns;
pub(crate) const MEMOP: Cost = |host| host.memop_ns;
pub(crate) const POINTER: Cost = |host| host.pointer_ns;
pub(crate) const QUERY: Cost = |host| host.query_ns;
pub(crate) const SYNCHRONIZE: Cost = |host| host.synchronize_ns;

impl SoftGpu {
    /// A call that only looks something up.
    pub(crate) fn look_up<T>(
        &self,
        name: &'static str,
        cost: Cost,
        body: impl FnOnce(&mut Model, Caller) -> Outcome<T>,
    ) -> Result<T> {
        self.call(name, |turn| {
            let caller = turn.caller(self.process);
            let outcome = body(turn.model(), caller);
            let cost = cost(&turn.model().parameters.host);
            turn.spend_call(cost);
            outcome
        })
    }

    /// A call that changes something under the driver's lock.
    pub(crate) fn change<T>(
        &self,
        name: &'static str,
        cost: Cost,
        body: impl FnOnce(&mut Model, Caller) -> Outcome<T>,
    ) -> Result<T> {
        self.call(name, |turn| {
            self.come_in(turn)?;
            let caller = self.pay(turn, cost);
            body(turn.model(), caller)
        })
    }

    /// Blocks while another thread's call keeps this one out of the driver.
    fn come_in(&self, turn: &mut HostTurn<'_>) -> Outcome<()> {
        if turn.model().is_kept_out(self.process) { turn.block(Await::LetIn(self.process)) } else { Ok(()) }
    }

    pub(crate) fn pay(&self, turn: &mut HostTurn<'_>, cost: Cost) -> Caller {
        let cost = cost(&turn.model().parameters.host);
        turn.spend_locked(self.process, cost);
        turn.caller(self.process)
    }

    /// A call that puts an operation into a stream, and blocks while the stream is full.
    pub(crate) fn submit<T>(
        &self,
        name: &'static str,
        stream: Stream,
        cost: impl FnOnce(&HostParameters) -> Ns,
        body: impl FnOnce(&mut Model, Caller, StreamKey) -> Outcome<T>,
    ) -> Result<T> {
        self.call(name, |turn| {
            let (caller, key) = self.enter_stream(turn, stream, cost)?;
            body(turn.model(), caller, key)
        })
    }

    /// As [`SoftGpu::submit`], for a launch, whose operation the call waits for if launches block.
    pub(crate) fn submit_launch(
        &self,
        name: &'static str,
        stream: Stream,
        cost: impl FnOnce(&HostParameters) -> Ns,
        body: impl FnOnce(&mut Model, Caller, StreamKey) -> Outcome<Option<OpKey>>,
    ) -> Result<()> {
        self.call(name, |turn| {
            let (caller, key) = self.enter_stream(turn, stream, cost)?;
            let launched = body(turn.model(), caller, key)?;
            match launched.filter(|_| turn.model().launches_block) {
                Some(op) => self.block(turn, Await::Op(op)),
                None => Ok(()),
            }
        })
    }

    fn enter_stream(
        &self,
        turn: &mut HostTurn<'_>,
        stream: Stream,
        cost: impl FnOnce(&HostParameters) -> Ns,
    ) -> Outcome<(Caller, StreamKey)> {
        self.come_in(turn)?;
        let (_, key) = self.room_in_stream(turn, stream)?;
        let cost = cost(&turn.model().parameters.host);
        turn.spend_locked(self.process, cost);
        Ok((turn.caller(self.process), key))
    }

    /// A stream waits for an event.
    pub(crate) fn wait_for_event(&self, stream: Stream, event: Event) -> Result<()> {
        self.call("cuStreamWaitEvent", |turn| {
            self.come_in(turn)?;
            let (caller, key) = self.room_in_stream(turn, stream)?;
            let model = turn.model();
            let is_across = model.event(caller, event).is_ok_and(|event| model.is_across(event, key));
            let host = &model.parameters.host;
            let cost_ns = if is_across { host.stream_wait_across_ns } else { host.stream_wait_event_ns };
            turn.spend_locked(self.process, cost_ns);
            let caller = turn.caller(self.process);
            let event = turn.model().event(caller, event)?;
            turn.model().event_wait(caller, event, key)
        })
    }

    /// Finds a stream, and blocks while it is full, or another thread copies there in pieces.
    fn room_in_stream(&self, turn: &mut HostTurn<'_>, stream: Stream) -> Outcome<(Caller, StreamKey)> {
        loop {
            // A wait may have ended because the context has ended.
            let caller = turn.caller(self.process);
            let key = turn.model().stream(caller, stream)?;
            if !turn.model().has_room(key) {
                turn.block(Await::Room(key))?;
            } else if !turn.model().has_no_pieces(key) {
                self.await_whole(turn, key)?;
            } else {
                return Ok((caller, key));
            }
        }
    }

    /// Blocks until the device has got that far, pays for it, and reports an error that has occurred meanwhile.
    pub(crate) fn block(&self, turn: &mut HostTurn<'_>, what: Await) -> Outcome<()> {
        turn.block(what)?;
        let synchronize_ns = turn.model().parameters.host.synchronize_ns;
        turn.spend(synchronize_ns);
        let caller = turn.caller(self.process);
        turn.model().verdict(caller)
    }

    /// The same, and keeps the other threads of the process out of the driver meanwhile, if the parameters say so.
    pub(crate) fn block_alone(&self, turn: &mut HostTurn<'_>, what: Await) -> Outcome<()> {
        let keeps_out = turn.model().parameters.host.waits_keep_others_out;
        if keeps_out {
            turn.model().keep_out(self.process);
        }
        let outcome = self.block(turn, what);
        if keeps_out {
            turn.model().let_in(self.process);
        }
        outcome
    }

    /// Ends a context once it is idle, or at once if it never will be.
    pub(crate) fn end_context(&self, turn: &mut HostTurn<'_>, context: ContextKey) {
        // A deadlocked context is ended all the same, and its stuck operations are dropped.
        let _ = turn.block(Await::Idle(context));
        if turn.model().contexts.get(context).is_some() {
            turn.model().context_drop(context);
        }
        if turn.caller(self.process).context == Some(context) {
            turn.set_current(self.process, None);
        }
    }

    /// A copy of any shape. `synchronous` copies go through the legacy default stream and return when they are done.
    pub(crate) fn copy(
        &self,
        name: &'static str,
        request: Option<Request>,
        stream: Stream,
        synchronous: bool,
    ) -> Result<()> {
        self.call(name, |turn| {
            self.come_in(turn)?;
            let (caller, key) = self.room_in_stream(turn, stream)?;
            let request = request.ok_or_else(|| Failure::new(Code::INVALID_VALUE, "the shape of the copy"))?;
            if request.bytes() == 0 {
                return Ok(());
            }
            if let Some(class) = turn.model().class_in_pieces(caller, &request)? {
                let host = &turn.model().parameters.host;
                let call_ns = if class == Class::D2h { host.copy_d2h_ns } else { host.copy_ns };
                turn.spend_locked(self.process, call_ns);
                if turn.model().capture_node(key, || Work::Other("a copy of pageable memory"))? {
                    return Ok(());
                }
                return self.copy_in_pieces(turn, &request, (stream, class), synchronous);
            }
            let plan = turn.model().copy_plan(caller, &request)?;
            turn.spend_locked(self.process, plan.call_ns);
            if turn.model().capture_node(key, || plan.captured())? {
                return Ok(());
            }
            let write_back = plan.write_back.clone();
            turn.spend(plan.staging_ns);
            let mut caller = turn.caller(self.process);
            caller.at -= plan.overlap_ns;
            let op = turn.model().copy_submit(caller, key, plan);
            if synchronous || write_back.is_some() {
                self.block_alone(turn, Await::Op(op))?;
            }
            if let Some((staging, target)) = write_back {
                scatter(&request, &staging, target);
            }
            Ok(())
        })
    }

    pub(crate) fn fill(&self, name: &'static str, stream: Stream, job: Option<FillJob>) -> Result<()> {
        self.submit(name, stream, COPY, |model, caller, key| {
            let captured = || job.map_or(Work::Other("a memset of an impossible size"), Work::Fill);
            if model.capture_node(key, captured)? {
                return Ok(());
            }
            let job = job.ok_or_else(|| Failure::new(Code::INVALID_VALUE, "the size of the memset"))?;
            model.fill_submit(caller, key, job)
        })
    }

    pub(crate) fn memops(
        &self,
        name: &'static str,
        stream: Stream,
        ops: &[MemOp],
        cost: impl FnOnce(&HostParameters) -> Ns,
    ) -> Result<()> {
        self.submit(name, stream, cost, |model, caller, key| {
            // The driver checks addresses when it executes, so a capture takes any.
            if ops.is_empty() || model.capture_node(key, || Work::Memops(ops.to_vec()))? {
                return Ok(());
            }
            model.memops_check(caller, ops)?;
            model.memops_submit(key, caller, ops);
            Ok(())
        })
    }
}
