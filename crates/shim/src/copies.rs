//! Copies, and what else of the program's calls concerns them.
#![allow(unsafe_code)] // copies are unsafe; the caller's promise is passed on

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use copies::copy::{Door, Reason, Request};
use hal::{Code, DevicePtr, Stream};

use crate::call::Call;
use crate::context::Adopted;
use crate::contexts::is_open;
use crate::passed::{Passed, passed_on};
use crate::process::{Process, process};

/// One copy. Returns what the driver returned; `native` makes the real call, and is called at most once.
///
/// # Safety
/// The ranges of the call are valid as the real call demands.
pub unsafe fn copy(call: &Call, native: &mut dyn FnMut() -> u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { copy_batch(std::slice::from_ref(call), native) }
}

/// Several copies of one stream that have no order among them, made by one real call. Copies elsewhere, or of another
/// kind, than the first make the whole go natively.
///
/// # Safety
/// As for [`copy`], for each.
pub unsafe fn copy_batch(calls: &[Call], native: &mut dyn FnMut() -> u32) -> u32 {
    let bytes = calls.iter().fold(0_u64, |sum, call| sum.saturating_add(call.request.bytes()));
    if !is_open() {
        passed_on(Passed::NotOpen, bytes);
        return native();
    }
    let (process, adopted, call) = match addressee(calls) {
        Ok(found) => found,
        Err(reason) => return without_layer(reason, bytes, native),
    };
    if copies::is_any_copy_lost()
        && let Err(error) = adopted.copies.loss()
    {
        passed_on(Passed::Refused, bytes);
        return error.code().get();
    }
    let Some(priority) = process.priority(call, bytes, &adopted) else {
        adopted.copies.passed_on(Reason::LeftAlone, bytes);
        return adopted.copies.natively(native);
    };
    if let [one] = calls
        && adopted.copies.is_alone(&one.request, priority)
    {
        adopted.copies.passed_on(Reason::Alone, bytes);
        return adopted.copies.natively(native);
    }
    if !process.is_current(&adopted) {
        passed_on(Passed::NotCurrent, bytes);
        return adopted.copies.natively(native);
    }
    // To wait for a copy of ours may spoil a capture of the same thread that the driver's own copy leaves alone.
    let no_captures = process.captures() == 0;
    if call.blocking && !no_captures {
        adopted.copies.passed_on(Reason::Capturing, bytes);
        return adopted.copies.natively(native);
    }
    let made = Cell::new(None);
    let native = RefCell::new(native);
    let through = || {
        let result = (*native.borrow_mut())();
        made.set(Some(result));
        Code::new(result).map_or(Ok(()), |code| Err(code.at("the driver's copy")))
    };
    let door = Door { native: Some(&through), blocking: call.blocking, no_captures };
    // SAFETY: passed on to the caller.
    let result = unsafe {
        match calls {
            [one] => adopted.copies.memcpy_through(&one.request.at(priority), &door),
            many => {
                let requests: Vec<Request> = many.iter().map(|call| call.request.at(priority)).collect();
                adopted.copies.memcpy_batch_through(&requests, &door)
            }
        }
    };
    if result.is_err() {
        passed_on(Passed::Refused, bytes);
    }
    // What the driver said to the call itself is what the application hears.
    made.get().unwrap_or_else(|| result.err().map_or(0, |error| error.code().get()))
}

/// Makes a real call that may wait inside the driver and keep everybody out, as copies of all kinds may. Nothing of the
/// layer is kept meanwhile: what the call waits for may be the end of the context.
pub fn natively<T>(native: impl FnOnce() -> T) -> T {
    let here = process().filter(|_| is_open()).and_then(Process::here);
    let _inside = here.map(|local| local.overtake.inside());
    native()
}

/// What a call has to say that went well, or was not made, where a copy of the current context has been lost: its bytes
/// are missing, though the driver knows of no failure.
#[must_use]
pub fn lost() -> Option<u32> {
    if !copies::is_any_copy_lost() {
        return None;
    }
    let here = process().and_then(Process::here)?;
    here.overtake.loss().err().map(|error| error.code().get())
}

fn addressee(calls: &[Call]) -> Result<(&'static Process, Arc<Adopted>, &Call), Passed> {
    let process = process().ok_or(Passed::NotAwake)?;
    let call = calls.first().ok_or(Passed::OtherKind)?;
    let adopted = process.adopted(call.stream)?;
    Ok((process, adopted, call))
}

/// A copy in a stream that the layer does not have.
fn without_layer(reason: Passed, bytes: u64, native: &mut dyn FnMut() -> u32) -> u32 {
    let lost = lost();
    passed_on(if lost.is_some() { Passed::Refused } else { reason }, bytes);
    lost.unwrap_or_else(|| natively(native))
}

/// The application is about to make a driver call that may wait for the device and let no other thread into the driver
/// meanwhile, such as freeing memory. What is returned is kept until that call has returned.
#[must_use]
pub fn about_to_block() -> Blocked {
    if !is_open() {
        return Blocked { _here: Vec::new() };
    }
    let locals = process().map(Process::locals).unwrap_or_default();
    Blocked { _here: locals.iter().map(|local| local.overtake.blocking()).collect() }
}

/// A call that may wait inside the driver is under way: see [`about_to_block`].
#[derive(Debug)]
pub struct Blocked {
    _here: Vec<copies::Blocking>,
}

/// The application is about to free memory in stream order: whoever submits something afterwards may not name it.
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
    if !is_open() {
        return;
    }
    if let Some(process) = process() {
        process.forget(stream);
    }
}
