//! Stream memory operations: every condition and width, in device memory and in mapped host memory.

use hal::{Attribute, Code, Device, DevicePtr, MemOp, Nanos, WaitCondition, Width};

use crate::failure::{Failure, Outcome, ensure, refused, same, same_bytes};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::prng::Prng;
use crate::rig::{Rig, span};

const CONDITIONS: [WaitCondition; 4] = [WaitCondition::Geq, WaitCondition::Eq, WaitCondition::And, WaitCondition::Nor];

/// The widths that the device supports.
fn widths(rig: &Rig) -> Result<Vec<Width>, Failure> {
    let wide = rig.driver().device_attribute(Attribute::CAN_USE_64_BIT_STREAM_MEM_OPS, Device(0))?;
    Ok(if wide == 1 { vec![Width::W32, Width::W64] } else { vec![Width::W32] })
}

/// The conditions that the device supports.
fn conditions(rig: &Rig) -> Result<Vec<WaitCondition>, Failure> {
    let nor = rig.driver().device_attribute(Attribute::CAN_USE_STREAM_WAIT_VALUE_NOR, Device(0))?;
    Ok(CONDITIONS.into_iter().filter(|condition| nor == 1 || *condition != WaitCondition::Nor).collect())
}

/// A word that waits look at, in either memory, and a way to change it from outside the waiting stream.
enum Cell<'a> {
    Host(&'a Pinned, DevicePtr),
    Device(Buffer),
}

impl Cell<'_> {
    fn address(&self) -> DevicePtr {
        match self {
            Cell::Host(_, address) => *address,
            Cell::Device(buffer) => buffer.base,
        }
    }

    /// Stores all 64 bits: the CPU, or another stream.
    fn store(&self, rig: &Rig, value: u64, other: hal::Stream) -> Outcome {
        match self {
            Cell::Host(pinned, _) => pinned.word64(0).store(value, std::sync::atomic::Ordering::Release),
            Cell::Device(buffer) => {
                let halves = [value as u32, (value >> 32) as u32];
                rig.driver().mem_op_batch(
                    other,
                    &[MemOp::write32(buffer.at(4), halves[1]), MemOp::write32(buffer.at(0), halves[0])],
                )?;
                rig.settle(other)?;
            }
        }
        Ok(())
    }
}

/// A value to wait for, a word that does not satisfy it, and a word that does.
fn words_around(prng: &mut Prng, condition: WaitCondition, width: Width) -> (u64, u64, u64) {
    let junk = prng.bits() << 32;
    loop {
        let (value, held, freed) = match condition {
            WaitCondition::Geq => around_geq(prng, width),
            WaitCondition::Eq => (prng.bits(), prng.bits(), 0),
            WaitCondition::And | WaitCondition::Nor => (prng.bits(), prng.bits() & prng.bits(), prng.bits()),
        };
        let held = match condition {
            WaitCondition::And => held & !value,
            WaitCondition::Nor => held | !value,
            _ => held,
        };
        let freed = if condition == WaitCondition::Eq { value } else { freed };
        let trim = |word: u64| if width == Width::W32 { word & u64::from(u32::MAX) | junk } else { word };
        let (held, freed) = (trim(held), trim(freed));
        let value = if width == Width::W32 { value & u64::from(u32::MAX) } else { value };
        if !condition.holds(held, value, width) && condition.holds(freed, value, width) {
            return (value, held, freed);
        }
    }
}

/// Values near a random point, so that the comparison wraps as often as not.
fn around_geq(prng: &mut Prng, width: Width) -> (u64, u64, u64) {
    let top = if width == Width::W32 { 1_u64 << 31 } else { 1 << 63 };
    let anything = prng.bits();
    let value = prng.pick(&[0, 1, 5, top - 1, top, top + 1, u64::MAX, anything]);
    let (below, above) = (prng.between(1, 1_000), prng.between(0, 1_000));
    (value, value.wrapping_sub(below), value.wrapping_add(above))
}

