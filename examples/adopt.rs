//! Existing streams, a priority for a single copy, and its statistics: `cargo run --example adopt`.

use std::error::Error;

use backend::{Backend, open};
use overtake::copy::Request;
use overtake::hal::{Device, HostAllocFlags, StreamFlags};
use overtake::{Options, Overtake, Priority};

const BYTES: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open(Backend::from_environment()?)?;
    let overtake = Overtake::open(&opened.driver, Device(0), Options::from_environment()?)?;
    let driver = overtake.driver();

    // Streams that the program already has. They stay its own: overtake only gives their copies a priority.
    let (background, foreground) =
        (driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, driver.stream_create(StreamFlags::NON_BLOCKING, 0)?);
    let background = overtake.adopt(background, Priority::LOWEST)?;
    let foreground = overtake.adopt(foreground, overtake.priorities().highest())?;

    let host = driver.host_alloc(BYTES, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))?;
    let device = driver.mem_alloc(BYTES)?;
    let copy = Request::htod(device, host, BYTES);
    // SAFETY: both sides are `BYTES` long and live until the end of the program.
    let handles = unsafe {
        [
            background.memcpy_async(&copy)?,
            foreground.memcpy_async(&copy)?,
            // This one copy of the background stream is urgent.
            background.memcpy_async(&copy.at(overtake.priorities().highest()))?,
        ]
    };
    for handle in &handles {
        handle.wait()?;
        println!("{:?}, {}", handle.plan(), if handle.is_done()? { "done" } else { "pending" });
    }
    println!("{:#?}", overtake.statistics());
    Ok(())
}
