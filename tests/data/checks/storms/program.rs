//! The part of a thread of a storm.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use overtake::Priority;
use overtake::data::{Array, Arrays, Location, discard, read, read_write};
use overtake::dispatch::Dispatcher;
use overtake::task::{Error, Handle, More, Tasks};

use super::Beside;
use crate::checks::moments::{Left, Moments};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::raw;

const STEPS: u64 = 24;
const COUNT: usize = 16;
/// Of each thread.
const ARRAYS: u64 = 3;

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

/// What functions work with.
struct Inside {
    arrays: Arrays,
    /// They submit computations that add to it.
    inner: Arc<Array<u32>>,
    moments: Arc<Moments>,
}

impl Inside {
    fn moment(&self) {
        let left = || Left { arrays: self.arrays.clone(), tasks: None, array: &self.inner, handles: &[] };
        self.moments.pass(|| left().try_all());
    }
}

/// One thread's part.
pub struct Program {
    arrays: Arrays,
    tasks: Tasks,
    /// For functions of some threads, where the dispatcher is closed beside them.
    dispatcher: Option<Arc<Dispatcher>>,
    beside: Beside,
    moments: Arc<Moments>,
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
pub struct Report {
    pub handles: Vec<Handle>,
    pub failing: Vec<Handle>,
    pub inner: Arc<Array<u32>>,
    pub added: Arc<AtomicU32>,
}

type Submitted = Result<Handle, Error>;

impl Program {
    pub fn new(
        (arrays, dispatcher): (&Arrays, &Arc<Dispatcher>),
        token: &Arc<()>,
        beside: Beside,
        moments: &Arc<Moments>,
        seed: u64,
    ) -> Program {
        let inner = arrays.array_of(&[0]).expect("memory of the host");
        let mut program = Program {
            arrays: arrays.clone(),
            tasks: Tasks::new(dispatcher),
            dispatcher: (beside == Beside::Close && seed.is_multiple_of(2)).then(|| Arc::clone(dispatcher)),
            beside,
            moments: Arc::clone(moments),
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

    pub fn run(mut self) -> Result<Report, Failure> {
        for number in 0..STEPS {
            self.moment();
            self.step().map_err(|failure| Failure::from_text(format!("step {number}: {failure}")))?;
        }
        // A dispatcher that is owned by a task of its own that never begins is never closed.
        if self.dispatcher.is_some() || self.beside != Beside::Close {
            self.let_go()?;
        }
        Ok(Report { handles: self.handles, failing: self.failing, inner: self.inner, added: self.added })
    }

    /// A child of a fork tries all that this thread has, and it goes there.
    fn moment(&mut self) {
        let moments = Arc::clone(&self.moments);
        moments.pass(|| {
            let (arrays, tasks, array) = (self.arrays.clone(), Some(self.tasks.clone()), &*self.mine[0].array);
            Left { arrays, tasks, array, handles: &self.handles }.try_all()?;
            let Program { mine, held, handles, failing, dispatcher, .. } = self;
            drop((mem::take(mine), mem::take(held), mem::take(handles), mem::take(failing), dispatcher.take()));
            Ok(())
        });
    }

    fn step(&mut self) -> Outcome {
        match self.prng.below(17) {
            0..4 => self.on_the_device(),
            4..8 => self.on_the_host(),
            8 => self.look(),
            9 => self.overwrite(),
            10 => self.release(),
            11 => self.renew(),
            12 => self.refused(),
            13 => self.plain(),
            14 => self.let_go(),
            15 => self.opens(),
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

    fn inside(&self) -> Inside {
        let (arrays, inner, moments) = (self.arrays.clone(), Arc::clone(&self.inner), Arc::clone(&self.moments));
        Inside { arrays, inner, moments }
    }

    fn priority(&mut self) -> Priority {
        Priority::new(self.prng.pick(&[1, 1, 2, 5, 8])).expect("a priority")
    }

    /// A kernel's launch copies an array to another one.
    fn on_the_device(&mut self) -> Outcome {
        let ((from, to, both), owned, fails) = (self.two(), self.owned(), self.chance(8));
        let (priority, is_held, inside) = (self.priority(), self.chance(6), self.inside());
        let step = self.arrays.launch("copies", (read(&from), discard(&to)), move |lane, at| {
            let _owned = &owned;
            inside.moment();
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
        let (inside, added) = (self.inside(), Arc::clone(&self.added));
        let step = self.arrays.host("adds", (read(&from), discard(&to)), move |(from, to)| {
            let _owned = owned;
            inside.moment();
            if submits {
                let count = inside.arrays.host("inside", (read_write(&inside.inner),), |(inner,)| {
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

    /// An access is open while the process may fork, and ends, whether this thread has asked for its elements or not.
    fn opens(&mut self) -> Outcome {
        let (at, place) = (self.prng.below(ARRAYS) as usize, self.prng.pick(&[Location::Host, Location::Device(0)]));
        let array = Arc::clone(&self.mine[at].array);
        let opened = if self.chance(2) { read(&*array).open_at(place) } else { read_write(&*array).open_at(place) };
        let mut access = match opened {
            Ok(access) => Some(access),
            Err(_) if self.is_beset() => None,
            Err(error) => return Err(Failure::new(error)),
        };
        let may_fail = self.is_beset() || self.mine[at].contents != Contents::There;
        if let Some(access) = access.as_ref().filter(|_| self.chance(2)) {
            let told = access.address();
            ensure!(told.is_ok() || may_fail, "{told:?}");
        }
        let moments = Arc::clone(&self.moments);
        moments.pass(|| {
            let told = access.take().map_or(Err(Error::Forked), |access| access.address());
            ensure!(told.is_err(), "an access of the parent's has elements");
            Ok(())
        });
        Ok(())
    }

    /// An array is released with work on it under way.
    fn release(&mut self) -> Outcome {
        self.let_go()?;
        let (at, is_beset) = (self.prng.below(ARRAYS) as usize, self.is_beset());
        let Ok(fresh) = self.fresh() else { return Ok(()) };
        let Mine { array, contents, .. } = mem::replace(&mut self.mine[at], fresh);
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
        for task in mem::take(&mut self.held) {
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
