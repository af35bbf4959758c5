//! A system that gives no threads: opening is an error that leaves nothing behind and can be tried again; closing needs
//! none. In a process of its own, because
//! that has one layer.
#![allow(unsafe_code)] // calls through the table

mod refused_threads {
    testkit::refused_threads!();
}

use std::ffi::{CStr, c_int};
use std::sync::{Arc, OnceLock};

use hal::{Device, Driver};
use overtake_shim::Start;
use refused_threads::REFUSED;
use softgpu::{Clock, Live, SoftGpu};
use testkit::alone::is_alone;
use testkit::patience::Patience;
use testkit::watchdog::guarded;

fn gpu() -> &'static SoftGpu {
    static GPU: OnceLock<SoftGpu> = OnceLock::new();
    GPU.get_or_init(|| SoftGpu::builder().clock(Clock::FreeRunning).build())
}

/// The names of the process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm"));
    let mut names: Vec<String> =
        tasks.filter_map(|task| name(task).ok()).filter(|name| name.starts_with("overtake")).collect();
    names.sort();
    names
}

/// The resources that must be given back. A hardware queue that was used once stays.
fn live() -> Live {
    Live { queues: 0, ..gpu().live() }
}

fn open() -> (c_int, String) {
    let table = overtake_shim::table();
    // SAFETY: null stands for no options; the text is NUL-terminated and valid until the thread's next failure.
    unsafe { ((table.open)(std::ptr::null()), CStr::from_ptr((table.last_error)()).to_string_lossy().into_owned()) }
}

#[test]
fn a_system_without_threads() {
    if !is_alone("refused::a_system_without_threads") {
        return;
    }
    // An opening that waits for one that has failed would never say so.
    guarded("opening", Patience::new(), open_and_close);
}

fn open_and_close() {
    let driver: Arc<dyn Driver> = Arc::new(gpu().clone());
    overtake_shim::start(Start { driver: || Ok(Arc::new(gpu().clone())), deployment: c"preload", calls: Vec::new });
    let context = driver.context_create(Device(0)).unwrap();
    driver.stream_query(hal::Stream::PER_THREAD).unwrap();
    let before = live();

    // The system refuses the probe's thread, then the watcher's. The second thread of an opening counts processors, and
    // may be refused. Others must have ended each time.
    for refused in [1, 3] {
        REFUSED.set(refused);
        let (code, text) = open();
        assert_eq!((code, REFUSED.get()), (304, 0), "CUDA_ERROR_OPERATING_SYSTEM: {text}");
        assert!(text.contains("gives no thread"), "{text}");
        assert_eq!((live(), threads()), (before, Vec::new()), "something is left of it");
    }
    assert_eq!(open().0, 0, "{}", open().1);
    // A thread takes its name itself, when it gets to run; `guarded` ends a wait for one that never does.
    while threads().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(threads().len(), 2, "{:?}", threads());

    // Closing takes a thread where there is one.
    REFUSED.set(1);
    overtake_shim::context_going(context);
    assert_eq!((REFUSED.get(), live(), threads()), (0, before, Vec::new()));

    // A context that is not current when it is heard of is opened on a thread of its own. A new one is tried again.
    let other = driver.context_create(Device(0)).unwrap();
    driver.stream_query(hal::Stream::PER_THREAD).unwrap();
    let before = live();
    driver.context_set_current(Some(context)).unwrap();
    REFUSED.set(1);
    overtake_shim::context_made(other);
    driver.context_set_current(Some(other)).unwrap();
    assert_eq!((REFUSED.get(), open().0), (0, 0), "{}", open().1);
    overtake_shim::context_going(other);
    assert_eq!((live(), threads()), (before, Vec::new()));
}
