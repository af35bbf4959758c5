//! The order in which priorities of a copy count: the call's own priority, the thread's, the stream's, the rules', the
//! stream's CUDA priority, its demand; each before those behind it. In a process of its own, because
//! that has one layer.
#![allow(unsafe_code)] // copies are unsafe: the memory lives until the test ends

use std::ffi::{CString, c_void};
use std::sync::{Arc, OnceLock};

use hal::{Device, DevicePtr, Driver, HostAllocFlags, Stream, StreamFlags};
use overtake_shim::Start;
use overtake_shim::statistics::Statistics;
use overtake_shim::table::Table;
use softgpu::SoftGpu;
use testkit::alone::is_alone;

/// Bulk, as the demand says.
const BYTES: u64 = 17 << 20;
/// The most urgent priority there is.
const URGENT: i32 = 7;
const BULK: i32 = 1;

fn driver() -> Arc<dyn Driver> {
    static DRIVER: OnceLock<Arc<dyn Driver>> = OnceLock::new();
    Arc::clone(DRIVER.get_or_init(|| Arc::new(SoftGpu::builder().build())))
}

/// The sources of a copy's priority, first come first. Demand comes last, and always names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Call,
    Thread,
    Stream,
    Rules,
    Cuda,
}

const VOICES: [Voice; 5] = [Voice::Call, Voice::Thread, Voice::Stream, Voice::Rules, Voice::Cuda];

/// A program that copies.
struct Program {
    table: &'static Table,
    driver: Arc<dyn Driver>,
    host: *mut u8,
    device: DevicePtr,
}

impl Program {
    fn begin() -> Program {
        overtake_shim::start(Start { driver: || Ok(driver()), deployment: c"preload", calls: Vec::new });
        let driver = driver();
        let context = driver.primary_context_retain(Device(0)).unwrap();
        overtake_shim::primary_retained(Device(0), context);
        driver.context_set_current(Some(context)).unwrap();
        let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP)).unwrap();
        let device = driver.mem_alloc(BYTES).unwrap();
        let program = Program { table: overtake_shim::table(), driver, host, device };
        program.seen(BULK, program.stream(0));
        program.seen(URGENT, program.stream(0));
        program
    }

    fn stream(&self, cuda_priority: i32) -> Stream {
        self.driver.stream_create(StreamFlags::NON_BLOCKING, cuda_priority).unwrap()
    }

    fn copy(&self, stream: Stream, explicit: i32) {
        let (target, source) = (self.device.0 as usize, self.host.expose_provenance());
        let copy = self.table.copy_async;
        // SAFETY: both sides are as large and live until the test ends.
        let code = unsafe {
            let target = std::ptr::with_exposed_provenance_mut::<c_void>(target);
            copy(target, std::ptr::with_exposed_provenance(source), BYTES as usize, 1, raw(stream), explicit)
        };
        assert_eq!(code, 0);
        self.driver.context_synchronize().unwrap();
    }

    /// Other streams have copies of that priority from now on, so that everything between is held off, or holds off.
    fn seen(&self, priority: i32, stream: Stream) {
        self.copy(stream, priority);
    }

    fn set_rules(&self, text: &str) {
        let text = CString::new(text).unwrap();
        // SAFETY: a NUL-terminated text.
        assert_eq!(unsafe { (self.table.set_rules)(text.as_ptr()) }, 0);
    }

    fn set_thread(&self, priority: i32) {
        // SAFETY: null means that the former value is not returned.
        assert_eq!(unsafe { (self.table.swap_thread_priority)(priority, std::ptr::null_mut()) }, 0);
    }

    fn totals(&self) -> Statistics {
        let mut totals = Statistics { struct_size: size_of::<Statistics>() as u32, ..Statistics::default() };
        // SAFETY: a live structure of the size that it says.
        assert_eq!(unsafe { (self.table.totals)(&mut totals) }, 0);
        totals
    }

    /// Whether a copy about which these say so much is urgent; else it is bulk that goes by kernel.
    fn is_urgent(&self, said: &[(Voice, i32)]) -> bool {
        let word = |voice| said.iter().find(|(source, _)| *source == voice).map(|(_, priority)| *priority);
        // The least urgent that CUDA's priorities can say is still above bulk, and below the most urgent.
        let cuda = word(Voice::Cuda).map_or(0, |priority| if priority == URGENT { -5 } else { -1 });
        let stream = self.stream(cuda);
        let rule = |priority| format!("[[rule]]\nbytes_min = 1\npriority = {priority}\n");
        self.set_rules(&word(Voice::Rules).map_or(String::new(), rule));
        self.set_thread(word(Voice::Thread).unwrap_or(0));
        assert_eq!((self.table.set_stream_priority)(raw(stream), word(Voice::Stream).unwrap_or(0)), 0);
        let before = self.totals();
        self.copy(stream, word(Voice::Call).unwrap_or(0));
        let after = self.totals();
        overtake_shim::stream_going(stream);
        self.driver.stream_destroy(stream).unwrap();
        let (urgent, kernel) = (after.urgent_copies - before.urgent_copies, after.kernel_copies - before.kernel_copies);
        assert_eq!(urgent + kernel, 1, "{said:?}: {before:?} {after:?}");
        urgent == 1
    }
}

fn raw(stream: Stream) -> *mut c_void {
    std::ptr::without_provenance_mut(stream.0 as usize)
}

#[test]
fn each_is_heard_before_those_behind_it() {
    if !is_alone("precedence::each_is_heard_before_those_behind_it") {
        return;
    }
    let program = Program::begin();
    assert!(!program.is_urgent(&[]), "demand says bulk");
    for (index, winner) in VOICES.into_iter().enumerate() {
        assert!(program.is_urgent(&[(winner, URGENT)]), "{winner:?} goes before demand");
        for loser in VOICES.into_iter().skip(index + 1) {
            assert!(program.is_urgent(&[(winner, URGENT), (loser, BULK)]), "{winner:?} goes before {loser:?}");
            assert!(!program.is_urgent(&[(winner, BULK), (loser, URGENT)]), "{winner:?} goes before {loser:?}");
        }
    }
    let all = |word: fn(usize) -> i32| VOICES.into_iter().enumerate().map(move |(index, voice)| (voice, word(index)));
    let first_urgent: Vec<_> = all(|index| if index == 0 { URGENT } else { BULK }).collect();
    let first_bulk: Vec<_> = all(|index| if index == 0 { BULK } else { URGENT }).collect();
    assert!(program.is_urgent(&first_urgent) && !program.is_urgent(&first_bulk));
    overtake_shim::exiting();
}
