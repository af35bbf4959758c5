//! Computations: kernels, functions for the device and functions of the host, with the arrays that they use.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int, c_void};
use std::ptr::with_exposed_provenance_mut;

use hal::Nanos;
use overtake::data::{Computation, KernelArgument};
use overtake::task::{Lane, Shape};

use crate::arrays::kernel::{self, overtake_kernel};
use crate::arrays::store::{self, Opened, overtake_arrays};
use crate::arrays::uses::{Argument, Kept};
use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::callback::{Data, answer, overtake_free_callback, overtake_lane};
use crate::tasks::dispatcher::Home;
use crate::tasks::lane;
use crate::tasks::patience::Patience;
use crate::tasks::submit;
use crate::tasks::task::{self, handles, overtake_task, priority, text_of};

/// Submits work of the device that uses arrays to the lane: `addresses` has the address of the first element of each
/// use. For the rest it is as overtake_launch_callback.
#[allow(non_camel_case_types)] // C's names
pub type overtake_launch_uses_callback =
    Option<unsafe extern "C" fn(lane: *mut overtake_lane, addresses: *const *mut c_void, data: *mut c_void) -> c_int>;

/// A function of the host that uses arrays: `addresses` has the address of the first element of each use.
#[allow(non_camel_case_types)] // C's names
pub type overtake_run_uses_callback =
    Option<unsafe extern "C" fn(addresses: *const *mut c_void, data: *mut c_void) -> c_int>;

/// A computation that is being described. Set struct_size, the arguments, and one of kernel, launch and run; 0 in
/// another field is its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ComputationSpec {
    /// sizeof(struct overtake_computation_spec).
    pub struct_size: u32,
    /// As in struct overtake_task_spec. Transfers for the computation have it too.
    pub priority: c_int,
    /// The name of the computation in errors, or null.
    pub name: *const c_char,
    /// References that overtake_task_release takes away: until then the computation does not start. At most 1048576.
    pub references: u32,
    /// How often a computation of the device runs again where it fails. It reads and discards arrays only.
    pub retries: u32,
    /// 1 if `device` is the number of the device that it runs on; else one is chosen.
    pub is_on_device: u32,
    /// That number, among the devices of the dispatcher.
    pub device: u32,
    /// The arguments of the kernel in its order; for a function the arrays that it uses.
    pub arguments: *const Argument,
    /// Their number: 0 with null, and not otherwise.
    pub arguments_count: usize,
    /// The kernel, or null.
    pub kernel: *mut overtake_kernel,
    /// The blocks of the kernel's grid; 0 is 1.
    pub grid: [u32; 3],
    /// The threads of a block; 0 is 1.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// 0.
    pub reserved: u32,
    /// A function that submits work to the lane, or null.
    pub launch: overtake_launch_uses_callback,
    /// A function of the host, or null.
    pub run: overtake_run_uses_callback,
    /// The data of the function.
    pub data: *mut c_void,
    /// As in struct overtake_task_spec.
    pub free_data: overtake_free_callback,
    /// Tasks that it comes after beside those whose results it uses, or null: after_count handles.
    pub after: *const *mut overtake_task,
    /// Their number: 0 with null, and not otherwise.
    pub after_count: usize,
    /// As in struct overtake_task_spec. It is also how long overtake_compute waits for room on a full device, where 0
    /// is 60 s; it fails with OVERTAKE_ERROR_TIMEOUT then.
    pub room_timeout_ns: i64,
}

/// The size of the first released structure.
pub const COMPUTATION_SPEC_BYTES_MIN: usize = 136;

const _: () = assert!(std::mem::offset_of!(ComputationSpec, room_timeout_ns) == COMPUTATION_SPEC_BYTES_MIN);

