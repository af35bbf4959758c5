//! Rectangles, boxes and batches, checked byte by byte: `cargo run --example shapes`.

use std::error::Error;

use backend::{Backend, open};
use overtake::copy::Request;
use overtake::hal::{Device, DevicePtr, HostAllocFlags, Shape, Side};
use overtake::{Options, Overtake, Priority};

const PITCH: u64 = 1024;
const WIDTH: u64 = 1000;
const ROWS: u64 = 512;
const SLICES: u64 = 4;
const BYTES: u64 = PITCH * ROWS * SLICES;

fn main() -> Result<(), Box<dyn Error>> {
    let opened = open(Backend::from_environment()?)?;
    let overtake = Overtake::open(&opened.driver, Device(0), Options::from_environment()?)?;
    let driver = overtake.driver();
    let (bulk, urgent) = (overtake.stream(Priority::LOWEST)?, overtake.stream(overtake.priorities().highest())?);

    let flags = HostAllocFlags::PORTABLE.and(HostAllocFlags::DEVICEMAP);
    let (source, back) = (driver.host_alloc(BYTES, flags)?, driver.host_alloc(BYTES, flags)?);
    let device = driver.mem_alloc(BYTES)?;
    // SAFETY: both allocations are `BYTES` long, and no other reference to them exists yet.
    let (sent, received) = unsafe {
        source.write_bytes(0, BYTES as usize);
        back.write_bytes(0, BYTES as usize);
        (std::slice::from_raw_parts_mut(source, BYTES as usize), back)
    };
    sent.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 % 251) as u8);

    // Each slice has a margin of 8 bytes to the left. The rectangle is the first slice, the box all others.
    let side = |side: Side| Side { address: side.address + 8, ..side.pitched(PITCH, PITCH * ROWS) };
    let (from, to) = (side(Side::host(source as u64)), side(Side::device(device)));
    let rectangle = Shape { source: from, target: to, width_bytes: WIDTH, rows: ROWS, depth: 1 };
    let next_slice = |side: Side| Side { address: side.address + PITCH * ROWS, ..side };
    let cuboid = Shape { source: next_slice(from), target: next_slice(to), depth: SLICES - 1, ..rectangle };
    // SAFETY: every row of both shapes lies within the allocations, which live until the end; the host side stays
    // unchanged.
    unsafe {
        bulk.memcpy_shape_async(&rectangle)?;
        bulk.memcpy_shape_async(&cuboid)?;
        urgent.wait_for(&bulk)?;
        let half = BYTES / 2;
        urgent.memcpy_batch_async(&[
            Request::dtoh(received, device, half),
            Request::dtoh(received.add(half as usize), DevicePtr(device.0 + half), half),
        ])?;
    }
    urgent.synchronize()?;

    // SAFETY: the copies into it have completed.
    let received = unsafe { std::slice::from_raw_parts(received, BYTES as usize) };
    let inside = |at: &u64| (8..8 + WIDTH).contains(&(at % PITCH));
    let wrong = (0..BYTES).filter(inside).filter(|at| received[*at as usize] != sent[*at as usize]).count();
    println!("{} bytes in {} slices: {wrong} wrong", WIDTH * ROWS * SLICES, SLICES);
    if wrong == 0 { Ok(()) } else { Err("bytes differ".into()) }
}