/// One wait on one word: it holds exactly while the condition does not.
fn wait_case(
    rig: &Rig,
    cell: &Cell,
    streams: [hal::Stream; 2],
    case: (WaitCondition, Width, u64, u64, u64),
) -> Outcome {
    let (condition, width, value, held, freed) = case;
    let what = format!("{condition:?} {width:?} {value:#x}, word {held:#x} then {freed:#x}");
    let [waiter, other] = streams;
    let (mark, end) = (rig.word(), rig.word());
    let wait = MemOp::Wait { address: cell.address(), value, width, condition };
    cell.store(rig, held, other)?;
    rig.driver().mem_op(waiter, wait)?;
    rig.mark(waiter, &mark, 1)?;
    rig.stays(&what, &mark, 0)?;
    cell.store(rig, freed, other)?;
    let freed_in_time = rig.reaches(&what, &mark, 1);
    if freed_in_time.is_err() {
        rescue(rig, cell, (condition, width, value), other)?;
        return freed_in_time;
    }
    rig.driver().mem_op(waiter, wait)?;
    rig.mark(waiter, &end, 1)?;
    rig.reaches(&format!("{what}, satisfied at once"), &end, 1)
}

/// Tries words until the stream goes on, because a failed check must not leave a stream that stands still.
fn rescue(rig: &Rig, cell: &Cell, wait: (WaitCondition, Width, u64), other: hal::Stream) -> Outcome {
    let value = wait.2;
    for word in [value, !value, 0, u64::MAX, value.wrapping_add(1), value & u64::from(u32::MAX)] {
        cell.store(rig, word, other)?;
        rig.driver().host().sleep(Nanos::from_us(100));
    }
    Ok(())
}

fn all_waits(rig: &Rig, cell: &Cell, seed: u64) -> Outcome {
    let (mut prng, streams) = (Prng::new(seed), [rig.stream()?, rig.stream()?]);
    for width in widths(rig)? {
        for condition in conditions(rig)? {
            for _ in 0..6 {
                let (value, held, freed) = words_around(&mut prng, condition, width);
                wait_case(rig, cell, streams, (condition, width, value, held, freed))?;
            }
        }
    }
    Ok(())
}

/// Waits on a word of mapped host memory, released by plain CPU stores.
pub fn waits_on_host_memory(rig: &Rig) -> Outcome {
    let pinned = rig.pinned(4096)?;
    let address = rig.driver().host_device_pointer(pinned.pointer())?;
    all_waits(rig, &Cell::Host(&pinned, address), 51)
}

/// Waits on a word of device memory, released by writes of another stream.
pub fn waits_on_device_memory(rig: &Rig) -> Outcome {
    let buffer = rig.buffer_of(&[0; 256])?;
    all_waits(rig, &Cell::Device(buffer), 52)
}

/// GEQ is cyclic: a word just past the wrap satisfies a value just before it, and not the other way round.
pub fn geq_is_cyclic(rig: &Rig) -> Outcome {
    let pinned = rig.pinned(4096)?;
    let address = rig.driver().host_device_pointer(pinned.pointer())?;
    let (cell, streams) = (Cell::Host(&pinned, address), [rig.stream()?, rig.stream()?]);
    let geq = WaitCondition::Geq;
    let half = 1_u64 << 31;
    wait_case(rig, &cell, streams, (geq, Width::W32, 0xffff_fff0, 0xffff_ffef, 3))?;
    wait_case(rig, &cell, streams, (geq, Width::W32, 3, 0xffff_fff0, 4))?;
    wait_case(rig, &cell, streams, (geq, Width::W32, half - 1, half - 2, half))?;
    if widths(rig)?.contains(&Width::W64) {
        let half = 1_u64 << 63;
        wait_case(rig, &cell, streams, (geq, Width::W64, u64::MAX - 4, u64::MAX - 5, 2))?;
        wait_case(rig, &cell, streams, (geq, Width::W64, half - 1, half - 2, half))?;
    }
    Ok(())
}

/// A 32-bit wait does not look at its neighbour; a 64-bit wait looks at both halves.
pub fn width_of_waits(rig: &Rig) -> Outcome {
    let pinned = rig.pinned(4096)?;
    let address = rig.driver().host_device_pointer(pinned.pointer())?;
    let (cell, streams) = (Cell::Host(&pinned, address), [rig.stream()?, rig.stream()?]);
    let eq = WaitCondition::Eq;
    wait_case(rig, &cell, streams, (eq, Width::W32, 7, 0xaaaa_aaaa_0000_0006, 0xaaaa_aaaa_0000_0007))?;
    if widths(rig)?.contains(&Width::W64) {
        wait_case(rig, &cell, streams, (eq, Width::W64, 0x1_0000_0007, 7, 0x1_0000_0007))?;
    }
    Ok(())
}

