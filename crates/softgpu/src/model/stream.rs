//! Streams: the order of operations, and the additional order of the default streams.

use std::collections::VecDeque;

use hal::{Code, MemOp, StreamFlags};

use super::agenda::{Due, Ns};
use super::capture::CaptureKey;
use super::op::{Op, OpKind, RunsOn, State};
use super::queue::Class;
use super::{Caller, ContextKey, Failure, Model, OpKey, Outcome, QueueKey, StreamKey, handles};

/// The role of a stream in its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Made by the application.
    Made,
    /// The legacy default stream.
    Legacy,
    /// A thread's default stream.
    PerThread(u64),
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) role: Role,
    pub(crate) flags: StreamFlags,
    pub(crate) priority: i32,
    /// Unfinished operations in order.
    pub(crate) ops: VecDeque<OpKey>,
    /// The queue of the last operation of each class.
    pub(crate) queues: [Option<QueueKey>; Class::COUNT],
    /// Operations of each class that are in that queue.
    pub(crate) queued: [u32; Class::COUNT],
    /// The class of memory operations: that of the last operation if it was a copy, else that of kernels.
    pub(crate) memop_class: Class,
    /// The unit that ran the stream's last finished operation, if the current one was queued by then.
    pub(crate) ran_on: Option<RunsOn>,
    /// Whether the application has destroyed it. It lives on until it is empty.
    pub(crate) destroyed: bool,
    pub(crate) capture: Option<CaptureKey>,
}

impl Stream {
    /// Whether it synchronises with the legacy default stream.
    pub(crate) fn blocking(&self) -> bool {
        self.role != Role::Legacy && self.flags.0 & StreamFlags::NON_BLOCKING.0 == 0
    }
}

/// The queue in which an operation is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// No queue: bookkeeping of the stream.
    None,
    /// In the stream's queue of a class.
    Class(Class),
    /// The queue of memory operations.
    Memop,
}

impl Model {
    pub(crate) fn add_stream(
        &mut self,
        context: ContextKey,
        role: Role,
        flags: StreamFlags,
        priority: i32,
    ) -> StreamKey {
        let process = self.contexts[context].process;
        self.streams.insert(Stream {
            process,
            context,
            role,
            flags,
            priority: priority.clamp(self.parameters.device.greatest_priority.min(0), 0),
            ops: VecDeque::new(),
            queues: [None; Class::COUNT],
            queued: [0; Class::COUNT],
            memop_class: Class::Compute,
            ran_on: None,
            destroyed: false,
            capture: None,
        })
    }

    /// The caller's context, if it has no room for another stream.
    pub(crate) fn full_of_streams(&self, caller: Caller) -> Outcome<Option<ContextKey>> {
        let key = self.current(caller)?;
        let context = &self.contexts[key];
        Ok((context.streams_made >= context.streams_room).then_some(key))
    }

    /// Makes room for more streams.
    pub(crate) fn make_room_for_streams(&mut self, context: ContextKey) {
        let more = self.parameters.queue.streams_more.max(1);
        if let Some(context) = self.contexts.get_mut(context) {
            context.streams_room = context.streams_room.saturating_add(more);
        }
    }

    /// Makes a stream in the caller's context.
    pub(crate) fn stream_create(&mut self, caller: Caller, flags: StreamFlags, priority: i32) -> Outcome<hal::Stream> {
        let context = self.current(caller)?;
        if flags.0 & !StreamFlags::NON_BLOCKING.0 != 0 {
            return Err(Failure::new(Code::INVALID_VALUE, format!("stream flags {:#x} are unknown", flags.0)));
        }
        let stream = self.add_stream(context, Role::Made, flags, priority);
        self.contexts[context].streams_made += 1;
        Ok(hal::Stream(self.streams.handle(stream, handles::STREAM)))
    }

