//! A driver whose calls on the way of a copy or a task cost nothing, and whose device completes everything at once: the
//! cost that remains is overtake's own.
#![allow(unsafe_code)] // copies are passed on, with the caller's own promise; completions are stored as by a device

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::ThreadId;

use driver::RealHost;
use overtake::hal::{
    Attribute, CaptureMode, CaptureStatus, Context, ContextFlags, Device, DevicePtr, Driver, Event, EventFlags,
    ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind, Function, Graph, GraphExec, Host, HostAllocFlags,
    HostRegisterFlags, Launch, MemOp, MemoryKind, Module, Nanos, PointerExtent, PointerInfo, PriorityRange, Result,
    Shape, Stream, StreamFlags, ThreadToken, Uuid, Wait, Width,
};
use softgpu::{Clock, SoftGpu};

/// While time stands still, it goes on by so much with each pause of a thread.
const PAUSE: Nanos = Nanos(200);
/// Threads that are not to see the ends of work see them after so many looks.
const LOOKS_IN_VAIN: u32 = 10_000;

/// Real threads, and a clock that stops on demand. Under callgrind everything is so slow that copies would be late,
/// and their streams would be doubted.
struct Frozen {
    host: RealHost,
    since: AtomicU64,
}

impl Host for Frozen {
    fn now(&self) -> Nanos {
        // It is called in either case, because its cost counts.
        let now = self.host.now();
        match self.since.load(Ordering::Relaxed) {
            0 => now,
            frozen => Nanos(frozen),
        }
    }

    fn sleep(&self, span: Nanos) {
        self.host.sleep(span);
    }

    /// While time stands still, a thread that pauses lets the others on, and time goes on a little. A thread that found
    /// a lock taken would never look again otherwise: under callgrind one thread runs at a time.
    #[expect(clippy::disallowed_methods, reason = "threads of the machine, one of which has to let the others on")]
    fn pause(&self) {
        if self.since.load(Ordering::Relaxed) != 0 {
            self.since.fetch_add(PAUSE.0, Ordering::Relaxed);
            std::thread::yield_now();
        }
        self.host.pause();
    }

    fn wait_until(&self, deadline: Option<Nanos>, condition: &mut (dyn FnMut() -> bool + Send)) -> Wait {
        self.host.wait_until(deadline, condition)
    }

    fn announce(&self, name: &str) -> ThreadToken {
        self.host.announce(name)
    }

    fn retract(&self, token: ThreadToken) {
        self.host.retract(token);
    }

    fn enter(&self, token: ThreadToken) {
        self.host.enter(token);
    }

    fn leave(&self) {
        self.host.leave();
    }

    fn outside(&self, block: &mut dyn FnMut()) {
        self.host.outside(block);
    }

    fn is_virtual(&self) -> bool {
        false
    }
}

/// Host memory that the device sees.
struct Mapped(*mut u8);

// SAFETY: the pointer is only used for atomic stores, on any thread.
unsafe impl Send for Mapped {}

/// The software GPU until it is made instant.
pub struct Null {
    inner: Arc<dyn Driver>,
    host: Frozen,
    instant: AtomicBool,
    /// The context that is current on all threads, once it is instant.
    context: AtomicU64,
    withheld: AtomicBool,
    idle: AtomicBool,
    /// The thread that sees the ends of work, if others do not, and the looks of others since its last one.
    witness: OnceLock<ThreadId>,
    others_looked: AtomicU32,
    mapped: Mutex<Vec<(DevicePtr, Mapped)>>,
}

thread_local! {
    /// The context that [`Null::enter`] made current on this thread.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
}

impl Null {
    /// Behaves as the software GPU at first.
    pub fn new() -> Arc<Null> {
        let inner: Arc<dyn Driver> = Arc::new(SoftGpu::builder().clock(Clock::FreeRunning).build());
        let host = Frozen { host: RealHost::new(), since: AtomicU64::new(0) };
        let [instant, withheld, idle] = [const { AtomicBool::new(false) }; 3];
        let (context, witness, others_looked) = (AtomicU64::new(0), OnceLock::new(), AtomicU32::new(0));
        Arc::new(Null {
            inner,
            host,
            instant,
            context,
            withheld,
            idle,
            witness,
            others_looked,
            mapped: Mutex::default(),
        })
    }

    /// From now on no call of the submit path costs anything.
    pub fn be_instant(&self, instant: bool) {
        let current = self.inner.context_current().ok().flatten();
        self.context.store(current.map_or(0, |context| context.0), Ordering::Relaxed);
        self.instant.store(instant, Ordering::Relaxed);
    }

    /// From now on time stands still.
    pub fn freeze(&self, frozen: bool) {
        self.host.since.store(if frozen { self.host.host.now().0 } else { 0 }, Ordering::Relaxed);
    }

    /// Makes its context current on the calling thread for calls that are passed on.
    pub fn enter(&self) -> Result<()> {
        let context = self.context.load(Ordering::Relaxed);
        self.inner.context_set_current(Some(Context(context)))?;
        ENTERED.set(context);
        Ok(())
    }

    /// From now on completions are not written: copies stay pending.
    pub fn withhold(&self, withhold: bool) {
        self.withheld.store(withhold, Ordering::Relaxed);
    }

