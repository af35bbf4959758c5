//! Devices, processes and contexts.

use std::collections::{BTreeMap, BTreeSet};

use hal::Code;

use super::engine::Engine;
use super::memory::{AddressSpace, Region, RegionKind};
use super::queue::{Class, Pool};
use super::stream::Role;
use super::{Caller, ContextKey, Failure, Model, Ns, OpKey, Outcome, StreamKey, handles};
use crate::kernel::Direction;
use crate::parameters::Parameters;
use crate::raw::Span;
use hal::{ContextFlags, StreamFlags};

/// Blocks are counted in parts of a multiprocessor, so that small kernels share one.
pub(crate) const PARTS: u64 = 32;

/// A device.
pub(crate) struct DeviceState {
    pub(crate) h2d: usize,
    pub(crate) d2h: usize,
    pub(crate) d2d: usize,
    pub(crate) peers: BTreeMap<usize, usize>,
    pub(crate) memory_used: u64,
    pub(crate) memory_limit: u64,
    pub(crate) cursor: u64,
    /// Parts of multiprocessors that are free.
    pub(crate) free_parts: u64,
    /// Kernels that wait for multiprocessors.
    pub(crate) waiting_kernels: std::collections::VecDeque<OpKey>,
    /// Kernels that run on fewer multiprocessors than their blocks fill.
    pub(crate) growing_kernels: Vec<OpKey>,
    /// The time at which a kernel last looked at a word of the host's memory.
    pub(crate) looked_at: Option<Ns>,
    /// The error of every call once the device is lost.
    pub(crate) lost: Option<Code>,
}

impl DeviceState {
    /// A device and its engines, which are added at the end of `engines`.
    pub(crate) fn new(device: usize, parameters: &Parameters, engines: &mut Vec<Engine>) -> DeviceState {
        use super::engine::EngineKind;
        use super::link::Link;
        let (engine, kernel) = (&parameters.engine, &parameters.kernel);
        let first = engines.len();
        let h2d = Link::new(engine.h2d_gbps, kernel.h2d_gbps, kernel.h2d_contended_gbps)
            .beside_short(kernel.beside_short_gbps);
        let d2h = Link::new(engine.d2h_gbps, kernel.d2h_gbps, kernel.d2h_contended_gbps)
            .beside_short(kernel.beside_short_gbps);
        let d2d = Link::new(engine.d2d_gbps, kernel.d2d_gbps, engine.d2d_gbps / 2.0);
        engines.push(Engine::new(device, EngineKind::H2d, h2d));
        engines.push(Engine::new(device, EngineKind::D2h, d2h));
        engines.push(Engine::new(device, EngineKind::D2d, d2d));
        DeviceState {
            h2d: first,
            d2h: first + 1,
            d2d: first + 2,
            peers: BTreeMap::new(),
            memory_used: 0,
            memory_limit: parameters.device.memory_bytes,
            cursor: 0,
            free_parts: u64::from(parameters.device.multiprocessors) * PARTS,
            waiting_kernels: std::collections::VecDeque::new(),
            growing_kernels: Vec::new(),
            looked_at: None,
            lost: None,
        }
    }
}

/// A process: an address space and the primary contexts.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) space: AddressSpace,
    /// The primary contexts that have references, by device.
    pub(crate) primary: BTreeMap<usize, Primary>,
    /// Calls that wait for the device and keep the other threads out of the driver meanwhile.
    pub(crate) keeps_out: u32,
    pub(crate) staging: super::pageable::StagingMemory,
    /// Threads that wait for the end of a copy in pieces.
    pub(crate) pieces_awaited: u32,
}

/// The primary context of a device.
pub(crate) struct Primary {
    /// None from a reset to the next reference.
    context: Option<ContextKey>,
    references: u32,
}

/// A context.
pub(crate) struct Context {
    own: ContextKey,
    pub(crate) process: usize,
    pub(crate) device: usize,
    pub(crate) primary: bool,
    pub(crate) flags: ContextFlags,
    /// Its making, and the calls that have attached to it.
    pub(crate) uses: u32,
    /// The error that every later call returns.
    pub(crate) sticky: Option<Code>,
    pub(crate) legacy: StreamKey,
    pub(crate) per_thread: BTreeMap<u64, StreamKey>,
    pub(crate) pools: [Pool; Class::COUNT],
    /// Blocking streams with unfinished operations.
    pub(crate) busy_blocking: BTreeSet<StreamKey>,
    /// The streams in which a copy goes in pieces.
    pub(crate) in_pieces: Vec<StreamKey>,
    pub(crate) unfinished: u64,
    /// Streams that were made in it and have not been destroyed.
    pub(crate) streams_made: u32,
    /// The number of streams that it has room for.
    pub(crate) streams_room: u32,
    pub(crate) peers: BTreeSet<ContextKey>,
}

impl Context {
    /// The sticky error, if the context has failed.
    pub(crate) fn healthy(&self) -> Outcome<()> {
        match self.sticky {
            Some(code) => Err(Failure::new(code, "an earlier failure has ended this context")),
            None => Ok(()),
        }
    }
}

