//! The cost of a bulk request for its caller and for the device, by size, by copy kernel and through a channel:
//! `cargo run --release --example request_cost`.

use std::error::Error;

use backend::{Backend, open};
use overtake::copy::Request;
use overtake::hal::{Device, HostAllocFlags, StreamFlags};
use overtake::options::Transport;
use overtake::{Options, Overtake, Priority, PriorityStream};

const BYTES_MAX: u64 = 1 << 20;
const SIZES: [u64; 4] = [4 << 10, 64 << 10, 256 << 10, BYTES_MAX];
/// Fewer requests than a stream holds, so that no call waits for the device.
const REQUESTS: u32 = 40;
const ROUNDS: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open(Backend::from_environment()?)?;
    for transport in [Transport::Kernel, Transport::Engine] {
        let mut options = Options::from_environment()?;
        options.profile.transport = transport;
        let transport = transport.name();
        let overtake = Overtake::open(&opened.driver, Device(0), options)?;
        let driver = overtake.driver();
        let bulk = overtake.adopt(driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, Priority::LOWEST)?;
        let urgent = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let urgent = overtake.adopt(urgent, overtake.priorities().highest())?;
        let host = driver.host_alloc(BYTES_MAX, HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP))?;
        let device = driver.mem_alloc(BYTES_MAX)?;
        for (direction, to_device) in [("h2d", true), ("d2h", false)] {
            for bytes in SIZES {
                let copy =
                    if to_device { Request::htod(device, host, bytes) } else { Request::dtoh(host, device, bytes) };
                // A direction is armed when it has seen two priorities.
                // SAFETY: both sides are `BYTES_MAX` long and live until the end of the program.
                unsafe { urgent.memcpy_async(&copy)? }.wait()?;
                let (caller_us, all_us, plan) = cheapest(&overtake, &bulk, &copy)?;
                print!("{transport} {direction} {:>4} KiB: ", bytes >> 10);
                println!("caller {caller_us:5.2} us, until done {all_us:5.2} us a request; {plan}");
            }
        }
    }
    Ok(())
}

/// Of several rounds, the shortest time of a request for its caller, and until it was done; and the way that it went.
fn cheapest(overtake: &Overtake, bulk: &PriorityStream, copy: &Request) -> Result<(f64, f64, String), Box<dyn Error>> {
    let (driver, clock) = (overtake.driver(), overtake.driver().host());
    let (mut caller_ns, mut all_ns, mut plan) = (u64::MAX, u64::MAX, String::new());
    for _ in 0..ROUNDS {
        driver.context_synchronize()?;
        let begin = clock.now();
        for _ in 0..REQUESTS {
            // SAFETY: as above.
            plan = format!("{:?}", unsafe { bulk.memcpy_async(copy)? }.plan());
        }
        caller_ns = caller_ns.min(clock.now().since(begin).0);
        driver.context_synchronize()?;
        all_ns = all_ns.min(clock.now().since(begin).0);
    }
    let each_us = |ns: u64| ns as f64 / f64::from(REQUESTS) / 1e3;
    Ok((each_us(caller_ns), each_us(all_ns), plan))
}
