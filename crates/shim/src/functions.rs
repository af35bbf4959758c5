//! The functions in the table.
#![allow(unsafe_code)] // the arguments come from C

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use ::copies::copy::{Native, Request};
use ::copies::{Overtake, Priority};
use driver::CudaDriver;
use hal::{Code, Declared, DevicePtr, Driver, Shape, Side, Stream};

use crate::call::Call;
use crate::context::{Adopted, Local};
use crate::failure::Failure;
use crate::lease::Lease;
use crate::listener::listen;
use crate::process::{self, Process, Start};
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::table::{LogCallback, TABLE_ABI, Table};
use crate::trouble::{self, Trouble, answer};
use crate::{choice, copies, observe, report};

static TABLE: Table = Table {
    struct_size: size_of::<Table>() as u32,
    abi: TABLE_ABI,
    open,
    close,
    set_stream_priority,
    stream_priority,
    swap_thread_priority,
    priorities,
    copy_async,
    copy_2d_async,
    copy_batch_async,
    set_rules,
    report: report_text,
    totals,
    last_error,
    deployment,
    set_log_callback,
};

/// The table of this library.
#[must_use]
pub fn table() -> &'static Table {
    &TABLE
}

/// Starts the layer for a C library without the drop-in, with the driver of the program. `options` is a TOML text,
/// which only the first start of a process uses.
pub fn start_for_c(options: Option<&str>) {
    let start = Start {
        driver: || CudaDriver::get().map(|driver| driver as Arc<dyn Driver>),
        deployment: c"c",
        calls: Vec::new,
    };
    process::start_with(start, options);
}

/// Whether a text of options has no fault.
///
/// # Errors
/// Every fault in it, with line and column.
pub fn check_options(text: &str) -> Result<(), String> {
    let faults: Vec<String> = Settings::faults_of_text(text).iter().map(ToString::to_string).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The layer of the calling thread's current context, which is opened if need be: for a dispatcher that shares it. Its
/// owner keeps it until it is given back, or leaves it alone for good (`README.md`).
///
/// # Errors
/// The number and the text of a table function.
pub fn layer() -> Result<Arc<Overtake>, (c_int, String)> {
    let opened = running().and_then(opened);
    opened.map(|local| Arc::clone(&local.overtake)).map_err(|trouble| (trouble.number(), trouble.text()))
}

fn running() -> Result<&'static Process, Trouble> {
    process::process().ok_or_else(|| match process::deployment() {
        None => Trouble::Ours(Failure::NotStarted, "initialise CUDA first (cuInit, cudaFree)".to_owned()),
        Some(_) => Trouble::Ours(Failure::Off, "after a fork, and while the process exits, overtake is off".to_owned()),
    })
}

/// The priority of a number from C; 0 means none.
fn priority_of(number: c_int, process: &Process) -> Result<Option<Priority>, Trouble> {
    if number == 0 {
        return Ok(None);
    }
    let priority = u8::try_from(number).ok().and_then(Priority::new);
    let known = priority.filter(|priority| process.priorities().contains(*priority));
    let count = process.priorities().count();
    known
        .map(Some)
        .ok_or_else(|| Trouble::invalid(format!("priority {number} is not one of 1..={count}, or 0 for none")))
}

fn stream_of(stream: *mut c_void) -> Stream {
    let handle = stream.addr() as u64;
    if handle == 0 { Stream::LEGACY } else { Stream(handle) }
}

/// The layer of the current context, which is opened if need be.
fn opened(process: &Process) -> Result<Lease<Local>, Trouble> {
    if process.is_off() {
        let why = "the option enabled = off, or OVERTAKE_OBSERVE=only, switches overtake off";
        return Err(Trouble::Ours(Failure::Off, why.to_owned()));
    }
    process.driver().map_err(|error| match error.code() {
        Code::SHARED_OBJECT_INIT_FAILED => Trouble::Ours(Failure::NoDriver, error.to_string()),
        _ => Trouble::Driver(error),
    })?;
    Ok(process.open_now()?)
}

/// A stream of the current context, if the layer is open there.
fn known(process: &Process, stream: *mut c_void) -> Option<Arc<Adopted>> {
    process.adopted(stream_of(stream)).ok().filter(|adopted| process.is_current(adopted))
}

/// The same, with an error if the stream is not known.
fn adopted(process: &Process, stream: *mut c_void) -> Result<Arc<Adopted>, Trouble> {
    opened(process)?;
    let unknown = "the stream belongs to another context or a green one, or too many threads have streams of their own";
    known(process, stream).ok_or_else(|| Trouble::invalid(unknown))
}

unsafe fn text_of<'a>(text: *const c_char) -> Result<&'a str, Trouble> {
    if text.is_null() {
        return Err(Trouble::invalid("the text is null"));
    }
    // SAFETY: not null; the caller promises a NUL-terminated string that outlives the call.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Trouble::invalid("the text is not UTF-8"))
}

unsafe extern "C" fn open(_options: *const c_char) -> c_int {
    answer(|| {
        opened(running()?)?;
        Ok(())
    })
}