/// Submits a computation, with the transfers that it needs. It comes after those whose results it uses, and those that
/// still use elements that it writes. `task` is null, or receives its handle, which overtake_task_free frees.
///
/// Threads: any, and functions of tasks.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says, with strings that end with a NUL, and arrays and
/// values of the sizes that it says. The kernel or the function accesses only the elements of the uses, in the way that
/// they say. Functions take the data on any thread. `task` is null or points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_compute(
    arrays: *mut overtake_arrays,
    spec: *const ComputationSpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_compute";
    catch(CALL, || {
        // SAFETY: the caller's promise; bytes of 0 are null pointers, no functions and numbers.
        let spec = unsafe { sized::read(CALL, "spec", spec, COMPUTATION_SPEC_BYTES_MIN) }?;
        // SAFETY: the caller's promise. From here on the data is freed on every path.
        let data = unsafe { Data::new(spec.data, spec.free_data) };
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(CALL, "name", spec.name) }?.unwrap_or("unnamed");
        let needs = || format!("computation \"{name}\" needs a set of arrays that is open");
        let set = store::find(CALL, arrays).map_err(|failure| failure.because(&needs()))?;
        // SAFETY: the caller's promise.
        let kept = unsafe { Kept::all(CALL, (spec.arguments, spec.arguments_count), set.home) }?;
        let arguments: Vec<Box<dyn KernelArgument + '_>> = kept.iter().map(Kept::argument).collect();
        let described = Described { spec: &spec, set: &set, name, kept: &kept, arguments: &arguments };
        let mut computation = described.computation(CALL, data)?;
        // SAFETY: the caller's promise.
        for first in unsafe { handles(CALL, "after", (spec.after, spec.after_count), set.home) }? {
            computation = computation.after(&first);
        }
        if spec.priority != 0 {
            computation = computation.priority(priority(CALL, spec.priority)?);
        }
        if spec.is_on_device != 0 {
            let device = u8::try_from(spec.device);
            let none = |_| Failure::argument(&format!("{CALL}: there is no device {}", spec.device));
            computation = computation.on(device.map_err(none)?);
        }
        let references = submit::references(CALL, spec.references)?;
        computation = (0..references).fold(computation, |computation, _| computation.held());
        let computation = computation.retries(spec.retries);
        let patience = Patience::of(CALL, spec.room_timeout_ns)?;
        let handle = match patience.for_room() {
            _ if patience.span == Some(Nanos::ZERO) => computation.submit()?,
            None => computation.submit_when_room()?,
            Some(span) => computation.submit_within(span.into())?.ok_or_else(|| submit::no_room(name))?,
        };
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, set.home, task) }
    })
}

/// A description whose parts have been looked up.
struct Described<'d> {
    spec: &'d ComputationSpec,
    set: &'d Opened,
    name: &'d str,
    kept: &'d [Kept],
    arguments: &'d [Box<dyn KernelArgument + 'd>],
}

impl<'d> Described<'d> {
    fn computation(&self, call: &str, data: Data) -> Outcome<Computation<'d>> {
        let wrong = |text: &str| Failure::argument(&format!("{call}: computation \"{}\": {text}", self.name));
        let Described { spec, set, name, kept, arguments } = *self;
        if spec.reserved != 0 {
            return Err(wrong("reserved is 0"));
        }
        if spec.kernel.is_null() && !kept.iter().all(Kept::is_use) {
            return Err(wrong("a function has values in its data, and not among its arguments"));
        }
        match (spec.kernel.is_null(), spec.launch, spec.run) {
            (false, None, None) => {
                let kernel = kernel::find(call, spec.kernel)?;
                // SAFETY: the caller of overtake_compute vouches for the kernel.
                Ok(unsafe { set.arrays.compute(name, &kernel, shape(spec), arguments) })
            }
            (true, Some(function), None) => {
                let home: Home = set.home;
                Ok(set.arrays.launch(name, arguments, move |entered: &mut Lane<'_>, at| {
                    let addresses = pointers(at.iter().map(|address| address.0));
                    // SAFETY: as the caller of overtake_compute promises.
                    lane::launch(entered, home, |lane| unsafe { function(lane, addresses.as_ptr(), data.get()) })
                }))
            }
            (true, None, Some(_)) if kept.iter().any(Kept::is_relaxed) => {
                Err(wrong("relaxed uses are for the device; a function of the host reads and writes"))
            }
            (true, None, Some(function)) => Ok(set.arrays.host_at(name, arguments, move |at| {
                let addresses = pointers(at.iter().copied());
                // SAFETY: as the caller of overtake_compute promises.
                answer(|| unsafe { function(addresses.as_ptr(), data.get()) })
            })),
            _ => Err(wrong("it has one of kernel, launch and run")),
        }
    }
}

fn shape(spec: &ComputationSpec) -> Shape {
    let at_least_one = |lengths: [u32; 3]| lengths.map(|length| length.max(1));
    Shape { grid: at_least_one(spec.grid), block: at_least_one(spec.block), shared_bytes: spec.shared_bytes }
}

fn pointers(addresses: impl Iterator<Item = u64>) -> Vec<*mut c_void> {
    addresses.map(|address| with_exposed_provenance_mut(address as usize)).collect()
}
