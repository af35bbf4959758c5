//! Copies and memsets: checks, choice of the engine, and the bytes themselves.

use hal::Code;
use hal::locks::lock;

use super::agenda::Due;
use super::engine::{Engine, EngineKind};
use super::graph::Work;
use super::link::Link;
use super::memory::{DEVICE_BASE, DEVICE_STRIDE};
use super::op::{CopyJob, FillJob, FillValue, LateSource, Layout, OpKind, Side, Staging};
use super::queue::Class;
use super::stream::Route;
use super::{Caller, Failure, Model, OpKey, Outcome, StreamKey};
use crate::parameters::span_ns;
use crate::planted::Planted;
use crate::raw::{Lent, Span};

/// The kind of memory that the caller of a copy declares for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    Host,
    Device,
    Any,
}

/// One side of a requested copy.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) address: u64,
    pub(crate) declared: Declared,
    pub(crate) layout: Layout,
    /// The same range, in case it turns out to be pageable.
    pub(crate) lent: Lent,
}

/// A requested copy. Its maker has checked that its extents fit into 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) target: End,
    pub(crate) source: End,
    pub(crate) width_bytes: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
    /// Whether it is 2D or 3D.
    pub(crate) shaped: bool,
}

impl Request {
    pub(crate) fn bytes(&self) -> u64 {
        self.width_bytes * self.height * self.depth
    }

    /// Some bytes of a copy of one row.
    pub(crate) fn piece(&self, offset: u64, bytes: u64) -> Request {
        let part = |end: End| End { address: end.address + offset, lent: end.lent.part(offset, bytes), ..end };
        Request { target: part(self.target), source: part(self.source), width_bytes: bytes, ..*self }
    }
}

/// The bytes from the first to the last, pitches included; `None` past 64 bits.
pub(crate) fn extent_bytes(layout: Layout, width_bytes: u64, height: u64, depth: u64) -> Option<u64> {
    let rows = layout.row_bytes.checked_mul(height.checked_sub(1)?)?;
    let slices = layout.slice_bytes.checked_mul(depth.checked_sub(1)?)?;
    width_bytes.checked_add(rows)?.checked_add(slices)
}

/// The real place of one side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Device(usize),
    Pinned,
    Pageable,
}

/// Staged bytes, and their place in the caller's memory.
pub(crate) type WriteBack = (Staging, Lent);

/// A copy that the driver accepts.
pub(crate) struct CopyPlan {
    job: CopyJob,
    class: Class,
    /// Whether it runs among the kernels.
    inline: bool,
    /// Bytes to write to the caller's memory when the copy has completed.
    pub(crate) write_back: Option<WriteBack>,
    /// The cost of the call.
    pub(crate) call_ns: u64,
    /// The cost of staging for the caller, beyond the call.
    pub(crate) staging_ns: u64,
    /// The part of the staging that overlaps with the engine's own time.
    pub(crate) overlap_ns: u64,
}

/// A copy as a node of a graph.
pub(crate) struct CapturedCopy {
    job: CopyJob,
    class: Class,
    inline: bool,
}

impl CapturedCopy {
    /// The operation of a launch.
    pub(crate) fn operation(&self) -> (Route, OpKind) {
        operation(Box::new(self.job.clone()), self.class, self.inline)
    }
}

fn operation(job: Box<CopyJob>, class: Class, inline: bool) -> (Route, OpKind) {
    match inline {
        true => (Route::Class(Class::Compute), OpKind::Inline(job)),
        false => (Route::Class(class), OpKind::Copy(job)),
    }
}

impl CopyPlan {
    /// The copy as a node of a graph. A launch reads and writes pinned and device memory only.
    pub(crate) fn captured(&self) -> Work {
        let in_memory = |side: &Side| matches!(side, Side::Address { .. });
        if !in_memory(&self.job.target) || !in_memory(&self.job.source) {
            return Work::Other("a copy of pageable memory");
        }
        Work::Copy(CapturedCopy { job: self.job.clone(), class: self.class, inline: self.inline })
    }
}

