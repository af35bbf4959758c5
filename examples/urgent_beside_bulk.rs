//! An urgent copy beside bulk copies, natively and through overtake: the product in one page.
//!
//! `cargo run --release --example urgent_beside_bulk` takes the GPU if there is one, else the software GPU; arguments
//! of the form `name=value` set options, such as `wait_budget_us=60`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{Backend, open};
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags, MemOp, Nanos};
use overtake::{Options, Overtake, Priority, PriorityStream, Words};

const BULK_BYTES: u64 = 64 << 20;
const SAMPLES: usize = 200;

/// Pinned host memory and device memory of one size.
#[derive(Clone, Copy)]
struct Pair {
    host: u64,
    device: DevicePtr,
    bytes: u64,
}

impl Pair {
    fn new(driver: &dyn Driver, bytes: u64) -> overtake::hal::Result<Pair> {
        let host = driver.host_alloc(bytes, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))? as u64;
        Ok(Pair { host, device: driver.mem_alloc(bytes)?, bytes })
    }

    /// Host to device or back, and wait for it.
    fn copy(self, stream: &PriorityStream, to_host: bool) -> overtake::hal::Result<overtake::copy::CopyHandle> {
        // SAFETY: both sides are `bytes` long and live until the program ends; no other thread touches them.
        unsafe {
            if to_host {
                stream.memcpy_dtoh_async(self.host as *mut u8, self.device, self.bytes)
            } else {
                stream.memcpy_htod_async(self.device, self.host as *const u8, self.bytes)
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options::from_environment()?;
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or("arguments look like wait_budget_us=60")?;
        options.set(name, value)?;
    }
    let opened = open(Backend::from_environment()?)?;
    println!("backend {}: {}", opened.backend, opened.reason);
    for to_host in [false, true] {
        for urgent_bytes in [64 << 10, 1 << 20] {
            compare(&opened.driver, &options, to_host, urgent_bytes)?;
        }
    }
    Ok(())
}

fn compare(driver: &Arc<dyn Driver>, options: &Options, to_host: bool, bytes: u64) -> Result<(), Box<dyn Error>> {
    let direction = if to_host { "d2h" } else { "h2d" };
    let off = Options { enabled: false, ..options.clone() };
    for (name, options, load) in [("idle", &off, false), ("native", &off, true), ("overtake", options, true)] {
        let overtake = Overtake::open(driver, Device(0), options.clone())?;
        let (latencies, gbps) = measure(&overtake, to_host, bytes, load)?;
        let statistics = overtake.statistics();
        println!(
            "{direction} {:>5} KiB {name:>9}: p50 {:>9.1} us  max {:>9.1} us of {:>4}  bulk {gbps:>5.1} GB/s  \
             rescues {} {:?}",
            bytes >> 10,
            latencies[latencies.len() / 2],
            latencies[latencies.len() - 1],
            latencies.len(),
            statistics.rescues,
            overtake.statistics().native.keys().collect::<Vec<_>>()
        );
    }
    Ok(())
}

/// Latencies in ascending order, and the bandwidth of the bulk.
fn measure(overtake: &Overtake, to_host: bool, bytes: u64, load: bool) -> Result<(Vec<f64>, f64), Box<dyn Error>> {
    let driver = overtake.driver();
    let host = driver.host();
    let (small, large) = (Pair::new(&**driver, bytes)?, Pair::new(&**driver, BULK_BYTES)?);
    let (lowest, highest) = (Priority::LOWEST, overtake.priorities().highest());
    let urgent = overtake.stream(highest)?;
    let bulk = Arc::new(overtake.stream(lowest)?);
    let stop = Arc::new(AtomicBool::new(false));
    let feeder = load.then(|| {
        let (bulk, stop, inner) = (Arc::clone(&bulk), Arc::clone(&stop), Arc::clone(driver));
        let context = overtake.context();
        overtake::hal::spawn(driver, "bulk", move || {
            inner.context_set_current(Some(context))?;
            feed(&inner, &bulk, large, to_host, &stop)
        })
    });
    let feeder = feeder.transpose()?;
    host.sleep(Nanos::from_ms(30));
    let mut latencies = Vec::new();
    for sample in 0..SAMPLES {
        if latencies.len() > 20 && latencies.iter().sum::<f64>() > 1e6 {
            break; // native copies take milliseconds: twenty samples are enough
        }
        let began = host.now();
        small.copy(&urgent, to_host)?;
        urgent.synchronize()?;
        latencies.push((host.now() - began).as_us());
        host.sleep(Nanos::from_us(700 + (sample as u64 * 137) % 600));
    }
    stop.store(true, Ordering::SeqCst);
    let gbps = feeder.map_or(Ok(0.0), |feeder| feeder.join(host))?;
    overtake.synchronize()?;
    latencies.sort_by(f64::total_cmp);
    Ok((latencies, gbps))
}

/// Keeps four bulk copies outstanding. Returns GB/s. Each copy is followed by a write of its number: without such an
/// operation between them, the engine never leaves a stream whose next copy is ready, and a native urgent copy would
/// wait for ever.
fn feed(
    driver: &Arc<dyn Driver>,
    bulk: &PriorityStream,
    large: Pair,
    to_host: bool,
    stop: &AtomicBool,
) -> overtake::hal::Result<f64> {
    let progress = Words::new(driver, 1)?;
    let (began, mut submitted) = (driver.host().now(), 0u32);
    while !stop.load(Ordering::SeqCst) {
        large.copy(bulk, to_host)?;
        submitted += 1;
        driver.mem_op(bulk.raw(), MemOp::write32(progress.host_address(0), submitted))?;
        driver.host().wait_until(None, &mut || submitted - progress.load(0) < 4);
    }
    let moved = u64::from(progress.load(0)) * large.bytes;
    Ok(moved as f64 / (driver.host().now() - began).0 as f64)
}
