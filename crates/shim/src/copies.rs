//! Passes the program's copies to the copy layer, and tells it of other calls that concern copies.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::sync::Arc;

use copies::copy::{Look, Met, Reason, Request};
use copies::{Options, Overtake, Priority};
use hal::{Context, DevicePtr, Stream};
use threads::stream_lock::{Place, Shared, Within};

use crate::call::Call;
use crate::context::Adopted;
use crate::contexts::is_open;
use crate::observe;
use crate::passed::{Passed, passed_on};
use crate::process::{Process, process};

/// A library that CUDA's runtime loads before the first launch of a program has all kernels loaded if these are no
/// more: no kernel can be waiting for the program then.
const LOAD_FIRST_KERNELS_MAX: u32 = 64;

/// Makes the copies of a call. Returns the code for the program: the driver's answer, or the layer's refusal.
///
/// # Safety
/// The real call makes the copies of the requests, and their ranges are valid as it demands.
pub unsafe fn copy(call: &Call<'_>) -> u32 {
    if observe::is_on() {
        // SAFETY: passed on to the caller.
        return unsafe { observed(call) };
    }
    // SAFETY: passed on to the caller.
    unsafe { copy_unseen(call) }
}

/// As [`copy`], watched.
///
/// # Safety
/// As for [`copy`].
#[inline(never)] // off in most processes
unsafe fn observed(call: &Call<'_>) -> u32 {
    // SAFETY: passed on to the caller.
    let make = || unsafe { copy_unseen(call) };
    match process() {
        Some(process) => process.observed(call, None, make),
        None => make(),
    }
}

/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_unseen(call: &Call<'_>) -> u32 {
    if !is_open() {
        // What is watched has been counted.
        if !observe::is_all() {
            passed_on(Passed::NotOpen, call.bytes());
        }
        return call.native.answer();
    }
    let (process, adopted) = match addressee(call) {
        Ok(found) => found,
        Err(reason) => return without_layer(reason, call),
    };
    // SAFETY: passed on to the caller.
    unsafe { submit(process, &adopted, call, None) }.unwrap_or_else(|error| refused(&error, call))
}

#[cold]
fn refused(error: &hal::Error, call: &Call<'_>) -> u32 {
    passed_on(Passed::Refused, call.bytes());
    error.code().get()
}

/// The one way of a program's copies into the copy layer, from hooks and from C functions. The priority is the one that
/// the call itself names, or that of thread, stream and rules. Returns the driver's answer where the real call was
/// made here, and 0 where the copies go another way.
///
/// # Safety
/// As for [`copy`].
#[inline(always)] // a copy that is alone needs few registers, and saves none of them for the others
pub(crate) unsafe fn submit(
    process: &Process,
    adopted: &Adopted,
    call: &Call<'_>,
    named: Option<Priority>,
) -> hal::Result<u32> {
    let (bytes, native, stream) = (call.bytes(), call.native, &adopted.copies);
    if copies::is_any_copy_lost() {
        stream.loss()?;
    }
    let left_to_the_driver = |reason, direction| Ok(stream.pass_on(reason, direction, bytes, || native.answer()));
    let priority = if named.is_some() { named } else { process.priority(call, bytes, adopted) };
    let Some(priority) = priority else { return left_to_the_driver(Reason::LeftAlone, call.direction()) };
    let met = match call.requests {
        [one] => match stream.look(one, priority) {
            Look::Alone => return left_to_the_driver(Reason::Alone, one.direction()),
            Look::Met(met) => met,
        },
        _ => Met::default(),
    };
    // SAFETY: passed on to the caller.
    unsafe { submit_among_others(process, adopted, call, priority, met) }
}

/// Makes a copy that may meet others.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn submit_among_others(
    process: &Process,
    adopted: &Adopted,
    call: &Call<'_>,
    priority: Priority,
    met: Met,
) -> hal::Result<u32> {
    let (bytes, native, stream) = (call.bytes(), call.native, &adopted.copies);
    if !process.is_current(adopted) {
        passed_on(Passed::NotCurrent, bytes);
        return Ok(stream.natively(|| native.answer()));
    }
    // Waiting for a copy of ours may spoil a capture of the same thread that the driver's own copy leaves alone.
    if !process.captures.is_any() {
        native.without_captures();
    } else if native.is_blocking() {
        return Ok(stream.pass_on(Reason::Capturing, call.direction(), bytes, || native.answer()));
    }
    // SAFETY: passed on to the caller.
    let submitted = unsafe {
        match call.requests {
            [one] => stream.memcpy_met(&one.at(priority), native, met),
            several => {
                let requests: Vec<Request> = several.iter().map(|request| request.at(priority)).collect();
                stream.memcpy_through(&requests, native)
            }
        }
    };
    submitted.map(|_| 0)
}

/// Makes a real call that may wait inside the driver and keep other threads out, as any copy may. No lease of
/// the layer is held meanwhile, because the call may wait for the end of the context.
pub fn natively<T>(native: impl FnOnce() -> T) -> T {
    let here = process().filter(|_| is_open()).and_then(Process::here);
    let _inside = here.map(|local| local.overtake.inside());
    native()
}

