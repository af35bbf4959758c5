//! The program's logger is code of others: it may submit tasks itself, and panic.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once};

use hal::locks::lock;
use log::{LevelFilter, Log, Metadata, Record};
use overtake::task::{Lane, Tasks};

use crate::bed;
use crate::failure::{Outcome, ensure};
use crate::model::on;

/// A name that no task of another trial has.
const NAME: &str = "fails for the logger";

/// The error at which the logger panics.
const PANICS_AT: &str = "the logger is to panic";

static TASKS: Mutex<Option<Tasks>> = Mutex::new(None);
static SUBMITTED: AtomicU32 = AtomicU32::new(0);

struct Submits;

impl Log for Submits {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        assert!(!record.args().to_string().contains(PANICS_AT), "a logger that panics");
        if !record.args().to_string().contains(NAME) {
            return;
        }
        let tasks = lock(&TASKS).clone();
        if tasks.is_some_and(|tasks| tasks.join("told").submit().is_ok()) {
            SUBMITTED.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn flush(&self) {}
}

fn install() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        log::set_logger(&Submits).expect("no other trial sets a logger");
        log::set_max_level(LevelFilter::Warn);
    });
}

/// The other tasks are dispatched after a logger has panicked in the middle of a dispatch.
pub fn may_panic() -> Outcome {
    install();
    on(|rig| {
        let bed = bed::open(rig)?;
        let first = bed.tasks.join("first").held().submit()?;
        let fails = bed.tasks.light("fails", || Err(PANICS_AT.into())).after(&first).submit()?;
        let next = bed.tasks.light("next", || Ok(())).after(&first).submit()?;
        // One thread takes both steps, and the logger panics between them.
        first.release()?;
        ensure!(fails.wait().is_err(), "it fails");
        Ok(next.wait()?)
    })
}

/// Each failure is told, and without the dispatcher's lock.
pub fn may_submit() -> Outcome {
    install();
    on(|rig| {
        let bed = bed::open(rig)?;
        *lock(&TASKS) = Some(bed.tasks.clone());
        let in_launch = bed.tasks.kernel(NAME, |_: &mut Lane<'_>| Err("as planned".into()));
        let in_function = bed.tasks.host(NAME, || Err("as planned".into()));
        let failed = [in_launch.submit()?, in_function.submit()?].map(|task| task.wait().is_err());
        let held = bed.tasks.kernel(NAME, |_: &mut Lane<'_>| Err("never run".into())).held().submit()?;
        *lock(&TASKS) = None;
        drop(bed);
        ensure!(failed == [true; 2] && held.wait().is_err(), "they fail");
        let submitted = SUBMITTED.load(Ordering::Acquire);
        ensure!(submitted >= 2, "{submitted} failures were told");
        Ok(())
    })
}
