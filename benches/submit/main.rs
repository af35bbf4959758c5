//! The cost of submitting one copy for the calling thread, in real time, on the software GPU: the driver call alone,
//! and the same copy along each way through overtake. All of them contain the software GPU's own calls, so only the
//! differences count.
#![allow(unsafe_code)] // copies are unsafe: the memory is described where it is made

mod cold;
mod count;
#[allow(dead_code)] // a part is for benches/dispatch
mod null;
mod ways;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags};
use overtake::options::Transport;
use overtake::{Options, Overtake, Priority, PriorityStream};
use softgpu::{Payload, SoftGpu};

const BYTES: u64 = 1 << 20;
/// Untimed copies before the stream is drained: far fewer than it holds.
const BATCH: u64 = 64;

/// Pinned memory and device memory. It lives as long as the process.
#[derive(Clone, Copy)]
struct Pair {
    host: *const u8,
    device: DevicePtr,
}

fn pair(driver: &dyn Driver) -> Pair {
    let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
    let host = driver.host_alloc(BYTES, flags).expect("there is pinned memory").cast_const();
    Pair { host, device: driver.mem_alloc(BYTES).expect("there is device memory") }
}

/// The time of `times` submissions, with untimed pauses in which all of them complete.
fn time(times: u64, submit: impl Fn(), drain: impl Fn()) -> Duration {
    let mut spent = Duration::ZERO;
    let mut left = times;
    while left > 0 {
        let batch = left.min(BATCH);
        let start = Instant::now();
        (0..batch).for_each(|_| submit());
        spent += start.elapsed();
        drain();
        left -= batch;
    }
    spent
}

fn direct(criterion: &mut Criterion, overtake: &Overtake, pair: Pair, stream: &PriorityStream) {
    let driver = overtake.driver();
    criterion.bench_function("submit, driver call alone", |bencher| {
        bencher.iter_custom(|times| {
            let submit = || {
                // SAFETY: both sides have BYTES and live as long as the process; no thread touches the source.
                unsafe { driver.copy_htod_async(pair.device, pair.host, BYTES, stream.raw()) }
                    .expect("the copy is valid");
            };
            time(times, submit, || stream.synchronize().expect("copies complete"))
        });
    });
}

fn through(criterion: &mut Criterion, name: &str, pair: Pair, stream: &PriorityStream) {
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let submit = || {
                // SAFETY: both sides have BYTES and live as long as the process; no thread touches the source.
                unsafe { stream.memcpy_htod_async(pair.device, pair.host, BYTES) }.expect("the copy is valid");
            };
            time(times, submit, || stream.synchronize().expect("copies complete"))
        });
    });
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cold"] => return cold::report(),
        ["instructions"] => return count::report(),
        ["counted", name, direction] => return count::counted(name, direction),
        _ => {}
    }
    let mut criterion = Criterion::default().configure_from_args();
    for (transport, way) in [(Transport::Engine, "in chunks"), (Transport::Kernel, "by kernel")] {
        let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().payload(Payload::TimingOnly).build());
        let options = Options::default().with_profile(|profile| profile.transport = transport);
        let overtake = Overtake::open(&driver, Device(0), options).expect("the software GPU opens");
        let pair = pair(&*driver);
        let bulk = overtake.stream(Priority::LOWEST).expect("there is room for a stream");
        if transport == Transport::Engine {
            direct(&mut criterion, &overtake, pair, &bulk);
            through(&mut criterion, "submit, nothing armed", pair, &bulk);
        }
        let urgent = overtake.stream(overtake.priorities().highest()).expect("there is room for a stream");
        if transport == Transport::Engine {
            through(&mut criterion, "submit, urgent", pair, &urgent);
        }
        through(&mut criterion, &format!("submit, bulk {way}"), pair, &bulk);
    }
    criterion.final_summary();
    ExitCode::SUCCESS
}
