//! Safe wrappers of the unsafe methods of priority streams, and of launches. Of the suite's files only this one, and
//! the faulty driver, have unsafe code.
//!
//! They are safe for the same reasons as the rig's own wrappers: every range lies in a buffer of a rig, which frees
//! nothing before its streams are idle, and priority streams adopt the rig's streams. Later work of an adopted stream
//! comes after its copies, on every way.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicU8;

use hal::{Code, Driver, Function, Launch, Shape, Stream};
use overtake::copy::{CopyHandle, CopyQueue, Native, Request};
use overtake::{Overtake, Priority, PriorityStream};

use crate::memory::Pinned;
use crate::place::{self, Block, Buffer, Extent, Side};
use crate::rig::Rig;

fn at(request: Request, priority: Option<Priority>) -> Request {
    priority.map_or(request, |priority| request.at(priority))
}

/// The code that a driver call would have returned.
fn code_of(result: hal::Result<()>) -> u32 {
    result.map_or_else(|error| error.code().get(), |()| 0)
}

/// The request of a linear copy. Its sides decide whether the direction is named or has to be inferred.
pub fn request(target: (Side, u64), source: (Side, u64), bytes: u64) -> Request {
    let (to, from) = (target.0.range(target.1, bytes), source.0.range(source.1, bytes));
    match (target.0, source.0) {
        (Side::Device(_), Side::Host(_)) => Request::htod(to, from.0 as *const u8, bytes),
        (Side::Host(_), Side::Device(_)) => Request::dtoh(to.0 as *mut u8, from, bytes),
        _ => Request::linear(to, from, bytes),
    }
}

pub fn linear(
    stream: &PriorityStream,
    target: (Side, u64),
    source: (Side, u64),
    bytes: u64,
    priority: Option<Priority>,
) -> hal::Result<CopyHandle> {
    let request = at(request(target, source, bytes), priority);
    // SAFETY: both ranges lie inside buffers of a rig (checked by `range`), which outlive the copy (the rule above).
    unsafe { stream.memcpy_async(&request) }
}

/// Pinned host memory to the device, with the stream's own priority.
pub fn htod(stream: &PriorityStream, device: Buffer, host: &Pinned, bytes: u64) -> hal::Result<CopyHandle> {
    linear(stream, (Side::Device(device), 0), (Side::Host(host), 0), bytes, None)
}

/// The device to pinned host memory, with the stream's own priority.
pub fn dtoh(stream: &PriorityStream, host: &Pinned, device: Buffer, bytes: u64) -> hal::Result<CopyHandle> {
    linear(stream, (Side::Host(host), 0), (Side::Device(device), 0), bytes, None)
}

/// Pinned host memory to the device; complete on return, as for a caller of a blocking copy.
pub fn htod_blocking(
    rig: &Rig,
    stream: &PriorityStream,
    device: Buffer,
    host: &Pinned,
    bytes: u64,
) -> hal::Result<CopyHandle> {
    let request = request((Side::Device(device), 0), (Side::Host(host), 0), bytes);
    let native = || {
        rig.htod((device, 0), (host, 0), bytes, stream.raw())?;
        rig.driver().stream_synchronize(stream.raw())
    };
    let native = || code_of(native());
    // SAFETY: both ranges lie inside buffers of a rig (checked by `request`), which outlive the copy (the rule above).
    unsafe { stream.memcpy_through(&[request], &Native::blocking(&native)) }
}

/// Pageable host memory to the device; complete on return.
pub fn htod_pageable_blocking(
    rig: &Rig,
    stream: &PriorityStream,
    device: Buffer,
    source: &[u8],
) -> hal::Result<CopyHandle> {
    let bytes = source.len() as u64;
    let request = Request::htod(device.range(0, bytes), source.as_ptr(), bytes);
    let native = || {
        rig.htod_pageable((device, 0), source, stream.raw())?;
        rig.driver().stream_synchronize(stream.raw())
    };
    let native = || code_of(native());
    // SAFETY: the target lies inside a buffer of a rig (checked by `range`), and the source is a live slice.
    unsafe { stream.memcpy_through(&[request], &Native::blocking(&native)) }
}

