//! Modules, and kernels on the multiprocessors.

use std::collections::BTreeMap;
use std::sync::Arc;

use hal::{Code, DevicePtr};

use super::agenda::Due;
use super::context::PARTS;
use super::graph::Work;
use super::link::FlowOwner;
use super::memory::RegionKind;
use super::op::OpKind;
use super::queue::Class;
use super::stream::Route;
use super::{Caller, ContextKey, Failure, FunctionKey, Model, ModuleKey, Ns, OpKey, Outcome, StreamKey, handles};
use crate::kernel::{Direction, Io, KernelSpec, Running, Step};
use crate::ptx;
use crate::raw::Backing;

/// A loaded module.
pub(crate) struct Module {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    functions: BTreeMap<String, FunctionKey>,
    /// Address and bytes of each global variable.
    globals: BTreeMap<String, (DevicePtr, u64)>,
}

/// A kernel of a module.
pub(crate) struct Function {
    pub(crate) process: usize,
    pub(crate) context: ContextKey,
    pub(crate) name: Arc<str>,
    pub(crate) spec: Arc<KernelSpec>,
}

/// A launch.
pub(crate) struct KernelJob {
    pub(crate) name: Arc<str>,
    spec: Arc<KernelSpec>,
    parameters: Vec<Vec<u8>>,
    grid: [u32; 3],
    block: [u32; 3],
    pub(crate) device: usize,
    /// Parts of multiprocessors that its blocks fill.
    pub(crate) parts: u64,
    /// Those that it has.
    pub(crate) has_parts: u64,
    pub(crate) admitted: bool,
    running: Option<Box<dyn Running>>,
    /// The engine whose link it moves bytes over.
    pub(crate) moving: Option<usize>,
    moved: Moving,
    /// The end of its last flow. A move that begins at that moment has its reads in flight already.
    moved_at: Option<Ns>,
}

/// A launch that the driver accepts.
#[derive(Clone)]
pub(crate) struct LaunchPlan {
    name: Arc<str>,
    spec: Arc<KernelSpec>,
    parameters: Vec<Vec<u8>>,
    grid: [u32; 3],
    block: [u32; 3],
    device: usize,
    parts: u64,
}

impl LaunchPlan {
    pub(crate) fn job(self) -> KernelJob {
        let LaunchPlan { name, spec, parameters, grid, block, device, parts } = self;
        KernelJob {
            name,
            spec,
            parameters,
            grid,
            block,
            device,
            parts,
            has_parts: 0,
            admitted: false,
            running: None,
            moving: None,
            moved: Moving::default(),
            moved_at: None,
        }
    }
}

/// The bytes that arrive when a flow is over; none if the kernel moves the bytes itself.
#[derive(Clone, Copy, Default)]
struct Moving {
    target: u64,
    source: u64,
    bytes: u64,
}

/// A requested launch, with its parameters copied.
pub(crate) struct LaunchRequest {
    pub(crate) function: FunctionKey,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) parameters: Vec<Vec<u8>>,
}

impl Model {
    /// Loads PTX in which every entry is a registered kernel with the same parameters. Its global variables begin as
    /// zeroes.
    pub(crate) fn module_load(&mut self, caller: Caller, image: &[u8]) -> Outcome<hal::Module> {
        let context = self.current(caller)?;
        let text = std::str::from_utf8(image).ok().map(|text| text.trim_end_matches('\0'));
        let text = text.filter(|text| text.contains(".version") || text.contains(".entry"));
        let not_ptx = "the software GPU loads PTX text only: kernels are registered by name";
        let text = text.ok_or_else(|| Failure::new(Code::INVALID_IMAGE, not_ptx))?;
        let cuda = self.parameters.device.driver_version;
        ptx::is_known(text, cuda).map_err(|why| Failure::new(Code::UNSUPPORTED_PTX_VERSION, why))?;
        let entries = ptx::entries(text).map_err(|why| Failure::new(Code::INVALID_PTX, why))?;
        let specs = entries.iter().map(|entry| self.known(entry)).collect::<Outcome<Vec<_>>>()?;
        let declared = ptx::globals(text).map_err(|why| Failure::new(Code::INVALID_PTX, why))?;
        let process = caller.process;
        let globals = self.place_globals(caller, declared)?;
        let mut functions = BTreeMap::new();
        for (entry, spec) in entries.into_iter().zip(specs) {
            let name: Arc<str> = entry.name.as_str().into();
            functions.insert(entry.name, self.functions.insert(Function { process, context, name, spec }));
        }
        let module = self.modules.insert(Module { process, context, functions, globals });
        Ok(hal::Module(self.modules.handle(module, handles::MODULE)))
    }

