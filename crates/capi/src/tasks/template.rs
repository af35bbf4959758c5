//! Templates: tasks that are recorded once, and submitted again with other arguments and priorities.
#![allow(unsafe_code)] // symbols that C finds by name, and C's pointers

use std::ffi::{c_char, c_int, c_void};

use hal::Nanos;
use overtake::task::{Handle, Lane, Recording, Replay, Step, Tasks, Template};

use crate::codes::OVERTAKE_ERROR_REFUSED;
use crate::failure::{Failure, Outcome, catch};
use crate::sized;
use crate::tasks::callback::{Data, answer, overtake_free_callback, overtake_lane};
use crate::tasks::dispatcher::{Home, free, output, refuse_in_child};
use crate::tasks::handles::{HandleKind, Handles};
use crate::tasks::lane;
use crate::tasks::patience::Patience;
use crate::tasks::set::{self, overtake_tasks};
use crate::tasks::submit::{
    self, OVERTAKE_TASK_DOWNLOAD, OVERTAKE_TASK_HOST, OVERTAKE_TASK_KERNEL, OVERTAKE_TASK_LIGHT, OVERTAKE_TASK_UPLOAD,
};
use crate::tasks::task::{self, handles, overtake_task, priority, text_of};

/// Tasks that are recorded once, with the order between them.
#[repr(C)]
#[allow(non_camel_case_types)] // C's name
pub struct overtake_template {
    _private: [u8; 0],
}

/// Submits the work of a step to its lane, as overtake_launch_callback. It gets the arguments of the replay and the
/// data of the step; several replays may call it at the same time.
#[allow(non_camel_case_types)] // C's names
pub type overtake_launch_step_callback =
    Option<unsafe extern "C" fn(lane: *mut overtake_lane, arguments: *mut c_void, data: *mut c_void) -> c_int>;

/// A function of the host, as overtake_run_callback, with the arguments of the replay and the data of the step.
#[allow(non_camel_case_types)] // C's names
pub type overtake_run_step_callback = Option<unsafe extern "C" fn(arguments: *mut c_void, data: *mut c_void) -> c_int>;

/// A task of a template. Set struct_size, kind and one of launch and run; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StepSpec {
    /// sizeof(struct overtake_step_spec).
    pub struct_size: u32,
    /// One of OVERTAKE_TASK_..., but OVERTAKE_TASK_JOIN.
    pub kind: c_int,
    /// The name of the task in errors, or null.
    pub name: *const c_char,
    /// Its least priority in each replay; 0 is the lowest. The steps before it inherit it.
    pub priority: c_int,
    /// 0.
    pub reserved: u32,
    /// The function of an upload, a kernel or a download.
    pub launch: overtake_launch_step_callback,
    /// The function of a host or a light task.
    pub run: overtake_run_step_callback,
    /// The data of the function, for all replays.
    pub data: *mut c_void,
    /// Frees the data, or null. It is called once, on any thread, also if the call fails: when the template has been
    /// freed, and the last replay has ended.
    pub free_data: overtake_free_callback,
    /// Steps of the template that it comes after, or null: after_count numbers.
    pub after: *const usize,
    /// Their number: 0 with null, and not otherwise.
    pub after_count: usize,
}

/// The size of the first released structure.
pub const STEP_SPEC_BYTES_MIN: usize = 72;

/// A replay that is being described. Set struct_size; 0 in another field is its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ReplaySpec {
    /// sizeof(struct overtake_replay_spec).
    pub struct_size: u32,
    /// The least priority of all its tasks; 0 is the lowest.
    pub priority: c_int,
    /// The device that does its work, by its number among those of the dispatcher.
    pub device: u32,
    /// 0.
    pub reserved: u32,
    /// The arguments of its functions, which they may use at the same time on several threads.
    pub arguments: *mut c_void,
    /// Frees the arguments, or null. It is called once, on any thread, also if the call fails: when all its tasks have
    /// ended, and at the latest when the dispatcher is closed.
    pub free_arguments: overtake_free_callback,
    /// Tasks that it comes after, or null: after_count handles. That of a replay stands for all its tasks.
    pub after: *const *mut overtake_task,
    /// Their number: 0 with null, and not otherwise.
    pub after_count: usize,
    /// How long overtake_template_replay waits for room in a full dispatcher, as in struct overtake_task_spec. A
    /// template of more tasks than the dispatcher has room for is refused at once.
    pub room_timeout_ns: i64,
}

