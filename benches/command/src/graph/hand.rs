//! A program as it is written by hand: one computation after the other, or by streams and events.
//!
//! By hand all is worked out beforehand: copies to the device have a stream, in the order of the program, and so have
//! those to the host; a computation has the stream that the plan gives it (`overtake dag plan`), and waits for events
//! of others. Only calls of the driver are left.

use std::sync::Arc;

use hal::{Driver, Event, EventFlags, Result, Stream};
use measure::rig::STREAM_PRIORITY_DEFAULT;
use overtake_plan::dag::{Plan, Program};

use super::content::{self, Step};
use super::memory::Memory;
use crate::yard::Yard;

/// A call of the driver, with the places of streams and events.
enum Call {
    Upload(usize, usize),
    Download(usize, usize),
    Launch(usize, usize),
    Record(usize, usize),
    Wait(usize, usize),
    Synchronise(usize),
}

/// A part of the calls. Those that record events and wait for them are in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Copies,
    Computations,
}

/// A program with its memory, streams and events.
pub struct Hand<'p> {
    driver: Arc<dyn Driver>,
    program: &'p Program,
    memory: &'p Memory,
    steps: Vec<Vec<Step>>,
    calls: Vec<Call>,
    streams: Vec<Stream>,
    events: Vec<Event>,
}

/// The streams of copies; those of computations come behind them.
const UP: usize = 0;
const DOWN: usize = 1;

impl<'p> Hand<'p> {
    /// Each computation is waited for.
    pub fn serial(yard: &mut Yard, program: &'p Program, plan: &Plan, memory: &'p Memory) -> Result<Hand<'p>> {
        let mut calls = Vec::new();
        for (number, step) in plan.steps.iter().enumerate() {
            let is_host = program.computations[number].is_host;
            let copy = |array| if is_host { Call::Download(array, UP) } else { Call::Upload(array, UP) };
            calls.extend(step.transfers.iter().map(|moved| copy(moved.array)));
            calls.extend((!is_host).then_some(Call::Launch(number, UP)));
            calls.push(Call::Synchronise(UP));
        }
        Hand::new(yard, program, memory, calls)
    }

    /// Streams and events.
    pub fn streams(yard: &mut Yard, program: &'p Program, plan: &Plan, memory: &'p Memory) -> Result<Hand<'p>> {
        let mut calls = Vec::new();
        // Events by number: the end of each computation, then the arrival of each array.
        let arrival = |array: usize| plan.steps.len() + array;
        let stream_of = |number: usize| plan.steps[number].stream.map_or(DOWN, |stream| 2 + stream as usize);
        let mut has_event = vec![false; program.arrays.len()];
        for (number, step) in plan.steps.iter().enumerate() {
            let (computation, stream) = (&program.computations[number], stream_of(number));
            let others = step.parents.iter().filter(|parent| stream_of(**parent) != stream);
            calls.extend(others.map(|parent| Call::Wait(stream, *parent)));
            if computation.is_host {
                calls.extend(step.transfers.iter().map(|moved| Call::Download(moved.array, DOWN)));
                continue;
            }
            for moved in &step.transfers {
                calls.extend([Call::Upload(moved.array, UP), Call::Record(UP, arrival(moved.array))]);
                has_event[moved.array] = true;
            }
            let arrived = computation.arguments.iter().filter(|argument| has_event[argument.array]);
            calls.extend(arrived.map(|argument| Call::Wait(stream, arrival(argument.array))));
            calls.extend([Call::Launch(number, stream), Call::Record(stream, number)]);
        }
        calls.extend((0..2 + plan.streams.len()).map(Call::Synchronise));
        Hand::new(yard, program, memory, calls)
    }

    /// The half of [`Hand::streams`] that copies, or the one that computes.
    pub fn half(mut self, half: Half) -> Hand<'p> {
        self.calls.retain(|call| match call {
            Call::Upload(..) | Call::Download(..) => half == Half::Copies,
            Call::Launch(..) => half == Half::Computations,
            _ => true,
        });
        self
    }

    fn new(yard: &mut Yard, program: &'p Program, memory: &'p Memory, calls: Vec<Call>) -> Result<Hand<'p>> {
        let driver = Arc::clone(yard.ground.driver());
        let last = |of: fn(&Call) -> Option<usize>| calls.iter().filter_map(of).max().map_or(0, |last| last + 1);
        let streams = last(|call| match call {
            Call::Synchronise(stream) => Some(*stream),
            _ => None,
        });
        let events = last(|call| match call {
            Call::Record(_, event) => Some(*event),
            _ => None,
        });
        let streams = (0..streams).map(|_| yard.stream(STREAM_PRIORITY_DEFAULT)).collect::<Result<_>>()?;
        let events = (0..events).map(|_| driver.event_create(EventFlags::DISABLE_TIMING)).collect::<Result<_>>()?;
        let steps = program.computations.iter().map(|computation| content::steps(program, computation)).collect();
        Ok(Hand { driver, program, memory, steps, calls, streams, events })
    }

    /// Runs it once, to its end.
    pub fn run(&self) -> Result<()> {
        for call in &self.calls {
            match *call {
                Call::Upload(array, stream) => self.memory.upload(array, self.streams[stream])?,
                Call::Download(array, stream) => self.memory.download(array, self.streams[stream])?,
                Call::Launch(number, stream) => {
                    let computation = &self.program.computations[number];
                    self.memory.launch(computation, &self.steps[number], self.streams[stream])?;
                }
                Call::Record(stream, event) => self.driver.event_record(self.events[event], self.streams[stream])?,
                Call::Wait(stream, event) => self.driver.stream_wait_event(self.streams[stream], self.events[event])?,
                Call::Synchronise(stream) => self.driver.stream_synchronize(self.streams[stream])?,
            }
        }
        Ok(())
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        for event in self.events.drain(..) {
            let _ = self.driver.event_destroy(event);
        }
    }
}
