//! The messages below warnings. In a process of its own, because that has one logger.
#![allow(unsafe_code)] // copies are unsafe: the memory lives until the test ends

use std::sync::{Arc, Mutex};

use hal::{Code, Device, Driver, HostAllocFlags};
use log::{Level, LevelFilter, Log, Metadata, Record};
use options::Options;
use overtake_copies::Overtake;
use overtake_copies::copy::Request;
use priority::Priority;
use softgpu::{Fault, SoftGpu};
use testkit::alone::is_alone;

const BYTES: u64 = 1 << 20;

struct Heard(Mutex<Vec<(Level, String)>>);

static HEARD: Heard = Heard(Mutex::new(Vec::new()));

impl Log for Heard {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

fn heard(level: Level) -> Vec<String> {
    let heard = HEARD.0.lock().unwrap();
    heard.iter().filter(|(at, _)| *at == level).map(|(_, text)| text.clone()).collect()
}

/// Opens, makes so many bulk copies beside an urgent stream, and closes. With `fails` the first launch of these does.
fn run(copies: u32, fails: bool) {
    let gpu = SoftGpu::builder().build();
    let driver: Arc<dyn Driver> = Arc::new(gpu.clone());
    let mut options = Options::default();
    options.profile.channels = false;
    let overtake = Overtake::open(&driver, Device(0), options).unwrap();
    let device = driver.mem_alloc(BYTES).unwrap();
    let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP)).unwrap();
    let stream = |priority| overtake.stream(Priority::new(priority).unwrap()).unwrap();
    let (bulk, _urgent) = (stream(1), stream(3));
    if fails {
        gpu.inject(Fault::Call { name: "cuLaunchKernel".to_owned(), nth: 1, code: Code::OUT_OF_MEMORY });
    }
    for _ in 0..copies {
        let request = Request::htod(device, host.cast_const(), BYTES);
        // SAFETY: both sides are as large, and live until the test ends.
        unsafe { bulk.memcpy_async(&request) }.unwrap().wait().unwrap();
    }
}

#[test]
#[cfg_attr(miri, ignore)] // it moves bytes through the software GPU
fn info_tells_what_is_open_and_debug_what_has_failed() {
    if !is_alone("messages::info_tells_what_is_open_and_debug_what_has_failed") {
        return;
    }
    log::set_logger(&HEARD).unwrap();
    log::set_max_level(LevelFilter::Info);
    run(1, false);
    let info = heard(Level::Info);
    let [opened, closed] = &info[..] else { panic!("{info:?}") };
    assert!(opened.contains("open on") && opened.contains("6 priorities, bulk by copy kernel"), "{opened}");
    assert!(opened.contains("urgent copies by engine; 4 hardware queues a direction"), "{opened}");
    assert!(closed.starts_with("closed after 0 urgent copies, 1 by copy kernel"), "{closed}");
    assert_eq!(heard(Level::Debug), [""; 0]);
    log::set_max_level(LevelFilter::Debug);
    run(1, true);
    let debug = heard(Level::Debug);
    let [failed] = &debug[..] else { panic!("{debug:?}") };
    assert!(failed.starts_with("a copy takes another way, because its own failed: cuLaunchKernel"), "{failed}");
    log::set_max_level(LevelFilter::Off);
    let count = HEARD.0.lock().unwrap().len();
    run(1, false);
    assert_eq!(HEARD.0.lock().unwrap().len(), count);
}