/// The calling thread is about to make a driver call that enters a stream. It waits while another thread submits a copy
/// of several calls there, and counts as inside until the caller drops the returned value.
#[inline(never)] // a hundred hooks call it
#[must_use]
pub fn share(stream: Stream) -> Option<Shared<'static>> {
    observe::stream_works(stream);
    if !is_open() {
        return None;
    }
    let process = process()?;
    let (driver, lock) = (process.driver.get()?, process.stream_lock.get()?);
    Some(lock.share(stream, Within::default(), || {
        // Sets and copies are allowed in streams of a context that is not current.
        let its = (!stream.is_default()).then(|| driver.stream_context(stream).ok()).flatten();
        // Where no context is current the call fails in any case.
        let context = its.or_else(|| process.current_context()).unwrap_or(Context(0));
        let place = match Place::of(&**driver, context, stream) {
            Ok(place) => place.unwrap_or_else(|| Place::capturing(context, stream)),
            Err(_) => Place::blocking(context, stream),
        };
        (place, driver.host())
    }))
}

/// The program is about to make a copy that the layer does not see, which may wait as any other: see [`natively`]. It
/// drops the returned value when that call has returned.
#[must_use]
pub fn inside() -> Blocked {
    let here = process().filter(|_| is_open()).and_then(Process::here);
    Blocked { _here: here.map(|local| local.overtake.inside()).into_iter().collect() }
}

/// The error of every call in a context that has lost a copy: bytes are missing there, though the driver knows of no
/// failure. `None` where no copy of the current context has been lost.
#[must_use]
pub fn lost() -> Option<u32> {
    if !copies::is_any_copy_lost() {
        return None;
    }
    let here = process().and_then(Process::here)?;
    here.overtake.loss().err().map(|error| error.code().get())
}

fn addressee(call: &Call<'_>) -> Result<(&'static Process, Arc<Adopted>), Passed> {
    let process = process().ok_or(Passed::NotAwake)?;
    if call.requests.is_empty() {
        return Err(Passed::OtherKind);
    }
    Ok((process, process.adopted(call.stream)?))
}

/// A copy in a stream that the layer does not know.
fn without_layer(reason: Passed, call: &Call<'_>) -> u32 {
    let lost = lost();
    passed_on(if lost.is_some() { Passed::Refused } else { reason }, call.bytes());
    lost.unwrap_or_else(|| {
        let _shared = share(call.stream);
        natively(|| call.native.answer())
    })
}

/// The application is about to make a driver call that may wait for the device and keep all other threads out of the
/// driver meanwhile, such as freeing memory. The caller drops the returned value when that call has returned.
#[must_use]
pub fn about_to_block() -> Blocked {
    announce(Overtake::blocking)
}

/// The same before the first launch of a kernel or a graph.
#[must_use]
pub fn about_to_load() -> Blocked {
    announce(Overtake::loading)
}

/// A module with at most this many kernels has them loaded when it arrives; more of them if it `comes_first`: it is a
/// library, and the program has launched nothing. 0 before the layer has opened, and while a stream may be captured,
/// because a load may spoil the capture.
#[must_use]
pub fn load_ahead_kernels_max(comes_first: bool) -> u32 {
    let process = process().filter(|process| is_open() && !process.captures.is_any());
    process.map_or(0, |process| ahead_max(&process.settings.options, comes_first))
}

fn ahead_max(options: &Options, comes_first: bool) -> u32 {
    let first = if comes_first { LOAD_FIRST_KERNELS_MAX } else { 0 };
    first.max(options.load_ahead_kernels_max)
}

fn announce(call: impl Fn(&Overtake) -> copies::Blocking) -> Blocked {
    if !is_open() {
        return Blocked { _here: Vec::new() };
    }
    let locals = process().map(Process::locals).unwrap_or_default();
    Blocked { _here: locals.iter().map(|local| call(&local.overtake)).collect() }
}

/// A call that may wait inside the driver is under way: see [`about_to_block`].
#[derive(Debug)]
pub struct Blocked {
    _here: Vec<copies::Blocking>,
}

/// The application is about to free memory in stream order: later submissions may not name it.
pub fn freeing(memory: DevicePtr) {
    if !is_open() {
        return;
    }
    if let Some(process) = process() {
        process.locals().iter().for_each(|local| local.overtake.freeing(memory));
    }
}

/// The application is about to destroy a stream.
pub fn stream_going(stream: Stream) {
    let Some(process) = process() else { return };
    process.captures.forget(stream);
    if is_open() || observe::is_on() {
        process.forget(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_the_first_launch_has_a_limit_of_its_own() {
        let ahead = |all| {
            let options = Options { load_ahead_kernels_max: all, ..Options::default() };
            [true, false].map(|comes_first| ahead_max(&options, comes_first))
        };
        assert_eq!(ahead(0), [64, 0], "other modules stay lazy");
        assert_eq!(ahead(10), [64, 10]);
        assert_eq!(ahead(512), [512, 512]);
    }
}
