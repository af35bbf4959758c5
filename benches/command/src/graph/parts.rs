//! The parts of a program, each measured while nothing else runs, and the time that it would take if only they counted.

use std::sync::Arc;

use hal::{Driver, Event, EventFlags, Result, Stream};
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake_plan::dag::{Computation, Plan, Program};

use super::content::{self, is_input};
use super::contention::Contention;
use super::memory::Memory;
use crate::yard::Yard;

/// Repeats of a part behind the first one.
const REPEATS: u32 = 4;
/// Measurements of a part; the fastest counts.
const TRIES: u32 = 3;
/// Runs of a program in which computations are measured, behind a first one.
const IN_PLACE_TRIES: u32 = 5;

/// Nanoseconds of each part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// By array.
    pub up: Vec<f64>,
    pub down: Vec<f64>,
    /// By computation.
    pub kernels: Vec<f64>,
}

impl Parts {
    /// Measures them on an idle device.
    pub fn measure(yard: &mut Yard, program: &Program, plan: &Plan, memory: &Memory) -> Result<Parts> {
        let stream = yard.stream(STREAM_PRIORITY_DEFAULT)?;
        let driver = Arc::clone(yard.ground.driver());
        let copies = Copies { driver: &*driver, stream };
        let mut parts = Parts::default();
        for array in 0..program.arrays.len() {
            let is_read = content::read_by_host(program).any(|read| read == array);
            let (up, down) = (|| memory.upload(array, stream), || memory.download(array, stream));
            parts.up.push(if is_input(program, array) { copies.time_ns(&up)? } else { 0.0 });
            parts.down.push(if is_read { copies.time_ns(&down)? } else { 0.0 });
        }
        parts.kernels = InPlace::new(&*driver, stream, program)?.times_ns(plan, memory)?;
        Ok(parts)
    }

    /// The time of the program: an engine makes one copy at a time, in the order of the program, a computation begins
    /// when the last array that it needs is there, and none delays another one.
    #[must_use]
    pub fn bound_ns(&self, program: &Program, plan: &Plan) -> f64 {
        self.contended_ns(program, plan, Contention::NONE)
    }
}

/// Copies that are measured one by one.
struct Copies<'d> {
    driver: &'d dyn Driver,
    stream: Stream,
}

impl Copies<'_> {
    /// The time of several in a row beyond that of one.
    fn time_ns(&self, copy: &dyn Fn() -> Result<()>) -> Result<f64> {
        let (host, mut least_ns) = (self.driver.host(), f64::INFINITY);
        for _ in 0..TRIES {
            let mut ends = [0.0; 2];
            for (end, count) in ends.iter_mut().zip([1, 1 + REPEATS]) {
                let start = host.now();
                (0..count).try_for_each(|_| copy())?;
                self.driver.stream_synchronize(self.stream)?;
                *end = host.now().since(start).0 as f64;
            }
            least_ns = least_ns.min((ends[1] - ends[0]) / f64::from(REPEATS));
        }
        Ok(least_ns.max(0.0))
    }
}

/// Computations that are measured in their places in the program, one after the other in one stream: the caches have
/// the contents that the computation before leaves, and nothing runs beside it.
struct InPlace<'p> {
    driver: &'p dyn Driver,
    stream: Stream,
    program: &'p Program,
    /// One before and one behind each computation, and two with nothing between.
    events: Vec<[Event; 2]>,
}

impl<'p> InPlace<'p> {
    fn new(driver: &'p dyn Driver, stream: Stream, program: &'p Program) -> Result<InPlace<'p>> {
        let mut all = InPlace { driver, stream, program, events: Vec::new() };
        for _ in 0..=program.computations.len() {
            let first = driver.event_create(EventFlags::DEFAULT)?;
            all.events.push([first, first]);
            if let Some(pair) = all.events.last_mut() {
                pair[1] = driver.event_create(EventFlags::DEFAULT)?;
            }
        }
        Ok(all)
    }

    /// The least time of each, of several runs behind a first one.
    fn times_ns(&self, plan: &Plan, memory: &Memory) -> Result<Vec<f64>> {
        let mut least_ns = vec![f64::INFINITY; self.events.len()];
        for run in 0..=IN_PLACE_TRIES {
            self.run(plan, memory)?;
            for (least_ns, [start, end]) in least_ns.iter_mut().zip(&self.events).filter(|_| run > 0) {
                *least_ns = least_ns.min(f64::from(self.driver.event_elapsed_ms(*start, *end)?) * 1e6);
            }
        }
        // Two events have a time of their own.
        let of_events_ns = least_ns.pop().unwrap_or_default();
        let of = |(computation, least_ns): (&Computation, f64)| match computation.is_host {
            true => 0.0,
            false => (least_ns - of_events_ns).max(0.0),
        };
        Ok(self.program.computations.iter().zip(least_ns).map(of).collect())
    }

    /// The device is busy with copies while the first calls are made, so it does not wait for later ones.
    fn run(&self, plan: &Plan, memory: &Memory) -> Result<()> {
        let (driver, stream, program) = (self.driver, self.stream, self.program);
        let mut inputs = (0..program.arrays.len()).filter(|array| is_input(program, *array));
        inputs.try_for_each(|array| memory.upload(array, stream))?;
        for ((computation, step), [start, end]) in program.computations.iter().zip(&plan.steps).zip(&self.events) {
            for moved in &step.transfers {
                match computation.is_host {
                    true => memory.download(moved.array, stream)?,
                    false => memory.upload(moved.array, stream)?,
                }
            }
            driver.event_record(*start, stream)?;
            if !computation.is_host {
                memory.launch(computation, &content::steps(program, computation), stream)?;
            }
            driver.event_record(*end, stream)?;
        }
        if let Some([start, end]) = self.events.last() {
            driver.event_record(*start, stream)?;
            driver.event_record(*end, stream)?;
        }
        driver.stream_synchronize(stream)
    }
}

impl Drop for InPlace<'_> {
    fn drop(&mut self) {
        for event in self.events.drain(..).flatten() {
            let _ = self.driver.event_destroy(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use overtake_plan::dag::Policies;

    use super::*;

    #[test]
    fn copies_take_turns_and_kernels_do_not() {
        let program = Program::parse("(x const, a discard) (y const, b discard) !a const !b const size 8").unwrap();
        let plan = program.plan(&Policies::default(), 1).unwrap();
        let (up, down) = (vec![10.0, 0.0, 10.0, 0.0], vec![0.0, 10.0, 0.0, 10.0]);
        let parts = Parts { up, down, kernels: vec![50.0, 50.0, 0.0, 0.0] };
        // x until 10, y until 20; kernels until 60 and 70; a until 70, b until 80.
        assert_eq!(parts.bound_ns(&program, &plan), 80.0);
        let chain = Program::parse("(x const, a discard) (a const, b discard) !b const size 8").unwrap();
        let plan = chain.plan(&Policies::default(), 1).unwrap();
        let parts = Parts { up: vec![10.0, 0.0, 0.0], down: vec![0.0, 0.0, 10.0], kernels: vec![50.0, 5.0, 0.0] };
        assert_eq!(parts.bound_ns(&chain, &plan), 75.0);
    }
}
