//! Contexts: current per thread, primary and own.

use hal::{Code, Device, EventFlags, MemOp, MemoryKind, StreamFlags};

use crate::failure::{Failure, Outcome, ensure, refused, same, same_bytes};
use crate::place::Buffer;
use crate::rig::{Rig, span};

/// Runs `body` with a newly made context current, and destroys that afterwards.
fn in_own_context(rig: &Rig, body: impl FnOnce(hal::Context) -> Outcome) -> Outcome {
    let own = rig.driver().context_create(Device(0))?;
    let outcome = body(own);
    rig.driver().context_set_current(Some(own))?;
    let destroyed = rig.driver().context_destroy(own);
    rig.driver().context_set_current(Some(rig.context()))?;
    outcome?;
    Ok(destroyed?)
}

/// The current context is a property of the thread.
pub fn current_per_thread(rig: &Rig) -> Outcome {
    let context = rig.context();
    same("here", &rig.driver().context_current()?, &Some(context))?;
    let thread = rig.spawn("other", move |driver| {
        same("set in a thread", &driver.context_current()?, &Some(context))?;
        driver.context_set_current(None)?;
        same("unset in a thread", &driver.context_current()?, &None)
    });
    rig.join(thread)?;
    same("still here", &rig.driver().context_current()?, &Some(context))
}

/// Calls that need a current context are refused without one.
pub fn none_current(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    driver.context_set_current(None)?;
    let codes = &[Code::INVALID_CONTEXT];
    let outcome = same("none", &driver.context_current()?, &None)
        .and_then(|()| refused("device", driver.context_device(), codes))
        .and_then(|()| refused("flags", driver.context_flags(), codes))
        .and_then(|()| refused("mem_alloc", driver.mem_alloc(16), codes))
        .and_then(|()| refused("stream_create", driver.stream_create(StreamFlags::DEFAULT, 0), codes))
        .and_then(|()| refused("event_create", driver.event_create(EventFlags::DEFAULT), codes))
        .and_then(|()| refused("mem_info", driver.mem_info(), codes))
        .and_then(|()| refused("priority_range", driver.priority_range(), codes))
        .and_then(|()| refused("synchronize", driver.context_synchronize(), codes))
        .and_then(|()| refused("module_load", driver.module_load(softgpu::BUILTIN_PTX.as_bytes()), codes));
    driver.context_set_current(Some(rig.context()))?;
    outcome
}

/// Retaining the primary context again returns the same one.
pub fn primary_is_one(rig: &Rig) -> Outcome {
    let destroyed = rig.driver().context_destroy(rig.context());
    refused("a destroy of the primary context", destroyed, &[Code::INVALID_CONTEXT])?;
    let again = rig.driver().primary_context_retain(Device(0))?;
    same("retained again", &again, &rig.context())?;
    rig.driver().primary_context_release(Device(0))?;
    let buffer = rig.buffer_of(&[1; 16])?;
    same_bytes("still alive", &rig.dtoh_now((buffer, 0), 16)?, &[1; 16])
}

/// The last release destroys the primary context and its objects. It must be released as often as it was retained.
pub fn last_release(rig: &Rig) -> Outcome {
    let (driver, device) = (rig.driver(), Device(1));
    let context = driver.primary_context_retain(device)?;
    driver.context_set_current(Some(context))?;
    let pointer = driver.mem_alloc(4096)?;
    driver.primary_context_release(device)?;
    let again = driver.primary_context_release(device);
    driver.context_set_current(Some(rig.context()))?;
    refused("a release too many", again, &[Code::INVALID_CONTEXT])?;
    same("its memory", &driver.pointer_info(pointer.0)?.kind, &MemoryKind::Pageable)
}

/// A newly made context becomes current and differs from the primary one.
pub fn own_becomes_current(rig: &Rig) -> Outcome {
    in_own_context(rig, |own| {
        ensure!(own != rig.context(), "an own context is not the primary one");
        same("current", &rig.driver().context_current()?, &Some(own))?;
        same("its device", &rig.driver().context_device()?, &Device(0))
    })?;
    same("current after the end", &rig.driver().context_current()?, &Some(rig.context()))
}

/// A destroyed context is no longer current.
pub fn destroyed_is_not_current(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    driver.context_set_current(None)?;
    let own = driver.context_create(Device(0))?;
    driver.context_destroy(own)?;
    let current = driver.context_current()?;
    driver.context_set_current(Some(rig.context()))?;
    ensure!(current != Some(own), "the destroyed context is still current");
    Ok(())
}

/// A thread whose context another thread has destroyed gets an error.
pub fn destroyed_under_a_thread(rig: &Rig) -> Outcome {
    let own = rig.driver().context_create(Device(0))?;
    rig.driver().context_set_current(Some(rig.context()))?;
    let (ready, gone) = (rig.word(), rig.word());
    let (ready_word, gone_word) = (ready.clone(), gone.clone());
    let thread = rig.spawn("orphan", move |driver| {
        driver.context_set_current(Some(own))?;
        ready_word.store(1);
        let deadline = driver.host().now() + span(driver);
        driver.host().wait_until(Some(deadline), &mut || gone_word.load() == 1);
        let allocated = driver.mem_alloc(4096);
        driver.context_set_current(None)?;
        Ok(allocated)
    });
    let readied = rig.reaches("the other thread", &ready, 1);
    let destroyed = rig.driver().context_destroy(own);
    gone.store(1);
    let allocated = rig.join(thread)?;
    readied?;
    destroyed?;
    refused("in the orphan", allocated, &[Code::CONTEXT_IS_DESTROYED])
}

