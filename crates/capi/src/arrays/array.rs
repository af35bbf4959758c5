//! Arrays: new ones, adopted memory, views, and their end.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

use hal::MemoryKind;
use overtake::data::{Array, Location};

use crate::arrays::store::{self, Opened, overtake_arrays};
use crate::codes::OVERTAKE_ERROR_REFUSED;
use crate::exports::CUstream_st;
use crate::failure::{Failure, Outcome, catch};
use crate::native::stream_of;
use crate::sized;
use crate::tasks::callback::{Data, overtake_free_callback, refuse_inside};
use crate::tasks::dispatcher::{Home, free, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};

/// Elements with memory on the host and on each device that uses them.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_array {
    _private: [u8; 0],
}

/// Memory that the program owns, for an array. Set struct_size, memory, count and element_bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AdoptSpec {
    /// sizeof(struct overtake_adopt_spec).
    pub struct_size: u32,
    /// 1 for memory of a device, 0 for pinned memory of the host.
    pub is_on_device: u32,
    /// The number of the device among those of the dispatcher.
    pub device: u32,
    /// 0.
    pub reserved: u32,
    /// The first element.
    pub memory: *mut c_void,
    /// The number of elements.
    pub count: usize,
    /// The bytes of an element.
    pub element_bytes: usize,
    /// A stream with work on the memory, for which the call waits; or null. The default stream is CU_STREAM_LEGACY.
    pub stream: *mut CUstream_st,
    /// The argument of free_data.
    pub data: *mut c_void,
    /// Told when no computation uses the memory any more, or null. It is called once, on any thread, also if the call
    /// fails.
    pub free_data: overtake_free_callback,
}

/// The size of the first released structure.
pub const ADOPT_SPEC_BYTES_MIN: usize = 64;

/// An array that C has a handle of.
#[derive(Clone)]
pub struct Made {
    /// It, by bytes.
    pub array: Arc<Array<u8>>,
    /// The bytes of an element.
    pub element_bytes: usize,
    /// Its dispatcher.
    pub home: Home,
}

static ARRAYS: Handles<Made> = Handles::new(HandleKind::Array);

impl Made {
    /// The bytes of `count` elements from `first` on; of all that follow if `count` is 0.
    pub fn bytes(&self, call: &str, first: usize, count: usize) -> Outcome<Range<usize>> {
        if self.array.is_token() && (first, count) == (0, 0) {
            return Ok(0..0);
        }
        let all = self.array.len() / self.element_bytes;
        let count = if count == 0 { all.saturating_sub(first) } else { count };
        let end = first.checked_add(count).filter(|end| first < *end && *end <= all);
        let wrong =
            || Failure::argument(&format!("{call}: {count} elements from {first} on are no part of an array of {all}"));
        let end = end.ok_or_else(wrong)?;
        Ok(first * self.element_bytes..end * self.element_bytes)
    }

    fn keep(self, call: &str) -> Outcome<*mut overtake_array> {
        ARRAYS.add_to(call, self.home, self)
    }
}

/// The array of a handle.
pub fn find(call: &str, array: *const overtake_array) -> Outcome<Made> {
    refuse_in_child(call)?;
    ARRAYS.with(call, array, Made::clone)
}

/// Frees the arrays of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(ARRAYS.remove_all(|array| array.home == home));
}

fn bytes_of(call: &str, count: usize, element_bytes: usize) -> Outcome<usize> {
    let bytes = count.checked_mul(element_bytes).filter(|bytes| *bytes > 0);
    let wrong = || Failure::argument(&format!("{call}: an array has one element of one byte at least, and an address"));
    bytes.ok_or_else(wrong)
}

/// A place of memory.
pub fn place(call: &str, is_on_device: u32, device: u32) -> Outcome<Location> {
    let number =
        u8::try_from(device).map_err(|_| Failure::argument(&format!("{call}: there is no device {device}")))?;
    Ok(if is_on_device == 0 { Location::Host } else { Location::Device(number) })
}

