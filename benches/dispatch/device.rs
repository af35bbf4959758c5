//! The same shapes on a device, with kernels that store a word: by tasks, by templates, and by streams and events that
//! are written by hand. Beside the times stand the driver's calls that they differ in: waits for events, and records.
#![allow(unsafe_code)] // kernels are launched; the word that they write lives until the program ends

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{self, Device, DevicePtr, Driver, Event, EventFlags, Launch, Stream, StreamFlags};
use overtake::task::{Arguments, Handle, Kernel, Lane, More, Shape, Tasks, Template, WorkResult};
use overtake::{Options, Overtake};

use crate::patterns::{PATTERNS, Pattern, TASKS, WIDTH};
use crate::rounds::median;

const ROUNDS: usize = 101;
/// A kernel that stores a word.
pub const KERNEL: &str = "soft_store_u32";

/// A device, a kernel and a word.
pub struct Bed {
    pub driver: Arc<dyn Driver>,
    function: hal::Function,
    kernel: Kernel,
    word: DevicePtr,
    pub streams: Vec<Stream>,
    pub events: Vec<Event>,
}

impl Bed {
    /// With so many streams, and so many events.
    pub fn new(driver: &Arc<dyn Driver>, streams: usize, events: usize) -> hal::Result<Bed> {
        let module = driver.module_load(softgpu::BUILTIN_PTX.as_bytes())?;
        let function = driver.module_function(module, KERNEL)?;
        let kernel = Kernel::of(&**driver, function, KERNEL)?;
        let streams = (0..streams).map(|_| driver.stream_create(StreamFlags::NON_BLOCKING, 0));
        let events = (0..events).map(|_| driver.event_create(EventFlags::DISABLE_TIMING));
        let (streams, events) = (streams.collect::<hal::Result<_>>()?, events.collect::<hal::Result<_>>()?);
        Ok(Bed { driver: Arc::clone(driver), function, kernel, word: driver.mem_alloc(64)?, streams, events })
    }

    /// Launches the kernel in this stream.
    pub fn call(&self, stream: Stream) -> hal::Result<()> {
        let (mut at, mut value) = (self.word.0, 7_u32);
        let parameters = [(&raw mut at).cast(), (&raw mut value).cast()];
        let ([grid, block], function) = ([[1, 1, 1]; 2], self.function);
        let launch = Launch { function, grid, block, shared_bytes: 0, stream, parameters: &parameters };
        // SAFETY: the kernel takes an address and a word, and that address is of memory that stays.
        unsafe { self.driver.launch(&launch) }
    }

    /// A stream for each column, and an event behind each task that another column waits for.
    fn by_hand(&self, Shaped { waits, is_waited_for, .. }: &Shaped) -> hal::Result<()> {
        for (task, waits) in waits.iter().enumerate() {
            let stream = self.streams[task % WIDTH];
            for other in waits {
                self.driver.stream_wait_event(stream, self.events[*other])?;
            }
            self.call(stream)?;
            if is_waited_for[task] {
                self.driver.event_record(self.events[task], stream)?;
            }
        }
        Ok(())
    }

    /// The launch of a task.
    pub fn launch(&self) -> impl Fn(&mut Lane<'_>) -> WorkResult<More> + Clone + Send + Sync + use<> {
        let (kernel, word) = (self.kernel.clone(), self.word);
        move |lane| {
            // SAFETY: as above.
            unsafe { lane.launch(&kernel, &Shape::line(1, 1), Arguments::new().address(word).value(&7_u32))? };
            Ok(More::Done)
        }
    }
}

/// A shape, and a template of it.
struct Shaped {
    before: Vec<Vec<usize>>,
    /// The tasks of other columns that each one waits for.
    waits: Vec<Vec<usize>>,
    is_waited_for: Vec<bool>,
    template: Template<()>,
}

