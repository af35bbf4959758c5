//! Storms: random programs of four threads at once. Their functions own handles, sets and arrays, perhaps as the last
//! owner, submit computations themselves, and fail; the host looks at arrays, releases and drops them while work on
//! them is under way; the dispatcher is closed at any time. Nothing hangs, an array has the bytes of the steps on it or
//! none, and each function goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hal::{Nanos, Wait};
use overtake::data::{Array, ArrayOptions, Arrays, discard, read, read_write};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::heap::HeapOptions;
use overtake::task::{Error, Handle, More, Tasks};
use overtake::{Overtake, Priority};

use crate::bed;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::raw;
use crate::rig::Rig;

const PROGRAMS: u64 = 12;
const PROGRAMS_REAL: u64 = 40;
const THREADS: u64 = 4;
const STEPS: u64 = 24;
const COUNT: usize = 16;
/// Of each thread.
const ARRAYS: u64 = 3;

/// What happens beside the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// The dispatcher is closed.
    Close,
    /// Driver calls fail.
    Faults,
}

/// Whether an array has the contents that the steps on it give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contents {
    There,
    /// The step that writes it may have failed with another one that it comes after.
    Perhaps,
    Lost,
}

/// An array of one thread.
struct Mine {
    array: Arc<Array<u32>>,
    value: u32,
    contents: Contents,
    /// A step that used it may have failed: one that writes it comes after that, and may fail with it.
    is_used_in_vain: bool,
}

/// Handles that a function owns, perhaps as the last owner.
#[derive(Default)]
struct Owned {
    _arrays: Option<Arrays>,
    _tasks: Option<Tasks>,
    _array: Option<Array<u32>>,
    _handle: Option<Handle>,
    _dispatcher: Option<Arc<Dispatcher>>,
    /// Counts the functions that are left.
    _token: Arc<()>,
}

/// One thread's part.
struct Program {
    arrays: Arrays,
    tasks: Tasks,
    /// For functions of some threads, where the dispatcher is closed beside them.
    dispatcher: Option<Arc<Dispatcher>>,
    beside: Beside,
    prng: Prng,
    token: Arc<()>,
    mine: Vec<Mine>,
    /// Functions submit computations that add to it: so many.
    inner: Arc<Array<u32>>,
    added: Arc<AtomicU32>,
    held: Vec<Handle>,
    handles: Vec<Handle>,
    /// Those of the steps that fail.
    failing: Vec<Handle>,
}

/// The end of a thread's part.
struct Report {
    handles: Vec<Handle>,
    failing: Vec<Handle>,
    inner: Arc<Array<u32>>,
    added: Arc<AtomicU32>,
}

type Submitted = Result<Handle, Error>;

impl Program {
    fn new(arrays: &Arrays, dispatcher: &Arc<Dispatcher>, token: &Arc<()>, beside: Beside, seed: u64) -> Program {
        let inner = arrays.array_of(&[0]).expect("memory of the host");
        let mut program = Program {
            arrays: arrays.clone(),
            tasks: Tasks::new(dispatcher),
            dispatcher: (beside == Beside::Close && seed.is_multiple_of(2)).then(|| Arc::clone(dispatcher)),
            beside,
            prng: Prng::new(seed),
            token: Arc::clone(token),
            mine: Vec::new(),
            inner: Arc::new(inner),
            added: Arc::default(),
            held: Vec::new(),
            handles: Vec::new(),
            failing: Vec::new(),
        };
        program.mine = (0..ARRAYS).map(|_| program.fresh().expect("memory of the host")).collect();
        program
    }

    fn run(mut self) -> Result<Report, Failure> {
        for number in 0..STEPS {
            self.step().map_err(|failure| Failure::from_text(format!("step {number}: {failure}")))?;
        }
        // A dispatcher that is owned by a task of its own that never begins is never closed.
        if self.dispatcher.is_some() || self.beside != Beside::Close {
            self.let_go()?;
        }
        Ok(Report { handles: self.handles, failing: self.failing, inner: self.inner, added: self.added })
    }

