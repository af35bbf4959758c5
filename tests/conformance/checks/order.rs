//! Streams: the order within one, and the independence of two.

use hal::{MemOp, Nanos, Stream, StreamFlags};

use crate::failure::{Failure, Outcome, ensure, same, same_bytes};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::rig::Rig;

const ARENA_BYTES: u64 = 256 * 1024;

/// Two device arenas and one pinned one, and the bytes that they must hold in the end.
struct World {
    device: [Buffer; 2],
    pinned: std::sync::Arc<Pinned>,
    expected_device: [Vec<u8>; 2],
    expected_pinned: Vec<u8>,
}

impl World {
    fn new(rig: &Rig, prng: &mut Prng) -> Result<World, Failure> {
        let expected_device = [prng.bytes(ARENA_BYTES), prng.bytes(ARENA_BYTES)];
        let expected_pinned = prng.bytes(ARENA_BYTES);
        let device = [rig.buffer_of(&expected_device[0])?, rig.buffer_of(&expected_device[1])?];
        let pinned = rig.pinned_of(&expected_pinned)?;
        Ok(World { device, pinned, expected_device, expected_pinned })
    }

    /// One random operation, on the stream and on the expected bytes.
    fn step(&mut self, rig: &Rig, prng: &mut Prng, stream: Stream) -> Outcome {
        let longest = prng.pick(&[16, 300, 5_000, 100_000]);
        let bytes = prng.between(1, longest);
        let (to, from) = (prng.below(ARENA_BYTES - bytes), prng.below(ARENA_BYTES - bytes));
        let arena = prng.below(2) as usize;
        let (to_range, from_range) = ((to as usize)..(to + bytes) as usize, (from as usize)..(from + bytes) as usize);
        match prng.below(5) {
            0 => {
                rig.htod((self.device[arena], to), (&self.pinned, from), bytes, stream)?;
                self.expected_device[arena][to_range].copy_from_slice(&self.expected_pinned[from_range]);
            }
            1 => {
                rig.dtoh((&self.pinned, to), (self.device[arena], from), bytes, stream)?;
                self.expected_pinned[to_range].copy_from_slice(&self.expected_device[arena][from_range]);
            }
            2 => {
                rig.dtod((self.device[arena], to), (self.device[1 - arena], from), bytes, stream)?;
                let moved = self.expected_device[1 - arena][from_range].to_vec();
                self.expected_device[arena][to_range].copy_from_slice(&moved);
            }
            3 => {
                let value = prng.bits() as u8;
                rig.driver().memset_d8_async(self.device[arena].at(to), value, bytes, stream)?;
                self.expected_device[arena][to_range].fill(value);
            }
            _ => self.set_words(rig, (arena, to, bytes), prng.bits() as u32, stream)?,
        }
        Ok(())
    }