/// The size of the first released structure.
pub const REPLAY_SPEC_BYTES_MIN: usize = 48;

const _: () = assert!(size_of::<StepSpec>() == STEP_SPEC_BYTES_MIN);
const _: () = assert!(std::mem::offset_of!(ReplaySpec, room_timeout_ns) == REPLAY_SPEC_BYTES_MIN);

/// The arguments of a replay.
pub struct Arguments {
    data: Data,
    home: Home,
}

// SAFETY: it only hands the pointer to functions of the program's, which take it on several threads, as the program
// promises; it is freed once, by the last owner.
unsafe impl Sync for Arguments {}

/// The data of a step, for all replays.
struct StepData(Data);

// SAFETY: as for the arguments.
unsafe impl Sync for StepData {}

/// A template before and after its first replay.
enum State {
    Recording(Recording<Arguments>, Vec<Step>),
    Ready(Template<Arguments>),
}

static TEMPLATES: Handles<Option<State>> = Handles::new(HandleKind::Template);

/// Makes a template without tasks. It belongs to no dispatcher, and may be replayed in several.
///
/// Threads: any.
///
/// # Safety
/// `template` points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_template_new(template: *mut *mut overtake_template) -> c_int {
    const CALL: &str = "overtake_template_new";
    catch(CALL, || {
        refuse_in_child(CALL)?;
        let output = output(CALL, "template", template)?;
        // SAFETY: not null, and the caller's.
        unsafe { output.write(TEMPLATES.add(Some(State::Recording(Recording::new(), Vec::new())))) };
        Ok(())
    })
}

/// Takes the state of a template out for the time of a call.
fn change<R>(
    call: &str,
    template: *const overtake_template,
    body: impl FnOnce(&mut State) -> Outcome<R>,
) -> Outcome<R> {
    refuse_in_child(call)?;
    let busy = || format!("{call}: another thread changes this template: let one thread at a time record");
    let state = TEMPLATES.change(call, template, Option::take)?;
    let mut state = state.ok_or_else(|| Failure::new(OVERTAKE_ERROR_REFUSED, &busy()))?;
    let outcome = body(&mut state);
    TEMPLATES.change(call, template, |place| *place = Some(state))?;
    outcome
}

/// Adds a task to a template that has not been replayed. `step` is null, or receives its number, by which later steps
/// refer to it; the numbers count from 0.
///
/// Threads: any, one at a time for a template.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says, with a NUL-terminated string and as many numbers
/// as it says. Its functions take data and arguments on any thread. `step` is null or points at a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_template_add(
    template: *mut overtake_template,
    spec: *const StepSpec,
    step: *mut usize,
) -> c_int {
    const CALL: &str = "overtake_template_add";
    catch(CALL, || {
        // SAFETY: the caller's promise; bytes of 0 are null pointers, no functions and numbers.
        let spec = unsafe { sized::read(CALL, "spec", spec, STEP_SPEC_BYTES_MIN) }?;
        // SAFETY: the caller's promise. From here on the data is freed on every path.
        let data = StepData(unsafe { Data::new(spec.data, spec.free_data) });
        // SAFETY: the caller's promise.
        let name = unsafe { text_of(CALL, "name", spec.name) }?.unwrap_or("unnamed");
        // SAFETY: the caller's promise.
        let after = unsafe { sized::list(CALL, "after", spec.after, spec.after_count) }?;
        let added = change(CALL, template, |state| {
            let State::Recording(recording, steps) = state else {
                let text = format!("{CALL}: the template has been replayed: record task \"{name}\" in a new one");
                return Err(Failure::new(OVERTAKE_ERROR_REFUSED, &text));
            };
            let find = |number: &usize| steps.get(*number).copied();
            let unknown = || wrong(CALL, name, &format!("it comes after a step that is none of the {}", steps.len()));
            let after: Vec<Step> = after.iter().map(find).collect::<Option<_>>().ok_or_else(unknown)?;
            // All that can be wrong is known before the step is recorded, which is for good.
            let own = (spec.priority != 0).then(|| priority(CALL, spec.priority)).transpose()?;
            let added = record(CALL, recording, name, &after, &spec, data)?;
            if let Some(own) = own {
                recording.priority(added, own);
            }
            steps.push(added);
            Ok(steps.len() - 1)
        })?;
        if !step.is_null() {
            // SAFETY: not null, and the caller's.
            unsafe { step.write(added) };
        }
        Ok(())
    })
}

