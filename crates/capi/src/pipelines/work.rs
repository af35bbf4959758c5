//! Copies and tasks that are part of a frame.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};

use overtake::pipeline::Error;
use overtake::task::{Handle, Lane, More, Replay, TaskBuilder};

use crate::copies::{OVERTAKE_COPY_DEVICE_TO_HOST, OVERTAKE_COPY_HOST_TO_DEVICE};
use crate::failure::{Failure, Outcome, catch};
use crate::pipelines::end::{End, overtake_pipeline_end, refused, with};
use crate::pipelines::failure;
use crate::tasks::lane;
use crate::tasks::submit::{self, TaskSpec};
use crate::tasks::task::{self, overtake_task};
use crate::tasks::template::{Arguments, ReplaySpec, Replayed, overtake_template};

/// The calls that take a frame in hand.
const FILLING: &str = "overtake_pipeline_acquire";
const EMPTYING: &str = "overtake_pipeline_wait";

fn none(call: &str, cure: &str) -> Failure {
    refused(call, &format!("this end has no frame in hand: call {cure} first"))
}

/// Submits a task of the frame in hand.
fn submit(call: &str, end: &mut End, task: TaskBuilder<'_, '_>) -> Outcome<Handle> {
    let submitted: Result<Handle, Error> = match end {
        End::Producer(held) => held.frame.as_mut().ok_or_else(|| none(call, FILLING))?.task(task),
        End::Consumer(held) => held.frame.as_mut().ok_or_else(|| none(call, EMPTYING))?.task(task),
    };
    submitted.map_err(|error| failure(call, error))
}

/// Submits the replay of a template as a part of the frame in hand (overtake_template_replay), at its priority: `spec`
/// has a priority and a room_timeout_ns of 0. For the rest it is as overtake_pipeline_copy.
///
/// Threads: any, one at a time for an end.
///
/// # Safety
/// As for overtake_template_replay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_replay(
    end: *mut overtake_pipeline_end,
    template: *mut overtake_template,
    spec: *const ReplaySpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_pipeline_replay";
    catch(CALL, || {
        // SAFETY: the caller's promise.
        let replayed = unsafe { Replayed::read(CALL, template, spec) }?;
        let (handle, home) = with(CALL, end, |side| {
            if replayed.spec.priority != 0 || replayed.spec.room_timeout_ns != 0 {
                let text = format!(
                    "{CALL}: a replay of a frame has the frame's priority, and waits for no room: set priority and \
                     room_timeout_ns to 0"
                );
                return Err(Failure::argument(&text));
            }
            let (end, home) = (&mut side.end, side.home);
            let submit = |replay: Replay<'_, Arguments>| {
                let submitted = match end {
                    End::Producer(held) => held.frame.as_mut().ok_or_else(|| none(CALL, FILLING))?.replay(replay),
                    End::Consumer(held) => held.frame.as_mut().ok_or_else(|| none(CALL, EMPTYING))?.replay(replay),
                };
                submitted.map_err(|error| failure(CALL, error))
            };
            // SAFETY: the caller's promise.
            Ok((unsafe { replayed.submit(CALL, &side.tasks, home, submit) }?, home))
        })?;
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, home, task) }
    })
}

/// A copy as the program asked for it.
#[derive(Clone, Copy)]
struct Asked {
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
}

// SAFETY: the pointers are the program's, which promises that they are valid on any thread.
unsafe impl Send for Asked {}

impl Asked {
    fn submit(self, lane: &mut Lane<'_>, home: crate::tasks::dispatcher::Home) -> Outcome {
        let Asked { target, source, bytes, kind } = self;
        // SAFETY: the promise of the caller of overtake_pipeline_copy.
        unsafe { lane::copy("overtake_pipeline_copy", lane, home, (target, source, bytes, kind)) }
    }
}

/// Copies as a part of the frame in hand, at its priority: from and to its memory, or any other. `kind` is one of
/// OVERTAKE_COPY_... The copy of a producer joins the stage that it fills: it comes to the consumer with it. That of a
/// consumer comes after the copies and tasks that were handed over with the frame, and keeps its stage until it has
/// ended. `task` is null, or receives the handle of its task, which overtake_task_free frees.
///
/// Where frames may be dropped for newer ones (OVERTAKE_BEHIND_DROP_OLDEST, OVERTAKE_BEHIND_LATEST_ONLY), only the
/// consumer's frames have copies and tasks.
///
/// Threads: any, one at a time for an end.
///
/// # Safety
/// As for overtake_memcpy_async; the ranges stay valid until the copy has ended. `task` is null or points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_copy(
    end: *mut overtake_pipeline_end,
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_pipeline_copy";
    catch(CALL, || {
        let unknown = || Failure::argument(&format!("{CALL}: kind is one of OVERTAKE_COPY_..."));
        shim::request(target, source, bytes, kind).ok_or_else(unknown)?;
        let (handle, home) = with(CALL, end, |side| {
            let (asked, home) = (Asked { target, source, bytes, kind }, side.home);
            let launch = move |lane: &mut Lane<'_>| match asked.submit(lane, home) {
                Ok(()) => Ok(More::Done),
                Err(failure) => Err(failure.text.to_string_lossy().into()),
            };
            let copy = match kind {
                OVERTAKE_COPY_HOST_TO_DEVICE => side.tasks.upload("upload", launch),
                OVERTAKE_COPY_DEVICE_TO_HOST => side.tasks.download("download", launch),
                _ => side.tasks.kernel("copy", launch),
            };
            Ok((submit(CALL, &mut side.end, copy)?, home))
        })?;
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, home, task) }
    })
}

/// Submits a task that is part of the frame in hand, at its priority: `spec` is as for overtake_submit, with a priority
/// of 0 and no name to which others refer. For the rest it is as overtake_pipeline_copy.
///
/// Threads: any, one at a time for an end.
///
/// # Safety
/// As for overtake_submit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_pipeline_submit(
    end: *mut overtake_pipeline_end,
    spec: *const TaskSpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_pipeline_submit";
    catch(CALL, || {
        // SAFETY: the caller's promise. From here on the data is freed on every path.
        let described = unsafe { submit::Described::read(CALL, spec) }?;
        let (handle, home) = with(CALL, end, |side| {
            let TaskSpec { priority, is_named, room_timeout_ns, .. } = described.spec;
            if priority != 0 || is_named != 0 || room_timeout_ns != 0 {
                let text = format!(
                    "{CALL}: a task of a frame has the frame's priority, no name, and waits for no room: set priority, \
                     is_named and room_timeout_ns to 0"
                );
                return Err(Failure::argument(&text));
            }
            let (end, home) = (&mut side.end, side.home);
            // SAFETY: the caller's promise.
            let handle = unsafe { described.submit(CALL, &side.tasks, home, |builder| submit(CALL, end, builder)) }?;
            Ok((handle, home))
        })?;
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, home, task) }
    })
}