impl Model {
    pub(super) fn place(&self, caller: Caller, end: &End, request: &Request) -> Outcome<Place> {
        let bytes = extent_bytes(end.layout, request.width_bytes, request.height, request.depth).unwrap_or(u64::MAX);
        let space = &self.processes[caller.process].space;
        let bad = |why: &str| Failure::new(Code::INVALID_VALUE, format!("{:#x} + {bytes} bytes: {why}", end.address));
        let Some((start, region)) = space.nameable(end.address) else {
            let invented = DEVICE_BASE..DEVICE_BASE + self.devices.len() as u64 * DEVICE_STRIDE;
            let host = end.declared != Declared::Device && end.address != 0 && !invented.contains(&end.address);
            let fits = end.address.checked_add(bytes).is_some() && space.overlapping(end.address, bytes).is_none();
            return if host && fits { Ok(Place::Pageable) } else { Err(bad("not an allocation")) };
        };
        if space.span(end.address, bytes.max(1)).is_none() {
            return Err(bad("reaches past its allocation"));
        }
        let own = self.contexts[self.current(caller)?].device;
        if !region.grants(end.address - start, bytes.max(1), own) {
            return Err(bad("the device was given no access"));
        }
        match (region.is_device(), end.declared) {
            (true, Declared::Host) => Err(bad("device memory where host memory is meant")),
            (true, _) => Ok(Place::Device(region.device)),
            (false, _) => Ok(Place::Pinned),
        }
    }

    /// Refuses a copy between devices of memory that came in the order of a stream, as an H100 does
    /// (`CUDA_ERROR_INVALID_VALUE`).
    fn refuse_pooled(&self, caller: Caller, request: &Request) -> Outcome<()> {
        let space = &self.processes[caller.process].space;
        let is_pooled = |end: &End| space.nameable(end.address).is_some_and(|(_, region)| region.is_pooled);
        match is_pooled(&request.target) || is_pooled(&request.source) {
            true => Err(Failure::new(Code::INVALID_VALUE, "the other device has no access to memory of a pool")),
            false => Ok(()),
        }
    }

    /// Refuses to write to memory that was registered for reading. A driver's own answer has not been seen.
    fn refuse_read_only(&self, caller: Caller, target: u64) -> Outcome<()> {
        match self.processes[caller.process].space.region(target) {
            Some((_, region)) if region.is_read_only => {
                Err(Failure::new(Code::INVALID_VALUE, "the memory is registered for reading only"))
            }
            _ => Ok(()),
        }
    }

    fn engine_of(&mut self, caller: Caller, target: Place, source: Place) -> Outcome<(usize, Class)> {
        let own = self.contexts[self.current(caller)?].device;
        Ok(match (target, source) {
            (Place::Device(to), Place::Device(from)) if to == from => (self.devices[to].d2d, Class::D2d),
            (Place::Device(to), Place::Device(from)) => (self.peer_engine(from, to), Class::Peer),
            (Place::Device(to), _) => (self.devices[to].h2d, Class::H2d),
            (_, Place::Device(from)) => (self.devices[from].d2h, Class::D2h),
            _ => (self.devices[own].h2d, Class::H2d),
        })
    }

    pub(crate) fn peer_engine(&mut self, from: usize, to: usize) -> usize {
        if let Some(&engine) = self.devices[from].peers.get(&to) {
            return engine;
        }
        let rate = self.parameters.peer.pair_gbps(from, to);
        self.engines.push(Engine::new(from, EngineKind::Peer { target: to }, Link::new(rate, rate, rate / 2.0)));
        let engine = self.engines.len() - 1;
        self.devices[from].peers.insert(to, engine);
        engine
    }

    /// Checks a copy and plans it. Pageable sources are read here.
    pub(crate) fn copy_plan(&mut self, caller: Caller, request: &Request) -> Outcome<CopyPlan> {
        let target_place = self.place(caller, &request.target, request)?;
        self.refuse_read_only(caller, request.target.address)?;
        let source_place = self.place(caller, &request.source, request)?;
        let (engine, class) = self.engine_of(caller, target_place, source_place)?;
        if class == Class::Peer {
            self.refuse_pooled(caller, request)?;
        }
        let side = |end: &End| Side::Address { process: caller.process, address: end.address };
        let tight = Layout { row_bytes: request.width_bytes, slice_bytes: request.width_bytes * request.height };
        let mut job = CopyJob {
            engine,
            is_alone: false,
            target: side(&request.target),
            source: side(&request.source),
            target_layout: request.target.layout,
            source_layout: request.source.layout,
            width_bytes: request.width_bytes,
            height: request.height,
            depth: request.depth,
        };
        let inline = class == Class::H2d
            && matches!(target_place, Place::Device(_))
            && !request.shaped
            && request.bytes() <= self.parameters.engine.inline_bytes_max;
        if source_place == Place::Pageable {
            if self.is_planted(Planted::PageableReadLate) {
                job.source = Side::Late(LateSource(request.source.lent));
            } else {
                job.source = Side::Staged(Staging::new(gather(request).into()));
                job.source_layout = tight;
            }
        }
        let mut write_back = None;
        if target_place == Place::Pageable {
            let staging = Staging::new(vec![0; request.bytes() as usize].into());
            job.target = Side::Staged(staging.clone());
            job.target_layout = tight;
            write_back = Some((staging, request.target.lent));
        }
        if request.shaped && self.is_planted(Planted::RowTailDropped) {
            job.width_bytes -= 1;
        }
        let pageable = target_place == Place::Pageable || source_place == Place::Pageable;
        let staging_ns = if pageable && !inline { self.staging_ns(request.bytes()) } else { 0 };
        let overlap_ns = span_ns(request.bytes(), self.parameters.engine.h2d_gbps).min(staging_ns);
        let call_ns = self.call_ns(caller, class, target_place)?;
        Ok(CopyPlan { job, class, inline, write_back, call_ns, staging_ns, overlap_ns })
    }

