//! The layer of a process over the software GPU: opened with its context, priorities from everywhere, and gone with its
//! context. In a process of its own, because
//! that has one layer.
#![allow(unsafe_code)] // copies are unsafe: the memory lives until the test ends

use std::cell::Cell;
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use copies::copy::Request;
use hal::{Device, DevicePtr, Driver, HostAllocFlags, MemOp, Stream, StreamFlags, WaitCondition};
use overtake_shim::statistics::Statistics;
use overtake_shim::table::Table;
use overtake_shim::{Call, Native, Start};
use softgpu::{Clock, SoftGpu};
use testkit::alone::is_alone;
use testkit::patience;

use patience::wait_for;

const BULK_BYTES: u64 = 17 << 20;
const SMALL_BYTES: u64 = 64 << 10;

fn driver() -> Arc<dyn Driver> {
    static DRIVER: OnceLock<Arc<dyn Driver>> = OnceLock::new();
    Arc::clone(DRIVER.get_or_init(|| Arc::new(SoftGpu::builder().clock(Clock::FreeRunning).build())))
}

/// An application with memory on both sides.
struct Application {
    driver: Arc<dyn Driver>,
    host: *mut u8,
    device: DevicePtr,
    bulk: Stream,
    small: Stream,
    natively: Cell<u32>,
}

impl Application {
    fn begin() -> Application {
        let driver = driver();
        let context = driver.primary_context_retain(Device(0)).unwrap();
        overtake_shim::primary_retained(Device(0), context);
        driver.context_set_current(Some(context)).unwrap();
        let stream = || driver.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap();
        Application {
            host: driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE).unwrap(),
            device: driver.mem_alloc(BULK_BYTES).unwrap(),
            bulk: stream(),
            small: stream(),
            natively: Cell::new(0),
            driver,
        }
    }

    fn fill(&self, value: u8) {
        // SAFETY: the allocation has as many bytes, and no copy is under way.
        unsafe { self.host.write_bytes(value, BULK_BYTES as usize) };
    }

    /// Copies to the device as a hook would, and says whether the driver was called natively.
    fn copy(&self, bytes: u64, stream: Stream, blocking: bool) -> bool {
        let before = self.natively.get();
        let native = || {
            self.natively.set(self.natively.get() + 1);
            // SAFETY: both sides are as large and live until the test ends.
            let copied = unsafe { self.driver.copy_htod_async(self.device, self.host, bytes, stream) };
            copied.map_or_else(|error| error.code().get(), |()| 0)
        };
        let native = if blocking { Native::blocking(&native) } else { Native::asynchronous(&native) };
        let request = Request::htod(self.device, self.host, bytes);
        let call = Call { requests: &[request], stream, caller: 0, native: &native };
        // SAFETY: as above.
        let result = unsafe { overtake_shim::copy(&call) };
        assert_eq!(result, 0);
        self.natively.get() > before
    }

    /// Holds the stream of bulk, so that its copies stay under way.
    fn gate(&self) -> DevicePtr {
        let gate = self.driver.mem_alloc(4).unwrap();
        self.driver.mem_op(self.small, MemOp::write32(gate, 0)).unwrap();
        self.driver.stream_synchronize(self.small).unwrap();
        self.driver.mem_op(self.bulk, MemOp::wait32(gate, 1, WaitCondition::Eq)).unwrap();
        gate
    }

    fn open(&self, gate: DevicePtr) {
        self.driver.mem_op(self.small, MemOp::write32(gate, 1)).unwrap();
    }

    fn arrived(&self, value: u8) {
        let mut seen = vec![0; BULK_BYTES as usize];
        self.driver.context_synchronize().unwrap();
        // SAFETY: the vector is as large.
        unsafe { self.driver.copy_dtoh(seen.as_mut_ptr(), self.device, BULK_BYTES).unwrap() };
        assert!(seen.iter().all(|byte| *byte == value), "the bytes of {value} arrived");
    }
}

fn totals(table: &Table) -> Statistics {
    let mut totals = Statistics { struct_size: size_of::<Statistics>() as u32, ..Statistics::default() };
    // SAFETY: a live structure of the size that it says.
    assert_eq!(unsafe { (table.totals)(&mut totals) }, 0);
    totals
}