/// Pinned host memory to the device, in any stream, by the driver's own call.
pub fn leave_alone(overtake: &Overtake, device: Buffer, host: &Pinned, bytes: u64, stream: Stream) -> hal::Result<()> {
    let request = request((Side::Device(device), 0), (Side::Host(host), 0), bytes);
    // SAFETY: both ranges lie inside buffers of a rig (checked by `range`), which outlive the copy (the rule above).
    unsafe { overtake.leave_alone(&request, stream) }
}

/// Several linear copies in one call.
pub fn batch(stream: &PriorityStream, requests: &[Request]) -> hal::Result<Vec<CopyHandle>> {
    // SAFETY: requests are made by `request`, whose ranges lie inside buffers of a rig, or name memory that the driver
    // refuses.
    unsafe { stream.memcpy_batch_async(requests) }
}

/// Several linear copies without order among them, as one; fails if they would go natively.
pub fn unordered(stream: &PriorityStream, requests: &[Request]) -> hal::Result<CopyHandle> {
    let native = || Code::NOT_SUPPORTED.get();
    // SAFETY: as for `batch`; the native call makes no copy at all.
    unsafe { stream.memcpy_through(requests, &Native::asynchronous(&native)) }
}

/// The same; if they go natively, `native` makes them.
pub fn unordered_through(
    stream: &PriorityStream,
    requests: &[Request],
    native: &dyn Fn() -> hal::Result<()>,
) -> hal::Result<CopyHandle> {
    let native = || code_of(native());
    // SAFETY: as for `batch`; callers make the same copies.
    unsafe { stream.memcpy_through(requests, &Native::asynchronous(&native)) }
}

/// Several linear copies without order among them, of lengths that a driver refuses; `native` asks the driver.
pub fn attempt_batch(
    stream: &PriorityStream,
    requests: &[Request],
    native: &dyn Fn() -> hal::Result<()>,
) -> hal::Result<CopyHandle> {
    let native = || code_of(native());
    // SAFETY: no request lies in its buffers, so that only the native call may be tried, which makes no copy.
    unsafe { stream.memcpy_through(requests, &Native::asynchronous(&native)) }
}

/// A copy in a queue whose copies share a launch.
pub fn queue(queue: &mut CopyQueue, target: (Side, u64), source: (Side, u64), bytes: u64) -> hal::Result<()> {
    // SAFETY: both ranges lie inside buffers of a rig (checked by `request`), which outlive the copy (the rule above).
    unsafe { queue.copy(&request(target, source, bytes)) }
}

/// Pageable memory to the device. The source has been consumed when the queue is flushed.
pub fn queue_pageable(queue: &mut CopyQueue, target: (Buffer, u64), source: &'static [u8]) -> hal::Result<()> {
    let to = target.0.range(target.1, source.len() as u64);
    // SAFETY: the target lies inside a buffer of a rig (checked by `range`), and the source lives for ever.
    unsafe { queue.copy(&Request::htod(to, source.as_ptr(), source.len() as u64)) }
}

/// The same for a request of [`request`].
pub fn queue_request(queue: &mut CopyQueue, request: &Request) -> hal::Result<()> {
    // SAFETY: as for `batch`.
    unsafe { queue.copy(request) }
}

/// A set in a queue whose copies share a launch.
pub fn queue_set(queue: &mut CopyQueue, target: (Side, u64), value: u32, bytes: u64) -> hal::Result<()> {
    // SAFETY: the range lies inside a buffer of a rig (checked by `range`), which outlives the set (the rule above).
    unsafe { queue.set(target.0.range(target.1, bytes), value, bytes) }
}