extern "C" fn close() -> c_int {
    answer(|| {
        let process = running()?;
        // Under the drop-in the layer stays open: it serves the whole program, and not only this caller.
        if process.start.deployment == c"c" {
            process.close_here()?;
        }
        Ok(())
    })
}

extern "C" fn set_stream_priority(stream: *mut c_void, priority: c_int) -> c_int {
    answer(|| {
        let process = running()?;
        let priority = priority_of(priority, process)?;
        adopted(process, stream)?.give(priority);
        process.observed_priority(stream_of(stream), priority);
        Ok(())
    })
}

unsafe extern "C" fn stream_priority(stream: *mut c_void, priority: *mut c_int) -> c_int {
    answer(|| {
        if priority.is_null() {
            return Err(Trouble::invalid("the place for the priority is null"));
        }
        let adopted = adopted(running()?, stream)?;
        let known = adopted.given().or(adopted.own).map_or(0, |known| c_int::from(known.get()));
        // SAFETY: not null; the caller promises a place for an int.
        unsafe { priority.write(known) };
        Ok(())
    })
}

unsafe extern "C" fn swap_thread_priority(priority: c_int, before: *mut c_int) -> c_int {
    answer(|| {
        // A scope may begin before the driver is initialised, and in the child of a fork.
        let priority = match process::process() {
            Some(process) => priority_of(priority, process)?,
            None => u8::try_from(priority).ok().and_then(Priority::new),
        };
        let was = choice::swap_thread_priority(priority);
        if !before.is_null() {
            // SAFETY: not null; the caller promises a place for an int.
            unsafe { before.write(was.map_or(0, |was| c_int::from(was.get()))) };
        }
        Ok(())
    })
}

extern "C" fn priorities() -> c_int {
    process::process().map_or(0, |process| c_int::from(process.priorities().count()))
}

/// A request with the direction of a `cudaMemcpyKind`; `None` for another number.
#[must_use]
pub fn request(target: *mut c_void, source: *const c_void, bytes: usize, kind: c_int) -> Option<Request> {
    let (to, from, bytes) = (target.expose_provenance() as u64, source.expose_provenance() as u64, bytes as u64);
    match kind {
        1 => Some(Request::htod(DevicePtr(to), source.cast(), bytes)),
        2 => Some(Request::dtoh(target.cast(), DevicePtr(from), bytes)),
        3 | 4 => Some(Request::linear(DevicePtr(to), DevicePtr(from), bytes)),
        _ => None,
    }
}

fn unknown_kind(kind: c_int) -> Trouble {
    Trouble::invalid(format!("kind {kind} is none of 1 (H2D), 2 (D2H), 3 (D2D), 4 (by addresses)"))
}

/// The kind of memory on the target and the source side of a rectangle, by `cudaMemcpyKind`. The device's side may be
/// managed memory.
#[must_use]
pub fn declared(kind: c_int) -> Option<(Declared, Declared)> {
    match kind {
        1 => Some((Declared::Unified, Declared::Host)),
        2 => Some((Declared::Host, Declared::Unified)),
        3 | 4 => Some((Declared::Unified, Declared::Unified)),
        _ => None,
    }
}

/// Submits copies with the priority of the argument, the thread, the stream or the rules. A copy without a priority, or
/// in a stream that the layer does not know, is left to the driver.
unsafe fn submit(requests: &[Request], stream: *mut c_void, priority: c_int) -> Result<(), Trouble> {
    let process = running()?;
    let named = priority_of(priority, process)?;
    let (local, adopted) = (opened(process)?, known(process, stream));
    for request in requests {
        // SAFETY: passed on to the caller.
        unsafe { submit_one(process, &local, adopted.as_deref(), request, stream_of(stream), named) }?;
    }
    Ok(())
}

unsafe fn submit_one(
    process: &Process,
    local: &Local,
    adopted: Option<&Adopted>,
    request: &Request,
    stream: Stream,
    named: Option<Priority>,
) -> hal::Result<()> {
    let Some(adopted) = adopted else {
        // SAFETY: passed on to the caller.
        return unsafe { local.overtake.leave_alone(request, stream) };
    };
    // SAFETY: passed on to the caller.
    let copy = || unsafe { request.copy_by(&**local.overtake.driver(), stream) };
    let copy = || copy().map_or_else(|error| error.code().get(), |()| 0);
    let native = Native::asynchronous(&copy);
    let call = Call { requests: std::slice::from_ref(request), stream, caller: 0, native: &native };
    // SAFETY: passed on to the caller.
    let submit = || unsafe { copies::submit(process, adopted, &call, named) };
    let answer = if observe::is_on() { process.observed(&call, named, submit) } else { submit() }?;
    Code::new(answer).map_or(Ok(()), |code| Err(code.at("the driver's copy")))
}

/// Has the driver make a rectangle that it may refuse with its own error.
unsafe fn ask_the_driver(shape: &Shape, stream: *mut c_void, priority: c_int) -> Result<(), Trouble> {
    let process = running()?;
    priority_of(priority, process)?;
    let local = opened(process)?;
    // SAFETY: passed on to the caller.
    Ok(unsafe { local.overtake.driver().copy_shape_async(shape, stream_of(stream)) }?)
}

