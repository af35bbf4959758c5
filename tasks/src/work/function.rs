//! What a task does: functions of the user.

use std::sync::Arc;

use crate::work::lane::Lane;
use crate::work::levels::OfUser;

/// The result of a task's function. Any error will do.
pub type WorkResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The answer of a function that launches work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// All work of the task has been submitted.
    Done,
    /// The function is to be called again, after the other tasks that are ready (PX-09).
    Again,
}

/// A function that submits the work of a task: a closure, or a type with state.
///
/// It is called with the context of the device current, on the thread that makes the task ready. It must not wait. It
/// lives until the task has completed, and with it all that it owns.
pub trait Launches: Send + 'static {
    /// Submits work. [`More::Again`] asks for another call, after the other tasks that are ready.
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More>;
}

impl<F: FnMut(&mut Lane<'_>) -> WorkResult<More> + Send + 'static> Launches for F {
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        self(lane)
    }
}

/// The launch of a replay that is one task ([`crate::work::span`]).
pub(crate) trait Replays: Launches {
    /// The name of the step that has made this copy of the task, or nothing if that is the task's.
    fn step_of_copy(&self, number: usize) -> &str;
}

/// The tasks of one replay, by their numbers.
pub(crate) trait Steps: Send + Sync {
    /// Submits the work of a task of the device.
    fn launch(&self, step: u32, lane: &mut Lane<'_>) -> WorkResult<More>;

    /// Runs a function of the host.
    fn run(&self, step: u32) -> WorkResult<()>;
}

/// Submits the work of a task of the device. It is called with the device's context current, and must not wait.
pub(crate) enum Launch {
    Own(Box<dyn Launches>),
    /// The same of a function that owns nothing: its end is seen by no thread, so it is left where it is until then.
    Bare(Box<dyn Launches>),
    /// All steps of a replay.
    Span(Box<dyn Replays>),
    /// A step of a replay, by its number. It needs no memory of its own.
    Step(Arc<dyn Steps>, u32),
}

/// A launch that owns something.
struct Owns<F>(OfUser, F);

impl<F: Launches> Launches for Owns<F> {
    fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        self.1.launch(lane)
    }
}

impl Launch {
    /// One of a single task.
    pub fn own<F: Launches>(launch: F) -> Launch {
        if std::mem::needs_drop::<F>() {
            Launch::Own(Box::new(Owns(OfUser, launch)))
        } else {
            Launch::Bare(Box::new(launch))
        }
    }

    /// The place of its own memory. None if it has none: a hint about such a place has the processor look for its page.
    #[inline]
    fn place(&self) -> Option<*const u8> {
        let place: *const u8 = match self {
            Launch::Own(launch) | Launch::Bare(launch) => std::ptr::from_ref(&**launch).cast(),
            Launch::Span(launch) => std::ptr::from_ref(&**launch).cast(),
            Launch::Step(..) => return None,
        };
        (place.addr() >= MEMORY_MIN).then_some(place)
    }

    #[inline]
    pub fn call(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        match self {
            Launch::Own(launch) | Launch::Bare(launch) => launch.launch(lane),
            Launch::Span(launch) => launch.launch(lane),
            Launch::Step(steps, number) => steps.launch(*number, lane),
        }
    }
}

/// Runs on a thread of the host.
pub type Function = Box<dyn FnOnce() -> WorkResult<()> + Send>;

/// Memory has no address below this. A function that owns nothing is at its alignment.
const MEMORY_MIN: usize = 64;

/// The work of a node.
pub(crate) enum Work {
    /// None, or it is being run.
    Nothing,
    Launch(Launch),
    Function(Function),
    /// The function of a step of a replay.
    Step(Function),
}

impl Work {
    /// That of a function of the host.
    pub fn function(run: impl FnOnce() -> WorkResult<()> + Send + 'static) -> Work {
        let of_user = OfUser;
        Work::Function(Box::new(move || {
            let _of_user = of_user;
            run()
        }))
    }

    /// Whether it is all of a task that a caller knows, and not a part of a replay or an order of others.
    pub fn is_whole(&self) -> bool {
        !matches!(self, Work::Nothing | Work::Step(_) | Work::Launch(Launch::Step(..)))
    }

    /// Whether it owns nothing, so that it need not be dropped when its task has ended.
    #[inline]
    pub fn is_bare(&self) -> bool {
        matches!(self, Work::Nothing | Work::Launch(Launch::Bare(_)))
    }

    /// There is none from now on.
    #[inline]
    pub fn clear(&mut self) {
        match self {
            // Most functions are closures without memory: to free it costs more than to look whether there is some.
            Work::Launch(Launch::Bare(launch)) if size_of_val(&**launch) == 0 => {
                std::mem::forget(std::mem::replace(self, Work::Nothing));
            }
            _ => *self = Work::Nothing,
        }
    }

    /// The place of the memory that its launch looks at, if there is some.
    #[inline]
    pub fn place(&self) -> Option<*const u8> {
        if let Work::Launch(launch) = self { launch.place() } else { None }
    }

    /// The name of the step that has made this copy of the task, if that is a replay, or nothing.
    pub fn step_of_copy(&self, number: usize) -> &str {
        if let Work::Launch(Launch::Span(span)) = self { span.step_of_copy(number) } else { "" }
    }

    /// Submits the work, if it is a device's.
    #[inline]
    pub fn launch(&mut self, lane: &mut Lane<'_>) -> WorkResult<More> {
        if let Work::Launch(launch) = self { launch.call(lane) } else { Ok(More::Done) }
    }
}
