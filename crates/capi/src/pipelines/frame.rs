//! The frames of a pipeline: acquire, commit, wait, release.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::RwLockReadGuard;

use copies::Priority;
use hal::{Driver, Nanos};
use overtake::pipeline::{Behind, Error};

use crate::codes::OVERTAKE_ERROR_TIMEOUT;
use crate::failure::{Failure, catch};
use crate::native;
use crate::pipelines::end::{Stage, overtake_pipeline_end, refused, with_consumer, with_producer};
use crate::pipelines::failure;
use crate::pipelines::options::{FRAME_BYTES_MIN, Frame};
use crate::sized::{self, bytes_of};
use crate::tasks::callback::refuse_inside;
use crate::tasks::patience::{self, Patience};

fn described(number: u64, priority: Priority, stage: &RwLockReadGuard<'_, Stage>) -> Frame {
    let buffer = &stage.buffer;
    Frame {
        struct_size: bytes_of::<Frame>(),
        is_dropped: 0,
        number,
        host: buffer.host().as_ptr().cast(),
        device: with_exposed_provenance_mut::<c_void>(buffer.device().0 as usize),
        bytes: buffer.bytes(),
        priority: c_int::from(priority.get()),
        reserved: 0,
    }
}

fn dropped() -> Frame {
    let (host, device) = (std::ptr::null_mut(), std::ptr::null_mut());
    let struct_size = bytes_of::<Frame>();
    Frame { struct_size, is_dropped: 1, number: 0, host, device, bytes: 0, priority: 0, reserved: 0 }
}

fn in_hand(call: &str, cure: &str) -> Failure {
    refused(call, &format!("this end has a frame in hand: {cure} before the next"))
}

fn nothing_in_hand(call: &str, cure: &str) -> Failure {
    refused(call, &format!("this end has no frame in hand: call {cure} first"))
}

fn timed_out(call: &str, timeout_ns: i64, cure: &str) -> Failure {
    Failure::new(OVERTAKE_ERROR_TIMEOUT, &format!("{call}: nothing within {timeout_ns} ns: {cure}"))
}

/// A frame begins: waits for a free stage, at most timeout_ns of the host's time (0: not at all; OVERTAKE_FOR_EVER). A
/// pipeline that drops frames never waits: it may have dropped this one (is_dropped). The structure is written only if
/// the call succeeds; struct_size is then the number of bytes that the library knows.
///
/// OVERTAKE_ERROR_TIMEOUT: all stages are still in use. OVERTAKE_ERROR_ENDED: the consumer has left.
/// OVERTAKE_ERROR_FRAME_FAILED: the consumer has failed with an earlier frame, which overtake_last_error names; the
/// next call gives the stage.
///
/// Threads: any, one at a time for an end; in the function of a task with timeout_ns 0 only.
///
/// # Safety
/// `frame` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_acquire(
    producer: *mut overtake_pipeline_end,
    timeout_ns: i64,
    frame: *mut Frame,
) -> c_int {
    const CALL: &str = "overtake_pipeline_acquire";
    catch(CALL, || {
        let patience = Patience::of(CALL, timeout_ns)?;
        patience.may_wait(CALL)?;
        // SAFETY: the caller's promise. Before the frame: it could not be told of it afterwards.
        unsafe { sized::check(CALL, "frame", frame, FRAME_BYTES_MIN) }?;
        let fresh = with_producer(CALL, producer, |filler, behind| {
            if filler.frame.is_some() {
                return Err(in_hand(CALL, "commit it, hand it over or give it up"));
            }
            // SAFETY: the frame is all that comes of the end.
            let taken = unsafe {
                filler.take(|producer| match patience.span {
                    None => producer.acquire(),
                    Some(Nanos::ZERO) => producer.try_acquire(),
                    Some(span) => producer.acquire_for(span.into()),
                })
            };
            taken.map_err(|error| failure(CALL, error))?;
            match &filler.frame {
                Some(frame) => Ok(described(frame.number(), frame.priority(), &frame.buffer())),
                None if behind != Behind::Block => Ok(dropped()),
                None => {
                    Err(timed_out(CALL, timeout_ns, "the consumer is behind; wait longer, or drop frames (behind)"))
                }
            }
        })?;
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "frame", frame, FRAME_BYTES_MIN, &fresh) }
    })
}

/// Ends the filling of the frame in hand.
fn finish(
    call: &str,
    producer: *mut overtake_pipeline_end,
    end: impl FnOnce(overtake::pipeline::Filling<'static, Stage>) -> Result<(), Error>,
) -> c_int {
    catch(call, || {
        with_producer(call, producer, |filler, _| {
            let frame = filler.frame.take().ok_or_else(|| nothing_in_hand(call, "overtake_pipeline_acquire"))?;
            end(frame).map_err(|error| failure(call, error))
        })
    })
}

/// Commits the frame in hand: the consumer gets it when its copies and tasks have ended.
///
/// Threads: any, one at a time for an end.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_commit(producer: *mut overtake_pipeline_end) -> c_int {
    finish("overtake_pipeline_commit", producer, |frame| frame.commit())
}

