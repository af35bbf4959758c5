//! Events: order across streams, and time.

use hal::{Code, EventFlags, Nanos, Stream};

use crate::failure::{Outcome, ensure, refused, same, same_bytes};
use crate::place::Buffer;
use crate::prng::Prng;
use crate::rig::Rig;

/// A stream waits for the work that an event stands for in another stream.
pub fn wait_orders_streams(rig: &Rig) -> Outcome {
    let (first, second, event) = (rig.stream()?, rig.stream()?, rig.event()?);
    let (buffer, copy) = (rig.buffer_of(&[1; 4096])?, rig.buffer_of(&[0; 4096])?);
    let gate = rig.gate(first)?;
    rig.driver().memset_d8_async(buffer.at(0), 2, 4096, first)?;
    rig.driver().event_record(event, first)?;
    rig.driver().stream_wait_event(second, event)?;
    rig.dtod((copy, 0), (buffer, 0), 4096, second)?;
    rig.held("the waiting stream", second)?;
    gate.open();
    same_bytes("the bytes that the second stream saw", &rig.download(copy, second)?, &[2; 4096])
}

/// A buffer handed from stream to stream arrives unchanged on every path.
pub fn random_relay(rig: &Rig) -> Outcome {
    const BYTES: u64 = 3_000;
    let mut prng = Prng::new(11);
    let payload = prng.bytes(BYTES);
    let (streams, events) = (rig.streams(6)?, (0..4).map(|_| rig.event()).collect::<Result<Vec<_>, _>>()?);
    let mut places: Vec<Buffer> = vec![rig.buffer_of(&payload)?];
    for _ in 0..40 {
        places.push(rig.buffer_of(&vec![0xee; BYTES as usize])?);
    }
    let mut at = streams[0];
    let gate = rig.gate(at)?;
    for hop in 1..places.len() {
        let (next, event) = (prng.pick(&streams), prng.pick(&events));
        rig.driver().event_record(event, at)?;
        rig.driver().stream_wait_event(next, event)?;
        rig.dtod((places[hop], 0), (places[hop - 1], 0), BYTES, next)?;
        at = next;
    }
    gate.open();
    same_bytes("the last place", &rig.download(places[places.len() - 1], at)?, &payload)?;
    rig.settle_all(&streams)
}

/// One stream waits for several, several for one.
pub fn fork_and_join(rig: &Rig) -> Outcome {
    let (streams, root) = (rig.streams(4)?, rig.stream()?);
    let buffer = rig.buffer_of(&[0; 4 * 256])?;
    let fork = rig.event()?;
    let gate = rig.gate(root)?;
    rig.driver().event_record(fork, root)?;
    for (index, stream) in streams.iter().enumerate() {
        rig.driver().stream_wait_event(*stream, fork)?;
        rig.driver().memset_d8_async(buffer.at(256 * index as u64), 1 + index as u8, 256, *stream)?;
        let join = rig.event()?;
        rig.driver().event_record(join, *stream)?;
        rig.driver().stream_wait_event(root, join)?;
    }
    rig.held("a forked stream", streams[3])?;
    gate.open();
    let expected: Vec<u8> = (0..4 * 256).map(|at| 1 + (at / 256) as u8).collect();
    same_bytes("after the join", &rig.download(buffer, root)?, &expected)
}

/// An event that was never recorded is complete, and no stream waits for it.
pub fn never_recorded(rig: &Rig) -> Outcome {
    let (stream, event, mark) = (rig.stream()?, rig.event_with(EventFlags::DEFAULT)?, rig.word());
    ensure!(rig.driver().event_query(event)?, "an event that was never recorded is complete");
    rig.driver().event_synchronize(event)?;
    rig.driver().stream_wait_event(stream, event)?;
    rig.mark(stream, &mark, 1)?;
    rig.reaches("behind a wait for nothing", &mark, 1)
}

/// A query tells recorded from reached.
pub fn query_and_synchronize(rig: &Rig) -> Outcome {
    let (stream, event, mark) = (rig.stream()?, rig.event()?, rig.word());
    let gate = rig.gate(stream)?;
    rig.mark(stream, &mark, 5)?;
    rig.driver().event_record(event, stream)?;
    rig.driver().host().sleep(Nanos::from_us(100));
    ensure!(!rig.driver().event_query(event)?, "an event behind a gate is not complete");
    let opener = rig.open_later(&gate);
    rig.driver().event_synchronize(event)?;
    same("the work before the event", &mark.load(), &5)?;
    ensure!(rig.driver().event_query(event)?, "a synchronised event is complete");
    rig.join(opener)
}

/// An event stands for the work that is in the stream when it is recorded, not for later work.
pub fn later_work_is_not_captured(rig: &Rig) -> Outcome {
    let (stream, event) = (rig.stream()?, rig.event()?);
    rig.driver().event_record(event, stream)?;
    let gate = rig.gate(stream)?;
    rig.driver().event_synchronize(event)?;
    rig.held("the stream behind the event", stream)?;
    gate.open();
    rig.settle(stream)
}

