//! Copies between safe buffers: the bytes, and the memory of copies that are dropped, forgotten or refused.

use hal::{CaptureMode, Code, MemoryKind, Stream};
use overtake::buffer::{BufferCopy, DeviceBuffer, PinnedBuffer};
use overtake::{Overtake, PriorityStream};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::lane::level;
use crate::prng::Prng;
use crate::rig::Rig;
use crate::word::Gate;

/// Enough for every way of `bed::small_options`.
const ELEMENTS: usize = 64 << 10;

fn pinned_of(overtake: &Overtake, elements: &[u32]) -> Result<PinnedBuffer<u32>, Failure> {
    let mut pinned = PinnedBuffer::new(overtake, elements.len())?;
    pinned.copy_from_slice(elements);
    Ok(pinned)
}

fn elements(prng: &mut Prng, count: usize) -> Vec<u32> {
    (0..count).map(|_| prng.below(1 << 32) as u32).collect()
}

/// The device's bytes in the order of a stream, in a fresh pinned buffer.
fn download(overtake: &Overtake, stream: &PriorityStream, device: &DeviceBuffer<u32>) -> Result<Vec<u32>, Failure> {
    let fresh = PinnedBuffer::new(overtake, device.len())?;
    ensure!(fresh.iter().all(|element| *element == 0), "a pinned buffer begins with zeros");
    Ok(device.copy_to(fresh, stream)?.wait()?.to_vec())
}

/// Every size goes there and back, on a stream of bulk and on an urgent one at the same time, to parts of one buffer.
pub fn both_ways(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (low, high) = (overtake.stream(level(1))?, overtake.adopt(rig.stream()?, level(3))?);
    let (mut prng, device) = (Prng::new(41), DeviceBuffer::<u32>::new(&overtake, 2 * ELEMENTS)?);
    for count in [1, 7, 1000, 8 << 10, ELEMENTS] {
        let (bulk, urgent) = (elements(&mut prng, count), elements(&mut prng, count));
        // The parts touch where they are longest.
        let first = device.part(0..ELEMENTS).part(ELEMENTS - count..ELEMENTS);
        let second = device.part(ELEMENTS..2 * ELEMENTS).part(0..count);
        let below = pinned_of(&overtake, &bulk)?.copy_to(&first, &low)?;
        let above = pinned_of(&overtake, &urgent)?.copy_to(&second, &high)?;
        ensure!(above.wait()?[..] == urgent && below.wait()?[..] == bulk, "each copy gives its own buffer back");
        ensure!(download(&overtake, &high, &first)? == bulk, "{count} elements of bulk, there and back");
        ensure!(download(&overtake, &low, &second)? == urgent, "{count} urgent elements, there and back");
    }
    Ok(())
}

/// A copy to the device that waits for a gate, so that it runs until another thread opens that.
fn held_copy(
    rig: &Rig,
    overtake: &Overtake,
    stream: &PriorityStream,
    device: &DeviceBuffer<u32>,
) -> Result<(BufferCopy<u32>, Gate), Failure> {
    let pinned = pinned_of(overtake, &[9; ELEMENTS])?;
    let gate = rig.gate(stream.raw())?;
    let copy = pinned.copy_to(device, stream)?;
    ensure!(!copy.handle().is_done()?, "the copy waits at the gate");
    Ok((copy, gate))
}

/// Dropping a copy waits for it. Its buffers may have no other owner.
pub fn dropped(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let (stream, other) = (overtake.stream(level(1))?, overtake.stream(level(1))?);
    let device = DeviceBuffer::<u32>::new(&overtake, ELEMENTS)?;
    let (copy, gate) = held_copy(rig, &overtake, &stream, &device)?;
    let (handle, opener) = (copy.handle().clone(), rig.open_later(&gate));
    drop(copy);
    ensure!(handle.is_done()?, "the drop has waited for the copy");
    opener.join(rig.driver().host())?;
    ensure!(download(&overtake, &other, &device)? == [9; ELEMENTS], "the copy was made");
    let (copy, gate) = held_copy(rig, &overtake, &stream, &device)?;
    let opener = rig.open_later(&gate);
    drop(device);
    ensure!(copy.wait()?[..] == [9; ELEMENTS], "the buffer comes back");
    opener.join(rig.driver().host())
}

/// The memory of a forgotten copy is never freed, even if all else is dropped.
pub fn forgotten(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let stream = overtake.stream(level(1))?;
    let (device, pinned) =
        (DeviceBuffer::<u32>::new(&overtake, ELEMENTS)?, PinnedBuffer::<u32>::new(&overtake, ELEMENTS)?);
    let (there, here) = (device.pointer(), pinned.as_ptr() as u64);
    let gate = rig.gate(stream.raw())?;
    std::mem::forget(device.copy_to(pinned, &stream)?);
    gate.open();
    stream.synchronize()?;
    drop((device, stream, overtake));
    let driver = rig.driver();
    same("the host's memory", &driver.pointer_kind(here)?.kind, &MemoryKind::Pinned)?;
    same("the device's memory", &driver.pointer_bytes_left(there.0)?, &((ELEMENTS * 4) as u64))
}

/// Copies whose end could not be waited for, or that would leave their memory, are refused, and nothing is copied.
pub fn refused(rig: &Rig) -> Outcome {
    let overtake = bed::open(rig, bed::small_options())?;
    let elsewhere = bed::open(rig, bed::small_options())?;
    let (stream, driver) = (overtake.stream(level(1))?, rig.driver());
    let (device, foreign) = (DeviceBuffer::<u32>::new(&overtake, 8)?, DeviceBuffer::<u32>::new(&elsewhere, 8)?);
    pinned_of(&overtake, &[1; 8])?.copy_to(&device, &stream)?.wait()?;
    let code = |stream: &PriorityStream, device: &DeviceBuffer<u32>, count| -> Result<Option<Code>, Failure> {
        let copy = pinned_of(&overtake, &vec![2; count])?.copy_to(device, stream);
        Ok(copy.err().map(|error| error.code()))
    };
    same("other lengths", &code(&stream, &device, 7)?, &Some(Code::INVALID_VALUE))?;
    same("another layer's buffer", &code(&stream, &foreign, 8)?, &Some(Code::INVALID_VALUE))?;
    for handle in [Stream::LEGACY, Stream::PER_THREAD] {
        let default = overtake.adopt(handle, level(1))?;
        same("a default stream", &code(&default, &device, 8)?, &Some(Code::INVALID_VALUE))?;
    }
    driver.stream_begin_capture(stream.raw(), CaptureMode::Relaxed)?;
    let captured = code(&stream, &device, 8);
    let graph = driver.stream_end_capture(stream.raw())?;
    driver.graph_destroy(graph)?;
    same("a stream in a capture", &captured?, &Some(Code::STREAM_CAPTURE_UNSUPPORTED))?;
    ensure!(PinnedBuffer::<u32>::new(&overtake, 0).is_err(), "a buffer without elements");
    ensure!(download(&overtake, &stream, &device)? == [1; 8], "nothing was copied");
    Ok(())
}
