//! A thousand copies of 4 KiB in one launch of the copy service, against as many driver calls, both directions:
//! `cargo bench --bench service [-- rounds]`. `OVERTAKE_BACKEND=cuda` measures on a real GPU.
//!
//! All ways share one process and one round after the other. Each row gives the medians over the rounds, and of the
//! ratios to the driver's calls of the same round the median, the least and the greatest. The control row makes those
//! calls again, so its ratios show how much the machine wanders.
#![allow(unsafe_code)] // copies are unsafe: the memory is described where it is made

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use backend::{Backend, open};
use overtake::copy::{CopyQueue, Request};
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags, Result, StreamFlags};
use overtake::{Options, Overtake, Priority, PriorityStream};

const COPIES: u64 = 1_000;
const BYTES: u64 = 4 << 10;
const ROUNDS: usize = 21;

/// Most of the time for callers that the acceptance allows, and of the time in all.
const CALLER_MAX: f64 = 0.1;
const TOTAL_MAX: f64 = 0.25;

/// The microseconds of a thousand copies: until the last call returns, and until the last byte has arrived.
#[derive(Clone, Copy)]
struct Spent {
    caller_us: f64,
    total_us: f64,
}

struct Bed {
    driver: Arc<dyn Driver>,
    stream: PriorityStream,
    host: *mut u8,
    device: DevicePtr,
}

impl Bed {
    fn request(&self, to_device: bool, index: u64) -> Request {
        let (host, device) = (self.host.wrapping_add((index * BYTES) as usize), self.device.offset(index * BYTES));
        match to_device {
            true => Request::htod(device, host, BYTES),
            false => Request::dtoh(host, device, BYTES),
        }
    }

    fn call(&self, to_device: bool, index: u64) -> Result<()> {
        let (host, device) = (self.host.wrapping_add((index * BYTES) as usize), self.device.offset(index * BYTES));
        // SAFETY: both sides have COPIES * BYTES and live as long as the process; no thread touches them.
        unsafe {
            match to_device {
                true => self.driver.copy_htod_async(device, host, BYTES, self.stream.raw()),
                false => self.driver.copy_dtoh_async(host, device, BYTES, self.stream.raw()),
            }
        }
    }

    /// The time of `submit`. The caller's is that of the machine, and the rest that of the device.
    fn time(&self, submit: impl FnOnce() -> Result<()>) -> Result<Spent> {
        let (host, real) = (self.driver.host(), Instant::now());
        let began = host.now();
        submit()?;
        let caller_us = real.elapsed().as_secs_f64() * 1e6;
        self.driver.stream_synchronize(self.stream.raw())?;
        Ok(Spent { caller_us, total_us: (host.now().0 - began.0) as f64 / 1e3 })
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let rounds = words.first().map_or(Ok(ROUNDS), |word| word.parse())?;
    let opened = open(Backend::from_environment()?)?;
    let overtake = Overtake::open(&opened.driver, Device(0), Options::default())?;
    let driver = Arc::clone(overtake.driver());
    let stream = overtake.adopt(driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, Priority::LOWEST)?;
    let host = driver.host_alloc(COPIES * BYTES, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))?;
    let device = driver.mem_alloc(COPIES * BYTES)?;
    let bed = Bed { driver, stream, host, device };
    let mut queue = CopyQueue::new(&bed.stream, COPIES as usize)?;
    println!("{COPIES} copies of {} KiB on {}, {rounds} rounds", BYTES >> 10, bed.driver.device_name(Device(0))?);
    for to_device in [true, false] {
        measure(&bed, &mut queue, to_device, rounds)?;
    }
    let statistics = overtake.statistics();
    println!("launches {}, copies in them {}", statistics.service_launches, statistics.served.copies);
    Ok(())
}

/// Prints the table of one direction.
fn measure(bed: &Bed, queue: &mut CopyQueue, to_device: bool, rounds: usize) -> Result<()> {
    let mut rows: [Vec<Spent>; 4] = Default::default();
    // The first round is warm-up.
    for round in 0..=rounds {
        let spent = [
            bed.time(|| (0..COPIES).try_for_each(|index| bed.call(to_device, index)))?,
            bed.time(|| (0..COPIES).try_for_each(|index| bed.call(to_device, index)))?,
            bed.time(|| {
                let mut requests = (0..COPIES).map(|index| bed.request(to_device, index));
                // SAFETY: as in `call`.
                requests.try_for_each(|request| unsafe { bed.stream.memcpy_async(&request) }.map(drop))
            })?,
            bed.time(|| {
                let mut requests = (0..COPIES).map(|index| bed.request(to_device, index));
                // SAFETY: as in `call`.
                requests.try_for_each(|request| unsafe { queue.copy(&request) })?;
                queue.flush().map(drop)
            })?,
        ];
        if round > 0 {
            rows.iter_mut().zip(spent).for_each(|(row, spent)| row.push(spent));
        }
    }
    println!("\n{}", if to_device { "host to device" } else { "device to host" });
    println!("{:<26} {:>10} {:>24} {:>10} {:>24}", "", "caller us", "ratio", "total us", "ratio");
    let names = ["driver calls", "control: driver calls", "memcpy_async, each", "copy service, one launch"];
    for (name, row) in names.into_iter().zip(&rows) {
        let column = |of: fn(&Spent) -> f64| {
            let ratios = row.iter().zip(&rows[0]).map(|(here, there)| of(here) / of(there));
            (median(row.iter().map(of)), ratios.collect::<Vec<f64>>())
        };
        let (caller, total) = (column(|spent| spent.caller_us), column(|spent| spent.total_us));
        println!("{name:<26} {:>10.1} {:>24} {:>10.1} {:>24}", caller.0, spread(&caller.1), total.0, spread(&total.1));
    }
    let ratio = |of: fn(&Spent) -> f64| median(rows[3].iter().zip(&rows[0]).map(|(here, there)| of(here) / of(there)));
    let (caller, total) = (ratio(|spent| spent.caller_us), ratio(|spent| spent.total_us));
    let verdict = |met| if met { "met" } else { "missed" };
    println!("at most {CALLER_MAX} of the caller's time: {}", verdict(caller <= CALLER_MAX));
    println!("at most {TOTAL_MAX} of the time in all: {}", verdict(total <= TOTAL_MAX));
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn spread(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.3} ({least:.3} to {greatest:.3})", median(ratios.iter().copied()))
}
