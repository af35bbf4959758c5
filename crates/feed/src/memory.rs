//! The memory of a feed: the words that the kernel and the host share, and the stages.
#![allow(unsafe_code)] // the device shares the memory, so it is reached by address

use std::sync::atomic::{AtomicU32, Ordering};

use copies::Overtake;
use copies::copy::Request;
use hal::{Code, DevicePtr, Result};
use overtake_memory::buffer::{DeviceBuffer, PinnedBuffer};

use crate::FeedOptions;

/// `sizeof(overtake_pipeline)` in `overtake_pipeline.cuh`, and the places in it that the host fills in.
const CONTROL_BYTES: usize = 1280;
const COMMITTED: u64 = 0;
const ORDER: u64 = 4;
const STAGES: usize = 128;
const BYTES_EACH: usize = 136;
const RESULTS_EACH: usize = 144;
const BYTES: usize = 152;
const RESULTS: usize = 160;
const RELEASED: usize = 168;
const ENDED: usize = 176;
const QUITS: usize = 184;

/// Words between those that different sides write, in 32-bit words: each has a line of the processor's to itself.
const APART: usize = 32;

/// A word of the host's memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// Stages that the kernel has released.
    Released,
    /// 1 when it has ended.
    Ended,
    /// Not 0 if it is to end.
    Quits,
}

pub(super) struct Memory {
    control: DeviceBuffer<u8>,
    device: DeviceBuffer<u8>,
    host: PinnedBuffer<u8>,
    results: PinnedBuffer<u8>,
    words: PinnedBuffer<u32>,
    stages: u8,
    bytes: usize,
    bytes_each: usize,
    result_bytes: usize,
    results_each: usize,
}

impl Memory {
    pub fn new(overtake: &Overtake, options: &FeedOptions) -> Result<Memory> {
        let FeedOptions { stages, bytes, result_bytes, .. } = *options;
        let refused = || Code::INVALID_VALUE.at("overtake Feed").because("so many bytes have no address");
        let apart = |bytes: usize| bytes.checked_next_multiple_of(256).ok_or_else(refused);
        let all = |each: usize| each.checked_mul(usize::from(stages)).ok_or_else(refused);
        let (bytes_each, results_each) = (apart(bytes)?, apart(result_bytes.max(1))?);
        let memory = Memory {
            control: DeviceBuffer::new(overtake, CONTROL_BYTES)?,
            device: DeviceBuffer::new(overtake, all(bytes_each)?)?,
            host: PinnedBuffer::new(overtake, all(bytes_each)?)?,
            results: PinnedBuffer::new(overtake, all(results_each)?)?,
            words: PinnedBuffer::new(overtake, 3 * APART)?,
            stages,
            bytes,
            bytes_each,
            result_bytes,
            results_each,
        };
        memory.fill_in(overtake)?;
        Ok(memory)
    }

    /// Writes the words that the kernel finds.
    fn fill_in(&self, overtake: &Overtake) -> Result<()> {
        let driver = overtake.driver();
        let at = |pointer: *mut u8| driver.host_device_pointer(pointer).map(|pointer| pointer.0);
        let words = at(self.words.start())?;
        let word = |word: Word| words + (word as usize * APART * 4) as u64;
        let mut control = [0_u8; CONTROL_BYTES];
        let mut put = |place: usize, value: u64| control[place..place + 8].copy_from_slice(&value.to_le_bytes());
        put(STAGES, u64::from(self.stages));
        put(BYTES_EACH, self.bytes_each as u64);
        put(RESULTS_EACH, self.results_each as u64);
        put(BYTES, self.device.pointer().0);
        put(RESULTS, at(self.results.start())?);
        put(RELEASED, word(Word::Released));
        put(ENDED, word(Word::Ended));
        put(QUITS, word(Word::Quits));
        // SAFETY: both sides have so many bytes, and the copy has completed when the call returns.
        overtake
            .cuda_context()
            .call(|driver| unsafe { driver.copy_htod(self.control.pointer(), control.as_ptr(), CONTROL_BYTES as u64) })
    }

    /// The first parameter of the kernel.
    pub fn control(&self) -> DevicePtr {
        self.control.pointer()
    }

    /// The word that counts committed stages, in device memory.
    pub fn committed(&self) -> DevicePtr {
        self.control.pointer().offset(COMMITTED)
    }

    /// The word that closes the feed, in device memory.
    pub fn order(&self) -> DevicePtr {
        self.control.pointer().offset(ORDER)
    }

    /// A word of the host's memory, which the device writes or reads at any time.
    pub fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: the memory has three words so far apart, aligned, and lives as long as `self`. All of the host's
        // accesses are atomic: no slice of it is ever handed out.
        unsafe { AtomicU32::from_ptr(self.words.start().cast::<u32>().add(word as usize * APART)) }
    }

    pub fn load(&self, word: Word) -> u32 {
        self.word(word).load(Ordering::Acquire)
    }

    /// The host's bytes of a stage.
    pub fn bytes(&self, stage: u8) -> (*mut u8, usize) {
        // SAFETY: the stage is one of those that the memory was made for.
        (unsafe { self.host.start().add(usize::from(stage) * self.bytes_each) }, self.bytes)
    }

    /// The result of a stage.
    pub fn result(&self, stage: u8) -> (*const u8, usize) {
        // SAFETY: as for the bytes.
        (unsafe { self.results.start().add(usize::from(stage) * self.results_each) }, self.result_bytes)
    }

    /// The copy of a stage to the device.
    pub fn upload(&self, stage: u8) -> Request {
        let target = self.device.pointer().offset((usize::from(stage) * self.bytes_each) as u64);
        Request::htod(target, self.bytes(stage).0, self.bytes as u64)
    }
}