    fn place_globals(
        &mut self,
        caller: Caller,
        declared: Vec<ptx::Global>,
    ) -> Outcome<BTreeMap<String, (DevicePtr, u64)>> {
        let mut placed = BTreeMap::new();
        for global in declared {
            match self.place_on_device(caller, global.bytes, RegionKind::Global, || Backing::zeroed(global.bytes)) {
                Ok(address) => placed.insert(global.name, (address, global.bytes)),
                Err(failure) => {
                    placed.into_values().for_each(|(address, _)| self.mem_release(caller.process, address.0));
                    return Err(failure);
                }
            };
        }
        Ok(placed)
    }

    /// The global variable of this name.
    pub(crate) fn module_global(&self, caller: Caller, handle: hal::Module, name: &str) -> Outcome<(DevicePtr, u64)> {
        self.current(caller)?;
        let module = &self.modules[self.module(caller, handle)?];
        let unknown = || match module.functions.contains_key(name) {
            true => Failure::new(Code::INVALID_VALUE, format!("{name} is a kernel, not a global variable")),
            false => Failure::new(Code::NOT_FOUND, format!("the module has no global variable {name}")),
        };
        module.globals.get(name).copied().ok_or_else(unknown)
    }

    fn known(&self, entry: &ptx::Entry) -> Outcome<Arc<KernelSpec>> {
        let Some(spec) = self.kernels.get(&entry.name) else {
            let cure = format!("no kernel {} is registered: SoftGpu::builder().kernel(..) registers one", entry.name);
            return Err(Failure::new(Code::INVALID_IMAGE, cure));
        };
        if spec.parameter_bytes != entry.parameter_bytes {
            let (has, wants) = (&entry.parameter_bytes, &spec.parameter_bytes);
            let detail = format!("kernel {} takes parameters of {wants:?} bytes, the PTX declares {has:?}", entry.name);
            return Err(Failure::new(Code::INVALID_PTX, detail));
        }
        Ok(Arc::clone(spec))
    }

    fn module(&self, caller: Caller, handle: hal::Module) -> Outcome<ModuleKey> {
        let key = self.modules.key(handle.0, handles::MODULE);
        let found = key.filter(|&k| self.modules.get(k).is_some_and(|m| m.process == caller.process));
        found.ok_or_else(|| Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no module of this process")))
    }

    pub(crate) fn module_unload(&mut self, caller: Caller, handle: hal::Module) -> Outcome<()> {
        self.current(caller)?;
        self.refuse_while_capturing(caller)?;
        let key = self.module(caller, handle)?;
        self.module_drop(key);
        Ok(())
    }

    pub(crate) fn module_drop(&mut self, key: ModuleKey) {
        let module = self.modules.remove(key).expect("the module was just looked at");
        for function in module.functions.into_values() {
            self.functions.remove(function);
        }
        for (address, _) in module.globals.into_values() {
            self.mem_release(module.process, address.0);
        }
    }

    pub(crate) fn module_function(&self, caller: Caller, handle: hal::Module, name: &str) -> Outcome<hal::Function> {
        self.current(caller)?;
        let module = &self.modules[self.module(caller, handle)?];
        let found = module.functions.get(name).map(|key| hal::Function(self.functions.handle(*key, handles::FUNCTION)));
        found.ok_or_else(|| Failure::new(Code::NOT_FOUND, format!("the module has no kernel {name}")))
    }

    /// The kernel that a handle names, and the sizes of its parameters.
    pub(crate) fn function(&self, caller: Caller, handle: hal::Function) -> Outcome<(FunctionKey, Vec<u32>)> {
        self.current(caller)?;
        let invalid = || Failure::new(Code::INVALID_HANDLE, format!("{handle:?} is no kernel of this process"));
        let key = self.functions.key(handle.0, handles::FUNCTION).ok_or_else(invalid)?;
        let found = |f: &&Function| f.process == caller.process;
        let function = self.functions.get(key).filter(found).ok_or_else(invalid)?;
        Ok((key, function.spec.parameter_bytes.clone()))
    }

    /// Queues a launch.
    pub(crate) fn launch_submit(
        &mut self,
        caller: Caller,
        stream: StreamKey,
        request: LaunchRequest,
    ) -> Outcome<Option<OpKey>> {
        let plan = self.launch_plan(stream, request)?;
        if self.capture_node(stream, || Work::Kernel(plan.clone()))? {
            return Ok(None);
        }
        self.counts.launches += 1;
        let job = OpKind::Kernel(Box::new(plan.job()));
        Ok(Some(self.submit(stream, caller.at, Route::Class(Class::Compute), job)))
    }

    fn launch_plan(&self, stream: StreamKey, request: LaunchRequest) -> Outcome<LaunchPlan> {
        let function = &self.functions[request.function];
        if self.streams[stream].context != function.context {
            return Err(Failure::new(Code::INVALID_HANDLE, "the stream and the kernel are of different contexts"));
        }
        let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u64::from(n)).product::<u64>();
        let (blocks, threads) = (product(request.grid), product(request.block));
        if blocks == 0 || threads == 0 || threads > 1024 {
            return Err(Failure::new(Code::INVALID_VALUE, format!("a launch of {blocks} blocks of {threads} threads")));
        }
        if request.shared_bytes > self.parameters.kernel.shared_bytes_max {
            let detail = format!("{} bytes of shared memory for a block", request.shared_bytes);
            return Err(Failure::new(Code::INVALID_VALUE, detail));
        }
        let device = self.contexts[function.context].device;
        let whole = u64::from(self.parameters.device.multiprocessors) * PARTS;
        let parts = (blocks.saturating_mul(PARTS)).div_ceil(u64::from(function.spec.blocks_per_multiprocessor));
        Ok(LaunchPlan {
            name: Arc::clone(&function.name),
            spec: Arc::clone(&function.spec),
            parameters: request.parameters,
            grid: request.grid,
            block: request.block,
            device,
            parts: parts.clamp(1, whole),
        })
    }