    fn step(&mut self) -> Outcome {
        match self.prng.below(16) {
            0..4 => self.on_the_device(),
            4..8 => self.on_the_host(),
            8 => self.look(),
            9 => self.overwrite(),
            10 => self.release(),
            11 => self.renew(),
            12 => self.refused(),
            13 => self.plain(),
            14 => self.let_go(),
            _ => self.wait(),
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.prng.below(one_in) == 0
    }

    /// Whether calls may fail that nothing of this thread has failed.
    fn is_beset(&self) -> bool {
        self.beside != Beside::Nothing
    }

    fn fresh(&mut self) -> Result<Mine, Error> {
        let value = self.prng.below(1000) as u32;
        let array = Arc::new(self.arrays.array_of(&[value; COUNT])?);
        Ok(Mine { array, value, contents: Contents::There, is_used_in_vain: false })
    }

    /// Two arrays, and the number of the second.
    fn two(&mut self) -> (Arc<Array<u32>>, Arc<Array<u32>>, [usize; 2]) {
        let from = self.prng.below(ARRAYS) as usize;
        let to = (from + 1 + self.prng.below(ARRAYS - 1) as usize) % ARRAYS as usize;
        let [one, other] = [from, to].map(|at| Arc::clone(&self.mine[at].array));
        (one, other, [from, to])
    }

    /// Handles of all kinds. Work on the array is under way, and it has no other owner.
    fn owned(&mut self) -> Owned {
        let mut owned = Owned { _token: Arc::clone(&self.token), ..Owned::default() };
        if self.chance(2) {
            (owned._arrays, owned._tasks) = (Some(self.arrays.clone()), Some(self.tasks.clone()));
        }
        if self.chance(3)
            && let Ok(array) = self.arrays.array_of(&[1; COUNT])
        {
            let token = Arc::clone(&self.token);
            let work = self.arrays.launch("beside", (read_write(&array),), move |_, _| {
                let _token = &token;
                Ok(More::Done)
            });
            self.handles.extend(work.submit());
            owned._array = Some(array);
        }
        if self.chance(3) {
            owned._handle = self.handles.last().cloned();
        }
        if self.chance(8) {
            owned._dispatcher.clone_from(&self.dispatcher);
        }
        owned
    }

    fn priority(&mut self) -> Priority {
        Priority::new(self.prng.pick(&[1, 1, 2, 5, 8])).expect("a priority")
    }

    /// A kernel's launch copies an array to another one.
    fn on_the_device(&mut self) -> Outcome {
        let ((from, to, both), owned, fails) = (self.two(), self.owned(), self.chance(8));
        let (priority, is_held) = (self.priority(), self.chance(6));
        let step = self.arrays.launch("copies", (read(&from), discard(&to)), move |lane, at| {
            let _owned = &owned;
            if fails {
                return Err("as planned".into());
            }
            raw::copy(lane, at[1], at[0], 4 * COUNT as u64)?;
            Ok(More::Done)
        });
        let step = step.priority(priority);
        let submitted = if is_held { step.held().submit() } else { step.submit() };
        self.held.extend(submitted.iter().filter(|_| is_held).cloned());
        self.note(submitted, both, fails, 0)
    }

    /// A function adds one to each element of an array, and submits another computation.
    fn on_the_host(&mut self) -> Outcome {
        let ((from, to, both), owned, fails) = (self.two(), self.owned(), self.chance(8));
        let (priority, submits, is_beset) = (self.priority(), self.chance(2), self.is_beset());
        let (arrays, inner, added) = (self.arrays.clone(), Arc::clone(&self.inner), Arc::clone(&self.added));
        let step = self.arrays.host("adds", (read(&from), discard(&to)), move |(from, to)| {
            let _owned = owned;
            if submits {
                let count = arrays.host("inside", (read_write(&inner),), |(inner,)| {
                    inner[0] += 1;
                    Ok(())
                });
                match count.submit() {
                    Ok(_) => added.fetch_add(1, Ordering::AcqRel),
                    Err(_) if is_beset => 0,
                    Err(error) => return Err(error.into()),
                };
            }
            if fails {
                return Err("as planned".into());
            }
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from + 1);
            Ok(())
        });
        let submitted = step.priority(priority).submit();
        self.note(submitted, both, fails, 1)
    }

