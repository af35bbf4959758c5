//! A context that goes while other threads are inside calls: nothing of the layer is left in it when the program's call
//! is made, and nothing has waited for those threads. In a process of its own, because
//! that has one layer.
#![allow(unsafe_code)] // copies are unsafe: the memory lives until the process ends

use std::cell::Cell;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copies::copy::Request;
use hal::{
    Attribute, Context, Device, DevicePtr, Driver, HostAllocFlags, Launch, MemOp, Stream, StreamFlags, WaitCondition,
};
use overtake_shim::{Call, Native, Start};
use softgpu::{Clock, SoftGpu};
use testkit::alone::is_alone;
use testkit::patience::Patience;
use testkit::watchdog::guarded;

const BULK_BYTES: u64 = 17 << 20;
const SMALL_BYTES: u64 = 64 << 10;

fn gpu() -> &'static SoftGpu {
    static GPU: OnceLock<SoftGpu> = OnceLock::new();
    GPU.get_or_init(|| SoftGpu::builder().clock(Clock::FreeRunning).build())
}

fn driver() -> Arc<dyn Driver> {
    Arc::new(gpu().clone())
}

/// A word of pinned memory that streams wait for.
#[derive(Clone, Copy)]
struct Gate(usize);

impl Gate {
    fn open(self) {
        // SAFETY: an aligned word of pinned memory that lives until the process ends.
        unsafe { std::ptr::with_exposed_provenance_mut::<u32>(self.0).write_volatile(1) };
    }
}

/// A context of the application's, with bulk under way in it that cannot begin before its gate opens.
struct Application {
    driver: Arc<dyn Driver>,
    context: Context,
    gate: Gate,
    streams: [Stream; 2],
    /// Streams that the context has of itself.
    defaults: usize,
}

impl Application {
    fn begin() -> Application {
        let driver = driver();
        let context = driver.context_create(Device(0)).unwrap();
        driver.stream_query(Stream::PER_THREAD).unwrap();
        let defaults = gpu().live().streams;
        overtake_shim::context_made(context);
        let host = driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE).unwrap();
        let word = driver.host_alloc(4, HostAllocFlags::PORTABLE).unwrap();
        let device = driver.mem_alloc(BULK_BYTES).unwrap();
        let stream = || driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        let (small, bulk) = (stream(), stream());
        copy(&*driver, device, host, SMALL_BYTES, small);
        let address = driver.host_device_pointer(word).unwrap();
        driver.mem_op(bulk, MemOp::wait32(address, 1, WaitCondition::Geq)).unwrap();
        assert!(!copy(&*driver, device, host, BULK_BYTES, bulk), "bulk goes by kernel beside small copies");
        Application { driver, context, gate: Gate(word.expose_provenance()), streams: [small, bulk], defaults }
    }

    /// The context goes while a thread is inside a call, which lasts until that is over. `beside` runs meanwhile, on a
    /// thread of its own.
    fn goes(&self, call: impl FnOnce(Sender<()>, Receiver<()>) + Send, beside: impl FnOnce(Gate) + Send) {
        let (entered, has_entered) = mpsc::channel();
        let (over, is_over) = mpsc::channel();
        let gate = self.gate;
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.driver.context_set_current(Some(self.context)).unwrap();
                call(entered, is_over);
            });
            has_entered.recv().unwrap();
            scope.spawn(move || beside(gate));
            overtake_shim::context_going(self.context);
            assert!(!inside.is_finished(), "the call should have lasted");
            over.send(()).unwrap();
        });
    }

    /// The program's own two streams are still there, and nothing else: the layer has left.
    fn has_been_left(self) {
        let live = gpu().live();
        assert_eq!((live.streams - self.defaults, live.modules, live.events), (2, 0, 0));
        self.streams.into_iter().for_each(|stream| self.driver.stream_destroy(stream).unwrap());
        self.driver.context_destroy(self.context).unwrap();
    }
}