impl Shaped {
    fn new(bed: &Bed, pattern: Pattern) -> Shaped {
        let before: Vec<Vec<usize>> = (0..TASKS).map(|task| pattern.before(task)).collect();
        let of_other_columns = |(task, before): (usize, &Vec<usize>)| -> Vec<usize> {
            before.iter().copied().filter(|other| other % WIDTH != task % WIDTH).collect()
        };
        let waits: Vec<Vec<usize>> = before.iter().enumerate().map(of_other_columns).collect();
        let mut is_waited_for = vec![false; TASKS];
        waits.iter().flatten().for_each(|other| is_waited_for[*other] = true);
        Shaped { before, waits, is_waited_for, template: pattern.template(bed.launch()) }
    }

    /// Waits and records of a task by hand.
    fn calls(&self) -> [f64; 2] {
        let waits = self.waits.iter().flatten().count();
        let records = self.is_waited_for.iter().filter(|is_waited_for| **is_waited_for).count();
        [waits, records].map(|count| count as f64 / TASKS as f64)
    }
}

/// The figures of a way: microseconds of a task until all are submitted and to the end of all, waits and records.
type Figures = [f64; 4];

/// Three ways that take turns: by hand, by tasks, as a template.
fn measure(
    bed: &Bed,
    (dispatcher, tasks): (&Dispatcher, &Tasks),
    pattern: Pattern,
) -> Result<[Figures; 3], Box<dyn std::error::Error>> {
    let shaped = Shaped::new(bed, pattern);
    let mut samples = [const { [const { Vec::new() }; 4] }; 3];
    for _ in 0..ROUNDS {
        for (way, samples) in samples.iter_mut().enumerate() {
            let (before, start) = (dispatcher.statistics(), Instant::now());
            let mut handles: Vec<Handle> = Vec::with_capacity(TASKS);
            match way {
                0 => bed.by_hand(&shaped)?,
                1 => {
                    for before in &shaped.before {
                        let task = tasks.kernel("task", bed.launch());
                        let task = task.after(before.iter().map(|before| &handles[*before]));
                        handles.push(task.submit()?);
                    }
                }
                _ => handles.push(shaped.template.replay(tasks, ()).submit()?),
            }
            let submitted = start.elapsed();
            match way {
                0 => bed.streams.iter().try_for_each(|stream| bed.driver.stream_synchronize(*stream))?,
                1 => tasks.wait()?,
                _ => handles[0].wait()?,
            }
            let (ended, after) = (start.elapsed(), dispatcher.statistics());
            let times = [submitted, ended].map(|span| span.as_secs_f64() * 1e6);
            let calls = [after.joins - before.joins, after.marks - before.marks].map(|count| count as f64);
            for (samples, figure) in samples.iter_mut().zip(times.into_iter().chain(calls)) {
                samples.push(figure / TASKS as f64);
            }
        }
    }
    let mut figures = samples.map(|samples| samples.map(median));
    [figures[0][2], figures[0][3]] = shaped.calls();
    Ok(figures)
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let driver = backend::open(backend::Backend::Auto)?.driver;
    let overtake = Arc::new(Overtake::open(&driver, Device(0), Options::default())?);
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let (bed, tasks) = (overtake.cuda_context().call(|_| Bed::new(&driver, WIDTH, TASKS))?, Tasks::new(&dispatcher));
    println!("{}; us of a task until all are submitted, and to the end of all", driver.device_name(Device(0))?);
    println!("{:<10}{:<10}{:>11}{:>8}{:>8}{:>8}{:>9}", "shape", "", "submitted", "ended", "more", "waits", "records");
    for (name, pattern) in PATTERNS {
        let told = overtake.cuda_context().call(|_| Ok(measure(&bed, (&dispatcher, &tasks), pattern)))??;
        for (way, [submitted, ended, waits, records]) in ["by hand", "tasks", "template"].into_iter().zip(told) {
            let more = ended - told[0][1];
            println!("{name:<10}{way:<10}{submitted:>11.2}{ended:>8.2}{more:>8.2}{waits:>8.2}{records:>9.2}");
        }
    }
    Ok(())
}

/// Prints a row for each shape.
pub fn report() -> ExitCode {
    crate::told(run())
}