    /// The stream that a handle names for the caller. The default streams are those of the current context.
    pub(crate) fn stream(&mut self, caller: Caller, handle: hal::Stream) -> Outcome<StreamKey> {
        let context = self.current(caller)?;
        match handle {
            hal::Stream::DEFAULT | hal::Stream::LEGACY => Ok(self.contexts[context].legacy),
            hal::Stream::PER_THREAD => Ok(self.per_thread_stream(context, caller.thread)),
            _ => self.made_stream(caller, handle),
        }
    }

    fn made_stream(&self, caller: Caller, handle: hal::Stream) -> Outcome<StreamKey> {
        let invalid = || Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no stream of this process"));
        let key = self.streams.key(handle.0, handles::STREAM).ok_or_else(invalid)?;
        // A handle that is used again may be that of a default stream, which has no name for the program.
        let is_named = |it: &&Stream| it.role == Role::Made && it.process == caller.process && !it.destroyed;
        let stream = self.streams.get(key).filter(is_named).ok_or_else(invalid)?;
        self.contexts[stream.context].healthy()?;
        Ok(key)
    }

    fn per_thread_stream(&mut self, context: ContextKey, thread: u64) -> StreamKey {
        if let Some(&stream) = self.contexts[context].per_thread.get(&thread) {
            return stream;
        }
        let stream = self.add_stream(context, Role::PerThread(thread), StreamFlags::DEFAULT, 0);
        self.contexts[context].per_thread.insert(thread, stream);
        stream
    }

    /// Destroys a stream. Its operations still run.
    pub(crate) fn stream_destroy(&mut self, caller: Caller, handle: hal::Stream) -> Outcome<()> {
        self.current(caller)?;
        if matches!(handle, hal::Stream::DEFAULT | hal::Stream::LEGACY | hal::Stream::PER_THREAD) {
            return Err(Failure::new(Code::INVALID_HANDLE, "the default streams cannot be destroyed"));
        }
        let key = self.made_stream(caller, handle)?;
        self.abandon_capture(key);
        let stream = &mut self.streams[key];
        stream.destroyed = true;
        self.contexts[stream.context].streams_made -= 1;
        self.reap_stream(key);
        Ok(())
    }

    /// Drops the default streams of a thread that has ended, once they are empty.
    pub(crate) fn forget_thread(&mut self, thread: u64) {
        self.capture_modes.remove(&thread);
        let contexts = self.contexts.keys_where(|context| context.per_thread.contains_key(&thread));
        for context in contexts {
            if let Some(stream) = self.contexts[context].per_thread.remove(&thread) {
                self.abandon_capture(stream);
                self.streams[stream].destroyed = true;
                self.reap_stream(stream);
            }
        }
    }

    pub(crate) fn reap_stream(&mut self, key: StreamKey) {
        if self.streams[key].destroyed && self.streams[key].ops.is_empty() {
            let stream = self.streams.remove(key).expect("the stream was just looked at");
            self.drop_private_queues(&stream);
        }
    }

    /// Whether the stream can take another operation without blocking.
    pub(crate) fn has_room(&self, stream: StreamKey) -> bool {
        self.streams.get(stream).is_none_or(|s| s.ops.len() < self.parameters.queue.stream_operations)
    }

    /// Whether all work of the stream, and all work that its order depends on, has completed.
    pub(crate) fn stream_idle(&self, key: StreamKey) -> bool {
        let stream = &self.streams[key];
        let joined = stream.role != Role::Legacy || self.contexts[stream.context].busy_blocking.is_empty();
        stream.ops.is_empty() && joined
    }

    /// The operation whose completion means that all present work of the stream is done. In the legacy default stream
    /// it is a marker that waits for all blocking streams.
    pub(crate) fn last_to_wait_for(&mut self, caller: Caller, key: StreamKey) -> Option<OpKey> {
        let stream = &self.streams[key];
        if stream.role == Role::Legacy && !self.contexts[stream.context].busy_blocking.is_empty() {
            return Some(self.submit(key, caller.at, Route::None, OpKind::Join));
        }
        stream.ops.back().copied()
    }

