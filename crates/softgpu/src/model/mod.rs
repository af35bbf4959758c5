//! The device as a plain deterministic struct: no threads, no clock of its own, no globals.
//!
//! Time moves only in [`Model::step`], and the agenda holds all coming events. README.md beside this file explains
//! queues, engines and arbitration.

mod agenda;
mod allocation;
mod capture;
mod context;
mod copy;
mod deadlock;
mod engine;
mod event;
mod external;
mod fault;
mod graph;
mod kernel;
mod link;
mod mapped;
mod memop;
mod memory;
mod op;
mod pageable;
mod queue;
mod slab;
mod stream;
mod trace;

use std::collections::BTreeMap;

use hal::{CaptureMode, Code};

use crate::kernel::Registry;
use crate::parameters::Parameters;
use crate::planted::Planted;
use agenda::{Agenda, Due};
use capture::Capture;
use context::{Context, DeviceState, Process};
use engine::Engine;
use event::Event;
use external::{ExternalMemory, ExternalSemaphore};
use fault::Faults;
use graph::{Graph, GraphExec};
use kernel::{Function, Module};
use mapped::Physical;
use op::{Op, OpKind};
pub(crate) use queue::Class;
use queue::Queue;
use slab::Key;
pub(crate) use slab::{Key as SlabKey, Slab};
use stream::Stream;

pub(crate) use agenda::Ns;
pub(crate) use context::Reach;
pub(crate) use copy::{Declared, End, Request, WriteBack, extent_bytes, scatter};
pub use deadlock::{Blocked, Deadlock};
pub(crate) use graph::Work;
pub(crate) use kernel::LaunchRequest;
pub(crate) use memory::{AddressSpace, Region};
pub(crate) use op::{FillJob, FillValue, Layout};
pub use trace::{Counts, Live, TraceEntry};

pub(crate) type OpKey = Key<Op>;
pub(crate) type StreamKey = Key<Stream>;
pub(crate) type EventKey = Key<Event>;
pub(crate) type ContextKey = Key<Context>;
pub(crate) type QueueKey = Key<Queue>;
pub(crate) type ModuleKey = Key<Module>;
pub(crate) type FunctionKey = Key<Function>;

/// Tags of handles, so that one kind is never taken for another.
pub(crate) mod handles {
    pub(crate) const CONTEXT: u8 = 0x0c;
    pub(crate) const STREAM: u8 = 0x05;
    pub(crate) const EVENT: u8 = 0x0e;
    pub(crate) const MODULE: u8 = 0x0d;
    pub(crate) const FUNCTION: u8 = 0x0f;
    pub(crate) const GRAPH: u8 = 0x06;
    pub(crate) const GRAPH_EXEC: u8 = 0x08;
    pub(crate) const CAPTURE: u8 = 0x0a;
    pub(crate) const EXTERNAL_MEMORY: u8 = 0x0b;
    pub(crate) const EXTERNAL_SEMAPHORE: u8 = 0x09;
}

/// The caller of a driver call, and the time at which the call takes effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) process: usize,
    pub(crate) thread: u64,
    pub(crate) context: Option<ContextKey>,
    pub(crate) at: Ns,
}

/// The reason why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) detail: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Failure {
        Failure { code, detail: Some(detail.into()) }
    }

    /// The failure as the seam's error, raised by `call`.
    pub(crate) fn at(self, call: &'static str) -> hal::Error {
        let error = self.code.at(call);
        match self.detail {
            Some(detail) => error.because(detail),
            None => error,
        }
    }
}

impl From<Code> for Failure {
    fn from(code: Code) -> Failure {
        Failure { code, detail: None }
    }
}

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Whether copies move their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Every byte moves, at the time that the model says.
    Real,
    /// Copies beyond a page take their time and move no bytes: for tests of timing with hundreds of gigabytes.
    TimingOnly,
}

impl Payload {
    pub(crate) fn copies(self, bytes: u64) -> bool {
        self == Payload::Real || bytes <= 4096
    }
}

/// The device, the driver's bookkeeping of it, and all processes that use it.
pub(crate) struct Model {
    pub(crate) parameters: Parameters,
    pub(crate) payload: Payload,
    pub(crate) now: Ns,
    agenda: Agenda,
    stamps: u64,
    random: u32,
    buffers: u64,
    processes: Vec<Process>,
    devices: Vec<DeviceState>,
    engines: Vec<Engine>,
    pub(crate) contexts: Slab<Context>,
    pub(crate) streams: Slab<Stream>,
    events: Slab<Event>,
    ops: Slab<Op>,
    queues: Slab<Queue>,
    modules: Slab<Module>,
    functions: Slab<Function>,
    captures: Slab<Capture>,
    /// The capture mode of each thread that exchanged it.
    capture_modes: BTreeMap<u64, CaptureMode>,
    graphs: Slab<Graph>,
    graph_execs: Slab<GraphExec>,
    external_memories: Slab<ExternalMemory>,
    external_semaphores: Slab<ExternalSemaphore>,
    /// Memory that can be mapped, by handle.
    physical: BTreeMap<u64, Physical>,
    kernels: Registry,
    faults: Faults,
    planted: Vec<Planted>,
    pub(crate) counts: Counts,
    /// Counts the device's effects on memory. A waiting host thread looks again when this changes.
    pub(crate) effects: u64,
    pub(crate) trace: Option<Vec<TraceEntry>>,
    /// A launch returns when its kernel is complete: `CUDA_LAUNCH_BLOCKING`.
    pub(crate) launches_block: bool,
}