    fn set_words(&mut self, rig: &Rig, place: (usize, u64, u64), value: u32, stream: Stream) -> Outcome {
        let (arena, to, count) = (place.0, place.1 & !3, place.2 / 4);
        rig.driver().memset_d32_async(self.device[arena].at(to), value, count, stream)?;
        for word in 0..count {
            let at = (to + 4 * word) as usize;
            self.expected_device[arena][at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }

    fn verify(&self, rig: &Rig, stream: Stream) -> Outcome {
        rig.settle(stream)?;
        same_bytes("pinned arena", &self.pinned.read_all(), &self.expected_pinned)?;
        for (buffer, expected) in self.device.iter().zip(&self.expected_device) {
            same_bytes("device arena", &rig.download(*buffer, stream)?, expected)?;
        }
        Ok(())
    }
}

/// Copies of all kinds and memsets on one stream take effect in the order of their submission.
pub fn random_program(rig: &Rig) -> Outcome {
    for seed in 1..=3 {
        let mut prng = Prng::new(seed);
        let stream = rig.stream()?;
        let mut world = World::new(rig, &mut prng)?;
        let gate = rig.gate(stream)?;
        for _ in 0..150 {
            world.step(rig, &mut prng, stream)?;
        }
        gate.open();
        world.verify(rig, stream)?;
    }
    Ok(())
}

/// A memset behind a long copy does not get ahead of it, nor a copy ahead of a memset.
pub fn copy_then_memset(rig: &Rig) -> Outcome {
    const BYTES: u64 = 8 << 20;
    let (source, stream) = (rig.pinned_of(&Prng::new(5).bytes(BYTES))?, rig.stream()?);
    let (target, copy) = (rig.buffer(BYTES)?, rig.buffer(BYTES)?);
    rig.htod((target, 0), (&source, 0), BYTES, stream)?;
    rig.driver().memset_d8_async(target.at(0), 0x5a, BYTES, stream)?;
    rig.dtod((copy, 0), (target, 0), BYTES, stream)?;
    rig.driver().memset_d8_async(target.at(0), 0xa5, BYTES, stream)?;
    same_bytes("set, then copied", &rig.download(copy, stream)?, &vec![0x5a; BYTES as usize])?;
    same_bytes("set last", &rig.download(target, stream)?, &vec![0xa5; BYTES as usize])
}

/// A stream that stands still holds back only itself.
pub fn streams_are_independent(rig: &Rig) -> Outcome {
    let kernels = rig.kernels()?;
    let streams = rig.streams(3)?;
    let (source, buffer) = (rig.pinned_of(&[7; 65_536])?, rig.buffer(3 * 65_536)?);
    let marks = [rig.word(), rig.word(), rig.word()];
    let gate = rig.gate(streams[0])?;
    for (index, stream) in streams.iter().enumerate() {
        rig.htod((buffer, 65_536 * index as u64), (&source, 0), 65_536, *stream)?;
        rig.launch_noop(kernels.noop, *stream)?;
        rig.mark(*stream, &marks[index], 1)?;
    }
    rig.reaches("the second stream", &marks[1], 1)?;
    rig.reaches("the third stream", &marks[2], 1)?;
    rig.stays("the stream at the gate", &marks[0], 0)?;
    gate.open();
    rig.reaches("the opened stream", &marks[0], 1)
}

/// A query distinguishes a busy stream from an idle one.
pub fn query(rig: &Rig) -> Outcome {
    let stream = rig.stream()?;
    ensure!(rig.driver().stream_query(stream)?, "a fresh stream is at rest");
    let gate = rig.gate(stream)?;
    rig.held("behind a gate", stream)?;
    gate.open();
    rig.settle(stream)
}

/// Synchronising a stream waits for its work.
pub fn synchronize(rig: &Rig) -> Outcome {
    let (stream, mark) = (rig.stream()?, rig.word());
    let gate = rig.gate(stream)?;
    rig.mark(stream, &mark, 7)?;
    let opener = rig.open_later(&gate);
    rig.driver().stream_synchronize(stream)?;
    same("the mark after the synchronise", &mark.load(), &7)?;
    rig.join(opener)
}

/// Synchronising the context waits for all streams.
pub fn synchronize_context(rig: &Rig) -> Outcome {
    let (streams, marks) = (rig.streams(3)?, [rig.word(), rig.word(), rig.word()]);
    let gate = rig.new_gate();
    for (stream, mark) in streams.iter().zip(&marks) {
        rig.wait_at(&gate, *stream)?;
        rig.mark(*stream, mark, 9)?;
    }
    let opener = rig.open_later(&gate);
    rig.driver().context_synchronize()?;
    same("the marks after the synchronise", &marks.each_ref().map(|mark| mark.load()), &[9; 3])?;
    rig.join(opener)
}

/// Synchronising one stream does not wait for another.
pub fn synchronize_waits_for_its_own_stream_only(rig: &Rig) -> Outcome {
    let (held, free, mark) = (rig.stream()?, rig.stream()?, rig.word());
    let gate = rig.gate(held)?;
    rig.mark(free, &mark, 1)?;
    rig.driver().stream_synchronize(free)?;
    same("the mark of the free stream", &mark.load(), &1)?;
    rig.held("the stream at the gate", held)?;
    gate.open();
    rig.settle(held)
}

/// A destroyed stream finishes its operations.
pub fn destroyed_stream_finishes(rig: &Rig) -> Outcome {
    let (stream, mark, buffer) = (rig.stream()?, rig.word(), rig.buffer_of(&[1; 512])?);
    let reader = rig.stream()?;
    let gate = rig.gate(stream)?;
    rig.driver().memset_d8_async(buffer.at(0), 2, 512, stream)?;
    rig.mark(stream, &mark, 1)?;
    rig.disown_stream(stream);
    rig.driver().stream_destroy(stream)?;
    rig.stays("before the gate opens", &mark, 0)?;
    gate.open();
    rig.reaches("the destroyed stream's last write", &mark, 1)?;
    same_bytes("its memset", &rig.download(buffer, reader)?, &[2; 512])
}

/// With more operations than a stream holds, the submitter waits for room and no operation is lost.
pub fn more_operations_than_fit(rig: &Rig) -> Outcome {
    const COUNT: u32 = 5_000;
    let (stream, word) = (rig.stream()?, rig.word());
    for value in 1..=COUNT {
        rig.driver().mem_op(stream, MemOp::write32(word.address, value))?;
    }
    rig.reaches("the last write", &word, COUNT)?;
    rig.settle(stream)
}

/// Two threads may submit to one stream: all operations take effect.
pub fn two_threads_feed_one_stream(rig: &Rig) -> Outcome {
    const EACH: i32 = 200;
    let (kernels, stream, counter) = (rig.kernels()?, rig.stream()?, rig.buffer_of(&[0; 64])?);
    let words = [rig.word(), rig.word()];
    let feeders = words.clone().map(|word| {
        rig.spawn("feeder", move |driver| {
            for value in 1..=EACH {
                driver.mem_op(stream, MemOp::write32(word.address, value as u32))?;
                driver.host().sleep(Nanos(500));
            }
            Ok(())
        })
    });
    for _ in 0..EACH {
        rig.launch_add(kernels.add, (counter, 0), 1, stream)?;
    }
    for feeder in feeders {
        rig.join(feeder)?;
    }
    rig.settle(stream)?;
    same("the feeders' last writes", &words.map(|word| word.load()), &[EACH as u32; 2])?;
    same_bytes("the launches", &rig.download(counter, stream)?[..4], &EACH.to_le_bytes())
}

/// The properties that a stream was made with can be read back.
pub fn properties(rig: &Rig) -> Outcome {
    for flags in [StreamFlags::DEFAULT, StreamFlags::NON_BLOCKING] {
        let stream = rig.stream_with(flags, 0)?;
        same("flags", &rig.driver().stream_flags(stream)?, &flags)?;
        same("context", &rig.driver().stream_context(stream)?, &rig.context())?;
        same("priority", &rig.driver().stream_priority(stream)?, &0)?;
    }
    Ok(())
}