/// A write stores exactly its width.
pub fn width_of_writes(rig: &Rig) -> Outcome {
    let (stream, pinned, buffer) = (rig.stream()?, rig.pinned_of(&[0xff; 64])?, rig.buffer_of(&[0xff; 64])?);
    let mapped = rig.driver().host_device_pointer(pinned.pointer())?;
    let mut expected = vec![0xff; 64];
    expected[4..8].copy_from_slice(&0x0102_0304_u32.to_le_bytes());
    for base in [mapped, buffer.base] {
        rig.driver().mem_op(stream, MemOp::write32(base.offset(4), 0x0102_0304))?;
    }
    if widths(rig)?.contains(&Width::W64) {
        expected[16..24].copy_from_slice(&0x0506_0708_090a_0b0c_u64.to_le_bytes());
        for base in [mapped, buffer.base] {
            rig.driver().mem_op(stream, MemOp::write64(base.offset(16), 0x0506_0708_090a_0b0c))?;
        }
    }
    rig.settle(stream)?;
    same_bytes("host memory", &pinned.read_all(), &expected)?;
    same_bytes("device memory", &rig.download(buffer, stream)?, &expected)
}

/// A batch acts in order.
pub fn batch(rig: &Rig) -> Outcome {
    let (stream, gate, word, second) = (rig.stream()?, rig.word(), rig.word(), rig.word());
    rig.driver().mem_op_batch(
        stream,
        &[
            MemOp::write32(word.address, 1),
            MemOp::wait32(gate.address, 2, WaitCondition::Eq),
            MemOp::write32(word.address, 2),
            MemOp::wait32(gate.address, 4, WaitCondition::And),
            MemOp::write32(second.address, 3),
        ],
    )?;
    rig.reaches("before the first wait", &word, 1)?;
    let stayed = rig.stays("at the first wait", &word, 1);
    gate.store(2);
    let on = rig.reaches("after the first wait", &word, 2);
    let stayed_again = rig.stays("at the second wait", &second, 0);
    gate.store(4);
    rig.reaches("after the second wait", &second, 3)?;
    stayed.and(on).and(stayed_again)
}

/// A long batch of writes to many words takes effect completely.
pub fn long_batch(rig: &Rig) -> Outcome {
    let (stream, buffer) = (rig.stream()?, rig.buffer_of(&[0; 1024])?);
    let ops: Vec<MemOp> = (0..200).map(|index| MemOp::write32(buffer.at(4 * index), 1 + index as u32)).collect();
    rig.driver().mem_op_batch(stream, &ops)?;
    let mut expected: Vec<u8> = (1_u32..=200).flat_map(u32::to_le_bytes).collect();
    expected.resize(1024, 0);
    same_bytes("the device", &rig.download(buffer, stream)?, &expected)
}

/// A batch is accepted completely or refused.
pub fn batch_limits(rig: &Rig) -> Outcome {
    let (driver, stream, word) = (rig.driver(), rig.stream()?, rig.word());
    let good = MemOp::write32(word.address, 9);
    driver.mem_op_batch(stream, &[])?;
    let half_bad = driver.mem_op_batch(stream, &[good, MemOp::write32(DevicePtr::NULL, 1)]);
    refused("a batch with a bad operation", half_bad, &[Code::INVALID_VALUE])?;
    refused("a batch of 257", driver.mem_op_batch(stream, &[good; 257]), &[Code::INVALID_VALUE])?;
    rig.settle(stream)?;
    same("the good operation of a bad batch", &word.load(), &0)
}

/// A thread that sees a write also sees all bytes that the stream wrote before.
pub fn write_publishes_copies(rig: &Rig) -> Outcome {
    const BYTES: u64 = 1 << 20;
    let (mut prng, stream, flag) = (Prng::new(53), rig.stream()?, rig.word());
    let target = rig.pinned(BYTES)?;
    for round in 1..=8 {
        let sent = prng.bytes(BYTES);
        let source = rig.buffer_of(&sent)?;
        rig.dtoh((&target, 0), (source, 0), BYTES, stream)?;
        rig.mark(stream, &flag, round)?;
        rig.reaches("the flag", &flag, round)?;
        same_bytes("the bytes that the flag publishes", &target.read_all(), &sent)?;
    }
    Ok(())
}