impl Model {
    pub(crate) fn new(parameters: Parameters, devices: usize, kernels: Registry, planted: Vec<Planted>) -> Model {
        let mut engines = Vec::new();
        let devices = (0..devices).map(|device| DeviceState::new(device, &parameters, &mut engines)).collect();
        Model {
            parameters,
            payload: Payload::Real,
            now: 0,
            agenda: Agenda::default(),
            stamps: 0,
            random: 1,
            buffers: 0,
            processes: vec![Process::default()],
            devices,
            engines,
            contexts: Slab::default(),
            streams: Slab::default(),
            events: Slab::default(),
            ops: Slab::default(),
            queues: Slab::default(),
            modules: Slab::default(),
            functions: Slab::default(),
            captures: Slab::default(),
            capture_modes: BTreeMap::new(),
            graphs: Slab::default(),
            graph_execs: Slab::default(),
            external_memories: Slab::default(),
            external_semaphores: Slab::default(),
            physical: BTreeMap::new(),
            kernels,
            faults: Faults::default(),
            planted,
            counts: Counts::default(),
            effects: 0,
            trace: None,
            launches_block: false,
        }
    }

    /// The handles of things that have ended come again, as addresses do.
    pub(crate) fn reuse_handles(&mut self) {
        self.contexts.reuse_handles();
        self.streams.reuse_handles();
        self.events.reuse_handles();
        self.modules.reuse_handles();
        self.functions.reuse_handles();
        self.graphs.reuse_handles();
        self.graph_execs.reuse_handles();
    }

    /// Adds another process on the same devices.
    pub(crate) fn add_process(&mut self) -> usize {
        self.processes.push(Process::default());
        self.processes.len() - 1
    }

    pub(crate) fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn is_planted(&self, bug: Planted) -> bool {
        self.planted.contains(&bug)
    }

    fn copies_payload(&self, bytes: u64) -> bool {
        self.payload.copies(bytes)
    }

    pub(crate) fn op_done(&self, op: OpKey) -> bool {
        self.ops.get(op).is_none()
    }

    /// The unfinished record of an event.
    pub(crate) fn event_op(&self, event: EventKey) -> Option<OpKey> {
        self.events[event].record.filter(|&op| !self.op_done(op))
    }

    /// A number from 0 to `limit`, from a generator with a fixed start, so that runs repeat.
    fn draw(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (u64::from(self.random >> 8) * (limit + 1)) >> 24
    }

    // --- time ---

    /// The time of the next event.
    pub(crate) fn next_at(&self) -> Option<Ns> {
        self.agenda.next_at()
    }

    /// Whether only looks are planned.
    pub(crate) fn only_polls(&self) -> bool {
        self.agenda.only_polls()
    }

    /// Executes the next event.
    pub(crate) fn step(&mut self) {
        let Some((at, due)) = self.agenda.pop() else { return };
        self.now = self.now.max(at);
        match due {
            Due::Visible(op) => self.touch(op),
            Due::Elapsed(op) => self.elapsed(op),
            Due::Memop(op) => self.memop_done(op),
            Due::Poll(op) => self.look_due(op, at),
            Due::Lead(op) => self.lead_due(op),
            Due::Flow { engine, stamp } => self.flow_due(engine, stamp),
            Due::Kernel(op) | Due::KernelPoll(op) => self.kernel_step(op),
            Due::Engine(engine) => self.engine_dispatch(engine),
            Due::Wake => {}
        }
    }

    /// Moves the clock over a time without events.
    pub(crate) fn pass(&mut self, now: Ns) {
        self.now = self.now.max(now);
    }

    /// Executes all events up to a time that has come already. If only looks at memory are planned, each looks once,
    /// now: looks in between would have seen the same memory. Otherwise a host that is slower than its device's looks
    /// would never finish them.
    pub(crate) fn advance(&mut self, now: Ns) {
        while self.next_at().is_some_and(|at| at <= now) {
            if self.only_polls() {
                self.pass(now);
            }
            self.step();
        }
        self.pass(now);
    }

    /// An operation that only takes time is over.
    fn elapsed(&mut self, key: OpKey) {
        let Some(op) = self.ops.get(key) else { return };
        match &op.kind {
            OpKind::Fill(job) => {
                let job = **job;
                if self.fill_bytes(&job).is_none() {
                    self.poison_of(key, Code::ILLEGAL_ADDRESS);
                }
            }
            OpKind::Inline(_) => self.copy_bytes(key),
            &OpKind::Free { process, address } => self.mem_release(process, address),
            _ => {}
        }
        if self.ops.get(key).is_some() {
            self.finish(key);
        }
    }
}