#[test]
fn a_process_from_its_first_copy_to_its_last() {
    if !is_alone("process::a_process_from_its_first_copy_to_its_last") {
        return;
    }
    let table = overtake_shim::table();
    assert_eq!((table.open_text(None), overtake_shim::deployment()), (-4, None), "not started");
    overtake_shim::start(Start { driver: || Ok(driver()), deployment: c"preload", calls: Vec::new });
    let application = Application::begin();

    demand_rules(table, &application);
    a_blocking_copy_has_completed(&application);
    the_program_rules(table, &application);
    the_context_goes_and_comes_again(table, &application);
    overtake_shim::exiting();
    assert!(application.copy(BULK_BYTES, application.bulk, false), "exiting");
}

fn demand_rules(table: &Table, application: &Application) {
    application.fill(1);
    assert!(application.copy(BULK_BYTES, application.bulk, false), "no other stream copies yet");
    assert_eq!(table.open_text(None), 0, "{}", table.error());

    assert!(application.copy(BULK_BYTES, application.bulk, false), "no other stream copies");
    application.copy(SMALL_BYTES, application.small, false);
    application.fill(2);
    let before = totals(table);
    assert_eq!(before.urgent_copies, 0, "no bulk is under way: {before:?}");
    let gate = application.gate();
    assert!(!application.copy(BULK_BYTES, application.bulk, false), "bulk goes by kernel beside small copies");
    application.copy(SMALL_BYTES, application.small, false);
    application.open(gate);
    application.arrived(2);
    let after = totals(table);
    assert_eq!((after.kernel_copies, after.urgent_copies, after.stood_down), (1, 1, 0), "{after:?}");
}

fn a_blocking_copy_has_completed(application: &Application) {
    application.fill(3);
    assert!(!application.copy(BULK_BYTES, Stream::LEGACY, true), "a blocking copy");
    assert!(application.driver.stream_query(Stream::LEGACY).unwrap(), "has completed when it returns");
    application.arrived(3);
}

/// The program's priority outranks sizes: a stream's, and a thread's before that.
fn the_program_rules(table: &Table, application: &Application) {
    let handle = std::ptr::without_provenance_mut(application.bulk.0 as usize);
    assert_eq!((table.set_stream_priority)(handle, 6), 0, "{}", table.error());
    assert!(application.copy(BULK_BYTES, application.bulk, false), "the most urgent there is goes natively");
    let mut before = 0;
    // SAFETY: a live int.
    assert_eq!(unsafe { (table.swap_thread_priority)(1, &mut before) }, 0);
    assert!(!application.copy(BULK_BYTES, application.bulk, false), "the thread says bulk");
    // SAFETY: as above.
    assert_eq!((unsafe { (table.swap_thread_priority)(0, &mut before) }, before), (0, 1));
    assert_eq!((table.set_stream_priority)(handle, 9), -1, "no such priority");
    assert!(table.error().contains("1..=7"), "{}", table.error());
    assert_eq!((table.set_stream_priority)(handle, 0), 0);
    let rules = CString::new("[[rule]]\nbytes_min = \"4M\"\npriority = \"pass\"\n").unwrap();
    // SAFETY: a NUL-terminated text.
    assert_eq!(unsafe { (table.set_rules)(rules.as_ptr()) }, 0, "{}", table.error());
    let before = totals(table);
    assert!(application.copy(BULK_BYTES, application.bulk, false), "a rule says to leave it alone");
    let passed_on = totals(table).passed_on_copies;
    assert_eq!(passed_on, before.passed_on_copies + 1, "and it counts");
    application.arrived(3);
}

/// The counts stay.
fn the_context_goes_and_comes_again(table: &Table, application: &Application) {
    let counted = totals(table);
    overtake_shim::stream_going(application.small);
    application.driver.stream_destroy(application.small).unwrap();
    overtake_shim::primary_releasing(Device(0));
    assert_eq!(totals(table), counted);
    assert!(application.copy(BULK_BYTES, application.bulk, false), "closed");
    wait_for("reopening", || application.driver.context_current().is_ok() && table.open_text(None) == 0);
}

/// The table as Rust likes it.
trait Handy {
    fn open_text(&self, options: Option<&str>) -> i32;
    fn error(&self) -> String;
}

impl Handy for Table {
    fn open_text(&self, options: Option<&str>) -> i32 {
        let text = options.map(|text| CString::new(text).unwrap());
        // SAFETY: null or a NUL-terminated text.
        unsafe { (self.open)(text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())) }
    }

    fn error(&self) -> String {
        // SAFETY: never null, NUL-terminated, valid until the thread's next failure.
        unsafe { std::ffi::CStr::from_ptr((self.last_error)()) }.to_string_lossy().into_owned()
    }
}
