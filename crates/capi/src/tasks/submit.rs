//! Submitting tasks.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int, c_void};

use hal::Nanos;
use overtake::task::{Error, Handle, Lane, Refused, TaskBuilder, Tasks};

use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::callback::{
    Data, answer, is_inside, overtake_free_callback, overtake_launch_callback, overtake_run_callback,
};
use crate::tasks::dispatcher::Home;
use crate::tasks::lane;
use crate::tasks::patience::Patience;
use crate::tasks::set::{self, overtake_tasks};
use crate::tasks::task::{hand_out, handles, overtake_task, priority, text_of};

/// A task that copies from the host to the device.
pub const OVERTAKE_TASK_UPLOAD: c_int = 1;
/// A task that runs kernels.
pub const OVERTAKE_TASK_KERNEL: c_int = 2;
/// A task that copies from the device to the host.
pub const OVERTAKE_TASK_DOWNLOAD: c_int = 3;
/// A function of the host, for a worker thread. It starts when the work of the device before it is complete.
pub const OVERTAKE_TASK_HOST: c_int = 4;
/// A short function of the host, for the thread that finds it ready. It must not wait.
pub const OVERTAKE_TASK_LIGHT: c_int = 5;
/// A task without work, which joins others.
pub const OVERTAKE_TASK_JOIN: c_int = 6;

/// A task that is being described. Set struct_size and kind; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TaskSpec {
    /// sizeof(struct overtake_task_spec).
    pub struct_size: u32,
    /// One of OVERTAKE_TASK_...
    pub kind: c_int,
    /// The name of the task in errors, or null.
    pub name: *const c_char,
    /// From OVERTAKE_PRIORITY_LOWEST to overtake_priorities(); 0 is the lowest. The tasks before it inherit it.
    pub priority: c_int,
    /// References that overtake_task_release takes away: until then the task does not start. At most 1048576.
    pub references: u32,
    /// Whether it is the task to which others refer by its name (overtake_tasks_named).
    pub is_named: u32,
    /// How often the function of an upload, a kernel or a download is called again after it has failed: the caller
    /// promises that it may be, although a part of its work has been submitted. 0 for other tasks.
    pub retries: u32,
    /// The function of an upload, a kernel or a download.
    pub launch: overtake_launch_callback,
    /// The function of a host or a light task.
    pub run: overtake_run_callback,
    /// The data of the function.
    pub data: *mut c_void,
    /// Frees the data, or null. It is called once, on any thread, also if overtake_submit fails: for a host or light
    /// task when the function has returned, for others a moment after the task has ended, and at the latest when the
    /// dispatcher is closed.
    pub free_data: overtake_free_callback,
    /// Tasks that it comes after, or null: after_count handles.
    pub after: *const *mut overtake_task,
    /// Their number: 0 with null, and not otherwise.
    pub after_count: usize,
    /// Tasks whose launch it comes after, or null: after_launch_count handles. It starts when all work of those has
    /// been submitted, or their functions have run. A task of the device still comes after them on the device; a
    /// function of the host runs without their results, and its task ends with theirs.
    pub after_launch: *const *mut overtake_task,
    /// Their number: 0 with null, and not otherwise.
    pub after_launch_count: usize,
    /// How long overtake_submit waits for room in a full dispatcher: 0 (not at all), nanoseconds, or
    /// OVERTAKE_FOR_EVER. It fails with OVERTAKE_ERROR_WOULD_BLOCK then; in the function of a task, which others may
    /// wait for, with OVERTAKE_ERROR_REFUSED at once. A named task has its place already: 0.
    pub room_timeout_ns: i64,
}

/// The size of the first released structure.
pub const TASK_SPEC_BYTES_MIN: usize = 80;

const _: () = assert!(std::mem::offset_of!(TaskSpec, after_launch) == TASK_SPEC_BYTES_MIN);

/// Submits a task, which starts when all tasks before it let it. `task` is null, or receives its handle, which
/// overtake_task_free frees.
///
/// Threads: any, and functions of tasks.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says, with strings that end with a NUL and arrays of
/// as many handles as it says. Its functions take the data on any thread; memory that they give to the device is valid
/// until the task has ended. `task` is null or points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_submit(
    tasks: *mut overtake_tasks,
    spec: *const TaskSpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_submit";
    catch(CALL, || {
        // SAFETY: the caller's promise. From here on the data is freed on every path.
        let described = unsafe { Described::read(CALL, spec) }?;
        let TaskSpec { priority: number, is_named, room_timeout_ns, .. } = described.spec;
        let needs = || format!("task \"{}\" needs a set of a dispatcher that is open", described.name);
        let (set, home) = set::find(CALL, tasks).map_err(|failure| failure.because(&needs()))?;
        let (patience, name) = (Patience::of(CALL, room_timeout_ns)?, described.name);
        let waits = patience.span != Some(Nanos::ZERO);
        let submit = |mut builder: TaskBuilder<'_, '_>| {
            if number != 0 {
                builder = builder.priority(priority(CALL, number)?);
            }
            match patience.for_room() {
                _ if !waits && is_named == 0 => Ok(builder.submit()?),
                _ if !waits => Ok(builder.submit_named()?),
                _ if is_named != 0 => Err(Failure::argument(&format!("{CALL}: a named task waits for no room"))),
                None => Ok(builder.submit_when_room()?),
                Some(span) => builder.submit_within(span.into())?.ok_or_else(|| no_room(name)),
            }
        };
        // SAFETY: the caller's promise.
        let handle = unsafe { described.submit(CALL, &set, home, submit) }?;
        // SAFETY: the caller's promise.
        unsafe { hand_out(CALL, handle, home, task) }
    })
}

