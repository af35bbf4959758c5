//! Memsets, checked byte by byte.

use hal::Code;

use crate::failure::{Outcome, refused, same_bytes};
use crate::prng::Prng;
use crate::rig::Rig;

const ARENA_BYTES: u64 = 300_000;

/// Bytes: any size anywhere.
pub fn bytes(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(41), rig.stream()?);
    let mut expected = prng.bytes(ARENA_BYTES);
    let buffer = rig.buffer_of(&expected)?;
    for limit in [1, 2, 3, 5, 64, 255, 1_000, 70_000, 250_000] {
        let (count, value) = (prng.between(1, limit), prng.bits() as u8);
        let at = prng.below(ARENA_BYTES - count);
        rig.driver().memset_d8_async(buffer.at(at), value, count, stream)?;
        expected[at as usize..(at + count) as usize].fill(value);
    }
    same_bytes("the device", &rig.download(buffer, stream)?, &expected)
}

/// Words: any count at any multiple of 4.
pub fn words(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(42), rig.stream()?);
    let mut expected = prng.bytes(ARENA_BYTES);
    let buffer = rig.buffer_of(&expected)?;
    for limit in [1, 2, 3, 16, 255, 10_000, 60_000] {
        let (count, value) = (prng.between(1, limit), prng.bits() as u32);
        let at = 4 * prng.below(ARENA_BYTES / 4 - count);
        rig.driver().memset_d32_async(buffer.at(at), value, count, stream)?;
        for word in expected[at as usize..(at + 4 * count) as usize].chunks_exact_mut(4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
    same_bytes("the device", &rig.download(buffer, stream)?, &expected)
}

/// Rectangles: the bytes between the rows stay unchanged.
pub fn rectangles(rig: &Rig) -> Outcome {
    let (mut prng, stream) = (Prng::new(43), rig.stream()?);
    let mut expected = prng.bytes(ARENA_BYTES);
    let buffer = rig.buffer_of(&expected)?;
    for _ in 0..10 {
        let (width, height, value) = (prng.between(1, 700), prng.between(1, 60), prng.bits() as u8);
        let (pitch, at) = (width + prng.below(300), prng.below(9_000));
        rig.driver().memset_2d_d8_async(buffer.at(at), pitch, value, width, height, stream)?;
        for row in 0..height {
            let start = (at + row * pitch) as usize;
            expected[start..start + width as usize].fill(value);
        }
    }
    same_bytes("the device", &rig.download(buffer, stream)?, &expected)
}

/// Mapped host memory can be set as well.
pub fn mapped_memory(rig: &Rig) -> Outcome {
    let (stream, pinned) = (rig.stream()?, rig.pinned_of(&[1; 4096])?);
    let mapped = rig.driver().host_device_pointer(pinned.pointer())?;
    rig.driver().memset_d8_async(mapped.offset(100), 9, 1_000, stream)?;
    rig.settle(stream)?;
    let expected: Vec<u8> = (0..4096).map(|at| if (100..1_100).contains(&at) { 9 } else { 1 }).collect();
    same_bytes("the host", &pinned.read_all(), &expected)
}

/// Setting nothing succeeds and changes nothing; setting unknown memory is refused.
pub fn edges(rig: &Rig) -> Outcome {
    let (driver, stream, buffer) = (rig.driver(), rig.stream()?, rig.buffer_of(&[5; 256])?);
    driver.memset_d8_async(buffer.at(0), 1, 0, stream)?;
    driver.memset_d32_async(buffer.at(0), 1, 0, stream)?;
    refused("null", driver.memset_d8_async(hal::DevicePtr::NULL, 1, 16, stream), &[Code::INVALID_VALUE])?;
    refused("far too long", driver.memset_d8_async(buffer.at(0), 1, 1 << 50, stream), &[Code::INVALID_VALUE])?;
    refused("a word off", driver.memset_d32_async(buffer.at(2), 1, 4, stream), &[Code::INVALID_VALUE])?;
    driver.memset_d8_async(hal::DevicePtr::NULL, 1, 0, stream)?;
    let narrow = driver.memset_2d_d8_async(buffer.at(0), 10, 1, 20, 3, stream);
    refused("a pitch under the width", narrow, &[Code::INVALID_VALUE])?;
    same_bytes("the device", &rig.download(buffer, stream)?, &[5; 256])
}