/// The same, but the consumer gets the frame at once: its copies and tasks come after those of this frame on the
/// device, and no thread of the host waits between.
///
/// Threads: any, one at a time for an end.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_hand_over(producer: *mut overtake_pipeline_end) -> c_int {
    finish("overtake_pipeline_hand_over", producer, |frame| frame.hand_over())
}

/// Gives the frame in hand up, which is counted. If it has copies or tasks, the consumer gets an error for it.
///
/// Threads: any, one at a time for an end.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_give_up(producer: *mut overtake_pipeline_end) -> c_int {
    finish("overtake_pipeline_give_up", producer, |frame| {
        drop(frame);
        Ok(())
    })
}

/// The frame in hand was captured so long ago, and not when its stage was acquired: its deadline begins there.
///
/// Threads: any, one at a time for an end.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_captured(producer: *mut overtake_pipeline_end, ago_ns: u64) -> c_int {
    const CALL: &str = "overtake_pipeline_captured";
    catch(CALL, || {
        let ago = patience::span(CALL, "ago_ns", ago_ns)?;
        let now = native::driver()?.host().now();
        with_producer(CALL, producer, |filler, _| {
            let frame = filler.frame.as_mut().ok_or_else(|| nothing_in_hand(CALL, "overtake_pipeline_acquire"))?;
            frame.captured_at(now - ago);
            Ok(())
        })
    })
}

/// Waits for the next frame that is not dropped, at most timeout_ns of the host's time (0: not at all;
/// OVERTAKE_FOR_EVER). The structure is written only if the call succeeds; struct_size is then the number of bytes that
/// the library knows.
///
/// OVERTAKE_ERROR_TIMEOUT: there is none. OVERTAKE_ERROR_ENDED: the producer has left, and all its frames have come.
/// OVERTAKE_ERROR_FRAME_FAILED: a frame has failed, which overtake_last_error names with the cause; the next call is
/// about the next frame.
///
/// Threads: any, one at a time for an end; in the function of a task with timeout_ns 0 only.
///
/// # Safety
/// `frame` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_wait(
    consumer: *mut overtake_pipeline_end,
    timeout_ns: i64,
    frame: *mut Frame,
) -> c_int {
    const CALL: &str = "overtake_pipeline_wait";
    catch(CALL, || {
        let patience = Patience::of(CALL, timeout_ns)?;
        patience.may_wait(CALL)?;
        // SAFETY: the caller's promise. Before the frame: it could not be told of it afterwards.
        unsafe { sized::check(CALL, "frame", frame, FRAME_BYTES_MIN) }?;
        let fresh = with_consumer(CALL, consumer, |emptier| {
            if emptier.frame.is_some() {
                return Err(in_hand(CALL, "release it"));
            }
            // SAFETY: the frame is all that comes of the end.
            let taken = unsafe {
                emptier.take(|consumer| match patience.span {
                    None => consumer.wait().map(Some),
                    Some(Nanos::ZERO) => consumer.try_wait(),
                    Some(span) => consumer.wait_for(span.into()),
                })
            };
            taken.map_err(|error| failure(CALL, error))?;
            let Some(frame) = &emptier.frame else {
                return Err(timed_out(CALL, timeout_ns, "the producer has committed none; wait longer"));
            };
            Ok(described(frame.number(), frame.priority(), &frame.buffer()))
        })?;
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "frame", frame, FRAME_BYTES_MIN, &fresh) }
    })
}

/// Waits until the producer's copies and tasks of the frame in hand have ended, if it was handed over before that.
/// Fails as the first of them that has failed.
///
/// Threads: any, one at a time for an end; not in the function of a task.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_complete(consumer: *mut overtake_pipeline_end) -> c_int {
    const CALL: &str = "overtake_pipeline_complete";
    catch(CALL, || {
        refuse_inside(CALL)?;
        with_consumer(CALL, consumer, |emptier| {
            let frame = emptier.frame.as_ref().ok_or_else(|| nothing_in_hand(CALL, "overtake_pipeline_wait"))?;
            frame.complete().map_err(|error| failure(CALL, error))
        })
    })
}

/// Releases the frame in hand: the producer gets its stage back when the frame's copies and tasks have ended.
///
/// Threads: any, one at a time for an end.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_pipeline_release(consumer: *mut overtake_pipeline_end) -> c_int {
    const CALL: &str = "overtake_pipeline_release";
    catch(CALL, || {
        with_consumer(CALL, consumer, |emptier| {
            let frame = emptier.frame.take().ok_or_else(|| nothing_in_hand(CALL, "overtake_pipeline_wait"))?;
            frame.release().map_err(|error| failure(CALL, error))
        })
    })
}