/// The failure of a task that has waited for room in vain, or must not.
pub fn no_room(name: &str) -> Failure {
    match is_inside() {
        true => Error::NoRoomInside { task: format!("{name:?}") }.into(),
        false => Error::from(Refused::WouldBlock).into(),
    }
}

/// A task that C has described, and its data.
pub struct Described<'n> {
    /// The structure.
    pub spec: TaskSpec,
    /// Its name.
    pub name: &'n str,
    data: Data,
}

impl Described<'_> {
    /// Reads the description.
    ///
    /// # Safety
    /// As for [`overtake_submit`].
    pub unsafe fn read<'n>(call: &str, spec: *const TaskSpec) -> Outcome<Described<'n>> {
        // SAFETY: the caller's promise; bytes of 0 are null pointers, no functions and numbers.
        let spec = unsafe { sized::read(call, "spec", spec, TASK_SPEC_BYTES_MIN) }?;
        // SAFETY: the caller's promise.
        let data = unsafe { Data::new(spec.data, spec.free_data) };
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(call, "name", spec.name) }?.unwrap_or("unnamed");
        Ok(Described { spec, name, data })
    }

    /// Has the task submitted, with all that is described but its priority and its name for others.
    ///
    /// # Safety
    /// As for [`overtake_submit`].
    pub unsafe fn submit(
        self,
        call: &str,
        set: &Tasks,
        home: Home,
        submit: impl FnOnce(TaskBuilder<'_, '_>) -> Outcome<Handle>,
    ) -> Outcome<Handle> {
        let Described { spec, name, data } = self;
        // SAFETY: the caller's promise.
        let before = unsafe { handles(call, "after", (spec.after, spec.after_count), home) }?;
        let launches = (spec.after_launch, spec.after_launch_count);
        // SAFETY: the caller's promise.
        let launched = unsafe { handles(call, "after_launch", launches, home) }?;
        let mut builder = built(call, set, home, name, &spec, data)?;
        for task in &before {
            builder = builder.after(task);
        }
        for task in &launched {
            builder = builder.after_launch(task);
        }
        for _ in 0..references(call, spec.references)? {
            builder = builder.held();
        }
        if spec.retries != 0 {
            builder = builder.retries(spec.retries);
        }
        submit(builder)
    }
}

/// The most references that a task is submitted with.
const REFERENCES_MAX: u32 = 1 << 20;

/// The references that a task is submitted with. More are a negative number.
pub fn references(call: &str, count: u32) -> Outcome<u32> {
    match count <= REFERENCES_MAX {
        true => Ok(count),
        false => Err(Failure::argument(&format!("{call}: references is {count}, at most {REFERENCES_MAX}"))),
    }
}

/// The task of a description: its kind and its function.
fn built<'t, 'n>(
    call: &str,
    set: &'t Tasks,
    home: Home,
    name: &'n str,
    spec: &TaskSpec,
    data: Data,
) -> Outcome<TaskBuilder<'t, 'n>> {
    let wrong = |text: &str| Failure::argument(&format!("{call}: task \"{name}\": {text}"));
    match spec.kind {
        OVERTAKE_TASK_UPLOAD | OVERTAKE_TASK_KERNEL | OVERTAKE_TASK_DOWNLOAD => {
            let function = spec.launch.filter(|_| spec.run.is_none());
            let function = function.ok_or_else(|| wrong("a task of the device has launch, and not run"))?;
            let launch = move |entered: &mut Lane<'_>| {
                // SAFETY: the function takes the lane and the data, as the caller of overtake_submit promises.
                lane::launch(entered, home, |lane| unsafe { function(lane, data.get()) })
            };
            Ok(match spec.kind {
                OVERTAKE_TASK_UPLOAD => set.upload(name, launch),
                OVERTAKE_TASK_KERNEL => set.kernel(name, launch),
                _ => set.download(name, launch),
            })
        }
        OVERTAKE_TASK_HOST | OVERTAKE_TASK_LIGHT => {
            let function = spec.run.filter(|_| spec.launch.is_none());
            let function = function.ok_or_else(|| wrong("a task of the host has run, and not launch"))?;
            // SAFETY: the function takes the data, as the caller of overtake_submit promises.
            let run = move || answer(|| unsafe { function(data.get()) });
            Ok(if spec.kind == OVERTAKE_TASK_HOST { set.host(name, run) } else { set.light(name, run) })
        }
        OVERTAKE_TASK_JOIN if spec.launch.is_none() && spec.run.is_none() => Ok(set.join(name)),
        OVERTAKE_TASK_JOIN => Err(wrong("a join has no function")),
        other => Err(wrong(&format!("kind {other} is not one of OVERTAKE_TASK_..."))),
    }
}