    /// The time that the call of a copy takes the host.
    fn call_ns(&self, caller: Caller, class: Class, target: Place) -> Outcome<u64> {
        let (own, host) = (self.contexts[self.current(caller)?].device, &self.parameters.host);
        Ok(match class {
            Class::D2h => host.copy_d2h_ns,
            Class::Peer if target == Place::Device(own) => host.pull_ns,
            Class::Peer => host.push_ns,
            _ => host.copy_ns,
        })
    }

    fn staging_ns(&self, bytes: u64) -> u64 {
        let host = &self.parameters.host;
        let cached = bytes.min(host.pageable_cached_bytes);
        let spans = span_ns(cached, host.pageable_cached_gbps) + span_ns(bytes - cached, host.pageable_gbps);
        (host.pageable_ns + spans).saturating_sub(host.copy_ns)
    }

    /// Queues a planned copy.
    pub(crate) fn copy_submit(&mut self, caller: Caller, stream: StreamKey, mut plan: CopyPlan) -> OpKey {
        match plan.class {
            Class::H2d => self.counts.copies_h2d += 1,
            Class::D2h => self.counts.copies_d2h += 1,
            _ => self.counts.copies_other += 1,
        }
        self.counts.copied_bytes += plan.job.bytes();
        if plan.inline {
            self.counts.copies_inline += 1;
            self.consume_source(stream, &mut plan.job);
        }
        let (route, kind) = operation(Box::new(plan.job), plan.class, plan.inline);
        self.submit(stream, caller.at, route, kind)
    }

    /// If the stream itself is idle, the source is read at the call, even pinned memory, and even while the legacy
    /// stream's implicit order makes the copy wait.
    fn consume_source(&self, stream: StreamKey, job: &mut CopyJob) {
        if !self.streams[stream].ops.is_empty() {
            return;
        }
        if let Some(source) = self.side_span(&job.source, 0, job.bytes()) {
            job.source = Side::Staged(Staging::new(source.to_vec().into()));
        }
    }

    pub(crate) fn inline_begin(&mut self, key: OpKey) {
        let OpKind::Inline(job) = &self.ops[key].kind else { return };
        let engine = &self.parameters.engine;
        let span = engine.inline_ns + engine.inline_kib_ns * job.bytes() / 1024;
        self.agenda.push(self.now + span, Due::Elapsed(key));
    }

    /// Moves the bytes of a copy that has completed.
    pub(crate) fn copy_bytes(&mut self, key: OpKey) {
        // The job is taken out of its operation while its bytes move, because the move needs the rest of the model.
        let Some(op) = self.ops.get_mut(key) else { return };
        let kind = std::mem::replace(&mut op.kind, OpKind::Join);
        let (OpKind::Copy(job) | OpKind::Inline(job)) = &kind else { unreachable!("only copies move bytes") };
        let moved = if self.copies_payload(job.bytes()) { self.move_job(job) } else { self.check_job(job) };
        self.effects += 1;
        self.ops[key].kind = kind;
        if moved.is_none() {
            self.poison_of(key, Code::ILLEGAL_ADDRESS);
        } else if let Some(code) = self.take_copy_fault() {
            self.poison_of(key, code);
        }
    }

    fn check_job(&self, job: &CopyJob) -> Option<()> {
        let whole = |side: &Side, layout| match side {
            Side::Address { .. } => {
                let bytes = extent_bytes(layout, job.width_bytes, job.height, job.depth)?;
                self.side_span(side, 0, bytes).map(|_| ())
            }
            _ => Some(()),
        };
        whole(&job.target, job.target_layout).and(whole(&job.source, job.source_layout))
    }

