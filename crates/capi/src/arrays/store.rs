//! Sets of arrays: opening and counts.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::{Arc, Mutex};

use copies::Overtake;
use hal::Module;
use hal::locks::lock;
use overtake::data::{ArrayOptions, Arrays, Bandwidth, Selection};

use crate::failure::{Failure, Outcome, catch};
use crate::sized::{self, bytes_of};
use crate::tasks::callback::refuse_inside;
use crate::tasks::dispatcher::{Home, layers, new_set, output, overtake_dispatcher, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::patience::Patience;
use crate::tasks::task::text_of;

/// A set of arrays on the host and on the devices of a dispatcher, with the computations that use them.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_arrays {
    _private: [u8; 0],
}

/// The device that has most of a computation's bytes.
pub const OVERTAKE_SELECTION_MIN_TRANSFER_SIZE: c_int = 0;
/// The first device.
pub const OVERTAKE_SELECTION_SINGLE: c_int = 1;
/// Each device in turn.
pub const OVERTAKE_SELECTION_ROUND_ROBIN: c_int = 2;
/// The device with the fewest computations.
pub const OVERTAKE_SELECTION_STREAM_AWARE: c_int = 3;
/// The device that gets the bytes soonest, each from the nearest memory. It needs bandwidths.
pub const OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME: c_int = 4;
/// The device that gets the bytes soonest, each from the farthest memory. It needs bandwidths.
pub const OVERTAKE_SELECTION_MIN_MAX_TRANSFER_TIME: c_int = 5;

/// The parameters of a set of arrays. Set struct_size before the call; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArraysOptions {
    /// sizeof(struct overtake_arrays_options).
    pub struct_size: u32,
    /// How the device of a computation is chosen where none is named: OVERTAKE_SELECTION_...
    pub selection: c_int,
    /// The most memory of each device. Arrays that have not been used for long leave a full one. 0: no bound.
    pub device_bytes_max: u64,
    /// The most pinned memory of the host. 0: no bound.
    pub host_bytes_max: u64,
    /// The text that overtake bench bandwidth --pairs --csv prints, or null.
    pub bandwidths: *const c_char,
    /// 1 to measure the times of computations, for overtake_arrays_read_times.
    pub measures: u32,
    /// 1 for debugging: the submission of a computation returns when it has ended. Its task tells the outcome as ever.
    /// Not waited for are those that cannot end without a later call (held, or behind something that is, in a stopped
    /// set, in an open group), and those that the function of a task submits.
    pub serial: u32,
}

/// The measured times on one device of the computations by one kernel whose uses have so many bytes. More fields may be
/// added at its end: struct_size is the number of bytes that the library knows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Times {
    /// sizeof(struct overtake_computation_times).
    pub struct_size: u32,
    /// The device, by its number among those of the dispatcher.
    pub device: u32,
    /// The name of the kernel, or of the computation if it is none by a kernel. Valid during the call.
    pub name: *const c_char,
    /// The bytes of all uses.
    pub bytes: u64,
    /// How many have been measured.
    pub count: u64,
    /// The mean time on the device, transfers left out.
    pub mean_us: f64,
    /// The shortest.
    pub least_us: f64,
    /// The last one.
    pub last_us: f64,
}

/// Gets the times of one kernel, one size and one device, and the data of the call.
#[allow(non_camel_case_types)] // C's name
pub type overtake_times_callback = Option<unsafe extern "C" fn(times: *const Times, data: *mut c_void)>;

/// The counts of a set of arrays. Set struct_size before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ArraysStatistics {
    /// sizeof(struct overtake_arrays_statistics).
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Transfers to a device, each for one use of an array.
    pub uploads: u64,
    /// Their bytes.
    pub upload_bytes: u64,
    /// Transfers to the host.
    pub downloads: u64,
    /// Their bytes.
    pub download_bytes: u64,
    /// Transfers between two devices.
    pub between_devices: u64,
    /// Their bytes.
    pub between_device_bytes: u64,
    /// Uses that waited for the transfer of another use, instead of one of their own.
    pub shared: u64,
    /// Arrays that left a device to make room.
    pub evictions: u64,
}

/// The size of the first released options.
pub const ARRAYS_OPTIONS_BYTES_MIN: usize = 32;
/// The size of the first released counts.
pub const ARRAYS_STATISTICS_BYTES_MIN: usize = 72;

/// A set of arrays that is open.
pub struct Opened {
    /// First, because computations use the modules.
    pub arrays: Arrays,
    /// The dispatcher that runs its computations.
    pub home: Home,
    /// Those that hold the kernels of its computations.
    pub modules: Arc<Modules>,
}