    /// From now on kernels are not run.
    pub fn be_idle(&self) {
        self.idle.store(true, Ordering::Relaxed);
    }

    /// From now on only the calling thread sees the ends of work, so that it does all that they lead to. On a busy
    /// machine another thread may launch that work, behind the calling thread's only look: so others see the ends as
    /// well, once they have looked in vain for long.
    pub fn be_seen_here(&self) {
        let _ = self.witness.set(std::thread::current().id());
    }

    /// Whether the calling thread sees the ends of work.
    fn is_seen(&self) -> bool {
        let Some(witness) = self.witness.get() else { return true };
        let is_here = *witness == std::thread::current().id();
        if is_here {
            self.others_looked.store(0, Ordering::Relaxed);
        }
        is_here || self.others_looked.fetch_add(1, Ordering::Relaxed) >= LOOKS_IN_VAIN
    }

    fn is_instant(&self) -> bool {
        self.instant.load(Ordering::Relaxed)
    }

    fn or<T>(&self, instant: T, call: impl FnOnce(&dyn Driver) -> Result<T>) -> Result<T> {
        if self.is_instant() { Ok(instant) } else { call(&*self.inner) }
    }

    fn write(&self, address: DevicePtr, value: u32) {
        if self.withheld.load(Ordering::Relaxed) {
            return;
        }
        let mapped = self.mapped.lock().expect("no thread panics with it");
        // The allocation that begins closest before the address holds it.
        let (seen, memory) =
            mapped.iter().filter(|(seen, _)| *seen <= address).max_by_key(|(seen, _)| *seen).expect("a mapped address");
        // SAFETY: overtake writes words of its own mapped memory only, which lives as long as it is open.
        let word = unsafe { &*memory.0.add((address.0 - seen.0) as usize).cast::<AtomicU32>() };
        word.store(value, Ordering::Release);
    }
}

macro_rules! pass_on {
    (safe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            self.inner.$name($($argument),*)
        })+
    };
    (unsafe: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)+) => {
        $(unsafe fn $name(&self, $($argument: $kind),*) -> Result<$result> {
            // SAFETY: the inner driver makes the same demands as this one.
            unsafe { self.inner.$name($($argument),*) }
        })+
    };
}

impl Driver for Null {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn version(&self) -> Result<i32> {
        self.inner.version()
    }

    fn host(&self) -> &dyn Host {
        &self.host
    }

    fn context_current(&self) -> Result<Option<Context>> {
        if !self.is_instant() {
            return self.inner.context_current();
        }
        let current = self.context.load(Ordering::Relaxed);
        // The library takes the answer for true, and may have other calls passed on.
        if current != ENTERED.get() {
            self.enter()?;
        }
        Ok((current != 0).then_some(Context(current)))
    }

    fn event_query(&self, event: Event) -> Result<bool> {
        self.or(self.is_seen(), |inner| inner.event_query(event))
    }

    fn stream_capture_status(&self, stream: Stream) -> Result<CaptureStatus> {
        self.or(CaptureStatus::None, |inner| inner.stream_capture_status(stream))
    }

    fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        self.or((), |inner| inner.stream_wait_event(stream, event))
    }

    fn event_record(&self, event: Event, stream: Stream) -> Result<()> {
        self.or((), |inner| inner.event_record(event, stream))
    }

    fn mem_op(&self, stream: Stream, op: MemOp) -> Result<()> {
        self.or((), |inner| inner.mem_op(stream, op))?;
        if self.is_instant()
            && let MemOp::Write { address, value, width: Width::W32 } = op
        {
            self.write(address, value as u32);
        }
        Ok(())
    }

    fn host_device_pointer(&self, pointer: *mut u8) -> Result<DevicePtr> {
        let seen = self.inner.host_device_pointer(pointer)?;
        self.mapped.lock().expect("no thread panics with it").push((seen, Mapped(pointer)));
        Ok(seen)
    }

    fn pointer_info(&self, address: u64) -> Result<PointerInfo> {
        let pinned = PointerInfo {
            kind: MemoryKind::Pinned,
            device_pointer: Some(DevicePtr(address)),
            device: Some(Device(0)),
            context: None,
            buffer_id: Some(1),
        };
        self.or(pinned, |inner| inner.pointer_info(address))
    }

    unsafe fn copy_htod_async(&self, target: DevicePtr, source: *const u8, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the inner driver makes the same demands as this one.
        self.or((), |inner| unsafe { inner.copy_htod_async(target, source, bytes, stream) })
    }

    unsafe fn copy_async(&self, target: DevicePtr, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the inner driver makes the same demands as this one.
        self.or((), |inner| unsafe { inner.copy_async(target, source, bytes, stream) })
    }

    unsafe fn copy_dtoh_async(&self, target: *mut u8, source: DevicePtr, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the inner driver makes the same demands as this one.
        self.or((), |inner| unsafe { inner.copy_dtoh_async(target, source, bytes, stream) })
    }

    unsafe fn graph_launch(&self, graph: GraphExec, stream: Stream) -> Result<()> {
        // SAFETY: the inner driver makes the same demands as this one.
        self.or((), |inner| unsafe { inner.graph_launch(graph, stream) })
    }

    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        if self.idle.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: the inner driver makes the same demands as this one.
        unsafe { self.inner.launch(launch) }
    }

    testkit::calls!(pass_on);
}
