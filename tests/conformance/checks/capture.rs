//! Stream capture: captured work does not run, and calls that cannot be captured are refused.

use hal::{
    CaptureMode, CaptureStatus, Code, DevicePtr, Event, EventFlags, HostAllocFlags, MemOp, Stream, StreamFlags,
    WaitCondition,
};
use testkit::fixture::attempt;

use crate::failure::{Outcome, refused, same, same_bytes};
use crate::place::Buffer;
use crate::rig::Rig;

const MODES: [CaptureMode; 3] = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed];

/// Ends a capture that is expected to succeed.
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

/// Querying a capturing stream is refused and spoils the capture.
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

/// The legacy stream would connect a capturing blocking stream with work outside: refused. A non-blocking stream is
/// unaffected.
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

type Call = fn(&Rig, Buffer, Stream, Event) -> hal::Result<()>;

/// Calls that a capturing thread must not make, unless the capture is relaxed.
const UNSAFE: [(&str, Call); 7] = [
    ("mem_alloc", |rig, _, _, _| rig.driver().mem_alloc(1 << 20).and_then(|pointer| rig.driver().mem_free(pointer))),
    ("mem_free", |rig, _, _, _| rig.driver().mem_free(DevicePtr::NULL)),
    ("event_query", |rig, _, _, event| rig.driver().event_query(event).map(drop)),
    ("event_synchronize", |rig, _, _, event| rig.driver().event_synchronize(event)),
    ("stream_query", |rig, _, stream, _| rig.driver().stream_query(stream).map(drop)),
    ("stream_synchronize", |rig, _, stream, _| rig.driver().stream_synchronize(stream)),
    ("host_alloc", |rig, _, _, _| rig.driver().host_alloc(0, HostAllocFlags::PORTABLE).map(drop)),
];

/// Calls that it may make.
const SAFE: [(&str, Call); 7] = [
    ("stream_create", |rig, _, _, _| {
        rig.driver().stream_create(StreamFlags::NON_BLOCKING, 0).and_then(|stream| rig.driver().stream_destroy(stream))
    }),
    ("event_create", |rig, _, _, _| {
        rig.driver().event_create(EventFlags::DEFAULT).and_then(|event| rig.driver().event_destroy(event))
    }),
    ("event_record", |rig, _, stream, event| rig.driver().event_record(event, stream)),
    ("memset", |rig, buffer, stream, _| rig.driver().memset_d8_async(buffer.at(0), 1, 64, stream)),
    ("memset, legacy", |rig, buffer, _, _| rig.driver().memset_d8_async(buffer.at(0), 1, 64, Stream::LEGACY)),
    ("synchronous copy", |rig, buffer, _, _| rig.htod_now((buffer, 0), &[1; 64])),
    ("pointer_info", |rig, buffer, _, _| rig.driver().pointer_info(buffer.base.0).map(drop)),
];

/// Calls that may wait for the device are refused to the thread that captures, unless the capture is relaxed; other
/// calls are not.
pub fn unsafe_calls(rig: &Rig) -> Outcome {
    let (other, event, buffer) = (rig.stream()?, rig.event()?, rig.buffer(64)?);
    rig.driver().event_record(event, other)?;
    rig.settle(other)?;
    let calls = UNSAFE.map(|(name, call)| (name, call, false)).into_iter();
    for (name, call, is_safe) in calls.chain(SAFE.map(|(name, call)| (name, call, true))) {
        for mode in MODES {
            let (what, stream) = (format!("{name} during {mode:?}"), rig.stream()?);
            rig.driver().stream_begin_capture(stream, mode)?;
            let called = call(rig, buffer, other, event);
            let status = rig.driver().stream_capture_status(stream)?;
            let ended = rig.driver().stream_end_capture(stream);
            if is_safe || mode == CaptureMode::Relaxed {
                called?;
                rig.driver().graph_destroy(ended?)?;
            } else {
                refused(&what, called, &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
                same(&what, &status, &CaptureStatus::Invalidated)?;
                refused(&what, ended, &[Code::STREAM_CAPTURE_INVALIDATED])?;
            }
        }
    }
    Ok(())
}

/// A global capture binds all threads, the other modes their own.
pub fn other_threads(rig: &Rig) -> Outcome {
    for mode in MODES {
        let stream = rig.stream()?;
        rig.driver().stream_begin_capture(stream, mode)?;
        let thread =
            rig.spawn("other", |driver| Ok(driver.mem_alloc(4096).and_then(|pointer| driver.mem_free(pointer))));
        let allocated = rig.join(thread)?;
        let ended = rig.driver().stream_end_capture(stream);
        if mode == CaptureMode::Global {
            refused("mem_alloc elsewhere", allocated, &[Code::STREAM_CAPTURE_UNSUPPORTED])?;
            refused("the end", ended, &[Code::STREAM_CAPTURE_INVALIDATED])?;
        } else {
            allocated?;
            rig.driver().graph_destroy(ended?)?;
        }
    }
    Ok(())
}

/// Beside a capturing blocking stream the legacy stream has no status, and asking for its progress spoils the capture.
pub fn legacy_status_beside_a_capture(rig: &Rig) -> Outcome {
    let (driver, blocking) = (rig.driver(), rig.stream_with(StreamFlags::DEFAULT, 0)?);
    driver.stream_begin_capture(blocking, CaptureMode::Relaxed)?;
    let status = driver.stream_capture_status(Stream::LEGACY);
    refused("the status", status, &[Code::STREAM_CAPTURE_IMPLICIT])?;
    same("not spoilt", &driver.stream_capture_status(blocking)?, &CaptureStatus::Active)?;
    refused("a query", driver.stream_query(Stream::LEGACY), &[Code::STREAM_CAPTURE_IMPLICIT])?;
    same("spoilt", &driver.stream_capture_status(blocking)?, &CaptureStatus::Invalidated)?;
    refused("the end", driver.stream_end_capture(blocking), &[Code::STREAM_CAPTURE_INVALIDATED])
}

/// A call that is refused for its arguments does not spoil the capture.
pub fn bad_arguments(rig: &Rig) -> Outcome {
    let (stream, pinned) = (rig.stream()?, rig.pinned(64)?);
    rig.driver().stream_begin_capture(stream, CaptureMode::Relaxed)?;
    let copied = attempt::htod(rig.driver(), DevicePtr(0x0123_4567_8000), pinned.address(), 64, stream);
    refused("a copy to nowhere", copied, &[Code::INVALID_VALUE])?;
    same("the status", &rig.driver().stream_capture_status(stream)?, &CaptureStatus::Active)?;
    end(rig, stream)
}

/// An event that was recorded in a capture stands for nothing after it.
pub fn event_after_its_capture(rig: &Rig) -> Outcome {
    let (driver, stream, event) = (rig.driver(), rig.stream()?, rig.event()?);
    driver.stream_begin_capture(stream, CaptureMode::Relaxed)?;
    driver.event_record(event, stream)?;
    end(rig, stream)?;
    let codes = &[Code::INVALID_VALUE];
    refused("query", driver.event_query(event), codes)?;
    refused("synchronise", driver.event_synchronize(event), codes)?;
    refused("wait", driver.stream_wait_event(stream, event), codes)?;
    driver.event_record(event, stream)?;
    driver.event_synchronize(event)?;
    Ok(driver.stream_wait_event(stream, event)?)
}