/// The work in the program's streams ends some time, natively too.
fn after_a_while(gate: Gate) {
    std::thread::sleep(Duration::from_millis(100));
    gate.open();
}

/// A call that may keep other threads out, such as freeing memory.
fn free(entered: Sender<()>, over: Receiver<()>) {
    let blocked = overtake_shim::about_to_block();
    entered.send(()).unwrap();
    over.recv().unwrap();
    drop(blocked);
}

/// A copy of the driver's own.
fn copy_natively(entered: Sender<()>, over: Receiver<()>) {
    overtake_shim::natively(|| {
        entered.send(()).unwrap();
        over.recv().unwrap();
    });
}

/// Calls that come and go all the time, so that the thread is always about to use the layer.
fn come_and_go(entered: Sender<()>, over: Receiver<()>) {
    entered.send(()).unwrap();
    while over.try_recv().is_err() {
        overtake_shim::freeing(DevicePtr(1 << 40));
        drop(overtake_shim::about_to_block());
    }
}

/// Fills every multiprocessor from another context until its gate opens.
fn fill() -> Gate {
    let driver = driver();
    driver.context_set_current(Some(driver.context_create(Device(0)).unwrap())).unwrap();
    let module = driver.module_load(include_bytes!("../../../softgpu/src/builtin.ptx")).unwrap();
    let function = driver.module_function(module, "soft_wait_u32").unwrap();
    let word = driver.host_alloc(4, HostAllocFlags::PORTABLE).unwrap();
    let multiprocessors = driver.device_attribute(Attribute::MULTIPROCESSOR_COUNT, Device(0)).unwrap();
    let (mut address, mut wanted) = (driver.host_device_pointer(word).unwrap().0, 1_u32);
    let parameters = [(&raw mut address).cast(), (&raw mut wanted).cast()];
    let grid = [32 * multiprocessors.unsigned_abs(), 1, 1];
    let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
    let launch = Launch { function, grid, block: [1024, 1, 1], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: the kernel takes the address of a word, which lives until the process ends, and a number.
    unsafe { driver.launch(&launch).unwrap() };
    Gate(word.expose_provenance())
}

/// Copies to the device as a hook would, and says whether the driver was called natively.
fn copy(driver: &dyn Driver, device: DevicePtr, host: *mut u8, bytes: u64, stream: Stream) -> bool {
    let natively = Cell::new(false);
    let native = || {
        natively.set(true);
        // SAFETY: both sides are as large and live until the context ends.
        let copied = unsafe { driver.copy_htod_async(device, host, bytes, stream) };
        copied.map_or_else(|error| error.code().get(), |()| 0)
    };
    let (request, native) = (Request::htod(device, host, bytes), Native::asynchronous(&native));
    let call = Call { requests: &[request], stream, caller: 0, native: &native };
    // SAFETY: as above.
    assert_eq!(unsafe { overtake_shim::copy(&call) }, 0);
    natively.get()
}

#[test]
fn a_context_goes_while_other_threads_are_inside_calls() {
    if !is_alone("closing::a_context_goes_while_other_threads_are_inside_calls") {
        return;
    }
    // A test that waits for a thread that waits would never say so.
    guarded("closing", Patience::new(), contexts_go);
}

fn contexts_go() {
    overtake_shim::start(Start { driver: || Ok(driver()), deployment: c"preload", calls: Vec::new });

    for call in [free, copy_natively, come_and_go] {
        let application = Application::begin();
        application.goes(call, after_a_while);
        application.has_been_left();
    }

    // No multiprocessor is free until the layer has left: neither the thread that is inside nor a copy kernel can be
    // waited for.
    let application = Application::begin();
    let filled = fill();
    application.driver.context_set_current(Some(application.context)).unwrap();
    application.goes(free, |_| ());
    filled.open();
    application.gate.open();
    application.driver.context_destroy(application.context).unwrap();
}