fn wrong(call: &str, name: &str, text: &str) -> Failure {
    Failure::argument(&format!("{call}: task \"{name}\": {text}"))
}

/// Records a step: its kind and its function.
fn record(
    call: &str,
    recording: &mut Recording<Arguments>,
    name: &str,
    after: &[Step],
    spec: &StepSpec,
    data: StepData,
) -> Outcome<Step> {
    if spec.reserved != 0 {
        return Err(wrong(call, name, "reserved is 0"));
    }
    match spec.kind {
        OVERTAKE_TASK_UPLOAD | OVERTAKE_TASK_KERNEL | OVERTAKE_TASK_DOWNLOAD => {
            let function = spec.launch.filter(|_| spec.run.is_none());
            let function = function.ok_or_else(|| wrong(call, name, "a task of the device has launch, and not run"))?;
            let launch = move |entered: &mut Lane<'_>, arguments: &Arguments| {
                let (whole, home) = (&data, arguments.home);
                let (given, own) = (arguments.data.get(), whole.0.get());
                // SAFETY: the function takes all three, as the callers of the two calls promise.
                lane::launch(entered, home, |lane| unsafe { function(lane, given, own) })
            };
            Ok(match spec.kind {
                OVERTAKE_TASK_UPLOAD => recording.upload(name, after, launch),
                OVERTAKE_TASK_KERNEL => recording.kernel(name, after, launch),
                _ => recording.download(name, after, launch),
            })
        }
        OVERTAKE_TASK_HOST | OVERTAKE_TASK_LIGHT => {
            let function = spec.run.filter(|_| spec.launch.is_none());
            let function = function.ok_or_else(|| wrong(call, name, "a task of the host has run, and not launch"))?;
            let run = move |arguments: &Arguments| {
                let whole = &data;
                let (given, own) = (arguments.data.get(), whole.0.get());
                // SAFETY: the function takes both, as the callers of the two calls promise.
                answer(|| unsafe { function(given, own) })
            };
            let is_host = spec.kind == OVERTAKE_TASK_HOST;
            Ok(if is_host { recording.host(name, after, run) } else { recording.light(name, after, run) })
        }
        other => Err(wrong(call, name, &format!("kind {other} is not one of OVERTAKE_TASK_... of a template"))),
    }
}

/// The template of a handle, which is recorded now at the latest.
fn finished(call: &str, template: *const overtake_template) -> Outcome<Template<Arguments>> {
    change(call, template, |state| {
        let ready = match state {
            State::Recording(recording, _) => std::mem::take(recording).finish()?,
            State::Ready(template) => return Ok(template.clone()),
        };
        *state = State::Ready(ready.clone());
        Ok(ready)
    })
}

/// Ends the recording of a template whose replays make the same launches each time. A replay of it is one launch of a
/// CUDA graph: its functions are called once for each priority, while the driver captures their streams, and not by
/// later replays. Its steps are kernels of one priority; a template that can be no graph is replayed as without this,
/// and counted (graph_fallbacks).
///
/// Threads: any, one at a time for a template.
///
/// # Safety
/// Each replay would submit the same kernels and sets with the same arguments, and the memory that they use is there
/// until the last replay has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_template_fix(template: *mut overtake_template) -> c_int {
    const CALL: &str = "overtake_template_fix";
    catch(CALL, || {
        change(CALL, template, |state| {
            let State::Recording(recording, _) = state else {
                let text = format!("{CALL}: the template has been replayed or fixed: fix it before its first replay");
                return Err(Failure::new(OVERTAKE_ERROR_REFUSED, &text));
            };
            let recorded = std::mem::take(recording).finish()?;
            // SAFETY: the caller's promise.
            *state = State::Ready(unsafe { recorded.fixed() });
            Ok(())
        })
    })
}

