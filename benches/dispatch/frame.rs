//! The host's time for a frame of a camera: an upload, three kernels and a small download, by the driver's own calls in
//! one stream, and as a template.
//!
//! The frames of all ways take turns, and a pause behind each lets it end. So the time of all threads has the launch
//! of the frame and the looks for its end in it, but no thread that spins until a frame has ended.
//!
//! A template tells of the end of its frame. By hand that takes calls too: a thread sleeps until an event behind the
//! frame is reached. The time of all threads is compared with that.
#![allow(unsafe_code)] // copies and kernels use memory that stays until the program ends

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overtake::copy::Request;
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{self, Device, DevicePtr, Driver, Event, EventFlags, HostAllocFlags, Launch, Stream, StreamFlags};
use overtake::task::{Arguments, Kernel, More, Recording, Shape, Tasks, Template};
use overtake::{Options, Overtake};

use crate::device::KERNEL;
use crate::rounds::median;
use crate::{Bounds, print};

const FRAMES: usize = 201;
/// A picture of 1080p in NV12.
const UP: u64 = 1920 * 1080 * 3 / 2;
const DOWN: u64 = 4096;
const KERNELS: usize = 3;
const PAUSE: Duration = Duration::from_millis(5);
/// Microseconds of the host that a frame may take above the driver's own calls. No goal is set below it.
const MORE: Bounds = Bounds { limit: 15.0, goal: 15.0 };

/// The memory of a frame, which stays.
#[derive(Clone, Copy)]
struct Memory {
    up: u64,
    down: u64,
    picture: DevicePtr,
    result: DevicePtr,
}

struct Bed {
    driver: Arc<dyn Driver>,
    function: hal::Function,
    kernel: Kernel,
    stream: Stream,
    end: Event,
    memory: Memory,
}

impl Bed {
    fn new(driver: &Arc<dyn Driver>) -> hal::Result<Bed> {
        let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        let function = driver.module_function(module, KERNEL)?;
        let pinned = |bytes| driver.host_alloc(bytes, HostAllocFlags::default()).map(|address| address as u64);
        let memory = Memory {
            up: pinned(UP)?,
            down: pinned(DOWN)?,
            picture: driver.mem_alloc(UP)?,
            result: driver.mem_alloc(DOWN)?,
        };
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        Ok(Bed {
            driver: Arc::clone(driver),
            function,
            kernel: Kernel::of(&**driver, function, KERNEL)?,
            stream,
            end: driver.event_create(EventFlags(EventFlags::BLOCKING_SYNC.0 | EventFlags::DISABLE_TIMING.0))?,
            memory,
        })
    }

    fn by_hand(&self) -> hal::Result<()> {
        let Memory { up, down, picture, result } = self.memory;
        // SAFETY: all memory of the bed stays.
        unsafe { self.driver.copy_htod_async(picture, up as *const u8, UP, self.stream)? };
        for _ in 0..KERNELS {
            let (mut at, mut value) = (result.0, 7_u32);
            let parameters = [(&raw mut at).cast(), (&raw mut value).cast()];
            let [grid, block] = [[1, 1, 1]; 2];
            let (function, stream) = (self.function, self.stream);
            let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
            // SAFETY: the kernel takes an address and a word, and the address is of memory that stays.
            unsafe { self.driver.launch(&launch)? };
        }
        // SAFETY: as above.
        unsafe { self.driver.copy_dtoh_async(down as *mut u8, result, DOWN, self.stream) }
    }

    /// And sleeps until the frame has ended.
    fn by_hand_to_the_end(&self) -> hal::Result<()> {
        self.by_hand()?;
        self.driver.event_record(self.end, self.stream)?;
        self.driver.event_synchronize(self.end)
    }

    fn template(&self) -> Result<Template<()>, overtake::task::Error> {
        let Memory { up, down, picture, result } = self.memory;
        let mut frame = Recording::new();
        let mut last = frame.upload("upload", &[], move |lane, ()| {
            // SAFETY: all memory of the bed stays.
            unsafe { lane.copy(&Request::htod(picture, up as *const u8, UP))? };
            Ok(More::Done)
        });
        for _ in 0..KERNELS {
            let kernel = self.kernel.clone();
            last = frame.kernel("kernel", &[last], move |lane, ()| {
                let arguments = Arguments::new().address(result).value(&7_u32);
                // SAFETY: as above.
                unsafe { lane.launch(&kernel, &Shape::line(1, 1), arguments)? };
                Ok(More::Done)
            });
        }
        frame.download("download", &[last], move |lane, ()| {
            // SAFETY: as above.
            unsafe { lane.copy(&Request::dtoh(down as *mut u8, result, DOWN))? };
            Ok(More::Done)
        });
        frame.finish()
    }
}

/// Microseconds of the processors that all threads of this process have taken.
fn of_all_threads_us() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives across the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The time of one frame: on the clock of the thread that submits it, and of all threads until it has ended.
fn frame_us(
    submit: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let (start, taken_us) = (Instant::now(), of_all_threads_us());
    submit()?;
    let caller_us = start.elapsed().as_secs_f64() * 1e6;
    std::thread::sleep(PAUSE);
    Ok([caller_us, of_all_threads_us() - taken_us])
}

/// Of the caller and of all threads, by each way.
struct Figures {
    by_hand: [f64; 2],
    by_hand_to_the_end: [f64; 2],
    replayed: [f64; 2],
}

fn measure(bed: &Bed, tasks: &Tasks) -> Result<Figures, Box<dyn std::error::Error>> {
    let (template, mut samples) = (bed.template()?, [const { [const { Vec::new() }; 2] }; 3]);
    for _ in 0..FRAMES {
        let by_hand = frame_us(|| Ok(bed.by_hand()?))?;
        bed.driver.stream_synchronize(bed.stream)?;
        let to_the_end = frame_us(|| Ok(bed.by_hand_to_the_end()?))?;
        let replayed = frame_us(|| template.replay(tasks, ()).submit().map(drop).map_err(Into::into))?;
        tasks.wait()?;
        for (samples, figures) in samples.iter_mut().zip([by_hand, to_the_end, replayed]) {
            samples.iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
        }
    }
    let [by_hand, by_hand_to_the_end, replayed] = samples.map(|way| way.map(median));
    Ok(Figures { by_hand, by_hand_to_the_end, replayed })
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let (bed, tasks) = (overtake.cuda_context().call(|_| Bed::new(&driver))?, Tasks::new(&dispatcher));
    let Figures { by_hand, by_hand_to_the_end, replayed } =
        overtake.cuda_context().call(|_| Ok(measure(&bed, &tasks)))??;
    println!("{}; medians of {FRAMES} frames each", driver.device_name(Device(0))?);
    println!("us of the thread that submits: by hand {:.1}, as a template {:.1}", by_hand[0], replayed[0]);
    println!(
        "us of all threads: by hand {:.1}, by hand to the end {:.1}, as a template {:.1}",
        by_hand[1], by_hand_to_the_end[1], replayed[1]
    );
    let caller = print("more, of the thread that submits", replayed[0] - by_hand[0], "us", MORE);
    let all = print("more, of all threads, than to the end", replayed[1] - by_hand_to_the_end[1], "us", MORE);
    Ok(caller && all)
}

/// Prints all ways.
pub fn report() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
