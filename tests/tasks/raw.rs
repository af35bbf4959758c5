//! Safe wrappers of the unsafe methods of lanes. Of the suite's files only this one, and the faulty driver, have unsafe
//! code.
//!
//! Copies and launches are safe because every range lies in a buffer of a rig, which outlives the dispatcher of the
//! check.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use hal::{Attribute, DevicePtr, Driver, Function, Launch, Nanos, Stream};
use overtake::PriorityStream;
use overtake::copy::{CopyHandle, CopyQueue, Request};
use overtake::pipeline::StageBuffer;
use overtake::task::{Arguments, Kernel, Lane, Shape, Template, WorkResult};

use crate::memory::Pinned;
use crate::place::Buffer;

pub fn upload(lane: &mut Lane<'_>, target: Buffer, source: &Arc<Pinned>, bytes: u64) -> WorkResult<()> {
    let request = Request::htod(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

pub fn download(lane: &mut Lane<'_>, target: &Arc<Pinned>, source: Buffer, bytes: u64) -> WorkResult<()> {
    let request = Request::dtoh(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

/// A copy to the host, past the tasks.
pub fn copy_down(
    stream: &PriorityStream,
    target: &Arc<Pinned>,
    source: Buffer,
    bytes: u64,
) -> overtake::hal::Result<CopyHandle> {
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { stream.memcpy_dtoh_async(target.range(0, bytes), source.range(0, bytes), bytes) }
}

/// Copies the first bytes of a buffer to another one, which may be on another device.
pub fn between(lane: &mut Lane<'_>, target: Buffer, source: Buffer, bytes: u64) -> WorkResult<()> {
    let request = Request::linear(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

/// A copy to the device that waits for the queue's next flush.
pub fn queue(queue: &mut CopyQueue, target: Buffer, source: &Arc<Pinned>, bytes: u64) -> overtake::hal::Result<()> {
    let request = Request::htod(target.range(0, bytes), source.range(0, bytes), bytes);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { queue.copy(&request) }
}

/// A copy to the device, past the tasks.
pub fn copy_up(
    stream: &PriorityStream,
    target: Buffer,
    source: &Arc<Pinned>,
    bytes: u64,
) -> overtake::hal::Result<CopyHandle> {
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { stream.memcpy_htod_async(target.range(0, bytes), source.range(0, bytes), bytes) }
}

/// A copy of a frame's buffer, which lives in the pipeline.
pub fn frame(lane: &mut Lane<'_>, request: &Request) -> WorkResult<()> {
    // SAFETY: both sides lie in the buffer, which the pipeline keeps until its tasks have ended.
    unsafe { lane.copy(request)? };
    Ok(())
}

/// The first word of a frame's memory on the host.
pub fn first_word(buffer: &StageBuffer) -> &AtomicU32 {
    // SAFETY: it is aligned to more than 4 bytes, lives as long as the buffer, and is only used by this function and by
    // copies that have ended.
    unsafe { buffer.host().cast::<AtomicU32>().as_ref() }
}

/// One of the words of a frame's memory on the host.
pub fn nth_word(buffer: &StageBuffer, index: usize) -> &AtomicU32 {
    // SAFETY: the buffer has so many words, and for the rest it is as for the first.
    unsafe { buffer.host().cast::<AtomicU32>().add(index).as_ref() }
}

/// The copies of such a word to the device, and back.
pub fn word_of(buffer: &StageBuffer, index: usize) -> (Request, Request) {
    let (host, device) = (buffer.host().as_ptr().wrapping_add(4 * index), buffer.device().offset(4 * index as u64));
    (Request::htod(device, host, 4), Request::dtoh(host, device, 4))
}

/// A word to the device.
pub fn word_up(lane: &mut Lane<'_>, target: (Buffer, u64), source: (&Arc<Pinned>, u64)) -> WorkResult<()> {
    let request = Request::htod(target.0.range(target.1, 4), source.0.range(source.1, 4), 4);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

/// A word to the host.
pub fn word_down(lane: &mut Lane<'_>, target: (&Arc<Pinned>, u64), source: (Buffer, u64)) -> WorkResult<()> {
    let request = Request::dtoh(target.0.range(target.1, 4), source.0.range(source.1, 4), 4);
    // SAFETY: both ranges lie in memory of the rig.
    unsafe { lane.copy(&request)? };
    Ok(())
}

/// Adds to a word of the device, or stores it.
pub fn word(lane: &mut Lane<'_>, kernel: &Kernel, at: DevicePtr, value: u32) -> WorkResult<()> {
    let arguments = Arguments::new().address(at).value(&value);
    // SAFETY: the word lies in memory of the rig.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), arguments)? };
    Ok(())
}

pub fn spin(lane: &mut Lane<'_>, kernel: &Kernel, span: Nanos) -> WorkResult<()> {
    // SAFETY: the kernel accesses no memory.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), Arguments::new().value(&span.0))? };
    Ok(())
}

/// Has the same kernel take all multiprocessors, in another stream.
pub fn occupy(driver: &dyn Driver, function: Function, span: Nanos, stream: Stream) -> overtake::hal::Result<()> {
    let device = driver.context_device()?;
    let multiprocessors = driver.device_attribute(Attribute::MULTIPROCESSOR_COUNT, device)?;
    let mut span_ns = span.0;
    let parameters = [std::ptr::from_mut(&mut span_ns).cast()];
    // No device so far runs more than 32 blocks on a multiprocessor.
    let grid = [32 * multiprocessors.unsigned_abs(), 1, 1];
    let launch = Launch { function, grid, block: [1; 3], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: the kernel has this one parameter, and accesses no memory.
    unsafe { driver.launch(&launch) }
}

/// The same kernel, submitted to the lane's stream as a library would, unseen by the lane.
pub fn spin_unseen(lane: &mut Lane<'_>, function: Function, span: Nanos) -> WorkResult<()> {
    let mut span_ns = span.0;
    let (stream, parameters) = (lane.stream(), [std::ptr::from_mut(&mut span_ns).cast()]);
    let launch = Launch { function, grid: [1; 3], block: [1; 3], shared_bytes: 0, stream, parameters: &parameters };
    // SAFETY: the kernel has this one parameter, and accesses no memory.
    unsafe { lane.driver().launch(&launch)? };
    Ok(())
}

/// A launch that must be refused before it reaches the driver.
pub fn launch(lane: &mut Lane<'_>, kernel: &Kernel, arguments: Arguments) -> WorkResult<()> {
    // SAFETY: it is refused; if it is not, the kernel accesses memory of the rig or none.
    unsafe { lane.launch(kernel, &Shape::line(1, 1), arguments)? };
    Ok(())
}

/// A template whose launches are the same at each replay.
pub fn fixed<A: Send + Sync + 'static>(template: Template<A>) -> Template<A> {
    // SAFETY: the kernels of these templates access memory of the rig, the same at each replay.
    unsafe { template.fixed() }
}
