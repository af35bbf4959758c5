//! Executed operations: counts, live objects, and the order of operations.

use super::op::{Op, OpKind};
use super::{Model, QueueKey, handles};
use hal::{Nanos, Stream};

/// The operations of the model since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that were queued.
    pub submitted: u64,
    /// Operations that have completed.
    pub completed: u64,
    /// Operations that were dropped with their context.
    pub dropped: u64,
    /// Copies to the device.
    pub copies_h2d: u64,
    /// Copies to the host.
    pub copies_d2h: u64,
    /// Copies on a device and between devices.
    pub copies_other: u64,
    /// Copies to the device that ran among the kernels; they are counted there too.
    pub copies_inline: u64,
    /// Bytes of all copies.
    pub copied_bytes: u64,
    /// Memsets.
    pub memsets: u64,
    /// Waits and writes.
    pub memory_operations: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Event records.
    pub event_records: u64,
    /// Stream waits for events.
    pub event_waits: u64,
    /// Calls that waited for an event that had been made to block: the thread sleeps.
    pub blocking_event_waits: u64,
    /// Calls that waited for any other event: on hardware the thread spins, whatever the context's flags are.
    pub spinning_event_waits: u64,
    /// Launches of graphs. Their nodes are counted as submitted operations alone.
    pub graph_launches: u64,
}

/// The numbers of live objects. They stay constant when everything has completed and been freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Unfinished operations.
    pub operations: usize,
    /// Streams, the default ones included.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Contexts.
    pub contexts: usize,
    /// Allocations and registrations.
    pub allocations: usize,
    /// Modules.
    pub modules: usize,
    /// Graphs, captured ones and those that can be launched.
    pub graphs: usize,
    /// Imports of memory and semaphores.
    pub imports: usize,
    /// Hardware queues that were given out.
    pub queues: usize,
    /// Entries of the agenda.
    pub agenda: usize,
}

/// An executed operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The time at which it began.
    pub start: Nanos,
    /// The time at which it was done.
    pub end: Nanos,
    /// The process that it belongs to; 0 is the first.
    pub process: usize,
    /// The handle of its stream; the legacy default stream appears under a handle of its own.
    pub stream: Stream,
    /// The hardware queue in which it stayed to its end, if any.
    pub queue: Option<String>,
    /// The copy engine that ran it, if any.
    pub engine: Option<String>,
    /// The operation in a few words, such as `copy of 65536 bytes`.
    pub what: String,
}

impl Model {
    pub(crate) fn live(&self) -> Live {
        Live {
            operations: self.ops.len(),
            streams: self.streams.len(),
            events: self.events.len(),
            contexts: self.contexts.len(),
            allocations: self.processes.iter().map(|process| process.space.len()).sum(),
            modules: self.modules.len(),
            graphs: self.graphs.len() + self.graph_execs.len(),
            imports: self.imports(),
            queues: self.queues.len(),
            agenda: self.agenda.len(),
        }
    }

    pub(crate) fn queue_name(&self, key: QueueKey) -> Option<String> {
        self.queues.get(key).map(|queue| format!("{} queue {}", queue.class.name(), queue.number))
    }

    /// The operation in a few words, for traces and reports.
    pub(crate) fn describe(&self, op: &Op) -> String {
        match &op.kind {
            OpKind::Copy(job) => format!("copy of {} bytes", job.bytes()),
            OpKind::Inline(job) => format!("inline copy of {} bytes", job.bytes()),
            OpKind::Fill(job) => format!("memset of {} bytes", job.width_bytes * job.height),
            OpKind::Kernel(job) => format!("kernel {}", job.name),
            OpKind::Memops(job) => match job.ops.as_slice() {
                [hal::MemOp::Wait { address, value, .. }] => format!("wait for {value} at {:#x}", address.0),
                [hal::MemOp::Write { address, value, .. }] => format!("write of {value} at {:#x}", address.0),
                ops => format!("batch of {} memory operations", ops.len()),
            },
            other => other.noun().to_owned(),
        }
    }

    pub(crate) fn note_trace(&mut self, op: &Op, queue: Option<QueueKey>) {
        if self.trace.is_none() {
            return;
        }
        let engine = match &op.kind {
            OpKind::Copy(job) => Some(self.engines[job.engine].name()),
            _ => None,
        };
        let entry = TraceEntry {
            start: Nanos(op.started),
            end: Nanos(self.now),
            process: op.process,
            stream: Stream(self.streams.handle(op.stream, handles::STREAM)),
            queue: queue.and_then(|queue| self.queue_name(queue)),
            engine,
            what: self.describe(op),
        };
        if let Some(trace) = &mut self.trace {
            trace.push(entry);
        }
    }
}