    /// The kernel is at the head of its queue and asks for multiprocessors.
    pub(crate) fn kernel_begin(&mut self, key: OpKey) {
        let OpKind::Kernel(job) = &self.ops[key].kind else { return };
        let device = job.device;
        self.devices[device].waiting_kernels.push_back(key);
        self.admit_kernels(device);
    }

    /// Starts waiting kernels while there are multiprocessors for the next. A started kernel leaves its queue, so the
    /// kernels of the next stream run beside it.
    pub(crate) fn admit_kernels(&mut self, device: usize) {
        while let Some((place, key)) = self.next_kernel(device) {
            let whole = u64::from(self.parameters.device.multiprocessors) * PARTS;
            let OpKind::Kernel(job) = &mut self.ops[key].kind else { return };
            let free_parts = self.devices[device].free_parts;
            // The time of a kernel does not depend on the multiprocessors that it has. So one that fits waits for all
            // of them, and one that fills the device begins on half of it.
            if free_parts < job.parts.min(whole.div_ceil(2)) {
                return;
            }
            job.has_parts = job.parts.min(free_parts);
            if job.has_parts < job.parts {
                self.devices[device].growing_kernels.push(key);
            }
            self.devices[device].free_parts -= job.has_parts;
            self.devices[device].waiting_kernels.remove(place);
            job.admitted = true;
            job.running = Some(job.spec.start());
            self.ops[key].started = self.now;
            let start = self.now + self.kernel_start_ns(device);
            self.agenda.push(start, Due::Kernel(key));
            let queue = self.ops[key].queue;
            self.leave_queue(key);
            if let Some(queue) = queue {
                self.touch_head(queue);
            }
        }
    }

    /// The place of the kernel that is next: of those whose streams have the greatest priority, the one that has waited
    /// longest. Kernels of other streams get the multiprocessors that it leaves, once it has begun.
    fn next_kernel(&self, device: usize) -> Option<(usize, OpKey)> {
        let waiting = self.devices[device].waiting_kernels.iter().copied().enumerate();
        waiting.min_by_key(|(place, key)| (self.streams[self.ops[*key].stream].priority, *place))
    }

    /// A launch is fetched from the host's memory. It shares the link to the device with the engine's bytes and with
    /// kernels that look at a word there, as a write does.
    fn kernel_start_ns(&self, device: usize) -> Ns {
        let (kernel, state) = (&self.parameters.kernel, &self.devices[device]);
        let reads_ns = self.behind_ns(state.h2d, kernel.start_behind_reads_ns);
        let looks_ns = if self.is_looked_at(device) { kernel.start_beside_looks_ns } else { 0 };
        kernel.start_ns + reads_ns.max(looks_ns)
    }

