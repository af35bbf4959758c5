//! Moments of a random program, in steps of its threads and in functions of its tasks: at some the process forks, and
//! at one it exits. A child of a fork has all that its thread had. Each of its calls returns, and does nothing.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hal::locks::lock;
use overtake::data::{Array, Arrays, discard, read, read_write};
use overtake::task::{Error, Handle, More, Tasks};
use testkit::fixture::{forks, signals::Signals};

use crate::failure::{Failure, Outcome, ensure};
use crate::prng::Prng;

/// A program has at least as many.
const ALL: u64 = 100;
/// Forks of a program, most often.
const FORKS: u64 = 2;
/// The exit code of a process that exits in the middle.
pub const CODE: i32 = 7;
/// The same of one that has failed by then.
const FAILED: i32 = 8;

/// Those of a program; without forks and an exit unless they are [`Moments::of`] a seed.
#[derive(Default)]
pub struct Moments {
    passed: AtomicU64,
    forks: Vec<u64>,
    exit: Option<u64>,
    /// What children have found.
    found: Mutex<Option<Failure>>,
}

/// The forks of this process.
static FORKED: AtomicU64 = AtomicU64::new(0);

impl Moments {
    pub fn of(seed: u64, exits: bool) -> Moments {
        let mut prng = Prng::new(!seed);
        let forks = (0..FORKS).map(|_| prng.below(ALL)).collect();
        Moments { forks, exit: exits.then(|| prng.below(ALL)), ..Moments::default() }
    }

    /// A moment: `child` is what a child of a fork does.
    pub fn pass(&self, child: impl FnOnce() -> Outcome) {
        let number = self.passed.fetch_add(1, Ordering::AcqRel);
        if self.exit == Some(number) {
            exit(lock(&self.found).as_ref()); // behind children of other threads
        }
        if self.forks.contains(&number) {
            FORKED.fetch_add(1, Ordering::AcqRel);
            let mut found = lock(&self.found);
            if let Err(failure) = forks::in_child(child) {
                *found = Some(failure);
            }
        }
    }

    /// Whether all children have ended well.
    pub fn outcome(&self) -> Outcome {
        lock(&self.found).take().map_or(Ok(()), Err)
    }
}

/// Ends the process with its figures, and what has failed.
pub fn exit(failed: Option<&Failure>) -> ! {
    let figures = format!("{} forks, {} signals\n", FORKED.load(Ordering::Acquire), Signals::seen());
    let failure = failed.map(|failure| format!("{failure}\n")).unwrap_or_default();
    // A thread may have the lock of standard output for good.
    let _closed = std::io::stderr().write_all((failure + &figures).as_bytes());
    std::process::exit(if failed.is_some() { FAILED } else { CODE })
}

/// What a thread or a function of a task has in the child of a fork.
pub struct Left<'l> {
    pub arrays: Arrays,
    pub tasks: Option<Tasks>,
    pub array: &'l Array<u32>,
    pub handles: &'l [Handle],
}

impl Left<'_> {
    /// Tries what can be done with it: nothing works, and nothing waits.
    pub fn try_all(self) -> Outcome {
        let Left { arrays, tasks, array, handles } = self;
        let mut told: Vec<(&str, Result<(), Error>)> = vec![
            ("fresh", arrays.array_of(&[1_u32]).map(drop)),
            ("read", array.read().map(drop)),
            ("overwrite", array.overwrite().map(drop)),
            ("to the device", read(array).to_device().map(drop)),
            ("host", arrays.host("host", (read_write(array),), |_| Ok(())).submit().map(drop)),
            ("launch", arrays.launch("launch", (discard(array),), |_, _| Ok(More::Done)).submit().map(drop)),
            ("wait", arrays.wait()),
            ("finish", arrays.finish()),
        ];
        if let Some(tasks) = tasks {
            told.push(("plain", tasks.host("plain", || Ok(())).submit().map(drop)));
            told.push(("all", tasks.wait()));
        }
        for (call, told) in told {
            ensure!(told.is_err(), "{call} has succeeded");
        }
        for task in handles.iter().filter(|task| !task.is_done()) {
            ensure!(task.wait().is_err() && task.cancel().is_err() && task.release().is_err(), "{task:?} is as ever");
        }
        Ok(())
    }
}
