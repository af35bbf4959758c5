//! The host's time for a block: taken and given back, by heaps and by the calls of the driver, alone and while a bulk
//! copy is under way.
//!
//! `cargo bench --bench heap` runs on the GPU of this machine, else on the software GPU. There the times of heaps mean
//! something, and those of the driver's calls do not: they are the cost of the model. All methods take turns in one
//! process. The verdict is the median over rounds of the ratio to the heap of the same round; the *control* is
//! a second heap, so its ratio shows how far the machine wanders.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend::{Backend, open_with};
use overtake::context::CudaContext;
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags, Result, Stream, StreamFlags};
use overtake::heap::{Heap, HeapOptions, Space};
use softgpu::Clock;

const ROUNDS: usize = 11;
/// A method's turn ends after this time, or after so many blocks.
const TURN: Duration = Duration::from_millis(10);
const BLOCKS_MAX: u32 = 500;
const SIZES: [(&str, u64); 4] = [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20), ("16 MiB", 16 << 20)];
const BULK_BYTES: u64 = 64 << 20;

/// A way to take a block and give it back.
struct Method {
    name: &'static str,
    pair: Box<dyn Fn(u64) -> Result<()>>,
}

/// The memory of a bulk copy, and its stream.
struct Bulk {
    driver: Arc<dyn Driver>,
    host: *mut u8,
    device: DevicePtr,
    stream: Stream,
}

impl Bulk {
    fn new(driver: &Arc<dyn Driver>) -> Result<Bulk> {
        Ok(Bulk {
            host: driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE)?,
            device: driver.mem_alloc(BULK_BYTES)?,
            stream: driver.stream_create(StreamFlags::NON_BLOCKING, 0)?,
            driver: Arc::clone(driver),
        })
    }

    fn begin(&self) -> Result<()> {
        // SAFETY: both sides have so many bytes, and live to the end of the program.
        unsafe { self.driver.copy_htod_async(self.device, self.host, BULK_BYTES, self.stream) }
    }

    fn end(&self) -> Result<()> {
        self.driver.stream_synchronize(self.stream)
    }
}

fn by_heap(name: &'static str, context: &CudaContext, space: Space) -> Result<Method> {
    let options = HeapOptions { reserve_bytes: 64 << 20, ..HeapOptions::default() };
    let heap = Heap::open(context, space, options)?;
    heap.settle();
    Ok(Method { name, pair: Box::new(move |bytes| heap.alloc(bytes, 256, "bench").map(drop)) })
}

/// The ways for a space: first the heap, which the others are compared with, then the control.
fn methods(context: &CudaContext, space: Space) -> Result<Vec<Method>> {
    let mut methods = vec![by_heap("heap", context, space)?, by_heap("control", context, space)?];
    let driver = Arc::clone(context.driver());
    match space {
        Space::Device => {
            let (pool, stream) = (Arc::clone(&driver), driver.stream_create(StreamFlags::NON_BLOCKING, 0)?);
            let pair = move |bytes| {
                let memory = pool.mem_alloc_async(bytes, stream)?;
                pool.mem_free_async(memory, stream)
            };
            methods.push(Method { name: "the driver's pool", pair: Box::new(pair) });
            let pair = move |bytes| driver.mem_free(driver.mem_alloc(bytes)?);
            methods.push(Method { name: "cuMemAlloc, cuMemFree", pair: Box::new(pair) });
        }
        _ => {
            let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
            let flags = if space == Space::WriteCombined { flags.and(HostAllocFlags::WRITECOMBINED) } else { flags };
            let pair = move |bytes| {
                let memory = driver.host_alloc(bytes, flags)?;
                // SAFETY: it was just allocated, and no reference to it is made.
                unsafe { driver.host_free(memory) }
            };
            methods.push(Method { name: "cuMemHostAlloc, cuMemFreeHost", pair: Box::new(pair) });
        }
    }
    Ok(methods)
}

/// The microseconds of a pair in one turn of a method.
fn turn(method: &Method, bytes: u64, bulk: Option<&Bulk>) -> Result<f64> {
    let (mut spent, mut pairs) = (Duration::ZERO, 0);
    while spent < TURN && pairs < BLOCKS_MAX {
        // Beside bulk, each pair has a copy of its own: a call that waits for it ends it.
        bulk.map_or(Ok(()), Bulk::begin)?;
        let count = if bulk.is_some() { 1 } else { 10 };
        let start = Instant::now();
        for _ in 0..count {
            (method.pair)(bytes)?;
        }
        spent += start.elapsed();
        pairs += count;
        bulk.map_or(Ok(()), Bulk::end)?;
        if bulk.is_some() && pairs >= 20 {
            break;
        }
    }
    Ok(spent.as_secs_f64() * 1e6 / f64::from(pairs))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn compare(methods: &[Method], space: Space, size: (&str, u64), bulk: Option<&Bulk>) -> Result<()> {
    let mut times = vec![Vec::new(); methods.len()];
    for round in 0..=ROUNDS {
        for (method, times) in methods.iter().zip(&mut times) {
            let time = turn(method, size.1, bulk)?;
            // The first round warms up.
            if round > 0 {
                times.push(time);
            }
        }
    }
    let beside = if bulk.is_some() { "beside bulk" } else { "idle" };
    for (method, own) in methods.iter().zip(&times) {
        let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(own, heap)| own / heap).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        println!(
            "| {space} | {} | {beside} | {} | {:.3} | {:.2} ({least:.2} to {most:.2}) |",
            size.0,
            method.name,
            median(own),
            median(&ratios)
        );
    }
    Ok(())
}

fn main() -> Result<()> {
    let opened = open_with(Backend::from_environment()?, |builder| builder.clock(Clock::FreeRunning))?;
    let context = CudaContext::primary(&opened.driver, Device(0))?;
    let _entered = context.enter()?;
    println!("{} on {}\n", opened.backend, opened.driver.device_name(Device(0))?);
    println!("| space | size | device | method | us a block, median of {ROUNDS} rounds | / heap, median and range |");
    println!("|---|---|---|---|---:|---:|");
    let bulk = Bulk::new(&opened.driver)?;
    for space in [Space::Device, Space::Pinned, Space::WriteCombined] {
        let methods = methods(&context, space)?;
        for size in SIZES {
            compare(&methods, space, size, None)?;
        }
        compare(&methods, space, SIZES[1], Some(&bulk))?;
    }
    Ok(())
}