    /// A kernel's last step is over: it goes on.
    pub(crate) fn kernel_step(&mut self, key: OpKey) {
        let Some(op) = self.ops.get_mut(key) else { return };
        let (process, context) = (op.process, op.context);
        let OpKind::Kernel(job) = &mut op.kind else { return };
        let Some(mut running) = job.running.take() else { return };
        let (mut fault, mut looked, mut drains) = (false, false, None);
        let mut io = Io {
            now: self.now,
            parameters: &job.parameters,
            grid: job.grid,
            block: job.block,
            space: &self.processes[process].space,
            reach: self.contexts[context].reach(),
            constants: &self.parameters,
            payload: self.payload,
            stores: &mut self.effects,
            fault: &mut fault,
            looked: &mut looked,
            drains: &mut drains,
        };
        let step = running.step(&mut io);
        job.running = Some(running);
        let device = job.device;
        if looked {
            self.devices[device].looked_at = Some(self.now);
        }
        if let Some((direction, span)) = drains {
            let engine = self.engine_for(device, direction);
            self.engines[engine].drained_at = self.now + span;
        }
        if fault {
            return self.poison_of(key, Code::ILLEGAL_ADDRESS);
        }
        match step {
            Step::Busy(span) => self.agenda.push(self.now + span, Due::Kernel(key)),
            Step::Poll(span) => self.agenda.push(self.now + span.max(1), Due::KernelPoll(key)),
            Step::Done => self.kernel_done(key),
            Step::Move { direction, bytes, target, source, limit_gbps } => {
                self.kernel_move(key, Moving { target, source, bytes });
                self.kernel_flow(key, direction, bytes, limit_gbps);
            }
            Step::Flow { direction, bytes, limit_gbps } => {
                self.kernel_move(key, Moving::default());
                self.kernel_flow(key, direction, bytes, limit_gbps);
            }
        }
    }

    fn kernel_move(&mut self, key: OpKey, what: Moving) {
        if let OpKind::Kernel(job) = &mut self.ops[key].kind {
            job.moved = what;
        }
    }

    fn kernel_flow(&mut self, key: OpKey, direction: Direction, bytes: u64, limit_gbps: f64) {
        let OpKind::Kernel(job) = &self.ops[key].kind else { return };
        let engine = self.engine_for(job.device, direction);
        let OpKind::Kernel(job) = &mut self.ops[key].kind else { return };
        job.moving = Some(engine);
        let limit_gbps = if limit_gbps > 0.0 { limit_gbps } else { f64::INFINITY };
        let begins = job.moved_at != Some(self.now);
        let contended = begins && self.engines[engine].link.engine_flows_until(self.now).is_some();
        let latency_ns = match direction {
            Direction::HostToDevice if contended => self.parameters.kernel.h2d_contended_latency_ns,
            _ => 0,
        };
        self.flow_join(engine, FlowOwner::Kernel(key), bytes, limit_gbps, self.now + latency_ns);
    }

    /// A kernel's bytes have gone over the link.
    pub(crate) fn kernel_moved(&mut self, key: OpKey) {
        let Some(op) = self.ops.get_mut(key) else { return };
        let (process, context) = (op.process, op.context);
        let OpKind::Kernel(job) = &mut op.kind else { return };
        (job.moving, job.moved_at) = (None, Some(self.now));
        let Moving { target, source, bytes } = job.moved;
        if bytes == 0 {
            return self.kernel_step(key);
        }
        let (space, reach) = (&self.processes[process].space, self.contexts[context].reach());
        let span = |address, writes| reach.span(space, (address, bytes), writes);
        let (Some((target, _)), Some((source, _))) = (span(target, true), span(source, false)) else {
            return self.poison_of(key, Code::ILLEGAL_ADDRESS);
        };
        if self.payload.copies(bytes) {
            target.copy_from(source);
        }
        self.effects += 1;
        self.kernel_step(key);
    }

    /// Parts that a kernel has left go to kernels with blocks that have not begun, the first first.
    pub(crate) fn free_parts(&mut self, device: usize, parts: u64) {
        let mut left = self.devices[device].free_parts + parts;
        let (devices, ops) = (&mut self.devices, &mut self.ops);
        devices[device].growing_kernels.retain(|key| {
            let Some(OpKind::Kernel(job)) = ops.get_mut(*key).map(|op| &mut op.kind) else { return false };
            let more = left.min(job.parts - job.has_parts);
            job.has_parts += more;
            left -= more;
            job.has_parts < job.parts
        });
        self.devices[device].free_parts = left;
    }

    fn kernel_done(&mut self, key: OpKey) {
        let OpKind::Kernel(job) = &self.ops[key].kind else { return };
        let (device, parts) = (job.device, job.has_parts);
        self.devices[device].growing_kernels.retain(|growing| *growing != key);
        self.free_parts(device, parts);
        self.finish(key);
        self.admit_kernels(device);
    }
}
