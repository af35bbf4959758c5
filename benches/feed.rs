//! A kernel that runs on and is fed by the host, beside a launch for each frame:
//! `cargo bench --bench feed [-- seconds [frames]]`. `OVERTAKE_BACKEND=cuda` measures on a real GPU.
//!
//! Both ways upload a frame by the same call of the copy layer and do the same work. The time runs from the commit, or
//! from the upload's call, until the host sees a word that the work writes as its first instruction. The two take
//! turns. Then the ends are timed: closing, and a producer whose thread panics. Then bulk goes by kernel for so
//! many seconds beside a kernel that is fed 60 frames a second. Last, child processes end while their kernel runs.
#![allow(unsafe_code)] // launches and copies: the memory is described where it is made

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use backend::Backend;
use overtake::buffer::{DeviceBuffer, PinnedBuffer};
use overtake::copy::Request;
use overtake::hal::{Device, DevicePtr, Driver, Function, Host, HostAllocFlags, Launch, Nanos, Wait, spawn};
use overtake::options::Transport;
use overtake::pipeline::{Feed, FeedKernel, FeedOptions, FeedResults, Feeder};
use overtake::task::{Kernel, Shape};
use overtake::{Options, Overtake, Priority, PriorityStream};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const BLOCKS: u32 = 16;
const THREADS: u32 = 256;
const FRAMES: u64 = 2_000;
const ENDS: usize = 40;
/// From one frame to the next.
const PACE: Nanos = Nanos::from_us(200);
const BULK_BYTES: u64 = 64 << 20;
/// A kernel that has not ended, or not begun, so long after it was told to hangs.
const HANGS: Nanos = Nanos::from_ms(5_000);

struct Bed {
    driver: Arc<dyn Driver>,
    overtake: Overtake,
    streamed: Kernel,
    launched: Function,
    /// The word that the work writes first, and its address on the device.
    begun: *mut u32,
    begun_there: DevicePtr,
}