/// Streams and memory belong to the context that was current when they were made; the addresses work in both.
pub fn ownership(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let outer = rig.buffer_of(&[5; 4096])?;
    in_own_context(rig, |own| {
        let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        same("the stream's context", &driver.stream_context(stream)?, &own)?;
        let inner = Buffer { base: driver.mem_alloc(4096)?, bytes: 4096 };
        same("the memory's context", &driver.pointer_info(inner.base.0)?.context, &Some(own))?;
        rig.dtod((inner, 0), (outer, 0), 4096, stream)?;
        driver.stream_synchronize(stream)?;
        same_bytes("across contexts", &rig.dtoh_now((inner, 0), 4096)?, &[5; 4096])?;
        driver.mem_free(inner.base)?;
        Ok(driver.stream_destroy(stream)?)
    })
}

/// An event orders streams of two contexts, and is recorded in its own context only.
pub fn events_between_contexts(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (here, mark, event) = (rig.stream()?, rig.word(), rig.event()?);
    let gate = rig.gate(here)?;
    driver.event_record(event, here)?;
    let outcome = in_own_context(rig, |_| {
        let there = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
        let recorded = driver.event_record(event, there);
        refused("a record in another context", recorded, &[Code::INVALID_HANDLE])?;
        driver.stream_wait_event(there, event)?;
        driver.mem_op(there, MemOp::write32(mark.address, 1))?;
        let stayed = rig.stays("in the other context", &mark, 0);
        gate.open();
        rig.reaches("in the other context", &mark, 1)?;
        driver.stream_destroy(there)?;
        stayed
    });
    gate.open();
    outcome
}

/// Work may be submitted to a stream of a context that is not current, but a kernel has to be of the stream's
/// context.
pub fn streams_of_another_context(rig: &Rig) -> Outcome {
    let driver = rig.driver();
    let (kernels, word, event) = (rig.kernels()?, rig.word(), rig.event()?);
    in_own_context(rig, |_| {
        let (there, theirs) =
            (driver.stream_create(StreamFlags::NON_BLOCKING, 0)?, driver.event_create(EventFlags(2))?);
        driver.context_set_current(Some(rig.context()))?;
        let launched = rig.launch_noop(kernels.noop, there);
        refused("a kernel of another context", launched, &[Code::INVALID_HANDLE])?;
        driver.mem_op(there, MemOp::write32(word.address, 3))?;
        driver.event_record(theirs, there)?;
        driver.stream_synchronize(there)?;
        same("the write", &word.load(), &3)?;
        ensure!(driver.stream_query(there)? && driver.event_query(theirs)?, "all is done");
        refused("an event of this context", driver.event_record(event, there), &[Code::INVALID_HANDLE])?;
        driver.event_destroy(theirs)?;
        Ok(driver.stream_destroy(there)?)
    })
}

/// Threads submit work to one context, each on its own stream.
pub fn threads_with_streams(rig: &Rig) -> Outcome {
    let kernels = rig.kernels()?;
    let counter = rig.buffer_of(&[0; 64])?;
    let word = rig.driver().mem_alloc(64)?;
    rig.driver().mem_free(word)?;
    let marks: Vec<_> = (0..4).map(|_| rig.word()).collect();
    let threads: Vec<_> = marks
        .iter()
        .cloned()
        .map(|mark| {
            rig.spawn("worker", move |driver| -> Result<(), Failure> {
                let stream = driver.stream_create(StreamFlags::NON_BLOCKING, 0)?;
                for value in 1..=100 {
                    driver.mem_op(stream, MemOp::write32(mark.address, value))?;
                }
                driver.stream_synchronize(stream)?;
                ensure!(mark.load() == 100, "a worker's last write is missing after its synchronise");
                Ok(driver.stream_destroy(stream)?)
            })
        })
        .collect();
    let stream = rig.stream()?;
    for _ in 0..50 {
        rig.launch_add(kernels.add, (counter, 0), 2, stream)?;
    }
    for thread in threads {
        rig.join(thread)?;
    }
    same_bytes("the launches beside them", &rig.download(counter, stream)?[..4], &100_u32.to_le_bytes())
}

/// The memory that is free goes down with an allocation and up with its free.
pub fn memory_accounting(rig: &Rig) -> Outcome {
    const BYTES: u64 = 256 << 20;
    let (free_before, total) = rig.driver().mem_info()?;
    ensure!(free_before <= total, "more memory is free ({free_before}) than there is ({total})");
    let buffer = rig.buffer(BYTES)?;
    let (free_during, _) = rig.driver().mem_info()?;
    rig.disown_buffer(buffer);
    rig.driver().mem_free(buffer.base)?;
    let (free_after, _) = rig.driver().mem_info()?;
    ensure!(free_during + BYTES <= free_before, "{free_before} bytes were free, then {free_during}");
    ensure!(free_after >= free_during + BYTES, "{free_during} bytes were free, then {free_after}");
    Ok(())
}