/// A wait uses the latest record at the time when the wait was submitted.
pub fn wait_is_captured_at_the_call(rig: &Rig) -> Outcome {
    let (first, later, waiter) = (rig.stream()?, rig.stream()?, rig.stream()?);
    let (event, mark) = (rig.event()?, rig.word());
    let (first_gate, later_gate) = (rig.gate(first)?, rig.gate(later)?);
    rig.driver().event_record(event, first)?;
    rig.driver().stream_wait_event(waiter, event)?;
    rig.mark(waiter, &mark, 1)?;
    rig.driver().event_record(event, later)?;
    rig.stays("before the first gate opens", &mark, 0)?;
    first_gate.open();
    rig.reaches("after the first record's work", &mark, 1)?;
    ensure!(!rig.driver().event_query(event)?, "the event now stands for its second record");
    later_gate.open();
    rig.settle_all(&[later, waiter])?;
    ensure!(rig.driver().event_query(event)?, "the second record is complete");
    Ok(())
}

/// A wait after a second record uses the second.
pub fn record_again(rig: &Rig) -> Outcome {
    let (first, later, waiter) = (rig.stream()?, rig.stream()?, rig.stream()?);
    let (event, mark) = (rig.event()?, rig.word());
    let gate = rig.gate(later)?;
    rig.driver().event_record(event, first)?;
    rig.settle(first)?;
    rig.driver().event_record(event, later)?;
    rig.driver().stream_wait_event(waiter, event)?;
    rig.mark(waiter, &mark, 1)?;
    rig.stays("behind the second record", &mark, 0)?;
    gate.open();
    rig.reaches("after the second record", &mark, 1)
}

/// A destroyed event still holds back the streams that wait for it.
pub fn destroyed_event_keeps_its_waiters(rig: &Rig) -> Outcome {
    let (first, waiter, event, mark) = (rig.stream()?, rig.stream()?, rig.event()?, rig.word());
    let gate = rig.gate(first)?;
    rig.driver().event_record(event, first)?;
    rig.driver().stream_wait_event(waiter, event)?;
    rig.mark(waiter, &mark, 1)?;
    rig.disown_event(event);
    rig.driver().event_destroy(event)?;
    rig.stays("behind a destroyed event", &mark, 0)?;
    gate.open();
    rig.reaches("after its work", &mark, 1)
}

/// Waiting for an event of the same stream changes nothing.
pub fn wait_in_the_same_stream(rig: &Rig) -> Outcome {
    let (stream, event, mark) = (rig.stream()?, rig.event()?, rig.word());
    rig.driver().event_record(event, stream)?;
    rig.driver().stream_wait_event(stream, event)?;
    rig.mark(stream, &mark, 1)?;
    rig.reaches("behind its own event", &mark, 1)
}

/// Elapsed time measures the work between two events.
pub fn elapsed(rig: &Rig) -> Outcome {
    let (kernels, stream) = (rig.kernels()?, rig.stream()?);
    let (start, end) = (rig.event_with(EventFlags::DEFAULT)?, rig.event_with(EventFlags::BLOCKING_SYNC)?);
    for span_us in [200, 2_000] {
        rig.driver().event_record(start, stream)?;
        rig.launch_spin(kernels.spin, span_us * 1_000, stream)?;
        rig.driver().event_record(end, stream)?;
        rig.driver().event_synchronize(end)?;
        let ms = rig.driver().event_elapsed_ms(start, end)?;
        let expected = span_us as f32 / 1e3;
        ensure!(ms >= 0.95 * expected, "{expected} ms of spinning took {ms} ms by the events");
        ensure!(ms <= expected + 50.0, "{expected} ms of spinning took {ms} ms by the events");
    }
    Ok(())
}

/// Elapsed time refuses events that took no time stamp or have not happened.
pub fn elapsed_refusals(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let stream = rig.stream()?;
    let (start, end) = (rig.event_with(EventFlags::DEFAULT)?, rig.event_with(EventFlags::DEFAULT)?);
    let untimed = rig.event()?;
    refused("never recorded", driver.event_elapsed_ms(start, end), &[Code::INVALID_HANDLE])?;
    driver.event_record(start, stream)?;
    driver.event_record(untimed, stream)?;
    let gate = rig.gate(stream)?;
    driver.event_record(end, stream)?;
    driver.event_synchronize(start)?;
    refused("still to come", driver.event_elapsed_ms(start, end), &[Code::NOT_READY])?;
    refused("without time stamps", driver.event_elapsed_ms(start, untimed), &[Code::INVALID_HANDLE])?;
    gate.open();
    driver.event_synchronize(end)?;
    ensure!(driver.event_elapsed_ms(start, end)? > 0.0, "time goes forward");
    ensure!(driver.event_elapsed_ms(end, start)? < 0.0, "time goes back the other way");
    ensure!(driver.event_elapsed_ms(start, start)? == 0.0, "no time passes between an event and itself");
    Ok(())
}

/// An event of the default stream orders another stream behind it.
pub fn default_stream_events(rig: &Rig) -> Outcome {
    for origin in [Stream::LEGACY, Stream::PER_THREAD] {
        let (stream, event, mark) = (rig.stream()?, rig.event()?, rig.word());
        let gate = rig.gate(origin)?;
        rig.driver().event_record(event, origin)?;
        rig.driver().stream_wait_event(stream, event)?;
        rig.mark(stream, &mark, 1)?;
        rig.stays("behind the default stream", &mark, 0)?;
        gate.open();
        rig.reaches("after the default stream", &mark, 1)?;
    }
    Ok(())
}