    /// Puts an operation into a stream; it becomes visible to the device after `at`.
    pub(crate) fn submit(&mut self, stream: StreamKey, at: Ns, route: Route, kind: OpKind) -> OpKey {
        self.submit_after(stream, at, route, kind, None)
    }

    /// As [`Model::submit`], for an operation that also waits for others.
    pub(crate) fn submit_after(
        &mut self,
        stream: StreamKey,
        at: Ns,
        route: Route,
        kind: OpKind,
        after: impl IntoIterator<Item = OpKey>,
    ) -> OpKey {
        let queue = match route {
            Route::None => None,
            Route::Class(class) => Some(self.queue_of(stream, class)),
            Route::Memop => Some(self.memop_queue(stream)),
        };
        let (process, context) = (self.streams[stream].process, self.streams[stream].context);
        self.streams[stream].memop_class = queue.map_or(Class::Compute, |queue| self.queues[queue].class);
        let op = self.ops.insert(Op {
            process,
            context,
            stream,
            queue,
            kind,
            state: State::Pending,
            visible_at: at + self.parameters.queue.submit_latency_ns,
            announced: false,
            dependencies: 0,
            dependents: Vec::new(),
            started: 0,
        });
        self.counts.submitted += 1;
        self.contexts[context].unfinished += 1;
        after.into_iter().for_each(|after| self.depend(op, after));
        self.join_default_streams(stream, op);
        self.streams[stream].ops.push_back(op);
        if let Some(queue) = queue {
            self.enter_queue(stream, queue, op);
            self.arrange_lead(queue, op);
        }
        self.touch(op);
        op
    }

    /// The legacy default stream waits for all blocking streams of its context, and they for it.
    fn join_default_streams(&mut self, stream: StreamKey, op: OpKey) {
        let context = self.streams[stream].context;
        if self.streams[stream].role == Role::Legacy {
            let last = |s: &StreamKey| self.streams[*s].ops.back().copied();
            let before: Vec<OpKey> = self.contexts[context].busy_blocking.iter().filter_map(last).collect();
            before.into_iter().for_each(|on| self.depend(op, on));
        } else if self.streams[stream].blocking() {
            let legacy = self.contexts[context].legacy;
            if let Some(&on) = self.streams[legacy].ops.back() {
                self.depend(op, on);
            }
            self.contexts[context].busy_blocking.insert(stream);
        }
    }

    /// Makes `op` wait for `on`, if that is unfinished.
    pub(crate) fn depend(&mut self, op: OpKey, on: OpKey) {
        if let Some(before) = self.ops.get_mut(on) {
            before.dependents.push(op);
            self.ops[op].dependencies += 1;
        }
    }

    /// Lets an operation begin, if everything that it waits for is done.
    pub(crate) fn touch(&mut self, key: OpKey) {
        let Some(op) = self.ops.get(key) else { return };
        if op.state != State::Pending || op.dependencies > 0 || self.streams[op.stream].ops.front() != Some(&key) {
            return;
        }
        if op.queue.is_some_and(|queue| self.queues[queue].ops.front() != Some(&key)) {
            return;
        }
        if op.visible_at > self.now {
            let (at, announced) = (op.visible_at, op.announced);
            if !announced {
                self.ops[key].announced = true;
                self.agenda.push(at, Due::Visible(key));
            }
            return;
        }
        self.begin(key);
    }

    fn begin(&mut self, key: OpKey) {
        let now = self.now;
        let op = &mut self.ops[key];
        op.state = State::Begun;
        op.started = now;
        match &op.kind {
            OpKind::Copy(job) => {
                let engine = job.engine;
                self.engine_request(engine, key);
            }
            OpKind::Memops(_) => self.memop_begin(key),
            OpKind::Kernel(_) => self.kernel_begin(key),
            OpKind::Fill(_) => self.fill_begin(key),
            OpKind::Inline(_) => self.inline_begin(key),
            OpKind::Record(_) | OpKind::Join | OpKind::Free { .. } => {
                self.agenda.push(now + self.parameters.queue.bookkeeping_ns, Due::Elapsed(key));
            }
        }
    }