/// A wait holds back its own stream and no other, also with copies on all of them.
pub fn wait_holds_its_own_stream(rig: &Rig) -> Outcome {
    let streams = rig.streams(4)?;
    let (source, buffer) = (rig.pinned_of(&[3; 65_536])?, rig.buffer_of(&[0; 4 * 65_536])?);
    let marks: Vec<_> = streams.iter().map(|_| rig.word()).collect();
    let gate = rig.gate(streams[1])?;
    for (index, stream) in streams.iter().enumerate() {
        rig.htod((buffer, 65_536 * index as u64), (&source, 0), 65_536, *stream)?;
        rig.mark(*stream, &marks[index], 1)?;
    }
    for index in [0, 2, 3] {
        rig.reaches(&format!("stream {index}"), &marks[index], 1)?;
    }
    rig.stays("the stream at the gate", &marks[1], 0)?;
    gate.open();
    rig.settle_all(&streams)?;
    same_bytes("all copies", &rig.download(buffer, streams[0])?, &[3; 4 * 65_536])
}

/// One stream's write releases another stream's wait.
pub fn streams_signal_each_other(rig: &Rig) -> Outcome {
    const ROUNDS: u32 = 50;
    let (ping, pong, buffer) = (rig.stream()?, rig.stream()?, rig.buffer_of(&[0; 256])?);
    let (there, back, end) = (buffer.at(0), buffer.at(128), rig.word());
    for round in 1..=ROUNDS {
        rig.driver().mem_op(ping, MemOp::write32(there, round))?;
        rig.driver().mem_op(ping, MemOp::wait32(back, round, WaitCondition::Geq))?;
        rig.driver().mem_op(pong, MemOp::wait32(there, round, WaitCondition::Geq))?;
        rig.driver().mem_op(pong, MemOp::write32(back, round))?;
    }
    rig.mark(ping, &end, ROUNDS)?;
    rig.reaches("the last round", &end, ROUNDS)?;
    rig.settle_all(&[ping, pong])
}

/// A CPU thread and a stream hand a word back and forth.
pub fn thread_and_stream_take_turns(rig: &Rig) -> Outcome {
    const ROUNDS: u32 = 20;
    let (stream, turn, answer) = (rig.stream()?, rig.word(), rig.word());
    let (thread_turn, thread_answer) = (turn.clone(), answer.clone());
    let thread = rig.spawn("answers", move |driver| {
        for round in 1..=ROUNDS {
            let deadline = driver.host().now() + span(driver);
            driver.host().wait_until(Some(deadline), &mut || thread_turn.load() == round);
            ensure!(thread_turn.load() == round, "the stream's turn {round} never came");
            thread_answer.store(round);
        }
        Ok(())
    });
    for round in 1..=ROUNDS {
        rig.mark(stream, &turn, round)?;
        rig.driver().mem_op(stream, MemOp::wait32(answer.address, round, WaitCondition::Eq))?;
    }
    let settled = rig.settle(stream);
    answer.store(ROUNDS);
    rig.join(thread)?;
    settled
}

/// Addresses that are null, unaligned or unknown to the driver are refused.
pub fn refusals(rig: &Rig) -> Outcome {
    let (driver, stream, word) = (rig.driver(), rig.stream()?, rig.word());
    let pageable = [0_u64; 4];
    let outside = DevicePtr(pageable.as_ptr() as u64);
    for (what, address) in [("null", DevicePtr::NULL), ("unaligned", word.address.offset(2)), ("pageable", outside)] {
        let wait = MemOp::wait32(address, 0, WaitCondition::Geq);
        refused(&format!("wait, {what}"), driver.mem_op(stream, wait), &[Code::INVALID_VALUE])?;
        let write = MemOp::write32(address, 1);
        refused(&format!("write, {what}"), driver.mem_op(stream, write), &[Code::INVALID_VALUE])?;
    }
    if widths(rig)?.contains(&Width::W64) {
        let write = MemOp::write64(word.address.offset(4), 1);
        refused("write64, half aligned", driver.mem_op(stream, write), &[Code::INVALID_VALUE])?;
    }
    let freed = driver.mem_alloc(4 << 20)?;
    driver.mem_free(freed)?;
    refused("freed", driver.mem_op(stream, MemOp::write32(freed, 1)), &[Code::INVALID_VALUE])?;
    rig.settle(stream)?;
    same("the words beside", &(word.load64(), pageable), &(0, [0; 4]))
}