/// The memory that the kernels of a context reach.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    own: ContextKey,
    pub(crate) device: usize,
    peers: &'a BTreeSet<ContextKey>,
}

impl Reach<'_> {
    /// Whether a part of the region is on the host, of the own context, of a pool of the own device, mapped for it, or
    /// of a context to whose memory access was enabled. Each context has address spaces of its own: memory of another
    /// one on the same device was within reach on an H200, but the manual promises none.
    pub(crate) fn covers(&self, region: &Region, offset: u64, bytes: u64) -> bool {
        let of_peer = |context: ContextKey| context == self.own || self.peers.contains(&context);
        match region.kind {
            RegionKind::Reserved => region.grants(offset, bytes, self.device),
            _ if !region.is_device() => true,
            _ if region.is_pooled => region.device == self.device,
            _ => region.context.is_some_and(of_peer),
        }
    }

    /// The memory of a range that kernels of the context may read, and write if they are to.
    pub(crate) fn span<'s>(
        &self,
        space: &'s AddressSpace,
        (address, bytes): (u64, u64),
        writes: bool,
    ) -> Option<(Span<'s>, &'s Region)> {
        let (start, _) = space.region(address)?;
        let is_within =
            |region: &Region| self.covers(region, address - start, bytes) && !(writes && region.is_read_only);
        space.span(address, bytes).filter(|(_, region)| is_within(region))
    }
}

impl Context {
    pub(crate) fn reach(&self) -> Reach<'_> {
        Reach { own: self.own, device: self.device, peers: &self.peers }
    }
}

impl Model {
    /// The engine whose link a kernel on `device` moves bytes over.
    pub(crate) fn engine_for(&mut self, device: usize, direction: Direction) -> usize {
        match direction {
            Direction::HostToDevice => self.devices[device].h2d,
            Direction::DeviceToHost => self.devices[device].d2h,
            Direction::OnDevice => self.devices[device].d2d,
            Direction::Peer { from, to } => self.peer_engine(from, to),
        }
    }

    pub(crate) fn device(&self, device: hal::Device) -> Outcome<usize> {
        let index = usize::try_from(device.0).ok().filter(|&index| index < self.devices.len());
        index.ok_or_else(|| Failure::new(Code::INVALID_DEVICE, format!("there are {} devices", self.devices.len())))
    }

    fn add_context(&mut self, process: usize, device: usize, primary: bool) -> ContextKey {
        // The legacy stream needs the context's key and the context needs the stream's, so stand-ins come first.
        let own = ContextKey::from_handle(0, 0).expect("kind 0 was asked for");
        let stand_in = StreamKey::from_handle(0, 0).expect("kind 0 was asked for");
        let context = self.contexts.insert(Context {
            own,
            process,
            device,
            primary,
            flags: ContextFlags::DEFAULT,
            uses: 1,
            sticky: self.devices[device].lost,
            legacy: stand_in,
            per_thread: BTreeMap::new(),
            pools: Default::default(),
            busy_blocking: BTreeSet::new(),
            in_pieces: Vec::new(),
            unfinished: 0,
            streams_made: 0,
            streams_room: match self.parameters.queue.streams {
                0 => u32::MAX,
                room => room,
            },
            peers: BTreeSet::new(),
        });
        let legacy = self.add_stream(context, Role::Legacy, StreamFlags::DEFAULT, 0);
        self.contexts[context].legacy = legacy;
        self.contexts[context].own = context;
        context
    }

    pub(crate) fn primary_retain(&mut self, caller: Caller, device: hal::Device) -> Outcome<ContextKey> {
        let device = self.device(device)?;
        let known = self.processes[caller.process].primary.get(&device).and_then(|primary| primary.context);
        let context = known.unwrap_or_else(|| self.add_context(caller.process, device, true));
        let none = || Primary { context: None, references: 0 };
        let primary = self.processes[caller.process].primary.entry(device).or_insert_with(none);
        (primary.context, primary.references) = (Some(context), primary.references + 1);
        Ok(context)
    }

    /// Whether the primary context of a device exists.
    pub(crate) fn has_primary(&self, caller: Caller, device: usize) -> bool {
        self.processes[caller.process].primary.get(&device).is_some_and(|primary| primary.context.is_some())
    }

    /// Takes the primary context away, if it exists. Its references stay, and the next one makes it again.
    pub(crate) fn primary_reset(&mut self, caller: Caller, device: hal::Device) -> Outcome<Option<ContextKey>> {
        let device = self.device(device)?;
        let primary = self.processes[caller.process].primary.get_mut(&device);
        Ok(primary.and_then(|primary| primary.context.take()))
    }

