//! Accesses of the program's own code to arrays, on the host and on a device.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use std::time::Duration;

use copies::Priority;
use overtake::data::{AccessAt, Array, Location, Right, Use, discard, read, read_write, write};

use crate::arrays::array::{self, Made, overtake_array, place};
use crate::arrays::uses::{OVERTAKE_USE_DISCARD, OVERTAKE_USE_READ, OVERTAKE_USE_READ_WRITE, OVERTAKE_USE_WRITE};
use crate::codes::OVERTAKE_ERROR_TIMEOUT;
use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{Home, free, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::patience::Patience;
use crate::tasks::task::{self, overtake_task, priority};

/// An access of the program's own code to elements of an array.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_access {
    _private: [u8; 0],
}

/// An access that is being described. Set struct_size; 0 in another field is its default: to read all on the host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessSpec {
    /// sizeof(struct overtake_access_spec).
    pub struct_size: u32,
    /// One of OVERTAKE_USE_..., but OVERTAKE_USE_RELAXED; 0 is OVERTAKE_USE_READ.
    pub mode: c_int,
    /// The priority of the transfers for it, as in struct overtake_task_spec.
    pub priority: c_int,
    /// 1 for memory of a device, 0 for that of the host.
    pub is_on_device: u32,
    /// The number of the device among those of the dispatcher.
    pub device: u32,
    /// 0.
    pub reserved: u32,
    /// The first element.
    pub first: usize,
    /// The number of elements; 0 is all from the first on.
    pub count: usize,
    /// How long the call waits for room on a full device: nanoseconds, or OVERTAKE_FOR_EVER; 0 is 60 s. It fails with
    /// OVERTAKE_ERROR_TIMEOUT then.
    pub room_timeout_ns: i64,
}

/// The size of the first released structure.
pub const ACCESS_SPEC_BYTES_MIN: usize = 40;

const _: () = assert!(std::mem::offset_of!(AccessSpec, room_timeout_ns) == ACCESS_SPEC_BYTES_MIN);

struct Access {
    // First, because it refers to the array.
    at: Arc<AccessAt<'static>>,
    _array: Arc<Array<u8>>,
    home: Home,
}

static ACCESSES: Handles<Access> = Handles::new(HandleKind::Access);

/// Ends the accesses to arrays of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(ACCESSES.remove_all(|access| access.home == home));
}

/// An access, with the values that its fields of 0 stand for.
struct Wanted {
    bytes: Range<usize>,
    mode: c_int,
    at: Location,
    priority: Priority,
    /// None is the default.
    room: Option<Duration>,
}

impl Wanted {
    /// # Safety
    /// `spec` is null or points at a structure of the size that its struct_size says.
    unsafe fn read(call: &str, made: &Made, spec: *const AccessSpec) -> Outcome<Wanted> {
        let spec = match spec.is_null() {
            true => AccessSpec::default(),
            // SAFETY: the caller's promise; the fields are numbers.
            false => unsafe { sized::read(call, "spec", spec, ACCESS_SPEC_BYTES_MIN) }?,
        };
        if spec.reserved != 0 {
            return Err(Failure::argument(&format!("{call}: reserved is 0")));
        }
        Ok(Wanted {
            bytes: made.bytes(call, spec.first, spec.count)?,
            mode: if spec.mode == 0 { OVERTAKE_USE_READ } else { spec.mode },
            at: place(call, spec.is_on_device, spec.device)?,
            priority: if spec.priority == 0 { Priority::LOWEST } else { priority(call, spec.priority)? },
            room: match spec.room_timeout_ns {
                0 => None,
                timeout_ns => Some(Patience::of(call, timeout_ns)?.span.map_or(Duration::MAX, Duration::from)),
            },
        })
    }

