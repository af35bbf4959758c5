//! Storms: random programs of four threads at once. Their functions own handles, sets and arrays, perhaps as the last
//! owner, submit computations themselves, and fail; the host looks at arrays, releases and drops them while work on
//! them is under way; the dispatcher is closed at any time. Nothing hangs, an array has the bytes of the steps on it or
//! none, and each function goes.

mod program;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hal::{Nanos, Wait};
use overtake::Overtake;
use overtake::data::{ArrayOptions, Arrays};
use overtake::dispatch::{DispatchOptions, Dispatcher};
use overtake::heap::HeapOptions;
use overtake::task::Handle;

use crate::bed;
use crate::checks::moments::Moments;
use crate::failure::{Failure, Outcome, ensure, same};
use crate::prng::Prng;
use crate::rig::Rig;
use program::{Program, Report};

const PROGRAMS: u64 = 12;
const PROGRAMS_REAL: u64 = 40;
const THREADS: u64 = 4;

/// What happens beside the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// The dispatcher is closed.
    Close,
    /// Driver calls fail.
    Faults,
}

/// One program. `begin` is called before its threads begin.
pub fn storm(
    rig: &Rig,
    overtake: &Arc<Overtake>,
    beside: Beside,
    moments: &Arc<Moments>,
    seed: u64,
    begin: impl FnOnce(),
) -> Outcome {
    let (host, token, mut prng) = (rig.driver().host(), Arc::new(()), Prng::new(seed));
    let options = DispatchOptions { lanes: 2, ..DispatchOptions::default() };
    let dispatcher = Arc::new(Dispatcher::open(overtake, options)?);
    let small = HeapOptions { page_bytes: 64 << 10, ..HeapOptions::default() };
    let (device, pinned) = (small, small);
    let arrays = Arrays::open(&dispatcher, ArrayOptions { device, pinned, ..ArrayOptions::default() })?;
    let both = (&arrays, &dispatcher);
    let program = |thread| Program::new(both, &token, beside, moments, seed * THREADS + thread);
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
        let end = storm(rig, overtake, beside, &Arc::default(), seed, || ());
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
