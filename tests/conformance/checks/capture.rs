//! Stream capture: what is captured does not run, and what cannot be captured is refused.

use hal::{CaptureMode, CaptureStatus, Code, MemOp, Stream, StreamFlags, WaitCondition};

use crate::failure::{Outcome, refused, same, same_bytes};
use crate::rig::Rig;

const MODES: [CaptureMode; 3] = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

/// Ends a capture that is expected to be good.
#[track_caller]
fn end(rig: &Rig, stream: Stream) -> Outcome {
    let graph = rig.driver().stream_end_capture(stream)?;
    Ok(rig.driver().graph_destroy(graph)?)
}

/// The status follows the capture, in every mode.
pub fn status(rig: &Rig) -> Outcome {
    for mode in MODES {
        let (stream, other) = (rig.stream()?, rig.stream()?);
        same("before", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::None)?;
        rig.driver().stream_begin_capture(stream, mode)?;
        same("during", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::Active)?;
        same("another stream", &rig.driver().stream_capture_status(other)?, &CaptureStatus::None)?;
        end(rig, stream)?;
        same("after", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::None)?;
    }
    Ok(())
}

/// Captured work does not run; work after the capture does.
pub fn captured_work_does_not_run(rig: &Rig) -> Outcome {
    let (kernels, stream) = (rig.kernels()?, rig.stream()?);
    let (source, buffer, word) = (rig.pinned_of(&[9; 512])?, rig.buffer_of(&[1; 512])?, rig.word());
    let sink = rig.pinned_of(&[4; 512])?;
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    rig.htod((buffer, 0), (&source, 0), 256, stream)?;
    rig.driver().memset_d8_async(buffer.at(256), 7, 128, stream)?;
    rig.dtod((buffer, 400), (buffer, 0), 64, stream)?;
    rig.dtoh((&sink, 0), (buffer, 0), 512, stream)?;
    rig.launch_store(kernels.store, (buffer, 0), 0xffff_ffff, stream)?;
    rig.mark(stream, &word, 1)?;
    rig.driver().mem_op(stream, MemOp::wait32(word.address, 2, WaitCondition::Geq))?;
    rig.stays("a captured write", &word, 0)?;
    end(rig, stream)?;
    rig.settle(stream)?;
    same_bytes("the host after the capture", &sink.read_all(), &[4; 512])?;
    same_bytes("the device after the capture", &rig.download(buffer, stream)?, &[1; 512])?;
    rig.htod((buffer, 0), (&source, 0), 512, stream)?;
    same_bytes("the device after a copy", &rig.download(buffer, stream)?, &[9; 512])
}

/// Work that was in the stream before the capture still runs.
pub fn earlier_work_runs(rig: &Rig) -> Outcome {
    let (stream, word) = (rig.stream()?, rig.word());
    let gate = rig.gate(stream)?;
    rig.mark(stream, &word, 1)?;
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    rig.mark(stream, &word, 2)?;
    gate.open();
    rig.reaches("the write before the capture", &word, 1)?;
    rig.stays("the captured write", &word, 1)?;
    end(rig, stream)
}

/// A stream that waits for a captured event is captured too, until it is joined.
pub fn fork_and_join(rig: &Rig) -> Outcome {
    let (origin, forked, word) = (rig.stream()?, rig.stream()?, rig.word());
    let (fork, join) = (rig.event()?, rig.event()?);
    rig.driver().stream_begin_capture(origin, CaptureMode::ThreadLocal)?;
    rig.driver().event_record(fork, origin)?;
    rig.driver().stream_wait_event(forked, fork)?;
    same("the forked stream", &rig.driver().stream_capture_status(forked)?, &CaptureStatus::Active)?;
    rig.mark(forked, &word, 1)?;
    rig.driver().event_record(join, forked)?;
    rig.driver().stream_wait_event(origin, join)?;
    end(rig, origin)?;
    same("the forked stream, ended", &rig.driver().stream_capture_status(forked)?, &CaptureStatus::None)?;
    rig.settle(forked)?;
    same("the captured write", &word.load(), &0)
}

/// A fork that is not joined spoils the capture.
pub fn unjoined_fork(rig: &Rig) -> Outcome {
    let (origin, forked, word, fork) = (rig.stream()?, rig.stream()?, rig.word(), rig.event()?);
    rig.driver().stream_begin_capture(origin, CaptureMode::Relaxed)?;
    rig.driver().event_record(fork, origin)?;
    rig.driver().stream_wait_event(forked, fork)?;
    rig.mark(forked, &word, 1)?;
    let ended = rig.driver().stream_end_capture(origin);
    refused("the end", ended, &[Code::STREAM_CAPTURE_UNJOINED])?;
    same("the origin", &rig.driver().stream_capture_status(origin)?, &CaptureStatus::None)?;
    same("the fork", &rig.driver().stream_capture_status(forked)?, &CaptureStatus::None)
}

/// Waiting for a capturing stream is refused and spoils the capture.
pub fn synchronize_is_refused(rig: &Rig) -> Outcome {
    let stream = rig.stream()?;
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    let synchronized = rig.driver().stream_synchronize(stream);
    refused("synchronise", synchronized, &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
    same("the status", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::Invalidated)?;
    let ended = rig.driver().stream_end_capture(stream);
    refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])?;
    same("after the end", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::None)?;
    rig.settle(stream)
}