/// Modules that are unloaded when no computation can use them any more.
pub struct Modules {
    /// The copy layers, one for each device.
    pub layers: Vec<Arc<Overtake>>,
    loaded: Mutex<Vec<(usize, Module)>>,
}

impl Modules {
    /// Loads an image in the context of each device.
    pub fn load(&self, image: &[u8]) -> Outcome<Vec<Module>> {
        let mut modules = Vec::new();
        for (device, layer) in self.layers.iter().enumerate() {
            let module = layer.cuda_context().call(|driver| driver.module_load(image))?;
            lock(&self.loaded).push((device, module));
            modules.push(module);
        }
        Ok(modules)
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        for (device, module) in lock(&self.loaded).drain(..) {
            if let Err(error) = self.layers[device].cuda_context().call(|driver| driver.module_unload(module)) {
                log::debug!("a module of arrays is not unloaded: {error}");
            }
        }
    }
}

/// Calls share a set, and the one that closes it waits for them.
static SETS: Handles<Arc<Opened>> = Handles::new(HandleKind::Arrays);

/// The set of a handle.
pub fn find(call: &str, arrays: *const overtake_arrays) -> Outcome<Arc<Opened>> {
    refuse_in_child(call)?;
    SETS.with(call, arrays, Arc::clone)
}

/// Frees the sets of a dispatcher that is closed.
pub fn forget(home: Home) {
    drop(SETS.remove_all(|set| set.home == home));
}

/// Takes the handle of a set away.
pub fn remove(call: &str, arrays: *const overtake_arrays) -> Outcome<Arc<Opened>> {
    SETS.remove(call, arrays)
}

/// Opens a set of arrays. `options` is null, or the parameters.
///
/// Threads: any.
///
/// # Safety
/// `options` is null or points at a structure of the size that its struct_size says, with a NUL-terminated string;
/// `arrays` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_arrays_open(
    dispatcher: *mut overtake_dispatcher,
    options: *const ArraysOptions,
    arrays: *mut *mut overtake_arrays,
) -> c_int {
    const CALL: &str = "overtake_arrays_open";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "arrays", arrays)?;
        let (set, home) = new_set(CALL, dispatcher, "arrays")?;
        let layers = layers(CALL, dispatcher)?;
        let options = match options.is_null() {
            true => ArrayOptions::default(),
            // SAFETY: the caller's promise; bytes of 0 are numbers and a null pointer.
            false => unsafe { parameters(CALL, options, layers.len()) }?,
        };
        let modules = Arc::new(Modules { layers, loaded: Mutex::default() });
        let opened = Arc::new(Opened { arrays: Arrays::of(set, options)?, home, modules });
        // SAFETY: not null, and the caller's.
        unsafe { output.write(SETS.add_to(CALL, opened.home, opened)?) };
        Ok(())
    })
}

/// # Safety
/// As for [`overtake_arrays_open`], and `options` is not null.
unsafe fn parameters(call: &str, options: *const ArraysOptions, devices: usize) -> Outcome<ArrayOptions> {
    // SAFETY: the caller's promise; bytes of 0 are numbers and a null pointer.
    let options = unsafe { sized::read(call, "options", options, ARRAYS_OPTIONS_BYTES_MIN) }?;
    let selection = match options.selection {
        OVERTAKE_SELECTION_MIN_TRANSFER_SIZE => Selection::MinTransferSize,
        OVERTAKE_SELECTION_SINGLE => Selection::SingleGpu,
        OVERTAKE_SELECTION_ROUND_ROBIN => Selection::RoundRobin,
        OVERTAKE_SELECTION_STREAM_AWARE => Selection::StreamAware,
        OVERTAKE_SELECTION_MIN_MIN_TRANSFER_TIME => Selection::MinMinTransferTime,
        OVERTAKE_SELECTION_MIN_MAX_TRANSFER_TIME => Selection::MinMaxTransferTime,
        other => {
            return Err(Failure::argument(&format!("{call}: selection {other} is not one of OVERTAKE_SELECTION_...")));
        }
    };
    let (measures, is_serial) = (options.measures != 0, options.serial != 0);
    let mut wanted = ArrayOptions { selection, measures, is_serial, ..ArrayOptions::default() };
    for (heap, most) in [(&mut wanted.device, options.device_bytes_max), (&mut wanted.pinned, options.host_bytes_max)] {
        heap.max_bytes = if most == 0 { heap.max_bytes } else { most };
    }
    // SAFETY: the caller's promise.
    if let Some(text) = unsafe { text_of(call, "bandwidths", options.bandwidths) }? {
        let read = Bandwidth::read(text, devices as u8);
        let fault = |(line, why)| Failure::argument(&format!("{call}: bandwidths: line {line}: {why}"));
        wanted.bandwidth = Some(read.map_err(fault)?);
    }
    Ok(wanted)
}