    /// Releases the primary context. Returns it after the last reference.
    pub(crate) fn primary_release(&mut self, caller: Caller, device: hal::Device) -> Outcome<Option<ContextKey>> {
        let device = self.device(device)?;
        let primary = &mut self.processes[caller.process].primary;
        let Some(retained) = primary.get_mut(&device) else {
            return Err(Failure::new(Code::INVALID_CONTEXT, "the primary context is not retained"));
        };
        retained.references -= 1;
        let (context, last) = (retained.context, retained.references == 0);
        if last {
            primary.remove(&device);
        }
        Ok(context.filter(|_| last))
    }

    /// Counts one more use of the current context.
    pub(crate) fn context_attach(&mut self, caller: Caller) -> Outcome<ContextKey> {
        let key = self.current(caller)?;
        self.contexts[key].uses += 1;
        Ok(key)
    }

    /// Counts one use less of the current context. Returns it after the last.
    pub(crate) fn context_detach(&mut self, caller: Caller, handle: hal::Context) -> Outcome<Option<ContextKey>> {
        let key = self.own_context(caller, handle)?;
        if caller.context != Some(key) {
            return Err(Failure::new(Code::INVALID_CONTEXT, "a context is detached from where it is current"));
        }
        self.contexts[key].uses -= 1;
        Ok((self.contexts[key].uses == 0).then_some(key))
    }

    pub(crate) fn context_create(
        &mut self,
        caller: Caller,
        device: hal::Device,
        flags: ContextFlags,
    ) -> Outcome<ContextKey> {
        let device = self.device(device)?;
        let context = self.add_context(caller.process, device, false);
        self.contexts[context].flags = flags;
        Ok(context)
    }

    /// The context that a handle names for the caller.
    pub(crate) fn context(&self, caller: Caller, handle: hal::Context) -> Outcome<ContextKey> {
        let key = self.contexts.key(handle.0, handles::CONTEXT);
        let found = key.filter(|&k| self.contexts.get(k).is_some_and(|c| c.process == caller.process));
        found.ok_or_else(|| Failure::new(Code::INVALID_CONTEXT, format!("{handle:?} is no context of this process")))
    }

    /// A context that `context_destroy` may destroy.
    pub(crate) fn own_context(&self, caller: Caller, handle: hal::Context) -> Outcome<ContextKey> {
        let key = self.context(caller, handle)?;
        if self.contexts[key].primary {
            return Err(Failure::new(Code::INVALID_CONTEXT, "a primary context is released, not destroyed"));
        }
        Ok(key)
    }

    /// The caller's current context, if there is one and it works.
    pub(crate) fn current(&self, caller: Caller) -> Outcome<ContextKey> {
        let none = || Failure::new(Code::INVALID_CONTEXT, "no context is current on this thread: set one");
        let key = caller.context.ok_or_else(none)?;
        match self.contexts.get(key) {
            Some(context) => context.healthy().map(|()| key),
            None => Err(Failure::new(Code::CONTEXT_IS_DESTROYED, "the current context has been destroyed")),
        }
    }

    /// Ends a context: drops its queued operations and all its objects.
    pub(crate) fn context_drop(&mut self, key: ContextKey) {
        self.purge(key);
        let process = self.contexts[key].process;
        for stream in self.streams.keys_where(|stream| stream.context == key) {
            let stream = self.streams.remove(stream).expect("the key was just found");
            self.drop_private_queues(&stream);
        }
        for event in self.events.keys_where(|event| event.context == key) {
            self.events.remove(event);
        }
        for module in self.modules.keys_where(|module| module.context == key) {
            self.module_drop(module);
        }
        for capture in self.captures.keys_where(|capture| capture.context == key) {
            self.captures.remove(capture);
        }
        self.drop_imports(key);
        for region in self.processes[process].space.remove_context(key) {
            if region.is_device() {
                self.devices[region.device].memory_used -= region.bytes;
            }
        }
        let context = self.contexts.remove(key).expect("the context was just looked at");
        self.drop_pools(context.pools);
        self.effects += 1;
    }

    pub(crate) fn context_idle(&self, key: ContextKey) -> bool {
        self.contexts.get(key).is_none_or(|context| context.unfinished == 0)
    }

    /// A call of this process waits, and keeps its other threads out of the driver.
    pub(crate) fn keep_out(&mut self, process: usize) {
        self.processes[process].keeps_out += 1;
    }

    /// The call has waited.
    pub(crate) fn let_in(&mut self, process: usize) {
        self.processes[process].keeps_out -= 1;
    }

    pub(crate) fn is_kept_out(&self, process: usize) -> bool {
        self.processes[process].keeps_out > 0
    }

    /// Lets the current context reach the memory of another.
    pub(crate) fn enable_peer(&mut self, caller: Caller, peer: hal::Context) -> Outcome<()> {
        let own = self.current(caller)?;
        let peer = self.context(caller, peer)?;
        if self.contexts[own].device == self.contexts[peer].device {
            return Err(Failure::new(Code::PEER_ACCESS_UNSUPPORTED, "both contexts are on one device"));
        }
        if !self.contexts[own].peers.insert(peer) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED.into());
        }
        Ok(())
    }
}
