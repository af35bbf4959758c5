//! Work that is refused goes with all that it owns: the last array, set of tasks, dispatcher, section or end of a
//! pipeline, whose ends call the dispatcher. On every path of a refusal that is behind the locks.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hal::Nanos;
use overtake::data::{Array, ArrayOptions, Arrays, discard, read, read_write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::pipeline::{Pipeline, PipelineOptions};
use overtake::task::{Error, Handle, Lane, More, Recording, Tasks};

use crate::bed::{self, Bed};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::rig::Rig;

/// Things whose end calls the dispatcher.
const KINDS: [&str; 7] = ["array", "arrays", "tasks", "dispatcher", "section", "end", "group"];
/// Room for all of them, and a little more.
const TASKS_MAX: u32 = 24;

/// The last owner of something. It counts its end.
struct Owner {
    _owned: Mutex<Box<dyn Any + Send>>,
    _ends: Ends,
}

struct Ends(Arc<AtomicU32>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A dispatcher with its arrays.
struct Home {
    arrays: Arrays,
    tasks: Tasks,
    dispatcher: Dispatcher,
    written: Array<u8>,
    made: u32,
    ended: Arc<AtomicU32>,
}

impl Home {
    fn open(bed: &Bed) -> Result<Home, Failure> {
        let options = DispatchOptions { tasks_max: TASKS_MAX, lanes: 2, ..DispatchOptions::default() };
        let dispatcher = Dispatcher::open(&bed.overtake, options)?;
        let (arrays, tasks) = (Arrays::open(&dispatcher, ArrayOptions::default())?, Tasks::new(&dispatcher));
        let written = arrays.array_of(&[1; 8])?;
        Ok(Home { arrays, tasks, dispatcher, written, made: 0, ended: Arc::default() })
    }

    fn owner(&mut self, bed: &Bed, kind: &str) -> Result<Owner, Failure> {
        let owned: Box<dyn Any + Send> = match kind {
            "array" => Box::new(self.arrays.array::<u8>(&[64])?),
            "arrays" => Box::new(Arrays::open(&self.dispatcher, ArrayOptions::default())?),
            "tasks" => Box::new(Tasks::new(&self.dispatcher)),
            "dispatcher" => {
                let options = DispatchOptions { lanes: 1, workers: 1, ..DispatchOptions::default() };
                Box::new(Dispatcher::open(&bed.overtake, options)?)
            }
            "section" => Box::new(self.arrays.section("owned", (read(&self.written),)).open()?),
            "end" => {
                let open = Pipeline::open(&self.tasks, PipelineOptions::default(), |_| Ok(()));
                let (_pipeline, producer, _consumer) = open.map_err(Failure::new)?;
                Box::new(producer)
            }
            _ => Box::new(self.tasks.group()?),
        };
        self.made += 1;
        Ok(Owner { _owned: Mutex::new(owned), _ends: Ends(Arc::clone(&self.ended)) })
    }

    /// All that was owned has gone by now.
    fn all_has_gone(&self, what: &str) -> Outcome {
        same(&format!("{what}: owners that have gone"), &self.ended.load(Ordering::SeqCst), &self.made)
    }
}

fn kernel(owner: Owner) -> impl FnMut(&mut Lane<'_>) -> overtake::task::WorkResult<More> + Send + 'static {
    move |_| {
        // All of it.
        let _owner = &owner;
        Ok(More::Done)
    }
}

fn function(owner: Owner) -> impl FnOnce() -> overtake::task::WorkResult<()> + Send + 'static {
    move || {
        drop(owner);
        Ok(())
    }
}

/// A submission that is refused, or fails at once.
type Submit<'s> = &'s dyn Fn(&Home, Owner) -> Result<Handle, Error>;

/// Each submission with each owner: `prepare` comes between the making of the owners and the submissions, and
/// `is_refused` judges their results. Tasks are submitted to what is left in the home.
fn each(
    rig: &Rig,
    submissions: &[(&str, Submit<'_>)],
    prepare: impl Fn(&mut Home) -> Result<Vec<Handle>, Failure>,
    is_refused: impl Fn(&Error) -> bool,
) -> Outcome {
    let bed = bed::open(rig)?;
    for kind in KINDS {
        for (name, submit) in submissions {
            let what = format!("{name} that owns the last {kind}");
            let mut home = Home::open(&bed)?;
            let owner = home.owner(&bed, kind)?;
            let held = prepare(&mut home)?;
            let error = match submit(&home, owner) {
                Ok(handle) => handle.outcome().and_then(Result::err),
                Err(error) => Some(error),
            };
            ensure!(error.as_ref().is_some_and(&is_refused), "{what}: {error:?}");
            home.all_has_gone(&what)?;
            held.iter().try_for_each(Handle::release)?;
        }
    }
    Ok(())
}

fn nothing(_: &mut Home) -> Result<Vec<Handle>, Failure> {
    Ok(Vec::new())
}

const SUBMISSIONS: [(&str, Submit<'static>); 8] = [
    ("a kernel", &|home, owner| home.tasks.kernel("kernel", kernel(owner)).submit()),
    ("an upload", &|home, owner| home.tasks.upload("upload", kernel(owner)).retries(3).submit()),
    ("a function", &|home, owner| home.tasks.host("function", function(owner)).submit()),
    ("a light function", &|home, owner| home.tasks.light("light", function(owner)).submit()),
    ("a named task", &|home, owner| home.tasks.light("named", function(owner)).submit_named()),
    ("a launch", &|home, owner| home.arrays.launch("launch", (read_write(&home.written),), launch(owner)).submit()),
    ("a computation of the host", &|home, owner| {
        let run = function(owner);
        home.arrays.host("host", (read_write(&home.written),), move |_| run()).submit()
    }),
    ("a replay", &|home, owner| replay(&home.tasks, owner, None)),
];

fn launch(
    owner: Owner,
) -> impl FnMut(&mut Lane<'_>, &[hal::DevicePtr]) -> overtake::task::WorkResult<More> + Send + 'static {
    let mut kernel = kernel(owner);
    move |lane, _| kernel(lane)
}

/// A replay of two functions, whose arguments are the owner, behind a task.
fn replay(tasks: &Tasks, owner: Owner, after: Option<&Handle>) -> Result<Handle, Error> {
    let mut recording = Recording::<Owner>::new();
    let first = recording.light("first", &[], |_| Ok(()));
    recording.light("second", &[first], |_| Ok(()));
    let template = recording.finish()?;
    let replay = template.replay(tasks, owner);
    match after {
        Some(after) => replay.after(after).submit(),
        None => replay.submit(),
    }
}

/// The dispatcher has been closed.
pub fn closed(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let close = |home: &mut Home| {
        let options = DispatchOptions { lanes: 1, ..DispatchOptions::default() };
        drop(std::mem::replace(&mut home.dispatcher, Dispatcher::open(&bed.overtake, options)?));
        Ok(Vec::new())
    };
    let is_closed = |error: &Error| matches!(error, Error::Closed { .. }) || error.to_string().contains("closed");
    each(rig, &SUBMISSIONS, close, is_closed)
}

/// The dispatcher is full: of tasks that are held. On a device the copies of a section end meanwhile, and their places
/// are free again, so it is filled until a while brings no place.
pub fn full(rig: &Rig) -> Outcome {
    let fill = |home: &mut Home| {
        let (mut held, mut before) = (Vec::new(), None);
        loop {
            match home.tasks.join("held").held().submit() {
                Ok(task) => held.push(task),
                Err(Error::Refused(_)) if before == Some(held.len()) => return Ok(held),
                Err(Error::Refused(_)) => {
                    before = Some(held.len());
                    rig.driver().host().sleep(Nanos::from_ms(2));
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    each(rig, &SUBMISSIONS, fill, |error| error.to_string().contains("full"))
}

/// A task before it is of another dispatcher, or an array.
pub fn foreign(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (task, other) = (bed.tasks.join("foreign").held().submit()?, bed.arrays.array_of(&[1_u8; 8])?);
    let submissions: [(&str, Submit<'_>); 6] = [
        ("a kernel", &|home, owner| home.tasks.kernel("kernel", kernel(owner)).after(&task).submit()),
        ("a function", &|home, owner| home.tasks.host("function", function(owner)).after_launch(&task).submit()),
        ("a named task", &|home, owner| home.tasks.light("named", function(owner)).after(&task).submit_named()),
        ("a launch", &|home, owner| home.arrays.launch("launch", (read(&other),), launch(owner)).submit()),
        ("a launch behind", &|home, owner| {
            home.arrays.launch("launch", (read(&home.written),), launch(owner)).after(&task).submit()
        }),
        ("a replay", &|home, owner| replay(&home.tasks, owner, Some(&task))),
    ];
    let is_foreign = |error: &Error| matches!(error, Error::Foreign { .. } | Error::Refused(_));
    each(rig, &submissions, nothing, is_foreign)?;
    task.release()?;
    Ok(())
}

/// It reads bytes that no task has written, with a transfer of others before.
pub fn unwritten(rig: &Rig) -> Outcome {
    let submissions: [(&str, Submit<'_>); 2] = [
        ("a launch", &|home, owner| {
            let never = home.arrays.array::<u8>(&[8])?;
            home.arrays.launch("launch", (read(&home.written), read(&never)), launch(owner)).submit()
        }),
        ("a function", &|home, owner| {
            let (never, run) = (home.arrays.array::<u8>(&[8])?, function(owner));
            home.arrays.host("function", (read(&never),), move |_| run()).submit()
        }),
    ];
    each(rig, &submissions, nothing, |error| error.to_string().contains("no task has written"))
}

/// A task before it has failed, and has left.
pub fn after_a_failure(rig: &Rig) -> Outcome {
    let submissions: [(&str, Submit<'_>); 6] = [
        ("a kernel", &|home, owner| home.tasks.kernel("kernel", kernel(owner)).after(&failed(home)?).submit()),
        ("a function", &|home, owner| home.tasks.host("function", function(owner)).after(&failed(home)?).submit()),
        ("one behind a launch", &|home, owner| {
            home.tasks.kernel("behind", kernel(owner)).after_launch(&failed(home)?).submit()
        }),
        ("a named task", &|home, owner| home.tasks.kernel("named", kernel(owner)).after(&failed(home)?).submit_named()),
        ("a launch", &|home, owner| {
            let failed = failed(home)?;
            home.arrays.launch("launch", (read(&home.written),), launch(owner)).after(&failed).submit()
        }),
        ("a replay", &|home, owner| replay(&home.tasks, owner, Some(&failed(home)?))),
    ];
    each(rig, &submissions, nothing, |error| matches!(error, Error::NotRun { .. }))
}

/// A light function that has failed: it runs in a group too.
fn failed(home: &Home) -> Result<Handle, Error> {
    let task = home.tasks.light("fails", || Err("it fails".into())).submit()?;
    let _failed = task.wait();
    Ok(task)
}

/// It would come after itself.
pub fn in_a_circle(rig: &Rig) -> Outcome {
    let submissions: [(&str, Submit<'_>); 2] = [
        ("a kernel", &|home, owner| {
            let later = home.tasks.named("circle")?;
            let first = home.tasks.light("first", || Ok(())).after(&later).submit()?;
            let refused = home.tasks.kernel("circle", kernel(owner)).after(&first).submit_named();
            later.release()?;
            refused
        }),
        ("one behind a launch", &|home, owner| {
            let later = home.tasks.named("circle")?;
            let first = home.tasks.light("first", || Ok(())).after(&later).submit()?;
            let refused = home.tasks.kernel("circle", kernel(owner)).after_launch(&first).submit_named();
            later.release()?;
            refused
        }),
    ];
    each(rig, &submissions, nothing, |error| error.to_string().contains("wait for each other"))
}

/// Its section has ended, or is lent the array to read.
pub fn in_a_section(rig: &Rig) -> Outcome {
    let submissions: [(&str, Submit<'_>); 2] = [
        ("a launch behind the end", &|home, owner| {
            let (section, (array,)) = home.arrays.section("over", (read(&home.written),)).open()?;
            let inside: Arrays = (*section).clone();
            section.end()?;
            inside.launch("launch", (read(&array),), launch(owner)).submit()
        }),
        ("a launch that writes", &|home, owner| {
            let (section, (array,)) = home.arrays.section("frozen", (read(&home.written),)).open()?;
            section.launch("launch", (discard(&array),), launch(owner)).submit()
        }),
    ];
    each(rig, &submissions, nothing, |error| matches!(error, Error::Refused(_)))
}

/// An error of the user's, which owns something, and submits when it is shown and when it goes.
struct Loud {
    tasks: Tasks,
    _owner: Owner,
}

impl fmt::Debug for Loud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Loud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = self.tasks.light("shown", || Ok(())).submit();
        write!(f, "loud, and a task beside it: {}", task.is_ok())
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        let _task = self.tasks.light("dropped", || Ok(())).submit();
    }
}

impl std::error::Error for Loud {}

/// The error of a function is shown and goes without a lock.
pub fn of_errors(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    type Fails<'s> = &'s dyn Fn(&Home, Loud) -> Result<Handle, Error>;
    fn once<T>(loud: Loud) -> impl FnMut() -> overtake::task::WorkResult<T> + Send {
        let mut loud = Some(loud);
        move || Err(loud.take().map_or_else(|| "again".into(), Into::into))
    }
    let fails: [(&str, Fails<'_>); 5] = [
        ("a kernel", &|home, loud| {
            let mut fail = once(loud);
            home.tasks.kernel("kernel", move |_: &mut Lane<'_>| fail()).submit()
        }),
        ("a function", &|home, loud| home.tasks.host("function", once(loud)).submit()),
        ("a light function", &|home, loud| home.tasks.light("light", once(loud)).submit()),
        ("a launch", &|home, loud| {
            let mut fail = once(loud);
            home.arrays.launch("launch", (read(&home.written),), move |_, _| fail()).submit()
        }),
        ("a replay", &|home, loud| {
            let (mut recording, fail) = (Recording::<()>::new(), Mutex::new(once(loud)));
            let first = recording.kernel("first", &[], |_, ()| Ok(More::Done));
            recording.kernel("second", &[first], move |_, ()| {
                let mut fail = hal::locks::lock(&fail);
                fail()
            });
            recording.finish()?.replay(&home.tasks, ()).submit()
        }),
    ];
    for kind in KINDS.into_iter().filter(|kind| *kind != "group") {
        for (name, submit) in &fails {
            let what = format!("the error of {name}, which owns the last {kind}");
            let mut home = Home::open(&bed)?;
            let loud = Loud { _owner: home.owner(&bed, kind)?, tasks: bed.tasks.clone() };
            let error = submit(&home, loud)?.wait().err().map(|error| error.to_string()).unwrap_or_default();
            ensure!(error.contains("loud, and a task beside it: true"), "{what}: {error:?}");
            home.all_has_gone(&what)?;
        }
    }
    Ok(())
}

/// Ends its arrays when it goes, and tells how they have ended.
struct Finishes {
    arrays: Option<Arrays>,
    ended: Arc<Mutex<Option<Result<(), Error>>>>,
}

impl Drop for Finishes {
    fn drop(&mut self) {
        let ended = self.arrays.take().map(Arrays::finish);
        *hal::locks::lock(&self.ended) = ended;
    }
}

/// What is refused goes where tasks may be waited for, also if the call that is refused has steps to take: those of the
/// transfers that there was room for.
pub fn behind_transfers(rig: &Rig) -> Outcome {
    let bed = bed::open(rig)?;
    let (home, ended) = (Home::open(&bed)?, Arc::default());
    let (first, second) = (home.arrays.array_of(&[1_u8; 8])?, home.arrays.array_of(&[2_u8; 8])?);
    let arrays = Some(Arrays::open(&home.dispatcher, ArrayOptions::default())?);
    let mut held = Vec::new();
    while let Ok(task) = home.tasks.join("held").held().submit() {
        held.push(task);
    }
    for task in held.drain(..2) {
        task.release()?;
        task.wait()?;
    }
    let finishes = Finishes { arrays, ended: Arc::clone(&ended) };
    let launch = home.arrays.launch("launch", (read(&first), read(&second)), move |_, _| {
        let _finishes = &finishes;
        Ok(More::Done)
    });
    let error = launch.submit().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(error.contains("full"), "{error}");
    ensure!(home.arrays.statistics().uploads > 0, "its transfers were there before");
    held.iter().try_for_each(Handle::release)?;
    let ended = hal::locks::lock(&ended).take();
    ensure!(matches!(ended, Some(Ok(()))), "{ended:?}");
    Ok(())
}