    /// A step from an array to another one has been submitted, or was refused and has changed nothing.
    fn note(&mut self, submitted: Submitted, [from, to]: [usize; 2], fails: bool, more: u32) -> Outcome {
        let task = match submitted {
            Ok(task) => task,
            Err(_) if self.is_beset() => return Ok(()),
            Err(error) => return Err(Failure::new(error)),
        };
        self.failing.extend(Some(task.clone()).filter(|_| fails));
        self.handles.push(task);
        let (value, source, is_behind) =
            (self.mine[from].value + more, self.mine[from].contents, self.mine[to].is_used_in_vain);
        let contents = match source {
            _ if fails => Contents::Lost,
            Contents::There if is_behind => Contents::Perhaps,
            source => source,
        };
        let is_in_vain = contents != Contents::There;
        self.mine[from].is_used_in_vain |= is_in_vain;
        let target = &mut self.mine[to];
        (target.value, target.contents, target.is_used_in_vain) = (value, contents, is_behind || is_in_vain);
        Ok(())
    }

    /// The host has seen these elements of an array of this thread, or could not.
    fn check(&self, at: usize, seen: Result<Vec<u32>, Error>) -> Outcome {
        let Mine { value, contents, .. } = self.mine[at];
        match seen {
            Ok(_) if contents == Contents::Lost => Err(Failure::new("a step that has failed has written an array")),
            Ok(seen) => same("the elements", &seen, &vec![value; COUNT]),
            Err(_) if contents != Contents::There || self.is_beset() => Ok(()),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// How long an access waits: for ever, where what is held has begun.
    fn patience(&mut self) -> Result<Duration, Failure> {
        if self.chance(2) {
            return Ok(Duration::from_nanos(self.prng.below(100_000)));
        }
        self.let_go().map(|()| Duration::MAX)
    }

    /// The host looks at an array without having waited for the work on it.
    fn look(&mut self) -> Outcome {
        let (at, span) = (self.prng.below(ARRAYS) as usize, self.patience()?);
        match read(&*self.mine[at].array).within(span).open().map(|seen| seen.to_vec()) {
            Err(Error::TimedOut { .. }) => Ok(()),
            seen => self.check(at, seen),
        }
    }

    fn overwrite(&mut self) -> Outcome {
        let (at, value, span) = (self.prng.below(ARRAYS) as usize, self.prng.below(1000) as u32, self.patience()?);
        let (is_beset, mine) = (self.is_beset(), &mut self.mine[at]);
        match discard(&*mine.array).within(span).open() {
            Ok(mut guard) => guard.fill(value),
            Err(Error::TimedOut { .. }) => return Ok(()),
            Err(_) if is_beset => return Ok(()),
            Err(error) => return Err(Failure::new(error)),
        }
        (mine.value, mine.contents, mine.is_used_in_vain) = (value, Contents::There, false);
        Ok(())
    }

    /// An array is released with work on it under way.
    fn release(&mut self) -> Outcome {
        self.let_go()?;
        let (at, is_beset) = (self.prng.below(ARRAYS) as usize, self.is_beset());
        let Ok(fresh) = self.fresh() else { return Ok(()) };
        let Mine { array, contents, .. } = std::mem::replace(&mut self.mine[at], fresh);
        let array = Arc::into_inner(array).ok_or_else(|| Failure::new("this thread is its only owner"))?;
        match array.release() {
            Err(error) if !is_beset && contents == Contents::There => Err(Failure::new(error)),
            _ => Ok(()),
        }
    }

    /// An array is dropped with work on it under way.
    fn renew(&mut self) -> Outcome {
        let at = self.prng.below(ARRAYS) as usize;
        if let Ok(fresh) = self.fresh() {
            self.mine[at] = fresh;
        }
        Ok(())
    }

    /// A step is refused, and its function goes with all that it owns.
    fn refused(&mut self) -> Outcome {
        let (owned, never) = (self.owned(), self.arrays.array::<u32>(&[COUNT])?);
        let refused = self.arrays.host("refused", (read(&never),), move |_| {
            let _owned = owned;
            Ok(())
        });
        ensure!(refused.submit().is_err(), "no step has written the array");
        Ok(())
    }

    /// A function behind any other task.
    fn plain(&mut self) -> Outcome {
        let (owned, first) = (self.owned(), self.prng.below(1 + self.handles.len() as u64) as usize);
        let function = self.tasks.host("plain", move || {
            let _owned = owned;
            Ok(())
        });
        let after = self.handles.get(first).into_iter();
        let submitted = function.after(after).submit();
        ensure!(submitted.is_ok() || self.is_beset(), "{submitted:?}");
        self.handles.extend(submitted);
        Ok(())
    }

    /// Tasks that are held may begin. They may have failed.
    fn let_go(&mut self) -> Outcome {
        for task in std::mem::take(&mut self.held) {
            let released = task.release();
            ensure!(released.is_ok() || task.is_done() || self.is_beset(), "{released:?}");
        }
        Ok(())
    }

    fn wait(&mut self) -> Outcome {
        self.let_go()?;
        let count = self.handles.len() as u64;
        if count > 0 {
            // It may have failed, as planned.
            let _ = self.handles[self.prng.below(count) as usize].wait();
        }
        Ok(())
    }
}

/// One program. `begin` is called before its threads begin.
pub fn storm(rig: &Rig, overtake: &Arc<Overtake>, beside: Beside, seed: u64, begin: impl FnOnce()) -> Outcome {
    let (host, token, mut prng) = (rig.driver().host(), Arc::new(()), Prng::new(seed));
    let options = DispatchOptions { lanes: 2, ..DispatchOptions::default() };
    let dispatcher = Arc::new(Dispatcher::open(overtake, options)?);
    let small = HeapOptions { page_bytes: 64 << 10, ..HeapOptions::default() };
    let (device, pinned) = (small, small);
    let arrays = Arrays::open(&dispatcher, ArrayOptions { device, pinned, ..ArrayOptions::default() })?;
    let program = |thread| Program::new(&arrays, &dispatcher, &token, beside, seed * THREADS + thread);
    let programs: Vec<Program> = (0..THREADS).map(program).collect();
    begin();
    let threads = programs.into_iter().map(|program| rig.spawn("storm", move |_| program.run()));
    let threads: Vec<_> = threads.collect();
    let (mut arrays, mut dispatcher) = (Some(arrays), Some(dispatcher));
    if beside == Beside::Close {
        host.sleep(Nanos::from_us(prng.below(300)));
        arrays = arrays.filter(|_| prng.below(2) == 0);
        dispatcher = None;
    }
    let reports = threads.into_iter().map(|thread| rig.join(thread)).collect::<Result<Vec<_>, _>>()?;
    if let Some(arrays) = arrays.filter(|_| beside == Beside::Nothing) {
        arrays.wait()?;
        for report in &reports {
            same("computations of functions", &report.inner.read()?[0], &report.added.load(Ordering::Acquire))?;
        }
    }
    drop(dispatcher);
    let has_ended = |report: &Report| report.handles.iter().all(Handle::is_done);
    let mut is_over = || Arc::strong_count(&token) == 1 && reports.iter().all(has_ended);
    let ends = host.wait_until(Some(host.now() + Nanos::from_ms(20_000)), &mut is_over);
    same("the end of the last function and task", &ends, &Wait::Met)?;
    let mut failing = reports.iter().flat_map(|report| &report.failing);
    ensure!(failing.all(|task| matches!(task.outcome(), Some(Err(_)))), "all steps that fail do");
    Ok(())
}

pub fn storms(rig: &Rig, overtake: &Arc<Overtake>, beside: Beside, programs: u64) -> Outcome {
    (0..programs).try_for_each(|seed| {
        let end = storm(rig, overtake, beside, seed, || ());
        end.map_err(|error| Failure::from_text(format!("program {seed}: {error}")))
    })
}

fn on_a_layer(rig: &Rig, beside: Beside) -> Outcome {
    let bed = bed::open(rig)?;
    let programs = if rig.driver().host().is_virtual() { PROGRAMS } else { PROGRAMS_REAL };
    storms(rig, &bed.overtake, beside, programs)
}

/// All that has not failed as planned ends well, and with the right bytes.
pub fn values(rig: &Rig) -> Outcome {
    on_a_layer(rig, Beside::Nothing)
}

/// The dispatcher is closed at any time, also by the function that is its last owner.
pub fn closes(rig: &Rig) -> Outcome {
    on_a_layer(rig, Beside::Close)
}