/// Waits until all computations and transfers have ended, and fails as the first of them that has failed, if any has.
///
/// Threads: any, but not in the function of a task, nor with an open access that computations wait for.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_arrays_wait(arrays: *mut overtake_arrays) -> c_int {
    const CALL: &str = "overtake_arrays_wait";
    catch(CALL, || {
        let set = find(CALL, arrays)?;
        refuse_inside(CALL)?;
        set.arrays.wait()?;
        set.arrays.failure().map_or(Ok(()), |fault| Err(overtake::task::Error::Failed(fault).into()))
    })
}

/// The same for timeout_ns of the host's time at most (0: not at all; OVERTAKE_FOR_EVER). Fails as
/// overtake_arrays_wait; else `is_done` becomes 1 if all have ended, and 0 if the time has passed before.
///
/// Threads: any; in the function of a task with timeout_ns 0 only.
///
/// # Safety
/// `is_done` points at an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_arrays_wait_for(
    arrays: *mut overtake_arrays,
    timeout_ns: i64,
    is_done: *mut c_int,
) -> c_int {
    const CALL: &str = "overtake_arrays_wait_for";
    catch(CALL, || {
        let output = output(CALL, "is_done", is_done)?;
        let patience = Patience::of(CALL, timeout_ns)?;
        let set = find(CALL, arrays)?;
        patience.may_wait(CALL)?;
        let has_ended = patience.wait(|| set.arrays.wait(), |span| set.arrays.wait_for(span))?;
        if let Some(fault) = set.arrays.failure().filter(|_| has_ended) {
            return Err(overtake::task::Error::Failed(fault).into());
        }
        // SAFETY: not null, and the caller's.
        unsafe { output.write(c_int::from(has_ended)) };
        Ok(())
    })
}

/// Calls `tell` for each kernel, size and device whose computations have been measured, by name, with `data`. Times of
/// computations that have not ended on the device are left out. A set that does not measure has none. They are kept of
/// the 1024 kernels and sizes that were measured last, and of up to as many before them.
///
/// Threads: any.
///
/// # Safety
/// `tell` takes `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_arrays_read_times(
    arrays: *mut overtake_arrays,
    tell: overtake_times_callback,
    data: *mut c_void,
) -> c_int {
    const CALL: &str = "overtake_arrays_read_times";
    catch(CALL, || {
        let tell = tell.ok_or_else(|| Failure::argument(&format!("{CALL}: tell is null")))?;
        for measured in find(CALL, arrays)?.arrays.times() {
            let name = CString::new(measured.name.replace('\0', " ")).unwrap_or_default();
            let times = Times {
                struct_size: bytes_of::<Times>(),
                device: u32::from(measured.device),
                name: name.as_ptr(),
                bytes: measured.bytes,
                count: measured.count,
                mean_us: measured.mean_us,
                least_us: measured.least_us,
                last_us: measured.last_us,
            };
            // SAFETY: the caller's promise; the structure and its text live during the call.
            unsafe { tell(&raw const times, data) };
        }
        Ok(())
    })
}

/// The counts so far. The structure is written only if the call succeeds; struct_size is then the number of bytes that
/// the library knows.
///
/// Threads: any.
///
/// # Safety
/// `statistics` points at a structure of the size that its struct_size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_arrays_read_statistics(
    arrays: *mut overtake_arrays,
    statistics: *mut ArraysStatistics,
) -> c_int {
    const CALL: &str = "overtake_arrays_read_statistics";
    catch(CALL, || {
        let counts = find(CALL, arrays)?.arrays.statistics();
        let fresh = ArraysStatistics {
            struct_size: bytes_of::<ArraysStatistics>(),
            reserved: 0,
            uploads: counts.uploads,
            upload_bytes: counts.upload_bytes,
            downloads: counts.downloads,
            download_bytes: counts.download_bytes,
            between_devices: counts.between_devices,
            between_device_bytes: counts.between_device_bytes,
            shared: counts.shared,
            evictions: counts.evictions,
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(CALL, "statistics", statistics, ARRAYS_STATISTICS_BYTES_MIN, &fresh) }
    })
}