/// A rectangle if the depth is 1, else a box.
pub fn boxed(
    stream: &PriorityStream,
    target: Block,
    source: Block,
    extent: Extent,
    priority: Option<Priority>,
) -> hal::Result<CopyHandle> {
    target.check(extent);
    source.check(extent);
    let request = Request::shaped(&place::shape(&target, &source, extent));
    let request = request.expect("a box of the suite is none that the driver may refuse");
    // SAFETY: both boxes lie inside buffers of a rig (checked above), which outlive the copy (the rule above).
    unsafe { stream.memcpy_async(&at(request, priority)) }
}

/// A rectangle or box that begins in buffers of the rig, and which the driver refuses where it leaves them.
pub fn attempt(stream: &PriorityStream, shape: &Shape) -> hal::Result<CopyHandle> {
    // SAFETY: if the host's side leaves its buffer, so does the device's, and the driver refuses before a byte moves.
    unsafe { stream.memcpy_shape_async(shape) }
}

/// Pinned host memory to the device or back. The driver refuses a length that leaves the buffer.
pub fn attempt_line(
    stream: &PriorityStream,
    device: Buffer,
    host: &Pinned,
    bytes: u64,
    to_device: bool,
) -> hal::Result<CopyHandle> {
    let address = host.address();
    let request = match to_device {
        true => Request::htod(device.base, address as *const u8, bytes),
        false => Request::dtoh(address as *mut u8, device.base, bytes),
    };
    // SAFETY: a length that leaves the host's buffer leaves the device's, which is as long: refused.
    unsafe { stream.memcpy_async(&request) }
}

/// Pageable host memory to the device: consumed on return.
pub fn htod_pageable(stream: &PriorityStream, target: (Buffer, u64), source: &[u8]) -> hal::Result<CopyHandle> {
    let to = target.0.range(target.1, source.len() as u64);
    // SAFETY: the source is a live slice; being pageable it is not needed after the call.
    unsafe { stream.memcpy_htod_async(to, source.as_ptr(), source.len() as u64) }
}

/// The same from memory that other threads may write before the copy begins.
pub fn htod_shared(stream: &PriorityStream, target: Buffer, source: &[AtomicU8]) -> hal::Result<CopyHandle> {
    let to = target.range(0, source.len() as u64);
    // SAFETY: as above; a thread that writes the source does so before the stream comes to the copy.
    unsafe { stream.memcpy_htod_async(to, source.as_ptr().cast(), source.len() as u64) }
}

/// Rows of pageable memory, `theirs` bytes apart, and of the device, `ours` bytes apart.
#[derive(Clone, Copy)]
pub struct Area {
    pub width: u64,
    pub rows: u64,
    pub theirs: u64,
    pub ours: u64,
}

impl Area {
    fn sides(self, buffer: Buffer, host: u64, host_bytes: usize) -> (hal::Side, hal::Side) {
        assert!(self.theirs * self.rows <= host_bytes as u64 && self.width <= self.theirs.min(self.ours));
        let device =
            hal::Side::device(buffer.range(0, self.ours * self.rows)).pitched(self.ours, self.ours * self.rows);
        (device, hal::Side::host(host).pitched(self.theirs, self.theirs * self.rows))
    }

    fn shape(self, target: hal::Side, source: hal::Side) -> Request {
        let shape = Shape { target, source, width_bytes: self.width, rows: self.rows, depth: 1 };
        Request::shaped(&shape).expect("a rectangle that no driver refuses")
    }
}

/// Rows of pageable memory to the device: consumed on return.
pub fn rows_to_device(stream: &PriorityStream, to: Buffer, source: &[u8], area: Area) -> hal::Result<CopyHandle> {
    let (device, host) = area.sides(to, source.as_ptr() as u64, source.len());
    // SAFETY: all rows lie inside the buffer and the slice (checked by `sides`).
    unsafe { stream.memcpy_async(&area.shape(device, host)) }
}