/// A replay as C has described it.
pub struct Replayed {
    /// The structure.
    pub spec: ReplaySpec,
    template: Template<Arguments>,
    data: Data,
}

impl Replayed {
    /// Reads the description.
    ///
    /// # Safety
    /// As for [`overtake_template_replay`].
    pub unsafe fn read(call: &str, template: *const overtake_template, spec: *const ReplaySpec) -> Outcome<Replayed> {
        // SAFETY: the caller's promise; bytes of 0 are null pointers, no functions and numbers.
        let spec = unsafe { sized::read(call, "spec", spec, REPLAY_SPEC_BYTES_MIN) }?;
        // SAFETY: the caller's promise. From here on the arguments are freed on every path.
        let data = unsafe { Data::new(spec.arguments, spec.free_arguments) };
        if spec.reserved != 0 {
            return Err(Failure::argument(&format!("{call}: reserved is 0")));
        }
        Ok(Replayed { template: finished(call, template)?, spec, data })
    }

    /// Has the replay submitted, with all that is described.
    ///
    /// # Safety
    /// As for [`overtake_template_replay`].
    pub unsafe fn submit(
        self,
        call: &str,
        tasks: &Tasks,
        home: Home,
        submit: impl FnOnce(Replay<'_, Arguments>) -> Outcome<Handle>,
    ) -> Outcome<Handle> {
        let Replayed { template, spec, data } = self;
        // SAFETY: the caller's promise.
        let before = unsafe { handles(call, "after", (spec.after, spec.after_count), home) }?;
        let mut replay = template.replay(tasks, Arguments { data, home });
        if spec.priority != 0 {
            replay = replay.priority(priority(call, spec.priority)?);
        }
        let none = |_| Failure::argument(&format!("{call}: there is no device {}", spec.device));
        replay = replay.on(u8::try_from(spec.device).map_err(none)?);
        submit(before.iter().fold(replay, Replay::after))
    }
}

/// Submits all tasks of a template, with these arguments and this priority. The first replay ends the recording. `task`
/// is null, or receives a handle that stands for all tasks of the replay, which overtake_task_free frees.
///
/// Threads: any, and functions of tasks.
///
/// # Safety
/// `spec` points at a structure of the size that its struct_size says, with as many handles as it says. The functions
/// of the template take the arguments on any thread; memory that they give to the device is valid until the replay has
/// ended. `task` is null or points at a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn overtake_template_replay(
    template: *mut overtake_template,
    tasks: *mut overtake_tasks,
    spec: *const ReplaySpec,
    task: *mut *mut overtake_task,
) -> c_int {
    const CALL: &str = "overtake_template_replay";
    catch(CALL, || {
        // SAFETY: the caller's promise.
        let replayed = unsafe { Replayed::read(CALL, template, spec) }?;
        let needs = "a replay needs a set of a dispatcher that is open";
        let (set, home) = set::find(CALL, tasks).map_err(|failure| failure.because(needs))?;
        let patience = Patience::of(CALL, replayed.spec.room_timeout_ns)?;
        let submit = |replay: Replay<'_, Arguments>| match patience.for_room() {
            _ if patience.span == Some(Nanos::ZERO) => Ok(replay.submit()?),
            None => Ok(replay.submit_when_room()?),
            Some(span) => replay.submit_within(span.into())?.ok_or_else(|| submit::no_room("(of a template)")),
        };
        // SAFETY: the caller's promise.
        let handle = unsafe { replayed.submit(CALL, &set, home, submit) }?;
        // SAFETY: the caller's promise.
        unsafe { task::hand_out(CALL, handle, home, task) }
    })
}

/// Frees the handle of a template. Its replays go on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn overtake_template_free(template: *mut overtake_template) -> c_int {
    free("overtake_template_free", &TEMPLATES, template)
}