    fn open(self, call: &str, array: &'static Array<u8>) -> Outcome<AccessAt<'static>> {
        let Wanted { bytes, mode, at, priority, room } = self;
        let changed = match mode {
            OVERTAKE_USE_READ => return Ok(bounded(read(array).part(bytes).priority(priority), room).open_at(at)?),
            OVERTAKE_USE_WRITE => write(array),
            OVERTAKE_USE_READ_WRITE => read_write(array),
            OVERTAKE_USE_DISCARD => discard(array),
            other => {
                let text = format!("{call}: mode {other} is not one of OVERTAKE_USE_... for an access");
                return Err(Failure::argument(&text));
            }
        };
        Ok(bounded(changed.part(bytes).priority(priority), room).open_at(at)?)
    }
}

/// The use, which waits so long for room.
fn bounded<R: Right>(used: Use<'_, R>, room: Option<Duration>) -> Use<'_, R> {
    match room {
        Some(span) => used.within(span),
        None => used,
    }
}

/// Waits until the elements are there and no computation uses them in a conflicting way, and gives the address of the
/// first. Computations that are submitted later and conflict with the access wait until it is closed; elements that are
/// read on a device are frozen: computations that would write them are refused. So the thread must not wait for such a
/// computation. `spec` is null, or the access: without one the whole array is read on the host. `memory` is null, or
/// receives the address: without it the call does not wait for the elements, which overtake_access_wait_for does.
///
/// Threads: any, but not in the function of a task.
///
/// # Safety
/// `spec` is null or points at a structure of the size that its struct_size says; `memory` is null or points at a
/// pointer, and `access` points at a handle. Elements that are read only are not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_array_open(
    array: *mut overtake_array,
    spec: *const AccessSpec,
    memory: *mut *mut c_void,
    access: *mut *mut overtake_access,
) -> c_int {
    const CALL: &str = "overtake_array_open";
    catch(CALL, || {
        let access = output(CALL, "access", access)?;
        let made = array::find(CALL, array)?;
        refuse_inside(CALL)?;
        // SAFETY: the caller's promise.
        let wanted = unsafe { Wanted::read(CALL, &made, spec) }?;
        // SAFETY: the array lives as long as the access: `Access` keeps both, and drops this one first.
        let lent: &'static Array<u8> = unsafe { &*Arc::as_ptr(&made.array) };
        let at = Arc::new(wanted.open(CALL, lent)?);
        if !memory.is_null() {
            at.there().wait()?;
            // SAFETY: not null, and the caller's.
            unsafe { memory.write(start_of(&at)?) };
        }
        let handle = ACCESSES.add_to(CALL, made.home, Access { at, _array: made.array, home: made.home })?;
        // SAFETY: not null, and the caller's.
        unsafe { access.write(handle) };
        Ok(())
    })
}

/// The address of its elements, or null while they are not there.
fn start_of(at: &AccessAt<'_>) -> Outcome<*mut c_void> {
    Ok(at.address()?.map_or_else(std::ptr::null_mut, |start| with_exposed_provenance_mut(start as usize)))
}

fn late(call: &str, timeout_ns: i64) -> Failure {
    Failure::new(OVERTAKE_ERROR_TIMEOUT, &format!("{call}: its elements have not come within {timeout_ns} ns"))
}

/// Waits until the elements of an access are there, for timeout_ns at most or OVERTAKE_FOR_EVER, and writes the address
/// of the first to `memory`: null if the time is over, and the access may be waited for again. One that is closed
/// before leaves the array as it was; computations that were submitted after it, and need what OVERTAKE_USE_DISCARD was
/// going to write, or elements that were never written, end with OVERTAKE_ERROR_TASK_NOT_RUN then. If `memory` is null
/// the call only waits, and fails with OVERTAKE_ERROR_TIMEOUT if the time is over: until the address has been asked
/// for, the array is as it was.
///
/// Threads: any; in the function of a task with a timeout of 0 only.
///
/// # Safety
/// `memory` is null or points at a pointer. Elements that are read only are not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_access_wait_for(
    access: *mut overtake_access,
    timeout_ns: i64,
    memory: *mut *mut c_void,
) -> c_int {
    const CALL: &str = "overtake_access_wait_for";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let patience = Patience::of(CALL, timeout_ns)?;
        // While this thread waits, another one may close it.
        let there = ACCESSES.with(CALL, access, |access| access.at.there().clone())?;
        patience.may_wait(CALL)?;
        let is_there = patience.wait(|| there.wait(), |span| there.wait_for(span))?;
        if memory.is_null() {
            return if is_there { Ok(()) } else { Err(late(CALL, timeout_ns)) };
        }
        let at = ACCESSES.with(CALL, access, |access| Arc::clone(&access.at))?;
        // SAFETY: not null, and the caller's.
        unsafe { memory.write(start_of(&at)?) };
        Ok(())
    })
}

/// Ends an access. Work that the program has given to a device is complete then. One that has not been waited for until
/// its elements were there leaves the array as it was.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_access_close(access: *mut overtake_access) -> c_int {
    free("overtake_access_close", &ACCESSES, access)
}

/// Has elements copied to a place before a computation or an access asks for them there, if they are elsewhere. `spec`
/// tells the place; its mode is OVERTAKE_USE_READ. `task` is null, or receives the handle of the transfer.
///
/// Threads: any, and functions of tasks.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says; `task` is null or points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_array_bring(
    array: *mut overtake_array,
    spec: *const AccessSpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_array_bring";
    catch(CALL, || {
        let made = array::find(CALL, array)?;
        // SAFETY: the caller's promise.
        let Wanted { bytes, mode, at, priority, room } = unsafe { Wanted::read(CALL, &made, spec) }?;
        if mode != OVERTAKE_USE_READ {
            return Err(Failure::argument(&format!("{CALL}: mode is OVERTAKE_USE_READ")));
        }
        let used = bounded(read(&made.array).part(bytes).priority(priority), room);
        let handle = match at {
            Location::Host => used.to_host()?,
            Location::Device(device) => used.to(device)?,
        };
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, made.home, task) }
    })
}