impl Bed {
    fn open() -> Result<Bed> {
        let driver = backend::open_with(Backend::from_environment()?, workloads::register)?.driver;
        let options = Options::default().with_profile(|profile| profile.transport = Transport::Kernel);
        let overtake = Overtake::open(&driver, Device(0), options)?;
        let module = driver.module_load(workloads::STREAMED_PTX.as_bytes())?;
        let streamed = Kernel::find(&*driver, module, "work_streamed")?;
        let launched = driver.module_function(module, "work_launched")?;
        let begun = driver.host_alloc(64, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))?;
        let begun_there = driver.host_device_pointer(begun)?;
        Ok(Bed { driver, overtake, streamed, launched, begun: begun.cast(), begun_there })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory that lives as long as the process; all accesses of the host are atomic.
        unsafe { AtomicU32::from_ptr(self.begun) }
    }

    fn begins(&self, number: u32) -> Result<Nanos> {
        let (host, word) = (self.driver.host(), self.word());
        let end = host.now() + HANGS;
        match host.wait_until(Some(end), &mut || word.load(Ordering::Acquire) == number) {
            Wait::Met => Ok(host.now()),
            _ => Err(format!("the work of frame {number} does not begin").into()),
        }
    }

    fn feed(&self, bytes: usize, stages: u8) -> Result<(Feeder, FeedResults, FeedKernel)> {
        let (name, result_bytes) = ("camera".to_owned(), 8 * BLOCKS as usize);
        let priority = self.overtake.priorities().highest();
        let options = FeedOptions { name, stages, bytes, result_bytes, priority, ..FeedOptions::default() };
        let feed = Feed::open(&self.overtake, options)?;
        let (shape, begun) = (Shape::line(BLOCKS, THREADS), self.begun_there);
        // SAFETY: the kernel takes the feed, the word above, and a time; it is written by the header.
        Ok(unsafe { feed.start(&self.streamed, &shape, |feed| feed.address(begun).value(&0_u64))? })
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let ran = match words.first().map(String::as_str) {
        Some("child") => child(words.get(1).is_some_and(|how| how == "exit")),
        _ => measure(&words),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("feed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[String]) -> Result<bool> {
    let seconds = words.first().map_or(Ok(2), |word| word.parse())?;
    let frames = words.get(1).map_or(Ok(FRAMES), |word| word.parse())?;
    let mut bed = Bed::open()?;
    println!("a fed kernel on {}, {frames} frames a row", bed.driver.device_name(Device(0))?);
    println!("\n{:<44} {:>8} {:>8} {:>8} {:>8}", "commit to first instruction, us", "p50", "p90", "p99", "max");
    for bytes in [4 << 10, 1 << 20] {
        first_instructions(&bed, bytes, frames)?;
    }
    println!("\n{:<44} {:>8} {:>8} {:>8} {:>8}", "end to the kernel's end, us", "p50", "p90", "p99", "max");
    ends(&bed)?;
    bulk(&mut bed, seconds)?;
    drop(bed);
    let mut holds = true;
    for how in ["exit", "kill"] {
        holds &= children(how)?;
    }
    println!("{}", if holds { "nothing hung" } else { "SOMETHING HUNG" });
    Ok(holds)
}

/// Frames by the fed kernel and by launches in turn.
fn first_instructions(bed: &Bed, bytes: usize, frames: u64) -> Result<()> {
    let stream = bed.overtake.stream(bed.overtake.priorities().highest())?;
    let source = PinnedBuffer::<u8>::new(&bed.overtake, bytes)?;
    let target = DeviceBuffer::<u8>::new(&bed.overtake, bytes)?;
    let sums = DeviceBuffer::<u64>::new(&bed.overtake, BLOCKS as usize)?;
    let (mut fed, mut launched) = (Vec::new(), Vec::new());
    // A first launch may wait for the device.
    launch(bed, &stream, &source, &target, &sums, u32::MAX)?;
    let (mut feeder, mut results, kernel) = bed.feed(bytes, 4)?;
    let host = bed.driver.host();
    for number in 1..=frames as u32 {
        bed.word().store(0, Ordering::Release);
        host.sleep(PACE);
        let stage = feeder.acquire()?;
        let began = host.now();
        stage.commit()?;
        fed.push(bed.begins(number)?.since(began));
        drop(results.wait()?);
        bed.word().store(0, Ordering::Release);
        host.sleep(PACE);
        let began = host.now();
        launch(bed, &stream, &source, &target, &sums, number)?;
        launched.push(bed.begins(number)?.since(began));
        bed.driver.stream_synchronize(stream.raw())?;
    }
    feeder.close()?;
    kernel.wait()?;
    row(&format!("fed kernel, {} KiB", bytes >> 10), fed);
    row(&format!("a launch for each frame, {} KiB", bytes >> 10), launched);
    Ok(())
}

fn launch(
    bed: &Bed,
    stream: &PriorityStream,
    source: &PinnedBuffer<u8>,
    target: &DeviceBuffer<u8>,
    sums: &DeviceBuffer<u64>,
    number: u32,
) -> Result<()> {
    let request = Request::htod(target.pointer(), source.as_ptr(), source.len() as u64);
    // SAFETY: both sides live until the stream has been waited for, which each caller does.
    unsafe { stream.memcpy_async(&request)? };
    let (mut at, mut count, mut sums) = (target.pointer().0, target.len() as u64 / 4, sums.pointer().0);
    let (mut begun, mut number) = (bed.begun_there.0, number);
    let words = [&raw mut at, &raw mut count, &raw mut sums, &raw mut begun];
    let parameters = [words[0].cast(), words[1].cast(), words[2].cast(), words[3].cast(), (&raw mut number).cast()];
    let (grid, block, stream) = ([BLOCKS, 1, 1], [THREADS, 1, 1], stream.raw());
    let launch = Launch { function: bed.launched, grid, block, shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: the kernel takes an address, a count of words, two more addresses and a number; all memory lives on.
    unsafe { bed.driver.launch(&launch)? };
    Ok(())
}

fn row(name: &str, mut spans: Vec<Nanos>) {
    spans.sort();
    let at = |part: f64| spans[((spans.len() - 1) as f64 * part) as usize].0 as f64 / 1e3;
    println!("{name:<44} {:>8.1} {:>8.1} {:>8.1} {:>8.1}", at(0.5), at(0.9), at(0.99), at(1.0));
}

/// The time from an end to that of the kernel.
fn ends(bed: &Bed) -> Result<()> {
    let (mut closed, mut killed, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let host = bed.driver.host();
    for _ in 0..ENDS {
        let (mut feeder, _results, kernel) = bed.feed(4096, 4)?;
        feeder.acquire()?.commit()?;
        let began = host.now();
        feeder.close()?;
        kernel.wait()?;
        closed.push(host.now().since(began));

        let (mut feeder, _results, kernel) = bed.feed(4096, 4)?;
        let camera = spawn(&bed.driver, "camera", move || {
            catch_unwind(AssertUnwindSafe(move || {
                let _stage = feeder.acquire();
                std::panic::resume_unwind(Box::new("a camera fails"));
            }))
            .is_err()
        })?;
        camera.join(host);
        let began = host.now();
        kernel.wait()?;
        killed.push(host.now().since(began));

        let (_feeder, _results, kernel) = bed.feed(4096, 4)?;
        let began = host.now();
        kernel.end();
        kernel.wait()?;
        told.push(host.now().since(began));
    }
    row("closed behind a stage", closed);
    row("the producer's thread has panicked", killed);
    row("told to end from beside", told);
    Ok(())
}

/// Bulk by kernel beside a fed kernel.
fn bulk(bed: &mut Bed, seconds: u64) -> Result<()> {
    let stream = bed.overtake.stream(Priority::LOWEST)?;
    let memory = (bed.driver.mem_alloc(BULK_BYTES)?, bed.driver.host_alloc(BULK_BYTES, HostAllocFlags::PORTABLE)?);
    let (mut feeder, mut results, kernel) = bed.feed(3 << 20, 4)?;
    let host = bed.driver.host();
    let (began, period) = (host.now(), Nanos::from_us(16_667));
    let before = bed.overtake.statistics().kernel.copies;
    let (mut next, mut frames, mut copies, mut latencies) = (began, 0_u64, 0_u64, Vec::new());
    while host.now().since(began) < Nanos::from_ms(seconds * 1_000) {
        while copies < 2 || bed.driver.stream_query(stream.raw())? {
            for _ in 0..2 {
                // SAFETY: both sides are as large, and live until the process ends.
                unsafe { stream.memcpy_htod_async(memory.0, memory.1, BULK_BYTES)? };
                copies += 1;
            }
        }
        if host.now() >= next {
            next += period;
            latencies.push(frame(host, &mut feeder, &mut results, frames)?);
            frames += 1;
        }
        host.sleep(Nanos::from_us(50));
    }
    bed.driver.stream_synchronize(stream.raw())?;
    let spent = host.now().since(began);
    feeder.close()?;
    kernel.wait()?;
    let by_kernel = bed.overtake.statistics().kernel.copies - before;
    let rate = (copies * BULK_BYTES) as f64 / spent.0 as f64;
    println!(
        "\n{:<44} {:>8} {:>8} {:>8} {:>8}",
        "commit to result beside bulk by kernel, us", "p50", "p90", "p99", "max"
    );
    row("frames of 3 MiB, 60 a second", latencies);
    println!("{frames} frames, all sums right; {:.1} s", spent.0 as f64 / 1e9);
    println!("{copies} copies of 64 MiB, {by_kernel} by kernel, {rate:.1} GB/s");
    Ok(())
}

/// The time from the commit of a frame to its result, which is checked.
fn frame(host: &dyn Host, feeder: &mut Feeder, results: &mut FeedResults, number: u64) -> Result<Nanos> {
    let mut stage = feeder.acquire_for(HANGS.into())?.ok_or("no stage becomes free")?;
    stage.bytes_mut()[..4].copy_from_slice(&(number as u32).to_le_bytes());
    let committed = host.now();
    stage.commit()?;
    let result = results.wait_for(HANGS.into())?.ok_or("no result comes")?;
    let sum: u64 = result.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).sum();
    if sum != number {
        return Err(format!("frame {number} has the sum {sum}").into());
    }
    Ok(host.now().since(committed))
}

/// A child process whose kernel runs: it says so, and ends or waits to be killed.
fn child(exits: bool) -> Result<bool> {
    let bed = Bed::open()?;
    let (mut feeder, mut results, kernel) = bed.feed(4096, 4)?;
    feeder.acquire()?.commit()?;
    drop(results.wait()?);
    println!("runs");
    if exits {
        std::mem::forget((feeder, results, kernel, bed));
        std::process::exit(0);
    }
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// A child ends while its kernel runs, and the device is there for the next one.
fn children(how: &str) -> Result<bool> {
    use std::io::{BufRead, BufReader};
    let began = std::time::Instant::now();
    let mut child =
        Command::new(std::env::current_exe()?).args(["child", how]).stdout(std::process::Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let said = std::time::Instant::now();
    if how == "kill" {
        child.kill()?;
    }
    let mut ended = false;
    while !ended && said.elapsed().as_secs() < 20 {
        ended = child.try_wait()?.is_some();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let ms = said.elapsed().as_secs_f64() * 1e3;
    let verdict = if ended && line.trim() == "runs" { "ended" } else { "HANGS" };
    println!(
        "a child whose kernel runs, by {how}: {verdict} after {ms:.0} ms ({:.1} s in all)",
        began.elapsed().as_secs_f64()
    );
    if !ended {
        child.kill()?;
    }
    let bed = Bed::open()?;
    let (mut feeder, mut results, kernel) = bed.feed(4096, 4)?;
    feeder.acquire()?.commit()?;
    drop(results.wait_for(HANGS.into())?.ok_or("the next process gets no result")?);
    feeder.close()?;
    kernel.wait()?;
    Ok(ended && line.trim() == "runs")
}
