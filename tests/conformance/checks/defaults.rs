//! The default streams: the legacy one, which joins all blocking streams, and the one of each thread.

use hal::{Stream, StreamFlags};

use crate::failure::{Outcome, ensure, same_bytes};
use crate::rig::Rig;

/// The legacy stream waits for the blocking streams.
pub fn legacy_waits_for_blocking(rig: &Rig) -> Outcome {
    for legacy in [Stream::DEFAULT, Stream::LEGACY] {
        let (blocking, mark) = (rig.stream_with(StreamFlags::DEFAULT, 0)?, rig.word());
        let gate = rig.gate(blocking)?;
        rig.mark(legacy, &mark, 1)?;
        rig.stays("the legacy stream behind a blocking one", &mark, 0)?;
        gate.open();
        rig.reaches("the legacy stream", &mark, 1)?;
    }
    Ok(())
}

/// The blocking streams wait for the legacy stream.
pub fn blocking_waits_for_legacy(rig: &Rig) -> Outcome {
    for legacy in [Stream::DEFAULT, Stream::LEGACY] {
        let (blocking, mark) = (rig.stream_with(StreamFlags::DEFAULT, 0)?, rig.word());
        let gate = rig.gate(legacy)?;
        rig.mark(blocking, &mark, 1)?;
        rig.stays("a blocking stream behind the legacy one", &mark, 0)?;
        gate.open();
        rig.reaches("the blocking stream", &mark, 1)?;
    }
    Ok(())
}

/// Two blocking streams with legacy work between them are ordered through it.
pub fn legacy_orders_blocking_streams(rig: &Rig) -> Outcome {
    let streams = [rig.stream_with(StreamFlags::DEFAULT, 0)?, rig.stream_with(StreamFlags::DEFAULT, 0)?];
    let buffers = [rig.buffer_of(&[1; 512])?, rig.buffer_of(&[2; 512])?, rig.buffer_of(&[3; 512])?];
    let gate = rig.gate(streams[0])?;
    rig.driver().memset_d8_async(buffers[0].at(0), 7, 512, streams[0])?;
    rig.dtod((buffers[1], 0), (buffers[0], 0), 512, Stream::LEGACY)?;
    rig.dtod((buffers[2], 0), (buffers[1], 0), 512, streams[1])?;
    rig.held("the second stream", streams[1])?;
    gate.open();
    same_bytes("the bytes that came through", &rig.download(buffers[2], streams[1])?, &[7; 512])
}

/// Non-blocking streams and the legacy stream do not wait for each other.
pub fn non_blocking_is_free(rig: &Rig) -> Outcome {
    let (free, marks) = (rig.stream()?, [rig.word(), rig.word()]);
    let gate = rig.gate(Stream::LEGACY)?;
    rig.mark(free, &marks[0], 1)?;
    rig.reaches("a non-blocking stream beside the legacy one", &marks[0], 1)?;
    rig.held("the legacy stream", Stream::LEGACY)?;
    gate.open();
    rig.settle(Stream::LEGACY)?;
    let gate = rig.gate(free)?;
    rig.mark(Stream::LEGACY, &marks[1], 1)?;
    rig.reaches("the legacy stream beside a non-blocking one", &marks[1], 1)?;
    gate.open();
    rig.settle(free)
}

/// Handles 0 and 1 are one stream.
pub fn two_names_of_legacy(rig: &Rig) -> Outcome {
    let buffer = rig.buffer_of(&[0; 256])?;
    let gate = rig.gate(Stream::DEFAULT)?;
    rig.driver().memset_d8_async(buffer.at(0), 1, 256, Stream::DEFAULT)?;
    rig.driver().memset_d8_async(buffer.at(64), 2, 128, Stream::LEGACY)?;
    rig.driver().memset_d8_async(buffer.at(96), 3, 64, Stream::DEFAULT)?;
    rig.held("the other name", Stream::LEGACY)?;
    gate.open();
    rig.settle(Stream::LEGACY)?;
    let expected: Vec<u8> = (0..256)
        .map(|at| match at {
            96..160 => 3,
            64..192 => 2,
            _ => 1,
        })
        .collect();
    same_bytes("in order", &rig.dtoh_now((buffer, 0), 256)?, &expected)
}

/// A synchronous copy waits for the blocking streams, as the legacy stream does.
pub fn synchronous_copy_waits_for_blocking(rig: &Rig) -> Outcome {
    let (blocking, buffer) = (rig.stream_with(StreamFlags::DEFAULT, 0)?, rig.buffer_of(&[1; 512])?);
    let gate = rig.gate(blocking)?;
    rig.driver().memset_d8_async(buffer.at(0), 4, 512, blocking)?;
    let opener = rig.open_later(&gate);
    let seen = rig.dtoh_now((buffer, 0), 512)?;
    rig.join(opener)?;
    same_bytes("the copy", &seen, &[4; 512])
}

/// Each thread has a default stream of its own.
pub fn per_thread_streams(rig: &Rig) -> Outcome {
    let (mine, theirs) = (rig.word(), rig.word());
    let gate = rig.gate(Stream::PER_THREAD)?;
    rig.mark(Stream::PER_THREAD, &mine, 1)?;
    let (address, seen) = (theirs.address, theirs.clone());
    let other = rig.spawn("other", move |driver| {
        driver.mem_op(Stream::PER_THREAD, hal::MemOp::write32(address, 1))?;
        driver.stream_synchronize(Stream::PER_THREAD)?;
        ensure!(seen.load() == 1, "the other thread's stream has not run");
        ensure!(driver.stream_query(Stream::PER_THREAD)?, "the other thread's stream is at rest");
        Ok(())
    });
    let joined = rig.join(other);
    rig.stays("this thread's stream", &mine, 0)?;
    gate.open();
    joined?;
    rig.reaches("this thread's stream", &mine, 1)
}

/// The per-thread stream and the legacy stream wait for each other.
pub fn per_thread_blocks_with_legacy(rig: &Rig) -> Outcome {
    let marks = [rig.word(), rig.word()];
    let gate = rig.gate(Stream::PER_THREAD)?;
    rig.mark(Stream::LEGACY, &marks[0], 1)?;
    rig.stays("the legacy stream", &marks[0], 0)?;
    gate.open();
    rig.reaches("the legacy stream", &marks[0], 1)?;
    let gate = rig.gate(Stream::LEGACY)?;
    rig.mark(Stream::PER_THREAD, &marks[1], 1)?;
    rig.stays("the per-thread stream", &marks[1], 0)?;
    gate.open();
    rig.reaches("the per-thread stream", &marks[1], 1)
}

/// The legacy stream is idle only when the blocking streams are; a blocking stream reports only its own work.
pub fn queries(rig: &Rig) -> Outcome {
    for stream in [rig.stream_with(StreamFlags::DEFAULT, 0)?, Stream::PER_THREAD] {
        let gate = rig.gate(stream)?;
        rig.held("the legacy stream beside a blocking one", Stream::LEGACY)?;
        gate.open();
        rig.settle(Stream::LEGACY)?;
    }
    let gate = rig.gate(Stream::LEGACY)?;
    let at_rest = rig.driver().stream_query(Stream::PER_THREAD)?;
    gate.open();
    ensure!(at_rest, "the per-thread stream has no work and is not at rest");
    rig.settle(Stream::LEGACY)
}