    /// Removes a finished operation, and lets the operations begin that waited for it.
    pub(crate) fn finish(&mut self, key: OpKey) {
        let queue = self.ops[key].queue;
        self.leave_queue(key);
        let op = self.ops.remove(key).expect("an operation finishes once");
        self.counts.completed += 1;
        self.note_trace(&op, queue);
        let head = self.streams[op.stream].ops.pop_front();
        debug_assert_eq!(head, Some(key), "a stream finishes in order");
        if let OpKind::Record(event) = op.kind {
            self.event_recorded(event, key);
        }
        self.contexts[op.context].unfinished -= 1;
        let ran_on = op.kind.runs_on().or(self.streams[op.stream].ran_on);
        self.streams[op.stream].ran_on = ran_on;
        self.release_dependents(op.dependents);
        match self.streams[op.stream].ops.front() {
            Some(&next) => {
                self.cross(next);
                self.settle(&op.kind, next);
                self.touch(next);
            }
            None => self.stream_drained(op.stream),
        }
        if let Some(queue) = queue {
            self.touch_head(queue);
            self.others_look(queue);
        }
    }

    /// An operation that others depend on has finished.
    pub(crate) fn release_dependents(&mut self, dependents: Vec<OpKey>) {
        for dependent in dependents {
            if let Some(waiting) = self.ops.get_mut(dependent) {
                waiting.dependencies -= 1;
                self.touch(dependent);
            }
        }
    }

    /// A kernel follows a copy, or a copy a kernel. It learns of the end of the earlier operation a little later.
    fn cross(&mut self, next: OpKey) {
        let op = &self.ops[next];
        let (ran_on, runs_on) = (self.streams[op.stream].ran_on, op.kind.runs_on());
        if ran_on.is_none() || runs_on.is_none() || ran_on == runs_on {
            return;
        }
        let heard_at = self.now + self.draw(2 * self.parameters.queue.crossing_ns);
        self.hear(next, heard_at);
    }

    /// A write begins a little later behind a kernel, and so does a memory operation behind an event.
    fn settle(&mut self, done: &OpKind, next: OpKey) {
        let memop = &self.parameters.memop;
        let span = match (done, self.ops[next].kind.first_memop()) {
            (OpKind::Kernel(_), Some(MemOp::Write { .. })) => self.parameters.kernel.end_to_write_ns,
            (OpKind::Join, Some(MemOp::Wait { .. })) => memop.event_to_wait_ns,
            (OpKind::Join, Some(MemOp::Write { .. })) if self.must_be_turned_to(next) => memop.event_to_write_busy_ns,
            _ => return,
        };
        self.hear(next, self.now + span);
    }

    /// Whether the stream copies while an engine runs.
    fn must_be_turned_to(&self, op: OpKey) -> bool {
        let (stream, context) = (&self.streams[self.ops[op].stream], self.ops[op].context);
        let device = &self.devices[self.contexts[context].device];
        let busy = [device.h2d, device.d2h].iter().any(|&engine| self.engines[engine].running.is_some());
        busy && [Class::H2d, Class::D2h].iter().any(|&class| stream.queues[class as usize].is_some())
    }

    /// The operation does not begin before this time.
    fn hear(&mut self, key: OpKey, at: Ns) {
        let op = &mut self.ops[key];
        if at > op.visible_at {
            (op.visible_at, op.announced) = (at, false);
        }
    }

    pub(crate) fn stream_drained(&mut self, stream: StreamKey) {
        let context = self.streams[stream].context;
        self.contexts[context].busy_blocking.remove(&stream);
        self.streams[stream].ran_on = None;
        self.reap_stream(stream);
    }
}
