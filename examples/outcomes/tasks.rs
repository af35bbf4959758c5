//! Tasks in an order, one that is late, one that fails, one that is cancelled, and a full dispatcher. The same program
//! in C, C++ and Python stands beside it; all four print `tasks.txt`: `cargo run --example outcomes_tasks`.

use std::error::Error;
use std::time::Duration;

use backend::{Backend, open};
use overtake::copy::Request;
use overtake::dispatch::DispatchOptions;
use overtake::hal::HostAllocFlags;
use overtake::task::{Handle, Lane, More};
use overtake::{Context, ContextOptions};

const BYTES: usize = 4096;
const SHORT: Duration = Duration::from_millis(20);

/// Half of the memory goes to the device, is copied there to the other half, and all of it comes back.
fn copies(context: &Context) -> Result<(), Box<dyn Error>> {
    let (tasks, driver, all) = (context.tasks(), context.driver(), 2 * BYTES as u64);
    let (host, device) = (driver.host_alloc(all, HostAllocFlags::PORTABLE)?, driver.mem_alloc(all)?);
    // SAFETY: it is longer than this, and no copy has it yet.
    unsafe { host.write_bytes(7, BYTES) };
    let copying = |request: Request| {
        move |lane: &mut Lane<'_>| {
            // SAFETY: both sides live until the end of the program, and only tasks use them meanwhile.
            unsafe { lane.copy(&request)? };
            Ok(More::Done)
        }
    };
    let upload = tasks.upload("upload", copying(Request::htod(device, host, all / 2))).submit()?;
    let twice = tasks.kernel("twice", copying(Request::linear(device.offset(all / 2), device, all / 2)));
    let twice = twice.after(&upload).submit()?;
    tasks.download("download", copying(Request::dtoh(host, device, all))).after(&twice).submit()?.wait()?;
    // SAFETY: it is `2 * BYTES` long, and the tasks have ended.
    let bytes = unsafe { std::slice::from_raw_parts(host, 2 * BYTES) };
    println!("download: {} {}", bytes[0], bytes[2 * BYTES - 1]);
    Ok(())
}

fn tell(name: &str, task: &Handle) {
    match task.wait() {
        Ok(()) => println!("{name}: it has ended"),
        Err(error) => println!("{name}: {error}"),
    }
}

/// # Errors
/// Where something goes wrong that is not to.
pub fn main() -> Result<(), Box<dyn Error>> {
    let driver = open(Backend::from_environment()?)?.driver; // the real driver, else the software GPU
    let dispatch = DispatchOptions { tasks_max: 8, ..DispatchOptions::default() };
    let context = Context::open_on(&driver, ContextOptions { dispatch, ..ContextOptions::from_environment()? })?;
    let tasks = context.tasks();
    copies(&context)?;

    let held = tasks.host("held", || Ok(())).held().submit()?;
    if held.wait_for(SHORT)?.is_none() {
        println!("held: it has not ended within {} ms", SHORT.as_millis());
    }
    held.release()?;
    tell("held", &held);

    let parse = tasks.host("parse", || Err("the file is empty".into())).submit()?;
    let draw = tasks.host("draw", || Ok(())).after(&parse).submit()?;
    tell("parse", &parse);
    tell("draw", &draw);

    let late = tasks.host("late", || Ok(())).held().submit()?;
    if late.cancel()? {
        tell("late", &late); // it had not started
    }

    let gate = tasks.host("gate", || Ok(())).held().submit()?;
    let behind = || tasks.host("behind", || Ok(())).after(&gate);
    let full = loop {
        if let Err(error) = behind().submit() {
            break error;
        }
    };
    println!("full: {full}");
    if behind().submit_within(SHORT)?.is_none() {
        println!("full: there is no room within {} ms", SHORT.as_millis());
    }
    gate.release()?;
    tell("last", &behind().submit_when_room()?);
    Ok(())
}