/// Makes an array of `count` elements that has not been written. It gets memory where it is used.
///
/// Threads: any.
///
/// # Safety
/// `array` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_array_new(
    arrays: *mut overtake_arrays,
    count: usize,
    element_bytes: usize,
    array: *mut *mut overtake_array,
) -> c_int {
    const CALL: &str = "overtake_array_new";
    catch(CALL, || {
        let output = output(CALL, "array", array)?;
        let set = store::find(CALL, arrays)?;
        let made = set.arrays.array::<u8>(&[bytes_of(CALL, count, element_bytes)?])?;
        let handle = Made { array: Arc::new(made), element_bytes, home: set.home }.keep(CALL)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Makes a token: an array without elements or memory, for an order that is not about memory. Computations use it as
/// any array, but for reductions, and it counts as written. A function gets an address for it at which there is
/// nothing, and a kernel has no parameter for it.
///
/// Threads: any.
///
/// # Safety
/// `token` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_token_new(arrays: *mut overtake_arrays, token: *mut *mut overtake_array) -> c_int {
    const CALL: &str = "overtake_token_new";
    catch(CALL, || {
        let output = output(CALL, "token", token)?;
        let set = store::find(CALL, arrays)?;
        let handle = Made { array: Arc::new(set.arrays.token()?), element_bytes: 1, home: set.home }.keep(CALL)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Makes an array of memory that the program owns, with its contents. Nothing is copied: where the array is used in the
/// place of that memory, it is that memory. The results are there again after overtake_array_release, and when the set
/// is closed.
///
/// Threads: any, but with a stream not in the function of a task.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says. The memory has as many elements, and lives until
/// free_data is called, the array is released or the set is closed. Meanwhile other code does not use it, except by an
/// access. `array` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_array_adopt(
    arrays: *mut overtake_arrays,
    spec: *const AdoptSpec,
    array: *mut *mut overtake_array,
) -> c_int {
    const CALL: &str = "overtake_array_adopt";
    catch(CALL, || {
        // SAFETY: the caller's promise; bytes of 0 are null pointers, no function and numbers.
        let spec = unsafe { sized::read(CALL, "spec", spec, ADOPT_SPEC_BYTES_MIN) }?;
        // SAFETY: the caller's promise. From here on the data is freed on every path.
        let owner = Owner { _data: unsafe { Data::new(spec.data, spec.free_data) } };
        let output = output(CALL, "array", array)?;
        let set = store::find(CALL, arrays)?;
        let (bytes, element_bytes) = (bytes_of(CALL, spec.count, spec.element_bytes)?, spec.element_bytes);
        let at = place(CALL, spec.is_on_device, spec.device)?;
        if spec.memory.is_null() || spec.reserved != 0 {
            return Err(Failure::argument(&format!("{CALL}: memory is not null, and reserved is 0")));
        }
        is_there(CALL, &set, at, spec.memory)?;
        if !spec.stream.is_null() {
            refuse_inside(CALL)?;
            // In the memory's context, whose default stream may be meant, and which the thread need not have.
            let layer = match at {
                Location::Device(number) => set.modules.layers.get(usize::from(number)),
                Location::Host => None,
            };
            let context = layer.unwrap_or(&set.modules.layers[0]).cuda_context();
            context.call(|driver| driver.stream_synchronize(stream_of(spec.stream.cast())))?;
        }
        let start = spec.memory.expose_provenance() as u64;
        // SAFETY: the caller's promise is the one that `adopt_at` demands; a byte needs no alignment.
        let adopted = unsafe { set.arrays.adopt_at::<u8>(at, start, &[bytes], owner) }?;
        // One that comes while the dispatcher closes gets no handle, and its memory is the program's again.
        let handle = Made { array: Arc::new(adopted), element_bytes, home: set.home }.keep(CALL)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// An error if memory of a device is on another one. A wrong address, or one that the driver does not know, is found
/// when it is used.
fn is_there(call: &str, set: &Opened, at: Location, memory: *mut c_void) -> Outcome {
    let Location::Device(number) = at else { return Ok(()) };
    let Some(layer) = set.modules.layers.get(usize::from(number)) else { return Ok(()) };
    let found = layer.driver().pointer_info(memory.addr() as u64).ok().filter(|info| info.kind == MemoryKind::Device);
    let (Some(found), Ok(wanted)) = (found.and_then(|info| info.device), layer.cuda_context().device()) else {
        return Ok(());
    };
    match found == wanted {
        true => Ok(()),
        false => {
            let (found, wanted) = (found.0, wanted.0);
            let text =
                format!("{call}: the memory is on device {found}, and device {number} of the dispatcher is {wanted}");
            Err(Failure::argument(&text))
        }
    }
}

/// Tells the program that its memory is not used any more.
struct Owner {
    _data: Data,
}

// SAFETY: it can do nothing but be dropped, on any thread.
unsafe impl Sync for Owner {}

/// Elements of an array as an array of their own: uses of both are uses of the same memory. `count` 0 is all from
/// `first` on.
///
/// Threads: any.
///
/// # Safety
/// `view` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_array_view(
    array: *mut overtake_array,
    first: usize,
    count: usize,
    view: *mut *mut overtake_array,
) -> c_int {
    const CALL: &str = "overtake_array_view";
    catch(CALL, || {
        let output = output(CALL, "view", view)?;
        let whole = find(CALL, array)?;
        let bytes = whole.bytes(CALL, first, count)?;
        let part = whole.array.view(bytes.clone(), &[bytes.len()])?;
        let handle = Made { array: Arc::new(part), ..whole }.keep(CALL)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(handle) };
        Ok(())
    })
}

/// Waits until no computation uses the array, has its contents in the memory that it was adopted from, and frees it.
/// The memory is the program's again. Fails, and changes nothing, while there are views or accesses of it.
///
/// Threads: any, but not in the function of a task.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_array_release(array: *mut overtake_array) -> c_int {
    const CALL: &str = "overtake_array_release";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        refuse_inside(CALL)?;
        let may = |made: &Made| match Arc::strong_count(&made.array) == 1 && made.array.is_sole() {
            true => Ok(()),
            false => {
                let text = format!("{CALL}: there are views or open accesses of the array: free and close them before");
                Err(Failure::new(OVERTAKE_ERROR_REFUSED, &text))
            }
        };
        let made = ARRAYS.remove_if(CALL, array, may)?;
        Arc::into_inner(made.array).map_or(Ok(()), |array| Ok(array.release().map(drop)?))
    })
}

/// Frees an array. It does not wait: memory goes when the last computation that uses it has ended, and results that
/// have not been read are lost.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_array_free(array: *mut overtake_array) -> c_int {
    free("overtake_array_free", &ARRAYS, array)
}