    fn side_span(&self, side: &Side, offset: u64, bytes: u64) -> Option<Span<'_>> {
        let Side::Address { process, address } = side else { return None };
        self.processes[*process].space.span(address + offset, bytes).map(|(span, _)| span)
    }

    fn move_job(&self, job: &CopyJob) -> Option<()> {
        let flat = |layout: Layout| layout.row_bytes == job.width_bytes || job.height == 1;
        if job.depth == 1 && flat(job.target_layout) && flat(job.source_layout) {
            return self.move_row(job, 0, 0, job.bytes());
        }
        let at = |layout: Layout, y, z| z * layout.slice_bytes + y * layout.row_bytes;
        for z in 0..job.depth {
            for y in 0..job.height {
                self.move_row(job, at(job.target_layout, y, z), at(job.source_layout, y, z), job.width_bytes)?;
            }
        }
        Some(())
    }

    fn move_row(&self, job: &CopyJob, target_offset: u64, source_offset: u64, bytes: u64) -> Option<()> {
        let target = self.side_span(&job.target, target_offset, bytes);
        if let (Some(target), Some(source)) = (target, self.side_span(&job.source, source_offset, bytes)) {
            target.copy_from(source);
            return Some(());
        }
        let bytes = match &job.source {
            Side::Address { .. } => self.side_span(&job.source, source_offset, bytes)?.to_vec(),
            Side::Staged(staging) => {
                let staged = lock(staging);
                staged[source_offset as usize..(source_offset + bytes) as usize].to_vec()
            }
            Side::Late(source) => source.0.read(source_offset, bytes),
        };
        match &job.target {
            Side::Address { .. } => target?.write(&bytes),
            Side::Staged(staging) => {
                let mut staged = lock(staging);
                staged[target_offset as usize..target_offset as usize + bytes.len()].copy_from_slice(&bytes);
            }
            Side::Late(_) => return None,
        }
        Some(())
    }

    // --- memsets ---

    /// Queues a memset.
    pub(crate) fn fill_submit(&mut self, caller: Caller, stream: StreamKey, mut job: FillJob) -> Outcome<()> {
        if job.width_bytes == 0 || job.height == 0 {
            return Ok(());
        }
        let layout = Layout { row_bytes: job.pitch_bytes, slice_bytes: 0 };
        let bytes = extent_bytes(layout, job.width_bytes, job.height, 1);
        let space = &self.processes[caller.process].space;
        let inside = bytes.and_then(|bytes| space.span(job.target, bytes)).is_some_and(|(_, region)| !region.going);
        if !inside || (job.height > 1 && job.pitch_bytes < job.width_bytes) {
            return Err(Failure::new(Code::INVALID_VALUE, format!("{:#x}: not inside an allocation", job.target)));
        }
        self.refuse_read_only(caller, job.target)?;
        job.process = caller.process;
        self.counts.memsets += 1;
        if self.is_planted(Planted::MemsetOvertakesCopy) {
            self.fill_bytes(&job);
            self.submit(stream, caller.at, Route::None, OpKind::Join);
        } else {
            self.submit(stream, caller.at, Route::Class(Class::Compute), OpKind::Fill(Box::new(job)));
        }
        Ok(())
    }

    pub(crate) fn fill_begin(&mut self, key: OpKey) {
        let OpKind::Fill(job) = &self.ops[key].kind else { return };
        let kernel = &self.parameters.kernel;
        let span = kernel.start_ns + span_ns(job.width_bytes * job.height, kernel.memset_gbps);
        self.agenda.push(self.now + span, Due::Elapsed(key));
    }

    /// Sets the bytes; `None` if they are gone.
    pub(crate) fn fill_bytes(&mut self, job: &FillJob) -> Option<()> {
        let space = &self.processes[job.process].space;
        for row in 0..job.height {
            let (span, _) = space.span(job.target + row * job.pitch_bytes, job.width_bytes)?;
            match job.value {
                FillValue::Byte(value) => span.fill(value),
                FillValue::Word(value) => span.fill32(value),
            }
        }
        self.effects += 1;
        Some(())
    }
}

/// The bytes of a pageable source, tightly packed.
fn gather(request: &Request) -> Vec<u8> {
    let layout = request.source.layout;
    let mut bytes = Vec::with_capacity(request.bytes() as usize);
    for z in 0..request.depth {
        for y in 0..request.height {
            let offset = z * layout.slice_bytes + y * layout.row_bytes;
            bytes.extend_from_slice(&request.source.lent.read(offset, request.width_bytes));
        }
    }
    bytes
}

/// Writes staged bytes to the caller's memory.
pub(crate) fn scatter(request: &Request, staging: &Staging, target: Lent) {
    let staged = lock(staging);
    let layout = request.target.layout;
    let mut rows = staged.chunks_exact(request.width_bytes as usize);
    for z in 0..request.depth {
        for y in 0..request.height {
            let row = rows.next().expect("as many rows were staged as the copy has");
            target.write(z * layout.slice_bytes + y * layout.row_bytes, row);
        }
    }
}