unsafe extern "C" fn copy_async(
    target: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
    priority: c_int,
) -> c_int {
    answer(|| {
        let request = request(target, source, bytes, kind).ok_or_else(|| unknown_kind(kind))?;
        // SAFETY: the caller's promise is that of cudaMemcpyAsync.
        unsafe { submit(&[request], stream, priority) }
    })
}

#[allow(clippy::too_many_arguments)] // as many as cudaMemcpy2DAsync has, and a priority
unsafe extern "C" fn copy_2d_async(
    target: *mut c_void,
    target_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
    priority: c_int,
) -> c_int {
    answer(|| {
        let (target, source) = (target.expose_provenance() as u64, source.expose_provenance() as u64);
        let Some((to, from)) = declared(kind) else { return Err(unknown_kind(kind)) };
        let shape = Shape {
            target: Side { declared: to, ..Side::unified(target).pitched(target_pitch as u64, 0) },
            source: Side { declared: from, ..Side::unified(source).pitched(source_pitch as u64, 0) },
            width_bytes: width as u64,
            rows: height as u64,
            depth: 1,
        };
        // SAFETY: the caller's promise is that of cudaMemcpy2DAsync.
        unsafe {
            match Request::shaped(&shape) {
                Some(request) => submit(&[request], stream, priority),
                None => ask_the_driver(&shape, stream, priority),
            }
        }
    })
}

unsafe extern "C" fn copy_batch_async(
    targets: *const *mut c_void,
    sources: *const *const c_void,
    sizes: *const usize,
    count: usize,
    stream: *mut c_void,
    priority: c_int,
) -> c_int {
    answer(|| {
        if count == 0 {
            return Ok(());
        }
        if targets.is_null() || sources.is_null() || sizes.is_null() {
            return Err(Trouble::invalid("one of the arrays is null"));
        }
        if count > isize::MAX as usize / size_of::<usize>() {
            return Err(Trouble::invalid("no array is that long"));
        }
        // SAFETY: not null; the caller promises `count` elements in each.
        let (targets, sources, sizes) = unsafe {
            (
                std::slice::from_raw_parts(targets, count),
                std::slice::from_raw_parts(sources, count),
                std::slice::from_raw_parts(sizes, count),
            )
        };
        let request = |index: usize| request(targets[index], sources[index], sizes[index], 4);
        let requests: Vec<Request> = (0..count).filter_map(request).collect();
        // SAFETY: the caller's promise is that of cudaMemcpyAsync, for each.
        unsafe { submit(&requests, stream, priority) }
    })
}

unsafe extern "C" fn set_rules(rules: *const c_char) -> c_int {
    answer(|| {
        // SAFETY: the caller promises a NUL-terminated text.
        let text = unsafe { text_of(rules)? };
        running()?.set_rules(text).map_err(|error| Trouble::Ours(Failure::Syntax, error))
    })
}

unsafe extern "C" fn report_text(buffer: *mut c_char, size: usize, needed: *mut usize) -> c_int {
    answer(|| {
        let report = report::report(running()?, false);
        let text = serde_json::to_vec(&report).map_err(|error| Trouble::Ours(Failure::Panic, error.to_string()))?;
        if !needed.is_null() {
            // SAFETY: not null; the caller promises a place for a size.
            unsafe { needed.write(text.len() + 1) };
        }
        if buffer.is_null() || size <= text.len() {
            let short = format!("the report needs {} bytes", text.len() + 1);
            return Err(Trouble::Ours(Failure::BufferTooSmall, short));
        }
        // SAFETY: by the caller's promise the buffer has `size` bytes, and the text with its NUL is not longer.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
            buffer.add(text.len()).write(0);
        }
        Ok(())
    })
}

unsafe extern "C" fn totals(totals: *mut Statistics) -> c_int {
    answer(|| {
        if totals.is_null() {
            return Err(Trouble::invalid("the place for the totals is null"));
        }
        // SAFETY: not null; the caller promises that the size in it is that of the structure.
        let size = unsafe { (*totals).struct_size } as usize;
        let known = size.min(size_of::<Statistics>());
        if known < size_of::<u32>() {
            return Err(Trouble::invalid("set struct_size to sizeof the structure first"));
        }
        let mut sums = Statistics { struct_size: size as u32, ..Statistics::default() };
        report::parts(running()?).iter().for_each(|part| part.add_to(&mut sums));
        // SAFETY: `known` bytes lie within both structures.
        unsafe { std::ptr::copy_nonoverlapping((&raw const sums).cast::<u8>(), totals.cast::<u8>(), known) };
        Ok(())
    })
}

extern "C" fn last_error() -> *const c_char {
    trouble::last()
}

unsafe extern "C" fn set_log_callback(callback: Option<LogCallback>, data: *mut c_void) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise is the same.
        unsafe { listen(callback, data) }?;
        Ok(())
    })
}

extern "C" fn deployment() -> *const c_char {
    process::process().map_or(c"".as_ptr(), |process| process.start.deployment.as_ptr())
}

#[cfg(test)]
mod tests;
