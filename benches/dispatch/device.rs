//! The same shapes on a device, with kernels that store a word: by tasks, by templates, and by streams and events that
//! are written by hand.
#![allow(unsafe_code)] // kernels are launched; the word that they write lives until the program ends

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{self, Device, DevicePtr, Driver, Event, EventFlags, Launch, Stream, StreamFlags};
use overtake::task::{Arguments, Handle, Kernel, Lane, More, Shape, Tasks, WorkResult};
use overtake::{Options, Overtake};

use crate::patterns::{PATTERNS, Pattern, TASKS, WIDTH};

const ROUNDS: usize = 101;
/// A kernel that stores a word.
pub const KERNEL: &str = "soft_store_u32";

/// A device, a kernel and a word.
struct Bed {
    driver: Arc<dyn Driver>,
    function: hal::Function,
    kernel: Kernel,
    word: DevicePtr,
    streams: Vec<Stream>,
    events: Vec<Event>,
}

impl Bed {
    fn new(driver: &Arc<dyn Driver>) -> hal::Result<Bed> {
        let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        let function = driver.module_function(module, KERNEL)?;
        let kernel = Kernel::of(&**driver, function, KERNEL)?;
        let streams = (0..WIDTH).map(|_| driver.stream_create(StreamFlags::NON_BLOCKING, 0));
        let events = (0..TASKS).map(|_| driver.event_create(EventFlags::DISABLE_TIMING));
        let (streams, events) = (streams.collect::<hal::Result<_>>()?, events.collect::<hal::Result<_>>()?);
        Ok(Bed { driver: Arc::clone(driver), function, kernel, word: driver.mem_alloc(64)?, streams, events })
    }

    /// A stream for each column, and an event behind each task that another column waits for.
    fn by_hand(&self, before: &[Vec<usize>], is_waited_for: &[bool]) -> hal::Result<()> {
        for (task, before) in before.iter().enumerate() {
            let stream = self.streams[task % WIDTH];
            for other in before.iter().filter(|other| **other % WIDTH != task % WIDTH) {
                self.driver.stream_wait_event(stream, self.events[*other])?;
            }
            let (mut at, mut value) = (self.word.0, 7_u32);
            let parameters = [(&raw mut at).cast(), (&raw mut value).cast()];
            let [grid, block] = [[1, 1, 1]; 2];
            let launch =
                Launch { function: self.function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
            // SAFETY: the kernel takes an address and a word, and that address is of memory that stays.
            unsafe { self.driver.launch(&launch)? };
            if is_waited_for[task] {
                self.driver.event_record(self.events[task], stream)?;
            }
        }
        self.streams.iter().try_for_each(|stream| self.driver.stream_synchronize(*stream))
    }

    /// The launch of a task.
    fn launch(&self) -> impl Fn(&mut Lane<'_>) -> WorkResult<More> + Clone + Send + Sync + use<> {
        let (kernel, word) = (self.kernel.clone(), self.word);
        move |lane| {
            // SAFETY: as above.
            unsafe { lane.launch(&kernel, &Shape::line(1, 1), Arguments::new().address(word).value(&7_u32))? };
            Ok(More::Done)
        }
    }
}

/// Microseconds of a task to the end of all: the medians of three ways that take turns.
fn measure(bed: &Bed, tasks: &Tasks, pattern: Pattern) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let before: Vec<Vec<usize>> = (0..TASKS).map(|task| pattern.before(task)).collect();
    let mut is_waited_for = vec![false; TASKS];
    for (task, before) in before.iter().enumerate() {
        before.iter().filter(|other| **other % WIDTH != task % WIDTH).for_each(|other| is_waited_for[*other] = true);
    }
    let (template, mut samples) = (pattern.template(bed.launch()), [const { Vec::new() }; 3]);
    for _ in 0..ROUNDS {
        for (way, samples) in samples.iter_mut().enumerate() {
            let start = Instant::now();
            match way {
                0 => bed.by_hand(&before, &is_waited_for)?,
                1 => {
                    let mut handles: Vec<Handle> = Vec::with_capacity(TASKS);
                    for before in &before {
                        let task = tasks.kernel("task", bed.launch());
                        let task = before.iter().fold(task, |task, before| task.after(&handles[*before]));
                        handles.push(task.submit()?);
                    }
                    tasks.wait()?;
                }
                _ => template.replay(tasks, ()).submit()?.wait()?,
            }
            samples.push(start.elapsed().as_secs_f64() * 1e6 / TASKS as f64);
        }
    }
    Ok(samples.map(|mut samples| {
        samples.sort_unstable_by(f64::total_cmp);
        samples[samples.len() / 2]
    }))
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let (bed, tasks) = (overtake.cuda_context().call(|_| Bed::new(&driver))?, Tasks::new(&dispatcher));
    println!("{}; us of a task, from the first submission to the end of all", driver.device_name(Device(0))?);
    println!(
        "{:<10}{:>10}{:>10}{:>10}{:>16}{:>16}",
        "shape", "by hand", "tasks", "template", "tasks more", "template more"
    );
    for (name, pattern) in PATTERNS {
        let [hand, ours, replayed] = overtake.cuda_context().call(|_| Ok(measure(&bed, &tasks, pattern)))??;
        let more = [ours - hand, replayed - hand];
        println!("{name:<10}{hand:>10.2}{ours:>10.2}{replayed:>10.2}{:>16.2}{:>16.2}", more[0], more[1]);
    }
    Ok(())
}

/// Prints a row for each shape.
pub fn report() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