/// Asking a capturing stream whether it is done is refused and spoils the capture.
pub fn query_is_refused(rig: &Rig) -> Outcome {
    let stream = rig.stream()?;
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    refused("query", rig.driver().stream_query(stream), &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
    let ended = rig.driver().stream_end_capture(stream);
    refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])
}

/// A captured event has nothing to wait for outside its graph.
pub fn captured_event(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (stream, event) = (rig.stream()?, rig.event()?);
    driver.stream_begin_capture(stream, CaptureMode::Relaxed)?;
    driver.event_record(event, stream)?;
    refused("query", driver.event_query(event), &[Code::CAPTURED_EVENT])?;
    refused("the end", driver.stream_end_capture(stream), &[Code::STREAM_CAPTURE_INVALIDATED])?;
    driver.stream_begin_capture(stream, CaptureMode::Relaxed)?;
    driver.event_record(event, stream)?;
    refused("synchronise", driver.event_synchronize(event), &[Code::CAPTURED_EVENT])?;
    refused("the end", driver.stream_end_capture(stream), &[Code::STREAM_CAPTURE_INVALIDATED])
}

/// A capture cannot depend on work outside it.
pub fn isolation(rig: &Rig) -> Outcome {
    let (stream, outside, event) = (rig.stream()?, rig.stream()?, rig.event()?);
    rig.driver().event_record(event, outside)?;
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    let waited = rig.driver().stream_wait_event(stream, event);
    refused("wait for outside", waited, &[Code::STREAM_CAPTURE_ISOLATION])?;
    let ended = rig.driver().stream_end_capture(stream);
    refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])
}

/// Captures begin once and end where they began.
pub fn begin_and_end_in_pairs(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (stream, forked, fork) = (rig.stream()?, rig.stream()?, rig.event()?);
    refused("an end alone", driver.stream_end_capture(stream), &[Code::ILLEGAL_STATE])?;
    let legacy = driver.stream_begin_capture(Stream::LEGACY, CaptureMode::Relaxed);
    refused("the legacy stream", legacy, &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
    driver.stream_begin_capture(stream, CaptureMode::Relaxed)?;
    let again = driver.stream_begin_capture(stream, CaptureMode::Relaxed);
    refused("a second begin", again, &[Code::ILLEGAL_STATE])?;
    same("still capturing", &driver.stream_capture_status(stream)?, &CaptureStatus::Active)?;
    driver.event_record(fork, stream)?;
    driver.stream_wait_event(forked, fork)?;
    refused("an end of a fork", driver.stream_end_capture(forked), &[Code::STREAM_CAPTURE_UNMATCHED])?;
    let _ = driver.stream_end_capture(stream).map(|graph| driver.graph_destroy(graph));
    same("in the end", &driver.stream_capture_status(stream)?, &CaptureStatus::None)
}

/// A capture that belongs to a thread ends on that thread; a relaxed one anywhere.
pub fn ending_on_another_thread(rig: &Rig) -> Outcome {
    let stream = rig.stream()?;
    for mode in MODES {
        rig.driver().stream_begin_capture(stream, mode)?;
        let ender = rig.spawn("ender", move |driver| Ok(driver.stream_end_capture(stream)));
        let ended = rig.join(ender)?;
        if mode == CaptureMode::Relaxed {
            rig.driver().graph_destroy(ended?)?;
        } else {
            refused("the end elsewhere", ended, &[Code::STREAM_CAPTURE_WRONG_THREAD])?;
            let _ = rig.driver().stream_end_capture(stream).map(|graph| rig.driver().graph_destroy(graph));
        }
        same("in the end", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::None)?;
    }
    Ok(())
}

/// The legacy stream would tie a capturing blocking stream to work outside: refused. A non-blocking one it leaves alone.
pub fn legacy_stream_beside_a_capture(rig: &Rig) -> Outcome {
    let buffer = rig.buffer_of(&[0; 64])?;
    let blocking = rig.stream_with(StreamFlags::DEFAULT, 0)?;
    rig.driver().stream_begin_capture(blocking, CaptureMode::Relaxed)?;
    let set = rig.driver().memset_d8_async(buffer.at(0), 1, 64, Stream::LEGACY);
    refused("the legacy stream", set, &[Code::STREAM_CAPTURE_IMPLICIT])?;
    let ended = rig.driver().stream_end_capture(blocking);
    refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])?;
    let free = rig.stream()?;
    rig.driver().stream_begin_capture(free, CaptureMode::Relaxed)?;
    rig.driver().memset_d8_async(buffer.at(0), 2, 64, Stream::LEGACY)?;
    end(rig, free)?;
    same_bytes("the legacy memset", &rig.dtoh_now((buffer, 0), 64)?, &[2; 64])
}

/// Calls that may wait for the device are refused to the thread that captures, unless the capture is relaxed.
pub fn unsafe_calls(rig: &Rig) -> Outcome {
    for mode in MODES {
        let stream = rig.stream()?;
        rig.driver().stream_begin_capture(stream, mode)?;
        let allocated = rig.driver().mem_alloc(1 << 20);
        if mode == CaptureMode::Relaxed {
            rig.driver().mem_free(allocated?)?;
            end(rig, stream)?;
        } else {
            refused("mem_alloc", allocated, &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
            let ended = rig.driver().stream_end_capture(stream);
            refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])?;
        }
    }
    Ok(())
}
