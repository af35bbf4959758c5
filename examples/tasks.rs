//! Four stages - upload, kernel, download, a function of the host - for several frames at once, each checked:
//! `cargo run --example tasks`.

use std::error::Error;
use std::sync::Arc;

use backend::{Backend, open_with};
use overtake::copy::Request;
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::hal::{Device, DevicePtr, Driver, HostAllocFlags};
use overtake::task::{Handle, Lane, More, Tasks};
use overtake::{Options, Overtake, Priority};
use workloads::{Kernels, Work, reference, register};

const COUNT: u32 = 64 << 10;
const BYTES: u64 = COUNT as u64 * 4;
const FRAMES: u32 = 8;

/// The memory of a frame: two lists, one behind the other, and their sum.
#[derive(Clone, Copy)]
struct Frame {
    lists: *mut f32,
    sum: *mut f32,
    lists_there: DevicePtr,
    sum_there: DevicePtr,
}

// SAFETY: the tasks of a frame use its memory one after another.
unsafe impl Send for Frame {}

impl Frame {
    fn new(driver: &dyn Driver, number: u32) -> Result<Frame, Box<dyn Error>> {
        let lists = driver.host_alloc(2 * BYTES, HostAllocFlags::PORTABLE)?.cast::<f32>();
        for at in 0..2 * COUNT {
            // SAFETY: the lists have as many numbers, and no task has them yet.
            unsafe { lists.add(at as usize).write((at * number % 1009) as f32) };
        }
        let sum = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE)?.cast();
        Ok(Frame { lists, sum, lists_there: driver.mem_alloc(2 * BYTES)?, sum_there: driver.mem_alloc(BYTES)? })
    }

    /// Whether the sum is the one that the processor finds.
    fn check(self) -> Result<(), String> {
        let (count, numbers) = (COUNT as usize, |at: *const f32, count| {
            // SAFETY: the memory holds as many numbers, and the tasks before this one have ended.
            unsafe { std::slice::from_raw_parts(at, count) }
        });
        let (left, right) = numbers(self.lists, 2 * count).split_at(count);
        let mut expected = vec![0.0; count];
        reference::add(left, right, &mut expected);
        let wrong = expected.iter().zip(numbers(self.sum, count)).filter(|(one, other)| one != other).count();
        if wrong == 0 { Ok(()) } else { Err(format!("{wrong} of {count} sums are wrong")) }
    }
}

/// Submits the stages of a frame.
fn submit(tasks: &Tasks, kernels: Kernels, frame: Frame, priority: Priority) -> Result<Handle, Box<dyn Error>> {
    let Frame { lists, sum, lists_there: left, sum_there } = frame;
    let (up, down) = (Request::htod(left, lists.cast(), 2 * BYTES), Request::dtoh(sum.cast(), sum_there, BYTES));
    let copying = |request: Request| {
        move |lane: &mut Lane<'_>| {
            // SAFETY: both sides are memory of the frame, which lives until the end of the program.
            unsafe { lane.copy(&request)? };
            Ok(More::Done)
        }
    };
    let upload = tasks.upload("upload", copying(up)).priority(priority).submit()?;
    let add = tasks.kernel("add", move |lane: &mut Lane<'_>| {
        let work = Work::Add { left, right: DevicePtr(left.0 + BYTES), sum: sum_there, count: COUNT };
        // SAFETY: as above; each list has `COUNT` numbers.
        unsafe { kernels.launch(&**lane.driver(), &work, lane.stream())? };
        Ok(More::Done)
    });
    let add = add.after(&upload).priority(priority).submit()?;
    let download = tasks.download("download", copying(down)).after(&add).priority(priority).submit()?;
    Ok(tasks.host("check", move || Ok(frame.check()?)).after(&download).priority(priority).submit()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open_with(Backend::from_environment()?, register)?;
    let overtake = Arc::new(Overtake::open(&opened.driver, Device(0), Options::from_environment()?)?);
    let driver = &**overtake.driver();
    let kernels = Kernels::load(driver)?;
    let frames: Vec<Frame> = (1..=FRAMES).map(|number| Frame::new(driver, number)).collect::<Result<_, _>>()?;
    let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default())?;
    let tasks = Tasks::new(&dispatcher);
    let levels = [Priority::LOWEST, overtake.priorities().highest()]; // every second frame is urgent
    let submitted = frames.iter().zip(levels.iter().cycle()).map(|(frame, at)| submit(&tasks, kernels, *frame, *at));
    for checked in submitted.collect::<Result<Vec<_>, _>>()? {
        checked.wait()?; // an error names its task
    }
    println!("{FRAMES} frames are right; {:?}", dispatcher.statistics());
    Ok(())
}