/// Rows of the device to pageable memory: complete on return.
pub fn rows_to_host(stream: &PriorityStream, to: &mut [u8], from: Buffer, area: Area) -> hal::Result<CopyHandle> {
    let (device, host) = area.sides(from, to.as_mut_ptr() as u64, to.len());
    // SAFETY: as above; the slice is exclusive.
    unsafe { stream.memcpy_async(&area.shape(host, device)) }
}

/// A copy from pageable memory of a length that leaves the buffer, and that the driver refuses.
pub fn attempt_pageable(stream: &PriorityStream, target: Buffer, bytes: u64) -> hal::Result<CopyHandle> {
    let source = vec![9_u8; bytes as usize];
    // SAFETY: the source is a live vector; the driver checks the device's side before it moves a byte.
    unsafe { stream.memcpy_htod_async(target.base, source.as_ptr(), bytes) }
}

/// The same by the driver alone.
pub fn attempt_natively(rig: &Rig, target: Buffer, bytes: u64, stream: Stream) -> hal::Result<()> {
    let source = vec![9_u8; bytes as usize];
    // SAFETY: as above.
    unsafe { rig.driver().copy_htod_async(target.base, source.as_ptr(), bytes, stream) }
}

/// The device to memory of the host's, or back, at a priority: pageable memory may be used again on return.
pub fn pageable(
    stream: &PriorityStream,
    device: Buffer,
    host: &mut [u8],
    (to_device, priority): (bool, Priority),
) -> hal::Result<CopyHandle> {
    let (bytes, address) = (host.len() as u64, host.as_mut_ptr());
    let range = device.range(0, bytes);
    let request = match to_device {
        true => Request::htod(range, address, bytes),
        false => Request::dtoh(address, range, bytes),
    };
    // SAFETY: the device's side lies inside its buffer (checked by `range`). The slice is exclusive, and being pageable
    // it is not needed after the call.
    unsafe { stream.memcpy_async(&request.at(priority)) }
}

/// The device to pageable host memory: complete on return.
pub fn dtoh_pageable(stream: &PriorityStream, target: &mut [u8], source: (Buffer, u64)) -> hal::Result<CopyHandle> {
    let from = source.0.range(source.1, target.len() as u64);
    // SAFETY: the target is a live exclusive slice; being pageable it is not written after the call.
    unsafe { stream.memcpy_dtoh_async(target.as_mut_ptr(), from, target.len() as u64) }
}

/// `soft_spin_ns`, from any thread.
pub fn spin(driver: &dyn Driver, spin: Function, mut span_ns: u64, stream: Stream) -> hal::Result<()> {
    let parameters = [(&raw mut span_ns).cast()];
    let launch =
        Launch { function: spin, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: callers pass the kernel of that name, which declares one parameter of 8 bytes.
    unsafe { driver.launch(&launch) }
}

/// `soft_wait_u32` in at least as many blocks as the device holds at once, from any thread: no other kernel begins
/// until the word at `address` is 1.
pub fn fill(driver: &dyn Driver, wait: Function, address: u64, stream: Stream) -> hal::Result<()> {
    let device = driver.context_device()?;
    let multiprocessors = driver.device_attribute(hal::Attribute::MULTIPROCESSOR_COUNT, device)?;
    let (mut address, mut wanted) = (address, 1u32);
    let parameters = [(&raw mut address).cast(), (&raw mut wanted).cast()];
    // No device so far runs more than 32 blocks on a multiprocessor.
    let grid = [32 * multiprocessors.unsigned_abs(), 1, 1];
    let launch = Launch { function: wait, grid, block: [1; 3], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: callers pass the kernel of that name, which declares a pointer and a u32, and the address of a word in a
    // buffer of a rig, which frees nothing before its streams have come to rest.
    unsafe { driver.launch(&launch) }
}
